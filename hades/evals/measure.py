"""Measuring: every question asked of every system, and what came of it.

The ladder of systems goes from one retriever to everything: `dense` (vectors), `words` (BM25),
`hybrid` (both), `ppr` (walks through the graph from there), `paths` (paths between what
was found), `full` (the ranker over all of it). `full` is also asked for a whole recall, as
a caller would: that is what its time, its context and its beliefs are taken from.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from hades.domain.topics import Hit
from hades.errors import InvalidInput
from hades.evals import metrics
from hades.evals.memories import IdOf, Index, OpenSet
from hades.evals.sets import LOST_NAMED_AT_MOST, EvalSet, Lost, Question
from hades.memory import View
from hades.recall.ranker import Ranker
from hades.store.records import Progress

SYSTEMS = ("dense", "words", "hybrid", "ppr", "paths", "full")
"""From the foot of the ladder to its top."""
_RETRIEVERS: dict[str, tuple[str, ...]] = {
    "dense": ("meaning",),
    "words": ("words",),
    "hybrid": ("meaning", "words"),
}
RECALL_AT = (2, 5, 10, 25, 50)
RANKS = max(RECALL_AT)
PACKED_PASSAGES = 6
"""As many as a recall packs by default: what a caller of a plain search would hand on."""

METRICS = (*(f"recall@{k}" for k in RECALL_AT), "ndcg@10", "mrr")


@dataclass(frozen=True, slots=True)
class QuestionResult:
    """What one system gave for one question."""

    ranking: tuple[str, ...]
    gold: frozenset[str]
    ms: float
    context_tokens: int
    beliefs: tuple[tuple[float, bool], ...] = ()
    """For each passage of a recall: how sure it was, and whether it is gold."""


@dataclass(frozen=True, slots=True)
class Scores:
    """What one system is worth on a set."""

    values: Mapping[str, float]
    """By metric, the mean over the questions."""
    errors: Mapping[str, float]
    """By metric, the standard error of that mean."""
    p50_ms: float
    p95_ms: float
    context_tokens: float
    ece: float | None
    """None where the system states no beliefs."""

    def plain(self) -> dict[str, float | None]:
        """As it is printed in JSON."""
        return {
            **{name: round(value, 4) for name, value in self.values.items()},
            "p50_ms": round(self.p50_ms, 2),
            "p95_ms": round(self.p95_ms, 2),
            "context_tokens": round(self.context_tokens, 1),
            "ece": None if self.ece is None else round(self.ece, 4),
        }


@dataclass(frozen=True, slots=True)
class Measured:
    """A set, measured."""

    dataset: str
    questions: int
    index: Index
    systems: Mapping[str, Scores]
    lost: Lost = field(default_factory=Lost)

    def plain(self) -> dict[str, Any]:
        """As it is printed in JSON."""
        index = {"seconds": self.index.seconds, "chunks": self.index.chunks}
        return {
            "dataset": self.dataset,
            "lost_gold": {
                "questions": self.lost.questions,
                "passages": len({gold for _, gold in self.lost.gold}),
                "some": [gold for _, gold in self.lost.gold[:LOST_NAMED_AT_MOST]],
            },
            "index": {**index, "edges": self.index.edges},
            "systems": {name: scores.plain() for name, scores in self.systems.items()},
        }


def chosen_systems(names: Iterable[str]) -> tuple[str, ...]:
    """The systems somebody asked for, in the order of the ladder; all when none is named."""
    asked = set(names)
    if unknown := sorted(asked - set(SYSTEMS)):
        raise InvalidInput(f"There is no system {unknown[0]!r}: {', '.join(SYSTEMS)}.")
    return tuple(name for name in SYSTEMS if name in asked or not asked)


def measure(
    eval_set: EvalSet,
    opened: OpenSet,
    systems: Sequence[str] = (),
    on_progress: Progress | None = None,
    held_out: tuple[Ranker, Ranker] | None = None,
) -> Measured:
    """Ask every question of every system, or of those named.

    With `held_out` a question is ranked by the ranker of its half: the first must not have
    seen half 0, the second not half 1.
    """
    scores = {}
    for system in chosen_systems(systems):
        ask = _asker(system, opened, held_out)
        ask(eval_set.questions[0])  # loads what is loaded once; not timed
        asked = []
        for number, question in enumerate(eval_set.questions, start=1):
            asked.append(ask(question))
            if on_progress is not None:
                on_progress(f"asking {system}", number, len(eval_set.questions))
        scores[system] = score(asked)
    return Measured(eval_set.name, len(eval_set.questions), opened.index, scores, eval_set.lost())


def score(asked: Sequence[QuestionResult]) -> Scores:
    """What the answers of one system are worth together."""
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
    """Ids of the corpus, best first; several chunks of one count once, where the best is."""
    return tuple(dict.fromkeys(id_of(hit.chunk) for hit in hits))[:RANKS]


def _asker(
    system: str, opened: OpenSet, held_out: tuple[Ranker, Ranker] | None
) -> Callable[[Question], QuestionResult]:
    limit = _chunks_asked(opened)

    def ask(question: Question) -> QuestionResult:
        if held_out is not None:
            opened.rank_by(held_out[question.fold])
        view = opened.view(question)
        start = time.perf_counter()
        hits = view.rank(question.text, limit, system=system)
        ms = _ms_since(start)
        ranked = ranking(hits, opened.id_of)
        packed = sum(hit.chunk.tokens for hit in hits[:PACKED_PASSAGES])
        if system in _RETRIEVERS:
            ms = _search_ms(view, question.text, _RETRIEVERS[system])
        if system != "full":
            return QuestionResult(ranked, question.gold, ms, packed)
        start = time.perf_counter()
        recall = view.recall(question.text)
        ms = _ms_since(start)
        told = tuple(
            (one.belief.mean, opened.id_of(one.chunk) in question.gold) for one in recall.passages
        )
        return QuestionResult(ranked, question.gold, ms, recall.tokens, told)

    return ask


def _search_ms(view: View, question: str, retrievers: Sequence[str]) -> float:
    """What a plain search by these retrievers takes: ranking by one system computes them all."""
    start = time.perf_counter()
    view.search(question, retriever=retrievers)
    return _ms_since(start)


def _ms_since(start: float) -> float:
    return 1000 * (time.perf_counter() - start)


def _chunks_asked(opened: OpenSet) -> int:
    """How many chunks give RANKS different passages, going by how many a passage has."""
    return RANKS * max(1, math.ceil(opened.index.chunks / opened.passages))
