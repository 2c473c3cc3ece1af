"""The planning agent: answers a question of several steps, and validates each step.

A query agent asks every step, within its share of one budget. A step that finds nothing is asked
once more with only its names. The answer lists the steps without a result.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypedDict

from hades.agents import require_langgraph
from hades.agents.decisions import STEPS, Decider, StepsOfPlan
from hades.agents.query import QueryAgent
from hades.agents.questions import QuestionAgent, elapsed_ms
from hades.agents.results import AgentAnswer, PlanAnswer, PlannedStep, TranscriptStep
from hades.agents.rules import FollowUp
from hades.agents.steps import STEPS_AT_MOST, checked_steps, simpler, steps_of, validated
from hades.domain.plain import plain
from hades.domain.rebuild import rebuild
from hades.domain.rules import clean_number

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from hades.memory import View

TOKENS = 6_000
TOKENS_AT_LEAST = 50


class PlanState(TypedDict, total=False):
    """The state of the graph, in plain JSON."""

    question: str
    waiting: list[dict[str, Any]]
    """The steps that are still to be done."""
    current: dict[str, Any]
    """The step that was done last, before it is validated."""
    done: list[dict[str, Any]]
    retried: bool
    tokens: int
    """The tokens of context that each step may use."""
    transcript: list[dict[str, Any]]
    result: dict[str, Any]


class PlanningAgent(QuestionAgent[PlanAnswer]):
    """Answers questions of several steps; `graph` is the graph of LangGraph.

    `budget` is the most tokens of context of all steps together.
    """

    _result = PlanAnswer
    _nodes_at_most = 4 * STEPS_AT_MOST + 4
    """Two nodes for each step and its repetition, besides the first and the last."""

    def __init__(
        self,
        view: View,
        *,
        model: str | None = None,
        budget: int = TOKENS,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
    ) -> None:
        require_langgraph()
        from langgraph.graph import END, START, StateGraph

        clean_number(budget, "budget", least=TOKENS_AT_LEAST * STEPS_AT_MOST)
        self.view = view
        self._model = model
        self._budget = budget
        self._decider = Decider(model)
        nodes: dict[str, Callable[[PlanState], dict[str, Any]]] = {
            "plan": self._make_steps,
            "step": self._step,
            "validate": self._validate,
            "join": self._join,
        }
        building = StateGraph(PlanState)
        for name, node in nodes.items():
            building.add_node(name, node)  # type: ignore[call-overload]
        for edge in ((START, "plan"), ("plan", "step"), ("step", "validate"), ("join", END)):
            building.add_edge(*edge)
        building.add_conditional_edges(
            "validate", lambda state: "step" if state["waiting"] else "join", ["step", "join"]
        )
        self.graph = building.compile(checkpointer=checkpointer)

    # Nodes

    def _make_steps(self, state: PlanState) -> dict[str, Any]:
        started = time.perf_counter()
        question = state["question"]
        decided = self._decider.decide(STEPS, question, "", StepsOfPlan)
        steps = [] if decided.reply is None else checked_steps(decided.reply, question)
        by = decided.by if steps else "rules"
        steps = steps or steps_of(question)
        detail = f"{len(steps)} steps" + (f"; {decided.why}" if decided.why else "")
        step = TranscriptStep("plan", detail, elapsed_ms(started), 0, decided.tokens, by)
        return {
            "waiting": [asdict(step) for step in steps],
            "done": [],
            "retried": False,
            "tokens": max(TOKENS_AT_LEAST, self._budget // len(steps)),
            "transcript": [plain(step)],
        }

    def _step(self, state: PlanState) -> dict[str, Any]:
        started = time.perf_counter()
        step = FollowUp(**state["waiting"][0])
        agent = QueryAgent(self.view, model=self._model, budget=state["tokens"])
        result = agent.ask(step.question)
        done = TranscriptStep(
            "step",
            f"“{step.question}” ({step.why}), passes: {result.passes}",
            elapsed_ms(started),
            sum(taken.reads for taken in result.transcript),
            result.answer.recall.tokens,
            result.transcript[-1].by,
        )
        return {"current": plain(result), "transcript": [*state["transcript"], plain(done)]}

    def _validate(self, state: PlanState) -> dict[str, Any]:
        step, *waiting = (FollowUp(**ask) for ask in state["waiting"])
        result = rebuild(AgentAnswer, state["current"])
        status, missing, answer = validated(step.question, result.answer)
        again = "" if state["retried"] or status != "nothing found" else simpler(step.question)
        if again:
            retry = FollowUp(again, f"nothing was found for “{step.question}”")
            waiting = [retry, *waiting]
            done = state["done"]
        else:
            finished = PlannedStep(
                question=step.question,
                why=step.why,
                status=status,
                said=answer,
                missing=missing,
                sources=tuple(hit.id for hit in result.answer.recall.passages),
            )
            done = [*state["done"], plain(finished)]
        detail = f"“{step.question}”: {status}"
        detail += f", not found: {', '.join(missing)}" if missing else ""
        return {
            "waiting": [asdict(ask) for ask in waiting],
            "done": done,
            "retried": bool(again),
            "transcript": [*state["transcript"], plain(TranscriptStep("validate", detail))],
        }

    def _join(self, state: PlanState) -> dict[str, Any]:
        steps = rebuild(list[PlannedStep], state["done"])
        lines = [f"{number}. {_lines(step)}" for number, step in enumerate(steps, 1)]
        unknown = [step.question for step in steps if step.status == "nothing found"]
        if unknown:
            lines.append("Not answered: " + "; ".join(unknown))
        answered = sum(step.status == "answered" for step in steps)
        step = TranscriptStep("join", f"{answered} of {len(steps)} steps answered")
        transcript = [*state["transcript"], plain(step)]
        answer = PlanAnswer(state["question"], "\n".join(lines), tuple(steps))
        return {"result": {**plain(answer), "transcript": transcript}, "transcript": transcript}


def _lines(step: PlannedStep) -> str:
    """Return a step as text: the question, the answer, and a line for each source it cites."""
    answer = step.said or "Nothing found answers this."
    note = f" (not found: {', '.join(step.missing)})" if step.status == "partly" else ""
    sources = (f"   [{number}] {source}" for number, source in enumerate(step.sources, 1))
    cited = [line for line in sources if line.split()[0] in answer]
    return "\n".join([f"{step.question} {answer}{note}", *cited])
