"""Question agents: run a graph of LangGraph for a question, and report each step."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from uuid import uuid4

from hades.agents.results import TranscriptStep
from hades.domain.rebuild import rebuild
from hades.domain.rules import clean_text
from hades.errors import InvalidInput
from hades.recall.question.reading import QUESTION_CHARACTERS_AT_MOST

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph

Result = TypeVar("Result")


class QuestionAgent(Generic[Result]):
    """An agent whose graph answers a question; the state has `transcript` and at last `result`."""

    graph: CompiledStateGraph[Any, Any, Any, Any]
    _result: type[Result]
    _nodes_at_most = 25
    """The most nodes that a run passes through."""

    def ask(self, question: str, *, thread: str | None = None) -> Result:
        """Answer a question."""
        *_, answer = self.stream(question, thread=thread)
        if not isinstance(answer, self._result):
            raise AssertionError("the graph ends with an answer")
        return answer

    def stream(
        self, question: str, *, thread: str | None = None
    ) -> Iterator[TranscriptStep | Result]:
        """Answer a question; yield each step when it is done, and the answer last."""
        if thread is not None and self.graph.checkpointer is None:
            agent = type(self).__name__
            raise InvalidInput(f"A thread needs a checkpointer: {agent}(…, checkpointer=…).")
        names = {"thread_id": thread or str(uuid4())}
        config: Any = {"configurable": names, "recursion_limit": self._nodes_at_most}
        begun = {"question": clean_question(question)}
        for update in self.graph.stream(begun, config, stream_mode="updates"):
            for change in update.values():
                yield rebuild(TranscriptStep, change["transcript"][-1])
                if "result" in change:
                    yield rebuild(self._result, change["result"])


def clean_question(question: str) -> str:
    """Return a question; raise InvalidInput if it is empty or longer than an encoder reads."""
    clean_text(question, "question")
    if not question.strip():
        raise InvalidInput("Ask something: the question is empty.")
    if len(question) > QUESTION_CHARACTERS_AT_MOST:
        most = f"at most {QUESTION_CHARACTERS_AT_MOST:,} characters, not {len(question):,}"
        raise InvalidInput(f"A question has {most}: ask it shorter.")
    return question


def elapsed_ms(started: float) -> float:
    """Return the milliseconds since a moment of `time.perf_counter`."""
    return round((time.perf_counter() - started) * 1000, 3)
