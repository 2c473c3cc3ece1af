"""Records: what is handed to the store and what it gives back, beside the domain's own.

A store keeps spaces; in a space, topics with their states; entities with
their other names; edges between them; chunks and their vectors. Every write happens
inside `Store.write`, which gives it a change number and a known time and makes it
whole or undone. Reads take an `AsOf`. Rows are known by small integers inside the
store and by their names everywhere else; a *node* is the integer of a topic, entity
or chunk together with its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any, Literal

from hades.domain.graph import TOLD, Belief, NodeKind
from hades.domain.topics import DEFAULT_IMPORTANCE, Chunk

Direction = Literal["out", "in", "both"]
Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is (0: not known)."""


EMBEDDED = "embedded:"
"""With an encoder's name, the key under which it is noted how far its vectors go."""
SECRET = "secret:"
"""Prefix of the keys in `meta` that are hidden from roles limited to some spaces."""
ANSWERS_SECRET = f"{SECRET}answers"
"""The key in `meta` of the secret that signs answers kept elsewhere, as in Redis."""


class Phase(IntEnum):
    """The next indexing step of a waiting state. The numbers are stored."""

    CHUNKS = 1
    EDGES = 3
    EMBEDDINGS = 4
    LARGE = 5
    """The same step as CHUNKS, for a long text: no question waits for it."""


BEFORE_NAMES = 2
"""A phase of older versions, which made vectors before names. Such states still wait for names."""


class Rank(IntEnum):
    """The order of waiting states of one space and actor: the lowest rank comes first."""

    SMALL_WORDS = 0
    SMALL_VECTORS = 1
    LARGE_WORDS = 2
    LARGE_VECTORS = 3


@dataclass(slots=True)
class Write:
    """A write under way: its change number and its known time in microseconds.

    It is logged when it is done, with the node it was about. One that turns out to
    change nothing is `cancelled`: then nothing is written at all.
    """

    change: int
    at: int
    space: int | None = None
    subject: int | None = None
    cancelled: bool = False
    logged: bool = True


@dataclass(frozen=True, slots=True)
class PlacedChunk:
    """A chunk in a state: the lines it stands on there, and when that state held."""

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


@dataclass(frozen=True, slots=True)
class Draft:
    """A state about to be written. None means: not said. No content means: forget."""

    content: str | None
    tags: tuple[str, ...] | None = None
    metadata: Mapping[str, Any] | None = None
    confidence: float | None = None
    importance: float | None = None
    level: int = 0
    valid_from: datetime | None = None
    expect_version: int | None = None


@dataclass(frozen=True, slots=True)
class TopicFilter:
    """Which topics are wanted; what is not said does not matter."""

    glob: str | None = None
    tag: str | None = None
    kind: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: str | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class EdgeDraft:
    """An edge about to be written, its ends given as nodes."""

    source: int
    relation: str
    target: int
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    weight: float | None = None
    evidence: str = ""
    components: Mapping[str, float] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    belief: Belief = TOLD


@dataclass(frozen=True, slots=True)
class EdgeFilter:
    """Which edges are wanted. `any_time` also gives those that no longer hold.

    `exact` looks at the node alone, not at what it was merged with. With a `limit`, those of
    the next so many numbers above `beyond`, whatever their sign. `also` are more nodes.
    """

    node: int | None = None
    also: tuple[int, ...] = ()
    direction: Direction = "both"
    relation: str | None = None
    target: int | None = None
    any_time: bool = False
    exact: bool = False
    beyond: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ChunkDraft:
    """A chunk about to be placed in a state: characters `start` to `end` of it."""

    start: int
    end: int
    text: str
    tokens: int
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Pending:
    """A state that still has to be cut, embedded or linked."""

    state: int
    space: int
    topic: str
    version: int
    phase: int
    outline: bytes | None
    actor: int = 0
    rank: int = 0


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity in a chunk: where its name stands, and how it was brought in, if it was."""

    chunk: int
    entity: int
    positions: bytes | None = None
    introduces: int | None = None


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity that was not merged into another, as resolution looks at it."""

    entity: int
    name: str
    key: str
    kind: str
    is_title: bool
    frequency: int

    @property
    def node(self) -> int:
        """Its node."""
        return self.entity << 3 | NodeKind.ENTITY


@dataclass(frozen=True, slots=True)
class Problem:
    """Something `check` found: what is wrong, where, and how to repair it."""

    what: str
    where: str
    repair: str
