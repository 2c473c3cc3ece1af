"""Topics and their states: what was believed, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

DEFAULT_IMPORTANCE = 0.5
COMMITS = "git-commits"
"""The commit messages of a repository are the topic `PREFIX/git-commits`."""
TOPIC_KINDS = ("note", "document", "code", "conversation", "record", "paper")
"""The kinds of topics: `remember` writes notes, readers of files set the others."""
PROMOTION = "promotion"
"""The metadata key that says how a state was promoted; the next state does not inherit it."""


@dataclass(frozen=True, slots=True)
class Space:
    """A named, isolated memory inside one file."""

    name: str
    created_at: datetime
    topics: int = 0


@dataclass(frozen=True, slots=True)
class Lifetime:
    """When a space begins on both time axes; None for an empty one."""

    first_valid: datetime | None
    """The earliest time for which a state or a told fact holds."""
    first_known: datetime | None
    """When the first of them was recorded."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How much a space had recorded by a time."""

    at: datetime
    topics: int
    states: int


@dataclass(frozen=True, slots=True)
class State:
    """One version of a topic.

    It held in the world from `valid_from` until `valid_to` (None: still holds) and was recorded at
    `recorded_at`. A `forgotten` state, written by `forget`, has no content: the topic is gone from
    then on.
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
    """The level of a summary: 1 daily, 2 weekly, 3 monthly; 0 for any other state."""
    forgotten: bool = False
    access_count: int = 0
    """How often questions used it, once a day for each actor; written with a delay."""
    last_used: datetime | None = None
    tier: str = "store"
    """The place of its content: `store`, or `archive`, which is read on demand."""
    consolidated_from: tuple[str, ...] = ()
    """The states a summary was made of."""
    usefulness: float = 0.0
    """The usefulness that feedback gave it, from -1 (useless) to 1 (useful)."""

    @property
    def id(self) -> str:
        """How to cite it: `design/approach_x@2`."""
        return f"{self.topic}@{self.version}"

    @property
    def promotion(self) -> Mapping[str, Any] | None:
        """How the state was promoted, and `of` which version; None if somebody wrote it."""
        promotion = self.metadata.get(PROMOTION)
        of = promotion.get("of") if isinstance(promotion, Mapping) else None
        return promotion if isinstance(of, int) and 0 < of < self.version else None

    @property
    def parent(self) -> int | None:
        """The version before this one; None for the first."""
        return self.version - 1 if self.version > 1 else None


@dataclass(frozen=True, slots=True)
class Topic:
    """A row of the list of topics: a name and its current version."""

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
    preview: str = ""
    """The beginning of its text, if it was asked for."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a state: characters `start` to `end` of its content."""

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
class PlacedChunk:
    """A chunk with its lines in one state, and the times and use of that state."""

    chunk: Chunk
    line: int
    end_line: int
    valid_from: datetime
    recorded_at: datetime
    valid_to: datetime | None
    confidence: float = 1.0
    importance: float = DEFAULT_IMPORTANCE
    access_count: int = 0
    last_used: datetime | None = None
    usefulness: float = 0.0


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk that a search found, with its score and the score of each retriever."""

    chunk: Chunk
    score: float
    retrievers: Mapping[str, float]
    """The score of each retriever: the cosine for `meaning`, BM25 for `words`, and Σ 1/frequency
    for `names`."""
    line: int
    """The line of the content where the chunk begins, from 1."""


@dataclass(frozen=True, slots=True)
class Diff:
    """The difference of two versions of a topic."""

    topic: str
    before: int
    after: int
    text: str
    """A unified diff of the contents; empty when they are the same."""
    added: int
    """Lines only in the later one."""
    removed: int
    """Lines only in the earlier one."""
    fields: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    """Other fields that differ, as (before, after)."""


@dataclass(frozen=True, slots=True)
class Change:
    """A row of the change log: who did what, and when."""

    number: int
    at: datetime
    actor: str
    action: str
    space: str | None
    subject: str | None
    summary: str = ""
    """The change in one line: the commit, lines added and removed, or the edges."""
