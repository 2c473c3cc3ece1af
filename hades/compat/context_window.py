"""The context window of memory-enhanced PathRAG: paths within a limit of tokens, by priority.

Tokens are counted, not estimated from words, and the best paths are at both ends. For whole
conversations over a memory, `hades.ContextWindow` is the better choice.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hades.compat.pathrag import described
from hades.context.packer import both_ends
from hades.context.tokens import token_family
from hades.context.window import PRIORITIES
from hades.domain.rules import clean_mapping, clean_number
from hades.errors import InvalidInput
from hades.language.sentences import sentences

UNKNOWN_RELIABILITY = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class ContextPath:
    """A path in the window, as text."""

    priority: str
    reliability: float
    text: str
    tokens: int
    metadata: Mapping[str, Any]

    @property
    def rank(self) -> tuple[int, float]:
        """The order in which paths stay: by priority, then by reliability."""
        return PRIORITIES.index(self.priority), self.reliability


class ContextWindowManager:
    """Paths for a prompt, within `max_tokens` of which `reserve_tokens` stay free.

    >>> window = ContextWindowManager(max_tokens=200, reserve_tokens=50)
    >>> window.add_path({"text": "Ann leads Atlas."}, "high_priority")
    True
    """

    def __init__(
        self, max_tokens: int = 4_096, reserve_tokens: int = 512, *, tokens: str = "minilm"
    ) -> None:
        clean_number(max_tokens, "max_tokens", least=1)
        clean_number(reserve_tokens, "reserve_tokens")
        if reserve_tokens >= max_tokens:
            raise InvalidInput("`reserve_tokens` is less than `max_tokens`.")
        self.max_tokens = max_tokens
        self.reserve_tokens = reserve_tokens
        self.available_tokens = max_tokens - reserve_tokens
        self._family = token_family(tokens)
        self._paths: list[ContextPath] = []

    @property
    def current_token_count(self) -> int:
        """The tokens of all paths."""
        return sum(path.tokens for path in self._paths)

    @property
    def context(self) -> dict[str, list[ContextPath]]:
        """The paths by `high_priority`, `medium_priority` and `low_priority`."""
        return {
            f"{priority}_priority": [path for path in self._paths if path.priority == priority]
            for priority in reversed(PRIORITIES)
        }

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text, with the empty line after it."""
        return self._family.count([f"{text}\n\n"])[0]

    def add_path(self, path: Mapping[str, Any], priority: str = "medium_priority") -> bool:
        """Add a path; return False, and change nothing, if there is no room for it.

        Paths that rank lower are removed to make room: those of low priority first, then the least
        reliable.
        """
        name = str(priority).removesuffix("_priority")
        if name not in PRIORITIES:
            raise InvalidInput(f"A priority is high, medium or low, not {priority!r}.")
        text = _text(clean_mapping(path, "path"))
        reliability = path.get("reliability", UNKNOWN_RELIABILITY)
        if not isinstance(reliability, int | float):
            raise InvalidInput(f"The reliability of a path is a number, not {reliability!r}.")
        metadata = clean_mapping(path.get("metadata") or {}, "metadata")
        new = ContextPath(name, float(reliability), text, self.count_tokens(text), metadata)
        kept = sorted(self._paths, key=lambda known: known.rank)
        while kept and kept[0].rank <= new.rank and self._excess([*kept, new]) > 0:
            kept.pop(0)
        if self._excess([*kept, new]) > 0:
            return False
        stays = set(map(id, kept))
        self._paths = [known for known in self._paths if id(known) in stays] + [new]
        return True

    def get_formatted_context(self) -> str:
        """Return the text for a prompt: the best paths at both ends, others in the middle."""
        ranked = sorted(self._paths, key=lambda path: path.rank, reverse=True)
        return "\n\n".join(path.text for path in both_ends(ranked))

    def summarize_context(self, model_processor: Any = None) -> str:
        """Return a shorter text: paths of high priority whole, the first sentences of medium ones,
        and the number of low ones.

        With a `model_processor`, its `summarize` is given the whole text instead.
        """
        if hasattr(model_processor, "summarize"):
            return str(model_processor.summarize(self.get_formatted_context()))
        paths = self.context
        parts = [path.text for path in paths["high_priority"]]
        parts += [first for path in paths["medium_priority"] for first in sentences(path.text, 1)]
        if low := len(paths["low_priority"]):
            parts.append(f"Additional {low} background context items available.")
        return "\n\n".join(parts)

    def _excess(self, paths: list[ContextPath]) -> int:
        return sum(path.tokens for path in paths) - self.available_tokens


def _text(path: Mapping[str, Any]) -> str:
    """Return the text of a path, or the path with what is known about its nodes."""
    given = path.get("text")
    return (
        given
        if isinstance(given, str)
        else "\n".join([str(path.get("path", "")), *described(path)])
    )
