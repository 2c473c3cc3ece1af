"""Agents: the query agent without a model against one pass of `recall`, at the same budget.

HADES_BENCH_SETS names folders of question sets, separated by colons (default: `evals/studio`).
A folder may end in `#0` or `#1` for one half of its questions. Corpora are made once and kept in
HADES_CACHE. Each question is asked once by `ask` and once by the agent, in the same memory and
with the same plan, except that no answer is late: time limits are generous for both.
"""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.table import note, show
from hades.agents.query import QueryAgent
from hades.domain.answer import Answer
from hades.evals import metrics
from hades.evals.memories import open_set
from hades.evals.replay import answer_text, holds, read_events, replay
from hades.evals.sets import LADDER_KINDS, EvalQuestion, EvalSet, load_set
from hades.memory import View
from hades.settings import load_settings

QUESTIONS, QUESTIONS_SMALL = 300, 20
BUDGETS = (None, 1_000)
"""Tokens of the context; None for the default of `recall`."""
UNHURRIED = {"budget": {"latency_ms": 60_000}} | {
    part: {"timeout_ms": 60_000} for part in ("retriever", "graph", "reranker")
}
WORDS_READ = 60


@dataclass(frozen=True, slots=True)
class Asked:
    """The result of one system for one question."""

    gold: float
    """The share of the gold passages in the context."""
    whole: bool
    """Whether all of them are in it."""
    answered: bool | None
    """Whether the sentences contain the answer; None if it is unknown or yes or no."""
    tokens: int
    ms: float
    passes: int
    reads: int


def run(*, small: bool = False) -> None:
    """Measure all sets, for each budget."""
    rows = []
    for place in os.environ.get("HADES_BENCH_SETS", "evals/studio").split(":"):
        folder, _, half = place.partition("#")
        eval_set = load_set(folder)
        eval_set = eval_set.half(int(half)) if half else eval_set
        eval_set = eval_set.first(QUESTIONS_SMALL if small else QUESTIONS)
        for budget in BUDGETS:
            pairs = [_both(question, view, ids, budget) for question, view, ids in _views(eval_set)]
            rows += _rows(f"{Path(folder).name}{'#' * bool(half)}{half}", budget, pairs)
    head = ("set", "questions", "budget", "system", "gold", "all gold", "answered")
    show("Agents", (*head, "tokens", "passes", "reads", "p50 ms", "better", "worse"), rows)


def _views(eval_set: EvalSet) -> Iterator[tuple[EvalQuestion, View, object]]:
    """Yield each question with its memory, and the function from a chunk to the id of its gold."""
    if eval_set.kind in LADDER_KINDS:
        with open_set(eval_set, load_settings().cache_folder()) as opened:
            for question in eval_set.each_question("asking", _told):
                yield question, opened.view(question), opened.id_of
        return
    events = read_events(eval_set.corpus)
    for question, view in replay(events, eval_set.questions, encoder="minilm", on_progress=_told):
        if question.gold:
            yield question, view, lambda chunk: chunk.id.rpartition("#")[0]


def _told(what: str, done: int, total: int) -> None:
    note(f"{what} {done} of {total}")


def _both(question: EvalQuestion, view: View, id_of: object, budget: int | None) -> list[Asked]:
    plan = UNHURRIED if budget is None else None
    single, ms = metrics.timed(lambda: view.ask(question.text, budget=budget, plan=plan))
    reads = sum(stage.reads for stage in single.recall.telemetry)
    agent = QueryAgent(view, budget=budget, plan=plan)
    result, took = metrics.timed(lambda: agent.ask(question.text))
    total = sum(step.reads for step in result.transcript)
    return [
        _asked(question, single, id_of, ms, 1, reads),
        _asked(question, result.answer, id_of, took, result.passes, total),
    ]


def _asked(
    question: EvalQuestion, answer: Answer, id_of: object, ms: float, passes: int, reads: int
) -> Asked:
    ids = [id_of(passage.chunk) for passage in answer.recall.passages]  # type: ignore[operator]
    share = metrics.recall_at(len(ids), ids, question.gold)
    wanted = [text for text in question.answers if text.strip().casefold() not in ("", "yes", "no")]
    answered = holds(answer_text(answer, WORDS_READ), wanted) if wanted else None
    return Asked(share, share == 1, answered, answer.recall.tokens, ms, passes, reads)


def _rows(name: str, budget: int | None, pairs: list[list[Asked]]) -> Iterator[list[object]]:
    better = sum(agent.gold > single.gold for single, agent in pairs)
    worse = sum(agent.gold < single.gold for single, agent in pairs)
    for number, system in enumerate(("single pass", "agent")):
        asked = [pair[number] for pair in pairs]
        known = [row.answered for row in asked if row.answered is not None]
        yield [
            *(name, len(asked), budget or "default", system),
            *(f"{100 * statistics.fmean(row.gold for row in asked):.1f}",),
            *(f"{100 * statistics.fmean(row.whole for row in asked):.1f}",),
            f"{100 * statistics.fmean(known):.1f}" if known else "–",
            round(statistics.fmean(row.tokens for row in asked)),
            f"{statistics.fmean(row.passes for row in asked):.2f}",
            round(statistics.fmean(row.reads for row in asked)),
            f"{metrics.percentile([row.ms for row in asked], 0.5):.0f}",
            *((better, worse) if number else ("", "")),
        ]
