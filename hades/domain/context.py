"""What a context window is made of, and what a context within a budget tells of itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from hades.domain.answer import Diagnostic, Intent

CORE_PREFIX = "core/"


@dataclass(frozen=True, slots=True)
class CoreBlock:
    """A block a model always sees: the topic `core/NAME`, with a limit of its own."""

    name: str
    text: str
    tokens: int
    """Of the built-in tokenizer, as the limit is."""
    limit: int
    pinned: bool
    description: str
    version: int

    @property
    def topic(self) -> str:
        """The topic whose states are its versions."""
        return CORE_PREFIX + self.name


@dataclass(frozen=True, slots=True)
class WindowBlock:
    """Something that stands in a context window."""

    section: str
    """core, archive, working, recall or conversation."""
    name: str
    """The block's name; of evidence what to cite; of a turn who speaks."""
    text: str
    tokens: int
    """As it is shown, with its head line."""
    priority: str = "medium"
    reliability: float = 0.5
    source: str = ""
    """Where the memory has it already; empty: it is written there when it must go."""
    said: datetime | None = None
    """Of a turn, when."""

    @property
    def paragraph(self) -> str:
        """It as it is written into the memory when it must go; of a turn as chats are."""
        when = f"[{self.said:%Y-%m-%d %H:%M}] " if self.said else ""
        return f"{when}{self.name}: {self.text}"


@dataclass(frozen=True, slots=True)
class WindowEvent:
    """What a context window did by itself, and why."""

    kind: str
    """warn, compact, evict, cut or fallback."""
    what: str
    tokens: int
    """Of what went; of a warning, what is in use."""
    why: str
    found_at: str = ""
    """Where the memory has what went: a topic, or what to cite."""


@dataclass(frozen=True, slots=True)
class ContextItem:
    """A part of a context within a budget."""

    cite: str
    why: str
    """latest, summary, fact, path, passage, recent, important or related."""
    held: str
    """From when to when; of a fact or a path its text tells."""
    text: str
    tokens: int = 0
    """As it is shown, with its head line."""


@dataclass(frozen=True, slots=True)
class ContextSection:
    """A section of a context within a budget, its items best first."""

    name: str
    allowed: int
    """Tokens: its share, and what the sections before it left."""
    used: int
    items: tuple[ContextItem, ...]


@dataclass(frozen=True, slots=True)
class BudgetedContext:
    """A context for a question within a budget of tokens, by sections."""

    question: str
    intent: Intent
    level: int
    """Of the summaries: 1 daily, 2 weekly, 3 monthly; 0: the question wants none."""
    family: str
    """Whose tokens are counted."""
    max_tokens: int
    reserve: int
    """Tokens left free for reasoning."""
    tokens: int
    """Of the text."""
    sections: tuple[ContextSection, ...]
    text: str
    """The text for a model."""
    reasons: tuple[Diagnostic, ...] = ()
    """What was cut or left out, and why."""
