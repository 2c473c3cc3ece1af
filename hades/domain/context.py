"""Parts of a context window, and of a context within a budget of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hades.domain.answer import Diagnostic
from hades.domain.question import Intent

CORE_PREFIX = "core/"


@dataclass(frozen=True, slots=True)
class CoreBlock:
    """A block that a model always sees: the topic `core/NAME`, with its own limit."""

    name: str
    text: str
    tokens: int
    """Counted, like `limit`, by the built-in tokenizer."""
    limit: int
    pinned: bool
    description: str
    version: int

    @property
    def topic(self) -> str:
        """The topic whose states are the versions of the block."""
        return CORE_PREFIX + self.name


@dataclass(frozen=True, slots=True)
class WindowBlock:
    """A part of a context window."""

    section: str
    """core, archive, working, recall or conversation."""
    name: str
    """The name of a core block, the citation of evidence, or the speaker of a turn."""
    text: str
    tokens: int
    """As it is shown, with its head line."""
    priority: str = "medium"
    reliability: float = 0.5
    source: str = ""
    """Its topic or citation in the memory; if empty, it is written when it is evicted."""
    said: datetime | None = None
    """The time of a turn."""

    @property
    def paragraph(self) -> str:
        """The text written into the memory on eviction; a turn as in a chat log."""
        when = f"[{self.said:%Y-%m-%d %H:%M}] " if self.said else ""
        return f"{when}{self.name}: {self.text}"


@dataclass(frozen=True, slots=True)
class WindowEvent:
    """Something that a context window did by itself, and why."""

    kind: str
    """warn, compact, evict, cut or fallback."""
    what: str
    tokens: int
    """The tokens that were removed; for a warning, the tokens in use."""
    why: str
    found_at: str = ""
    """The topic or citation of the removed text in the memory."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A part of a context within a budget."""

    cite: str
    why: str
    """latest, summary, fact, path, passage, recent, important or related."""
    held: str
    """The time for which it held; empty for a fact or path, whose text has it."""
    text: str
    tokens: int = 0
    """As it is shown, with its head line."""


@dataclass(frozen=True, slots=True)
class ContextSection:
    """A section of a context within a budget, its items best first."""

    name: str
    allowed: int
    """Its share of tokens, plus the tokens that the sections before it left."""
    used: int
    items: tuple[ContextItem, ...]


@dataclass(frozen=True, slots=True)
class BudgetedContext:
    """A context for a question within a budget of tokens, by sections."""

    question: str
    intent: Intent
    level: int
    """The level of the summaries: 1 daily, 2 weekly, 3 monthly, 0 none."""
    family: str
    """The family of models whose tokens are counted."""
    max_tokens: int
    reserve: int
    """Tokens left free for reasoning."""
    tokens: int
    sections: tuple[ContextSection, ...]
    text: str
    """The text for a model, of `tokens` tokens."""
    reasons: tuple[Diagnostic, ...] = ()
    """The parts that were cut or left out, and why."""
