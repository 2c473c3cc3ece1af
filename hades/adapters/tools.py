"""Tools for models: a few functions over a memory, with docstrings that models read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hades.adapters.access import writable
from hades.context.text.answers import context_text
from hades.context.text.layout import joined
from hades.context.text.states import state_lines
from hades.domain.plain import one_line
from hades.memory import View

CHARACTERS_AT_MOST = 40_000
HISTORY_AT_MOST = 20


def memory_tools(
    memory: View, *, writes: bool = True, budget: int = 2_000
) -> list[Callable[..., str]]:
    """Return the tools: `recall` and `history`, with `writes` also `remember` and `forget`.

    `budget` is the most tokens of a recalled context. The tools raise HadesError.
    """

    def then(as_of: str) -> View:
        return memory.at(as_of) if as_of.strip() else memory

    def recall(question: str, as_of: str = "") -> str:
        """Look up what was remembered: decisions, preferences, earlier conversations.

        Ask in a whole sentence. as_of is a time such as 2024-03-01: what held then.
        """
        return context_text(then(as_of).recall(question, budget=budget), CHARACTERS_AT_MOST)

    def history(topic: str) -> str:
        """Show the versions of a topic, the latest last: what was believed, and since when."""
        states = memory.history(topic)[-HISTORY_AT_MOST:]
        text = "\n\n".join(joined(state_lines(state)) for state in states)
        if len(text) <= CHARACTERS_AT_MOST:
            return text
        return text[-CHARACTERS_AT_MOST:].partition("\n")[2]  # no line without its indent

    def remember(topic: str, content: str) -> str:
        """Write down what will matter later, in one topic for one thing, such as design/queue.

        Write whole sentences. An existing topic gets a new version.
        """
        return f"Remembered as {one_line(writable(memory).remember(topic, content, gate=True).id)}."

    def forget(topic: str) -> str:
        """Mark a topic as gone; its history is kept."""
        return f"Forgot {one_line(writable(memory).forget(topic).topic)}."

    tools: list[Any] = [recall, history]
    return [*tools, remember, forget] if writes else tools
