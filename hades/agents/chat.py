"""A conversation with a memory that continues in the next run.

Questions go to the query agent. `remember …` goes to the memory agent, which stores the whole text.
Small talk is answered with a hint. The messages are the state of a graph whose checkpoints are in
the memory, one for each turn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, TypedDict

from hades.agents import require_langgraph
from hades.agents.memory_agent import MemoryAgent
from hades.agents.query import QueryAgent
from hades.agents.questions import clean_question
from hades.agents.results import AgentAnswer, MemoryDecision
from hades.domain.rules import clean_name
from hades.errors import Corrupt, NotFound
from hades.language.english.small_talk import is_talk
from hades.language.patterns import lazy_pattern
from hades.language.redact import redact
from hades.memory import Memory

MESSAGES_KEPT = 200
HINT = "Ask about what this memory knows, or tell it something: remember that …"
_REMEMBER = lazy_pattern(r"^(?:please )?(?:remember|note)(?: that)?[ :,]{1,3}(?=\S)", re.I)


class ChatState(TypedDict, total=False):
    """The state of the graph, in plain JSON."""

    messages: list[dict[str, str]]


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The reply to one message, and the result of the agent that made it."""

    text: str
    result: AgentAnswer | MemoryDecision


class Chat:
    """A thread of messages with a memory."""

    def __init__(self, memory: Memory, *, thread: str = "chat", model: str | None = None) -> None:
        require_langgraph()
        from langgraph.graph import END, START, StateGraph

        from hades.agents.checkpointer import HadesCheckpointer

        clean_name(thread, "thread")
        self._memory = memory
        self._model = model
        self._name = thread
        building = StateGraph(ChatState)
        building.add_node("reply", self._reply)
        building.add_edge(START, "reply")
        building.add_edge("reply", END)
        self._saver = HadesCheckpointer(memory)
        self.graph = building.compile(checkpointer=self._saver)
        self._last: ChatReply | None = None
        # Conversations about two spaces of one file are different threads.
        self._config: Any = {"configurable": {"thread_id": f"{memory.space}/{thread}"}}

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages so far, in all runs; raise NotFound if the thread has none."""
        known = self._saver.get_tuple(self._config)
        if known is None:
            raise NotFound(f"There is no conversation {self._name!r} in this memory.")
        messages = known.checkpoint["channel_values"].get("messages", [])
        if not isinstance(messages, list) or not all(map(_is_message, messages)):
            raise Corrupt(
                f"The conversation {self._name!r} does not consist of messages: use "
                "another `--thread`."
            )
        return messages

    def say(self, text: str) -> ChatReply:
        """Send a message and return the reply; both are stored in one checkpoint.

        Raise Denied before anything is asked if the checkpoint cannot be stored.
        """
        clean_question(text)
        self._saver.setup()
        try:
            before = self.messages
        except NotFound:
            before = []
        messages = [*before, {"role": "user", "content": redact(text)}]
        self.graph.invoke({"messages": messages}, self._config, durability="exit")
        if self._last is None:
            raise AssertionError("the graph ends with a reply")
        return self._last

    def _reply(self, state: ChatState) -> dict[str, Any]:
        *before, asked = state["messages"]
        text = asked["content"].strip()
        result: AgentAnswer | MemoryDecision
        if is_talk(text):
            result = MemoryDecision((), applied=False)
            reply = HINT
        elif start := _REMEMBER.match(text):
            agent = MemoryAgent(self._memory, model=self._model)
            told = [{"role": "user", "content": text[start.end() :]}]
            result = agent.decide(told, apply=True, keep_all=True)
            reply = "\n".join(map(str, result.actions))
        else:
            turns = [message["content"] for message in before if message["content"] != HINT]
            asker = QueryAgent(self._memory, model=self._model, scope={"turns": turns})
            result = asker.ask(text)
            reply = result.current_answer
        self._last = ChatReply(reply, result)
        messages = [*state["messages"], {"role": "assistant", "content": reply}]
        return {"messages": messages[-MESSAGES_KEPT:]}


def _is_message(message: Any) -> bool:
    fields = ("role", "content")
    return isinstance(message, dict) and all(isinstance(message.get(name), str) for name in fields)
