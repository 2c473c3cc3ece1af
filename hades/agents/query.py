"""The query agent: intent, plan, recall, enough? — drill down or ask again — answer.

It asks the memory at most three times, inside the budget of one plan. Its state is plain JSON, so
that any checkpointer of LangGraph can store it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypedDict

from hades.agents import require_langgraph
from hades.agents.decisions import NEXT, Decided, Decider, NextQuestion
from hades.agents.explain import explained
from hades.agents.passes import PassBudget, merged, reads_of
from hades.agents.questions import QuestionAgent, elapsed_ms
from hades.agents.results import AgentAnswer, TranscriptStep
from hades.agents.rules import FollowUp, follow_ups
from hades.domain.answer import Recall
from hades.domain.plain import plain
from hades.domain.rebuild import rebuild
from hades.domain.rules import clean_number
from hades.language.english.terms import terms_in
from hades.recall.plan import make_plan, plan_for, sized
from hades.recall.question.reading import QUESTION_CHARACTERS_AT_MOST, read_question

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from hades.memory import View

PASSES_AT_MOST = 3


class QueryState(TypedDict, total=False):
    """The state of the graph, in plain JSON."""

    question: str
    left: dict[str, Any]
    """The budget that is left."""
    plan: dict[str, Any]
    asks: list[dict[str, Any]]
    """The questions to ask next."""
    asked: list[str]
    passes: list[dict[str, Any]]
    """The recalls so far."""
    transcript: list[dict[str, Any]]
    result: dict[str, Any]


class QueryAgent(QuestionAgent[AgentAnswer]):
    """Answers questions over a memory in up to three passes; `graph` is the graph of LangGraph.

    `plan` and `budget` (in tokens) are as for `recall`, and hold for all passes together. Only the
    number of reads is that of a recall for each pass, unless the plan sets `budget.docs_max`.
    `scope` has other arguments of `recall`: tag, kind, glob, since, until, turns. Without a
    `model`, rules decide. With a `checkpointer`, each question may belong to a `thread`.
    """

    _result = AgentAnswer

    def __init__(
        self,
        view: View,
        *,
        model: str | None = None,
        plan: Mapping[str, Any] | None = None,
        budget: int | None = None,
        scope: Mapping[str, Any] | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
    ) -> None:
        require_langgraph()
        from langgraph.graph import END, START, StateGraph

        clean_number(budget, "budget", least=50)
        self.view = view
        self._model = model
        self._decider = Decider(model)
        self._plan = dict(plan or {})
        self._budget = budget
        self._scope = dict(scope or {})
        nodes: dict[str, Callable[[QueryState], dict[str, Any]]] = {
            "plan": self._make_plan,
            "recall": self._recall,
            "drill": self._recall,
            "judge": self._judge,
            "answer": self._answer,
        }
        building = StateGraph(QueryState)
        for name, node in nodes.items():
            building.add_node(name, node)  # type: ignore[call-overload]
        building.add_edge(START, "plan")
        building.add_edge("plan", "recall")
        building.add_edge("recall", "judge")
        building.add_edge("drill", "judge")
        building.add_conditional_edges("judge", _next_node, ["recall", "drill", "answer"])
        building.add_edge("answer", END)
        self.graph = building.compile(checkpointer=checkpointer)

    # Nodes

    def _make_plan(self, state: QueryState) -> dict[str, Any]:
        started = time.perf_counter()
        question = state["question"]
        asked = read_question(question, time.time_ns() // 1_000)
        whole, _, _ = plan_for(asked, self._plan or None, None, many=asked.many)
        wanted = self._plan
        if self._budget is not None and not wanted:
            wanted = sized(whole, self._budget)
            whole, _ = make_plan(whole, wanted)
        tokens = self._budget or whole.budget.tokens
        reads = whole.budget.docs_max
        is_limited = "docs_max" in self._plan.get("budget", {})
        shared = reads if is_limited else reads * PASSES_AT_MOST
        left = PassBudget(whole.budget.latency_ms, shared, tokens, reads)
        limits = f"{left.latency_ms} ms, {left.reads} reads, {left.tokens} tokens"
        detail = f"{asked} {PASSES_AT_MOST} passes in {limits}"
        return {
            "left": asdict(left),
            "plan": dict(wanted),
            "asks": [asdict(FollowUp(question, "the question"))],
            "asked": [],
            "passes": [],
            "transcript": [plain(TranscriptStep("plan", detail, elapsed_ms(started)))],
        }

    def _recall(self, state: QueryState) -> dict[str, Any]:
        started = time.perf_counter()
        ask, *later = (FollowUp(**ask) for ask in state["asks"])
        left = PassBudget(**state["left"])
        plan = left.plan(state["plan"], deep=bool(state["passes"]))
        if ask.level is not None:
            plan["level"] = ask.level
        recall = self.view.recall(ask.question, plan=plan, **self._scope)
        step = TranscriptStep(
            "recall" if ask.level is None else "drill",
            f"“{ask.question}” ({ask.why}): {len(recall.passages)} passages",
            elapsed_ms(started),
            reads_of(recall),
            recall.tokens,
        )
        return {
            "left": asdict(left.after(recall)),
            "asks": [asdict(ask) for ask in later],
            "asked": [*state["asked"], ask.question],
            "passes": [*state["passes"], plain(recall)],
            "transcript": [*state["transcript"], plain(step)],
        }

    def _judge(self, state: QueryState) -> dict[str, Any]:
        started = time.perf_counter()
        recalls = [rebuild(Recall, recall) for recall in state["passes"]]
        if len(recalls) >= PASSES_AT_MOST or PassBudget(**state["left"]).is_spent:
            detail = "the passes or the budget are used up"
            step = TranscriptStep("judge", detail, elapsed_ms(started))
            return {"asks": [], "transcript": [*state["transcript"], plain(step)]}
        wanted, decided = self._decided(state, recalls)
        known = {terms_in(question) for question in state["asked"]}
        asks = [
            ask for ask in wanted if ask.level is not None or terms_in(ask.question) not in known
        ]
        if asks:
            detail = f"ask again, {asks[0].why}"
        else:
            detail = "nothing new to ask" if wanted else "enough"
        detail += f"; {decided.why}" if decided.why else ""
        step = TranscriptStep("judge", detail, elapsed_ms(started), 0, decided.tokens, decided.by)
        return {
            "asks": [asdict(ask) for ask in asks[:1]],
            "transcript": [*state["transcript"], plain(step)],
        }

    def _decided(
        self, state: QueryState, recalls: list[Recall]
    ) -> tuple[list[FollowUp], Decided[NextQuestion]]:
        """Return the questions to ask next, and the decision of the model, if there is one."""
        question = state["question"]
        context = self._merged(state, recalls).context
        decided = self._decider.decide(NEXT, question, context, NextQuestion)
        if decided.reply is None:
            return list(follow_ups(question, recalls)), decided
        if decided.reply.needs_drill_down and recalls[0].level and len(recalls) == 1:
            return [FollowUp(question, "the model wants the originals", level=0)], decided
        return checked_questions(decided.reply, question, context), decided

    def _answer(self, state: QueryState) -> dict[str, Any]:
        started = time.perf_counter()
        recalls = [rebuild(Recall, recall) for recall in state["passes"]]
        result, by, used = explained(self.view, self._merged(state, recalls), self._model)
        step = TranscriptStep(
            "answer", f"{len(result.answer.sentences)} sentences", elapsed_ms(started), 0, used, by
        )
        transcript = [*state["transcript"], plain(step)]
        return {"result": {**plain(result), "transcript": transcript}, "transcript": transcript}

    def _merged(self, state: QueryState, recalls: list[Recall]) -> Recall:
        return merged(state["question"], recalls, state["left"]["tokens"])


def checked_questions(reply: NextQuestion, question: str, context: str) -> list[FollowUp]:
    """Return the usable questions of a model: short, and with a word of the question or context."""
    if reply.enough:
        return []
    known = terms_in(question) | terms_in(context)
    return [
        FollowUp(ask, "the model asks for it")
        for ask in reply.ask
        if 2 < len(ask) <= QUESTION_CHARACTERS_AT_MOST and terms_in(ask) & known
    ]


def _next_node(state: QueryState) -> str:
    if not state["asks"]:
        return "answer"
    return "recall" if state["asks"][0]["level"] is None else "drill"
