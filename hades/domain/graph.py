"""What joins memories: entities and edges."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any, TypeVar

from hades.domain.topics import Chunk, State

SIMILAR_TO = "similar_to"
"""The relation of names that are only alike: nobody told it."""


SUPERSEDES = "supersedes"
"""The relation of a note to one that it says otherwise: its metadata has what it `says`, and what
the other one `said`."""

Numbers = TypeVar("Numbers", bound=Any)
"""An int, or an array of them."""


class NodeKind(IntEnum):
    """What a node of the graph is. The numbers are stored: never reorder them."""

    TOPIC = 0
    ENTITY = 1
    CHUNK = 2
    EDGE = 3
    """No end of an edge: told facts have vectors, too."""

    @property
    def label(self) -> str:
        """The word for it: `topic`, `entity`, `chunk`."""
        return self.name.lower()

    def node(self, row: Numbers) -> Numbers:
        """The node of a row of this kind, or those of an array of rows."""
        return row << 3 | self  # type: ignore[no-any-return]

    def has(self, node: Any) -> Any:
        """Whether a node is of this kind; of an array, which ones are."""
        return node & 7 == self


def row_of(node: Numbers) -> Numbers:
    """The row of a node, whatever its kind, or those of an array of nodes."""
    return node >> 3  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class Node:
    """An end of an edge, by kind and name."""

    kind: str
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Entity:
    """A named thing with the other names it goes by."""

    name: str
    kind: str = "concept"
    aliases: tuple[str, ...] = ()
    merged: tuple[str, ...] = ()
    """Names of entities merged into this one; `split` takes them out again."""
    summary: str = ""
    edges: int = 0
    frequency: int = 0
    """In how many passages it is mentioned."""
    id: int = field(default=0, compare=False)
    """Its number in this file: tells apart two entities that are written alike."""


@dataclass(frozen=True, slots=True)
class Belief:
    """How sure we are of an edge: Beta(a, b), a for evidence, b against it."""

    a: float = 1.0
    b: float = 1.0

    @property
    def mean(self) -> float:
        """The expected probability that the edge holds."""
        return self.a / (self.a + self.b)


@dataclass(frozen=True, slots=True)
class Related:
    """A thing that is mentioned together with another: `related_to`, by co-occurrence."""

    name: str
    kind: str
    count: int
    """In how many passages they stand together."""
    strength: float
    """The share of the passages with either that have both."""


@dataclass(frozen=True, slots=True)
class Mentioned:
    """A passage that mentions a name, and where."""

    chunk: Chunk
    line: int
    """The line of its text, from 1, at which the passage begins."""
    positions: tuple[int, ...]
    """The characters of the passage at which the name, or another name for it, begins.

    Empty when the passage does not say it: a title that is not in its text."""


UNSURE = Belief()
"""Nothing known for or against."""
TOLD = Belief(9.0, 1.0)
"""Somebody said so: more than a mere mention in a text."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an edge was read: a chunk and the characters within it."""

    chunk: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Edge:
    """A typed, weighted, directed relation that holds for a time.

    One that somebody wrote has a number above 0; one that a text states, a number below; one
    that follows from mentions (`documents`) has none, 0.

    `valid_from`/`valid_to` say when it held in the world; `recorded_at`/`retired_at`
    when this memory believed so. `superseded_by` is the edge that replaced it.
    """

    id: int
    source: Node
    relation: str
    target: Node
    weight: float
    valid_from: datetime
    valid_to: datetime | None
    recorded_at: datetime
    retired_at: datetime | None = None
    evidence: str = ""
    components: Mapping[str, float] = field(default_factory=dict)
    """What the weight was made of: sim, type_prior, evidence, freshness."""
    belief: Belief = UNSURE
    superseded_by: int | None = None
    provenance: Provenance | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cite(self) -> str:
        """How it is cited: a told one by its number, a stated one by where it stands."""
        stated = self.id <= 0 and self.provenance
        return stated.chunk if stated else f"edge {self.id}"

    def __str__(self) -> str:
        return f"{self.source} --[{self.relation}]--> {self.target}"


@dataclass(frozen=True, slots=True)
class FactChange:
    """What `change_fact` did: the new state, what was closed, what was opened."""

    at: datetime
    state: State | None
    closed: tuple[Edge, ...]
    opened: tuple[Edge, ...]
    affected: tuple[Edge, ...] = ()
    """The edges that lead to the subject: what they say may have changed with it."""


@dataclass(frozen=True, slots=True)
class RelationChange:
    """The moment one relation gave way to another, as `when_changed` finds it."""

    at: datetime
    before: Edge
    after: Edge | None


@dataclass(frozen=True, slots=True)
class Likeness:
    """Two entities that may be one, how alike their names are, and why one thinks so."""

    keep: str
    other: str
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """What `resolve` did, or would do in a dry run."""

    merged: tuple[Likeness, ...] = ()
    """Spelled so nearly alike that they are one now; `split` takes them apart."""
    left: tuple[Likeness, ...] = ()
    """Spelled as nearly alike, but something speaks against it: merge them by hand."""
    similar: tuple[Likeness, ...] = ()
    """New edges `similar_to`: near in meaning, by the encoder."""
    ended: int = 0
    """Edges `similar_to` of an earlier run that no longer follow."""
    embedded: int = 0
    """Names that got a vector, or in a dry run would."""
    dry_run: bool = False


class Reason(StrEnum):
    """Why something was trimmed, stopped or done another way."""

    CAP_EXCEEDED = "cap_exceeded"
    COVERAGE_REACHED = "coverage_reached"
    TIMEOUT = "timeout"
    BUDGET_EXHAUSTED = "budget_exhausted"
    CLAMPED = "clamped"
    RAISED = "raised"
    NO_EMBEDDINGS = "no_embeddings"
    EMPTY_GRAPH = "empty_graph"
    EVICTED = "evicted"
    FALLBACK = "fallback"
    SWITCHED_OFF = "switched_off"
    NOTHING_NAMED = "nothing_named"
    NOTHING_FOUND = "nothing_found"
    NOTHING_KNOWN = "nothing_known"
    NOTHING_NOTED = "nothing_noted"
    NOT_INDEXED = "not_indexed"
    ENCODER_FAILED = "encoder_failed"
    CUT_QUESTION = "cut_question"
    NO_HIERARCHY = "no_hierarchy"
    FOCUS = "focus"
    ARCHIVE_LOST = "archive_lost"
