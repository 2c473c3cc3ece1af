"""Measuring: ask every question of every system, and score the results.

The ladder of systems goes from one retriever to everything: `dense` (vectors), `words` (BM25),
`hybrid` (both), `ppr` (walks through the graph from there), `fusion` (these and belief, weighed by
the mode of the question), `full` (the ranker over all of it). For `full`, time, context and beliefs
are those of a whole recall, as a caller would ask for it.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hades.domain.topics import Hit
from hades.errors import InvalidInput
from hades.evals import metrics
from hades.evals.memories import IdOf, Index, OpenSet
from hades.evals.sets import EvalQuestion, EvalSet
from hades.recall.rank.baselines import SYSTEMS
from hades.recall.rank.ranker import Ranker
from hades.store.records import Progress

_RETRIEVERS = {"dense": ("meaning",), "words": ("words",), "hybrid": ("meaning", "words")}
RECALL_AT = (2, 5, 10, 25, 50)
RANKS = max(RECALL_AT)
PACKED_PASSAGES = 6
"""How many passages of a plain search have their tokens counted, as many as a recall packs by
default."""

METRICS = (*(f"recall@{k}" for k in RECALL_AT), "ndcg@10", "mrr")


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """The result of one system for one question."""

    ranking: tuple[str, ...]
    gold: frozenset[str]
    ms: float
    context_tokens: int
    beliefs: tuple[tuple[float, bool], ...] = ()
    """The belief of each passage of a recall, and whether it is gold."""


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of one system on a set."""

    values: Mapping[str, float]
    """The mean of each metric over the questions."""
    errors: Mapping[str, float]
    """The standard error of each mean."""
    p50_ms: float
    p95_ms: float
    context_tokens: float
    ece: float | None
    """Expected calibration error; None if the system states no beliefs."""

    def plain(self) -> dict[str, float | None]:
        """Return the scores as JSON values, rounded and without the standard errors."""
        return {
            **{name: round(value, 4) for name, value in self.values.items()},
            "p50_ms": round(self.p50_ms, 2),
            "p95_ms": round(self.p95_ms, 2),
            "context_tokens": round(self.context_tokens, 1),
            "ece": None if self.ece is None else round(self.ece, 4),
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """The scores of all systems on a set."""

    dataset: str
    questions: int
    index: Index
    systems: Mapping[str, Scores]
    lost: Sequence[tuple[str, str]] = ()
    """(question, gold) pairs whose gold is not in the corpus, so that no system can find it."""

    def plain(self) -> dict[str, Any]:
        """Return the result as JSON values, as it is printed."""
        return {
            "dataset": self.dataset,
            **self.index.plain(self.lost),
            "systems": {name: scores.plain() for name, scores in self.systems.items()},
        }

    def sentences(self) -> list[str]:
        """Return what was measured, and what is wrong with the set, in sentences."""
        return self.index.sentences(self.questions, self.lost)


def chosen_systems(names: Iterable[str], among: Sequence[str] = SYSTEMS) -> tuple[str, ...]:
    """Return the named systems in ladder order, or all if none is named; refuse an unknown name."""
    asked = set(names)
    if unknown := sorted(asked - set(among)):
        raise InvalidInput(f"There is no system {unknown[0]!r}: use one of {', '.join(among)}.")
    return tuple(name for name in among if name in asked or not asked)


def measure(
    eval_set: EvalSet,
    opened: OpenSet,
    systems: Sequence[str] = (),
    on_progress: Progress | None = None,
    held_out: tuple[Ranker, Ranker] | None = None,
) -> Measured:
    """Ask every question of each system, or of those named, and score the rankings.

    With `held_out`, a question is ranked by the ranker of its half: the first must not be trained
    on half 0, the second not on half 1.
    """
    scores = {}
    for system in chosen_systems(systems):
        _ask(system, opened, eval_set.questions[0])  # a warm-up that is not timed
        asked = []
        for question in eval_set.each_question(f"asking {system}", on_progress):
            if held_out is not None:
                opened.memory.inside.engine.ranker = held_out[question.fold]
            asked.append(_ask(system, opened, question))
        scores[system] = score(asked)
    return Measured(eval_set.name, len(eval_set.questions), opened.index, scores, eval_set.lost())


def score(asked: Sequence[QuestionResult]) -> Scores:
    """Return the mean scores of one system over the results of all questions."""
    each = {
        **{
            f"recall@{k}": [metrics.recall_at(k, one.ranking, one.gold) for one in asked]
            for k in RECALL_AT
        },
        "ndcg@10": [metrics.ndcg_at(10, one.ranking, one.gold) for one in asked],
        "mrr": [metrics.reciprocal_rank(one.ranking, one.gold) for one in asked],
    }
    times = [one.ms for one in asked]
    return Scores(
        values={name: statistics.fmean(values) for name, values in each.items()},
        errors={name: metrics.standard_error(values) for name, values in each.items()},
        p50_ms=metrics.percentile(times, 0.5),
        p95_ms=metrics.percentile(times, 0.95),
        context_tokens=statistics.fmean(one.context_tokens for one in asked),
        ece=metrics.expected_calibration_error(told for one in asked for told in one.beliefs),
    )


def ranking(hits: Iterable[Hit], id_of: IdOf) -> tuple[str, ...]:
    """Return up to RANKS ids of the corpus, best first; each stands once, at its best chunk."""
    return tuple(dict.fromkeys(id_of(hit.chunk) for hit in hits))[:RANKS]


def _ask(system: str, opened: OpenSet, question: EvalQuestion) -> QuestionResult:
    view = opened.view(question)
    text = question.text
    gold = question.gold
    # Rank enough chunks for RANKS different passages, by the mean number of chunks per passage.
    limit = RANKS * max(1, math.ceil(opened.index.chunks / opened.passages))
    hits, ms = metrics.timed(lambda: view.rank(text, limit, system=system))
    ranked = ranking(hits, opened.id_of)
    if system == "full":
        recall, ms = metrics.timed(lambda: view.recall(text))
        told = tuple((one.belief.mean, opened.id_of(one.chunk) in gold) for one in recall.passages)
        return QuestionResult(ranked, gold, ms, recall.tokens, told)
    if system in _RETRIEVERS:  # ranking by one system computes them all
        _, ms = metrics.timed(lambda: view.search(text, retriever=_RETRIEVERS[system]))
    packed = sum(hit.chunk.tokens for hit in hits[:PACKED_PASSAGES])
    return QuestionResult(ranked, gold, ms, packed)
