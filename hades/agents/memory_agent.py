"""The memory agent: decides which parts of a text to write, change, promote or leave.

It writes the statements that `distil` would keep of the same conversation. It shows its actions
before it carries them out: by default they are only returned. With a thread, the graph stops at an
interrupt of LangGraph until `resume` says which actions to carry out. The actions pass the same
write gate and review queue as all other writes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict
from uuid import uuid4

from hades.agents import require_langgraph
from hades.agents.questions import elapsed_ms
from hades.agents.results import MemoryAction, MemoryDecision, TranscriptStep
from hades.agents.sorting import Conversation, Sorter, is_sure, turns_of_input
from hades.domain.distilled import Distilled
from hades.domain.plain import counted, plain
from hades.domain.proposal import DEFAULT_THRESHOLD
from hades.domain.rebuild import rebuild
from hades.domain.times import from_micros
from hades.errors import Conflict, InvalidInput, NotFound, Refused, Unavailable
from hades.lifecycle.distil import Turn, candidates, whole_turns
from hades.memory import Memory
from hades.operations.distil import DistilRun, mark_superseded

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver


class MemoryState(TypedDict, total=False):
    """The state of the graph, in plain JSON."""

    turns: list[Any]
    keep_all: bool
    apply: bool
    actions: list[dict[str, Any]]
    accepted: list[int]
    """The positions of the actions that a person approved."""
    transcript: list[dict[str, Any]]


class MemoryAgent:
    """Decides which parts of a conversation or document to keep; `graph` is LangGraph's."""

    def __init__(
        self,
        memory: Memory,
        *,
        model: str | None = None,
        checkpointer: BaseCheckpointSaver[Any] | None = None,
    ) -> None:
        require_langgraph()
        from langgraph.graph import END, START, StateGraph

        from hades.client.client import RemoteView

        if isinstance(memory, RemoteView):
            raise Unavailable(
                "A memory agent needs the memory itself, not a server: use `remember` there."
            )
        self.memory = memory
        self._sorter = Sorter(memory)
        self._model = model
        self._checkpointer = checkpointer
        nodes: dict[str, Callable[[MemoryState], dict[str, Any]]] = {
            "decide": self._decide,
            "review": self._review,
            "apply": self._apply,
        }
        building = StateGraph(MemoryState)
        for name, node in nodes.items():
            building.add_node(name, node)  # type: ignore[call-overload]
        for edge in ((START, "decide"), ("decide", "review"), ("review", "apply"), ("apply", END)):
            building.add_edge(*edge)
        self.graph = building.compile(checkpointer=checkpointer)

    def decide(
        self,
        text: str | Conversation,
        *,
        apply: bool = False,
        thread: str | None = None,
        keep_all: bool = False,
    ) -> MemoryDecision:
        """Decide on a text or a conversation (messages with `role` and `content`).

        A text is read as the words of a user, with one turn for each paragraph. With `keep_all`,
        each turn is kept as it is; this is for turns that the user asked to remember. With `apply`,
        sure actions are carried out and others wait for review. Without `apply`, all actions wait
        for `resume` if there is a `thread`, and are only returned if there is none.
        """
        if thread is not None and self._checkpointer is None:
            raise InvalidInput("A thread needs a checkpointer: MemoryAgent(…, checkpointer=…).")
        turns = turns_of_input(text, from_micros(self.memory.inside.store.now()))
        begun: MemoryState = {
            "turns": plain(turns),
            "keep_all": keep_all,
            "apply": apply,
            "accepted": [],
        }
        if not apply and thread is None:
            return _decision(self._decide(begun), applied=False)
        return self._run(begun, thread or str(uuid4()))

    def resume(self, thread: str, accept: bool | Collection[int]) -> MemoryDecision:
        """Carry out the actions that wait in a thread: all (True), none (False), or by position."""
        from langgraph.types import Command

        waiting = self._checkpointer and self.graph.get_state(_config(thread))
        if not waiting or not waiting.next:
            raise NotFound(f"No actions wait in the thread {thread!r}.")
        count = len(waiting.values["actions"])
        chosen = list(range(count)) if accept is True else sorted(set(accept or ()))
        if any(not 0 <= number < count for number in chosen):
            raise InvalidInput(f"Choose among {count} actions, numbered from 0.")
        return self._run(Command(resume=chosen), thread)

    def _run(self, begun: Any, thread: str) -> MemoryDecision:
        state: Any = self.graph.invoke(begun, _config(thread))
        return _decision(state, applied="__interrupt__" not in state)

    # Nodes

    def _decide(self, state: MemoryState) -> dict[str, Any]:
        started = time.perf_counter()
        turns = rebuild(list[Turn], state["turns"])
        run = DistilRun(self.memory.inside, model=self._model)
        statements = list(whole_turns(turns) if state["keep_all"] else candidates(turns))
        planned = list(run.plan(statements, turns))
        actions = list(self._sorter.actions(turns, planned))
        used = run.usage
        tokens = used.prompt_tokens + used.completion_tokens if used else 0
        by = used.model if used and not run.why else "rules"
        detail = f"{counted(len(actions), 'action')} for {counted(len(turns), 'turn')}"
        if run.why:
            detail = f"{detail}; the words of the model were not used: {run.why}"
        step = TranscriptStep("decide", detail, elapsed_ms(started), 0, tokens, by)
        return {"actions": [plain(action) for action in actions], "transcript": [plain(step)]}

    def _review(self, state: MemoryState) -> dict[str, Any]:
        from langgraph.types import interrupt

        if state["apply"]:
            return {"accepted": []}
        return {"accepted": interrupt({"actions": state["actions"]})}

    def _apply(self, state: MemoryState) -> dict[str, Any]:
        started = time.perf_counter()
        actions = []
        versions: dict[str, int] = {}
        for number, action in enumerate(rebuild(list[MemoryAction], state["actions"])):
            if state["apply"] or number in state["accepted"]:
                outcome = self._carry_out(action, not state["apply"], versions)
                action = replace(action, outcome=outcome)
            actions.append(action)
        done = sum(action.outcome == "done" for action in actions)
        detail = f"{done} of {len(actions)} actions done"
        step = TranscriptStep("apply", detail, elapsed_ms(started))
        return {
            "actions": [plain(action) for action in actions],
            "transcript": [*state["transcript"], plain(step)],
        }

    def _carry_out(self, action: MemoryAction, approved: bool, versions: dict[str, int]) -> str:
        """Carry out one action; return its outcome. A person's approval makes any action sure.

        `versions` has the versions of topics that earlier actions wrote.
        """
        fields = dict(action.fields)
        try:
            if action.action == "leave":
                return "left"
            if action.action == "write":
                # A topic that changed since the decision is a conflict, except by this run.
                fields["expect_version"] = versions.get(action.topic, fields["expect_version"])
                superseding = fields.pop("supersedes", None)
                versions[action.topic] = self.memory.remember(**fields, gate=True).version
                if superseding:
                    statement = rebuild(Distilled, superseding)
                    mark_superseded(self.memory.inside, action.topic, statement)
            elif action.action == "promote":
                self.memory.promote(**fields)
            elif action.action == "change" and approved:
                change = self.memory.change_fact if "relation" in fields else self.memory.unrelate
                change(**fields)
            else:
                return self._propose(action, approved)
        except Refused as error:
            return f"refused: {error.why or error}"
        except (Conflict, InvalidInput, NotFound) as error:
            return f"failed: {error}"
        return "done"

    def _propose(self, action: MemoryAction, approved: bool) -> str:
        """Send a fact to the review queue; a sure one is applied at once."""
        fields = dict(action.fields)
        if "relation" not in fields:
            return f"not done: only a person ends a fact (unrelate {fields['source']})"
        target = fields.pop("to", None) or fields.pop("target")
        sure = (
            1.0 if approved or is_sure(action) else min(action.confidence, DEFAULT_THRESHOLD - 0.01)
        )
        proposal = self.memory.propose(
            fields["source"],
            fields["relation"],
            target,
            confidence=sure,
            evidence=fields["evidence"],
            exclusive=action.action == "change",
        )
        return "done" if proposal.status == "applied" else f"waits for review: {proposal.id}"


def _config(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def _decision(state: Any, *, applied: bool) -> MemoryDecision:
    return MemoryDecision(
        tuple(rebuild(list[MemoryAction], state["actions"])),
        applied,
        tuple(rebuild(list[TranscriptStep], state["transcript"])),
    )
