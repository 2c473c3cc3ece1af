"""Answers: whether the sentences that `ask` gives hold what was asked for.

A question's own answer, where the set has one, is looked for in the sentences by its words.
Questions of yes and no are left out of that: no sentence holds their answer. What is cited
is compared with the gold passages. Then the gold passages are taken away and the same
question is asked of the others: whatever is answered now is a neighbouring fact.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

from hades.domain.answer import Answer
from hades.domain.names import says
from hades.evals import metrics
from hades.evals.memories import OpenSet
from hades.evals.sets import EvalSet, Question
from hades.models.encoder import count_tokens
from hades.recall.ask import answer
from hades.store.records import Progress

_UNSAID_ANSWERS = ("", "yes", "no")


@dataclass(frozen=True, slots=True)
class AskedOnce:
    """What came of one question."""

    held: bool | None
    """Whether a sentence holds the answer; None where there is none to look for."""
    reachable: bool | None
    """Whether a recalled passage holds it: no sentence of another could."""
    cited: float
    """The share of the gold passages that are cited."""
    sentences: int
    tokens: int
    silent_without: bool
    """Whether nothing was answered once the gold passages were taken away."""
    ms: float


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """What asking is worth on a set; shares are means over the questions."""

    dataset: str
    questions: int
    with_answer: int
    """Questions whose answer can be looked for: `held` and `reachable` are over these."""
    held: float | None
    reachable: float | None
    cited: float
    empty: float
    """The share of questions that got no sentence."""
    silent_without: float
    sentences: float
    tokens: float
    p50_ms: float
    p95_ms: float

    def plain(self) -> dict[str, object]:
        """As it is printed in JSON."""
        return {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


def measure_answers(
    eval_set: EvalSet, opened: OpenSet, on_progress: Progress | None = None
) -> AnswerScores:
    """Ask every question of a set, once as it is and once without its gold passages."""
    _ask(eval_set.questions[0], opened)  # loads what is loaded once; not timed
    asked = []
    for number, question in enumerate(eval_set.questions, start=1):
        asked.append(_ask(question, opened))
        if on_progress is not None:
            on_progress("asking", number, len(eval_set.questions))
    times = [one.ms for one in asked]
    return AnswerScores(
        dataset=eval_set.name,
        questions=len(asked),
        with_answer=sum(one.held is not None for one in asked),
        held=_share(one.held for one in asked),
        reachable=_share(one.reachable for one in asked),
        cited=statistics.fmean(one.cited for one in asked),
        empty=statistics.fmean(not one.sentences for one in asked),
        silent_without=statistics.fmean(one.silent_without for one in asked),
        sentences=statistics.fmean(one.sentences for one in asked),
        tokens=statistics.fmean(one.tokens for one in asked),
        p50_ms=metrics.percentile(times, 0.5),
        p95_ms=metrics.percentile(times, 0.95),
    )


def _ask(question: Question, opened: OpenSet) -> AskedOnce:
    view = opened.view(question)
    start = time.perf_counter()
    found = view.ask(question.text)
    ms = 1000 * (time.perf_counter() - start)
    ids = [opened.id_of(passage.chunk) for passage in found.recall.passages]
    cited = {ids[one.citation - 1] for one in found.sentences if one.kind == "passage"}
    texts = [one.text for one in found.sentences]
    recalled = [passage.chunk.text for passage in found.recall.passages]
    return AskedOnce(
        held=_held(question.answers, texts),
        reachable=_held(question.answers, recalled),
        cited=len(cited & question.gold) / len(question.gold),
        sentences=len(texts),
        tokens=sum(count_tokens(texts)) if texts else 0,
        silent_without=not _without_gold(found, ids, question, opened).sentences,
        ms=ms,
    )


def _held(answers: Iterable[str], texts: Iterable[str]) -> bool | None:
    wanted = [one for one in answers if one.strip().casefold() not in _UNSAID_ANSWERS]
    return any(says(text, one) for text in texts for one in wanted) if wanted else None


def _without_gold(found: Answer, ids: list[str], question: Question, opened: OpenSet) -> Answer:
    others = tuple(
        passage
        for passage, id_ in zip(found.recall.passages, ids, strict=True)
        if id_ not in question.gold
    )
    return answer(replace(found.recall, passages=others), opened.memory._finder.encoder)


def _share(told: Iterable[bool | None]) -> float | None:
    known = [one for one in told if one is not None]
    return statistics.fmean(known) if known else None
