"""Records: arguments and results of the store, in addition to those of the domain.

A store has spaces; a space has topics with states, entities with other names, edges between them,
and chunks with vectors. Every write happens inside `Store.write`, which gives it a change number
and a known time, and commits or undoes it as a whole. Reads take an `AsOf`. Inside the store rows
are identified by numbers, elsewhere by names. A *node* is the number of a topic, entity, chunk or
edge together with its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any, Literal

from hades.domain.graph import TOLD, Belief, NodeKind

Direction = Literal["out", "in", "both"]
Progress = Callable[[str, int, int], None]
"""Called with the name of the work, how much is done, and how much there is (0: not known)."""

EMBEDDED = "embedded:"
"""Prefix of the keys in `meta` for the embedding progress; the encoder's name follows."""
SECRET = "secret:"
"""Prefix of the keys in `meta` that are hidden from roles limited to some spaces."""
ANSWERS_SECRET = f"{SECRET}answers"
"""The key in `meta` of the secret that signs answers kept elsewhere, as in Redis."""
LIBRARY = "library"
"""The key in `meta` of the facts that make a memory the catalogue of a library."""


class Phase(IntEnum):
    """The next indexing step of a waiting state. The numbers are stored."""

    CHUNKS = 1
    EDGES = 3
    EMBEDDINGS = 4
    LARGE = 5
    """The same step as CHUNKS for a long text, which no question waits for."""


class Rank(IntEnum):
    """The order of waiting states of one space and actor: the lowest rank comes first."""

    SMALL_WORDS = 0
    SMALL_VECTORS = 1
    LARGE_WORDS = 2
    LARGE_VECTORS = 3


@dataclass(slots=True)
class Write:
    """A write under way: its change number and its known time in microseconds.

    It is logged at its end, with its subject, a node, unless `logged` is False. If `cancelled` is
    set, because it would change nothing, everything that it wrote is undone.
    """

    change: int
    at: int
    space: int | None = None
    subject: int | None = None
    cancelled: bool = False
    logged: bool = True

    @property
    def stamp(self) -> dict[str, int]:
        """The columns that record when, and with which change, a row was written."""
        return {"recorded_at": self.at, "change": self.change}


@dataclass(frozen=True, slots=True)
class Draft:
    """A state to write. None means unspecified; without content the topic is forgotten."""

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
    """A filter for topics; None matches all. `since` and `until` limit when the state began."""

    glob: str | None = None
    tag: str | None = None
    kind: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    after: str | None = None
    limit: int | None = None
    latest: bool = False
    """Whether topics are ordered by the time from which the state is true, the latest first,
    instead of by name."""
    preview: bool = False


@dataclass(frozen=True, slots=True)
class EdgeDraft:
    """An edge to write, its ends given as nodes."""

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
    """A filter for edges; a field that is None is not compared.

    `any_time` includes edges that have ended or have not begun. With a `limit`, only that many
    edges with the next ids above `beyond` are read (of a derived edge, the id without its sign).
    `also` are further nodes whose edges are read. For told edges only: `target`, and `exact`,
    which leaves out entities merged with the node.
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
class Pending:
    """A state that waits to be cut, embedded or linked."""

    state: int
    space: int
    topic: str
    version: int
    phase: int
    outline: bytes | None
    actor: int = 0
    rank: int = 0


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity that was not merged into another, as entity resolution reads it."""

    entity: int
    name: str
    key: str
    kind: str
    is_title: bool
    frequency: int

    @property
    def node(self) -> int:
        """The node of the entity."""
        return self.entity << 3 | NodeKind.ENTITY


@dataclass(frozen=True, slots=True)
class Problem:
    """Something `check` found: what is wrong, where, and how to repair it."""

    what: str
    where: str
    repair: str
