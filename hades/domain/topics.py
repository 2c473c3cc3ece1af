"""Topics and the states they pass through: what was believed, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

DEFAULT_IMPORTANCE = 0.5
TOPIC_KINDS = ("note", "document", "code", "conversation", "record", "paper")
"""What a topic can be: a note is remembered by hand, the rest is as its reader says."""
PROMOTION = "promotion"
"""The key of metadata that says how a state was promoted; the next state does not inherit it."""


@dataclass(frozen=True, slots=True)
class Space:
    """A named, isolated memory inside one file."""

    name: str
    created_at: datetime
    topics: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """One version of a topic.

    It held in the world from `valid_from` until `valid_to` (None: still holds) and
    was recorded at `recorded_at`. A `forgotten` state is the mark `forget` leaves:
    it has no content, and from then on the topic is not there.
    """

    topic: str
    version: int
    content: str
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    confidence: float = 1.0
    importance: float = DEFAULT_IMPORTANCE
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    level: int = 0
    """Consolidation: 0 raw, 1 daily, 2 weekly, 3 monthly."""
    forgotten: bool = False
    access_count: int = 0
    """How often questions used it, as far as that was written down."""
    last_used: datetime | None = None
    tier: str = "store"
    """Where its content lies: `store`, or `archive`, from where it is read on demand."""
    consolidated_from: tuple[str, ...] = ()
    """The states a summary was made of."""

    @property
    def id(self) -> str:
        """How to cite it: `design/approach_x@2`."""
        return f"{self.topic}@{self.version}"

    @property
    def promotion(self) -> Mapping[str, Any] | None:
        """How it was promoted, and `of` which version; None: somebody wrote it."""
        made = self.metadata.get(PROMOTION)
        of = made.get("of") if isinstance(made, Mapping) else None
        return made if isinstance(of, int) and 0 < of < self.version else None

    @property
    def parent(self) -> int | None:
        """The version this one was written after."""
        return self.version - 1 if self.version > 1 else None


@dataclass(frozen=True, slots=True)
class Topic:
    """A line of the list of topics: its name and which version it is at."""

    name: str
    version: int
    versions: int
    valid_from: datetime
    recorded_at: datetime
    tags: tuple[str, ...] = ()
    importance: float = DEFAULT_IMPORTANCE
    access_count: int = 0
    """How often questions used this version, and when last."""
    last_used: datetime | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage of a state: characters `start` to `end` of its content."""

    topic: str
    version: int
    ordinal: int
    text: str
    start: int
    end: int
    heading: str = ""
    tokens: int = 0

    @property
    def id(self) -> str:
        """How to cite it: `docs/guide.md@3#0`."""
        return f"{self.topic}@{self.version}#{self.ordinal}"


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that a search found, with its score and what each retriever gave it."""

    chunk: Chunk
    score: float
    retrievers: Mapping[str, float]
    """By retriever: cosine for `meaning`, BM25 for `words`, the sum of 1/frequency for `names`."""
    line: int
    """The line of its topic's content where it begins, from 1."""


@dataclass(frozen=True, slots=True)
class Diff:
    """What changed between two versions of a topic."""

    topic: str
    before: int
    after: int
    text: str
    """A unified difference of the contents; empty when they are the same."""
    added: int
    """Lines only in the later one."""
    removed: int
    """Lines only in the earlier one."""
    fields: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Other fields that differ, as (before, after)."""


@dataclass(frozen=True, slots=True)
class Change:
    """A line of the change log: who did what, when, under which number."""

    number: int
    at: datetime
    actor: str
    action: str
    space: str | None
    subject: str | None
    summary: str = ""
    """What changed, in one line: the commit, lines that came and went, or the edges."""
