"""Answers: measure whether the sentences of `ask` contain the answer.

If the set has an answer, it is searched for in the sentences by its words. Yes/no questions are
left out, since no sentence contains their answer. Citations are compared with the gold passages.
Then the question is asked again without the gold passages, when any answer is wrong.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from hades.evals import metrics
from hades.evals.memories import OpenSet
from hades.evals.sets import EvalQuestion, EvalSet
from hades.language.names import says
from hades.models.encoder import count_tokens
from hades.recall.answer.sources import answer
from hades.store.records import Progress

SHARES = ("held", "reachable", "cited", "empty", "silent_without")
_UNSAID_ANSWERS = ("", "yes", "no")


def measure_answers(
    eval_set: EvalSet, opened: OpenSet, on_progress: Progress | None = None
) -> dict[str, Any]:
    """Ask every question of a set, with and without its gold passages; return the means.

    `docs/evaluation.md` explains the numbers; `held` and `reachable` are None if no question has an
    answer that can be searched for.
    """
    _ask(eval_set.questions[0], opened)  # a warm-up that is not timed
    asked = [_ask(one, opened) for one in eval_set.each_question("asking", on_progress)]
    means = {}
    for name in (*SHARES, "sentences", "tokens"):
        known = [one[name] for one in asked if one[name] is not None]
        means[name] = round(statistics.fmean(known), 4) if known else None
    times = [one["ms"] for one in asked]
    return {
        "dataset": eval_set.name,
        "questions": len(asked),
        "with_answer": sum(one["held"] is not None for one in asked),
        **means,
        "p50_ms": round(metrics.percentile(times, 0.5), 4),
        "p95_ms": round(metrics.percentile(times, 0.95), 4),
    }


def _ask(question: EvalQuestion, opened: OpenSet) -> dict[str, Any]:
    view = opened.view(question)
    asked, ms = metrics.timed(lambda: view.ask(question.text))
    ids = [opened.id_of(passage.chunk) for passage in asked.recall.passages]
    cited = {ids[one.citation - 1] for one in asked.sentences if one.kind == "passage"}
    texts = [one.text for one in asked.sentences]
    others = tuple(
        passage
        for passage, id_ in zip(asked.recall.passages, ids, strict=True)
        if id_ not in question.gold
    )
    without = answer(replace(asked.recall, passages=others), opened.memory.inside.finder.encoder)
    return {
        "held": _held(question.answers, texts),
        "reachable": _held(question.answers, (one.chunk.text for one in asked.recall.passages)),
        "cited": len(cited & question.gold) / len(question.gold),
        "empty": not texts,
        "silent_without": not without.sentences,
        "sentences": len(texts),
        "tokens": sum(count_tokens(texts)) if texts else 0,
        "ms": ms,
    }


def _held(answers: Iterable[str], texts: Iterable[str]) -> bool | None:
    """Return whether any text contains any answer; None if no answer but yes or no is given."""
    wanted = [one for one in answers if one.strip().casefold() not in _UNSAID_ANSWERS]
    return any(says(text, one) for text in texts for one in wanted) if wanted else None
