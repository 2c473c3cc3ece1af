"""The graph: nodes, entities, edges, and the results of operations on them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum, StrEnum
from typing import Any, TypeVar

from hades.domain.proposal import Proposal
from hades.domain.topics import Chunk, State

SIMILAR_TO = "similar_to"
"""The relation that `resolve` writes between names near in meaning."""


SUPERSEDES = "supersedes"
"""The relation of a note to one that it contradicts: its metadata has the new sentence (`says`) and
the old one (`said`)."""

RELATION_KINDS: Mapping[str, tuple[str, str]] = {
    "authored_by": ("", "person"),
    "born_in": ("person", "place"),
    "capital_of": ("place", "place"),
    "child_of": ("person", "person"),
    "died_in": ("person", "place"),
    "directed_by": ("work", "person"),
    "father_of": ("person", "person"),
    "lives_in": ("person", "place"),
    "located_in": ("", "place"),
    "married_to": ("person", "person"),
    "mother_of": ("person", "person"),
    "parent_of": ("person", "person"),
    "sibling_of": ("person", "person"),
    "studied_at": ("person", "organisation"),
    "works_at": ("person", "organisation"),
    "works_for": ("person", ""),
}
"""The kinds of source and target that a relation implies; "" if it implies none."""

SYMMETRIC = frozenset(
    {
        *("adjacent_to", "alternative_to", "borders", "colleague_of", "collaborates_with"),
        *("competes_with", "conflicts_with", "connected_to", "contradicts", "cousin_of"),
        *("divorced_from", "equivalent_to", "friend_of", "incompatible_with", "interacts_with"),
        *("interacted_with", "married_to", "neighbour_of", "partner_of", "related_to"),
        *("relates_to", "same_as", "sibling_of", "similar_to", "spouse_of", "twin_of"),
    }
)
"""Relations that say the same from both ends. Such a fact is stored once, in the direction in which
it was told, and read from either end."""

Numbers = TypeVar("Numbers", bound=Any)
"""An int, or an array of them."""


class NodeKind(IntEnum):
    """The kind of a node of the graph. The numbers are stored: never reorder them."""

    TOPIC = 0
    ENTITY = 1
    CHUNK = 2
    EDGE = 3
    """Never an end of an edge; told facts are nodes because they have vectors."""

    @property
    def label(self) -> str:
        """The name in lower case: `topic`, `entity`, `chunk`."""
        return self.name.lower()

    def node(self, row: Numbers) -> Numbers:
        """Return the node number of a row id of this kind, or an array for an array of ids."""
        return row << 3 | self  # type: ignore[no-any-return]

    def has(self, node: Any) -> Any:
        """Return whether a node is of this kind; for an array, a mask."""
        return node & 7 == self


def row_of(node: Numbers) -> Numbers:
    """Return the row id of a node number of any kind, or an array for an array of nodes."""
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
    """A named thing with its aliases."""

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
    """The number in this file, which tells apart two entities of the same name."""


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
    """An entity that is mentioned together with another: `related_to`, by co-occurrence."""

    name: str
    kind: str
    count: int
    """How many passages mention both."""
    strength: float
    """The share of passages with both among those with either."""


@dataclass(frozen=True, slots=True)
class Mentioned:
    """A passage that mentions a name, and where."""

    chunk: Chunk
    line: int
    """The line of the content where the passage begins, from 1."""
    positions: tuple[int, ...]
    """The characters of the passage at which the name or an alias begins. Empty when the passage
    does not contain it, as for a title that is not in the text."""


@dataclass(frozen=True, slots=True)
class About:
    """A name with its facts, its mentions and the names near it, as of a moment."""

    entity: Entity
    """The name with its aliases. For a topic that is no entity, the kind is `topic`."""
    what: str
    """The sentence that says best what it is; "" if none does."""
    cite: str
    """The passage that has this sentence."""
    known_since: datetime
    """When a text or a fact first named it."""
    facts: tuple[Edge, ...]
    """The facts about it that hold."""
    ended: tuple[Edge, ...]
    """The facts that no longer hold, the last told first."""
    mentions: tuple[Mentioned, ...]
    """Passages that mention it; `entity.frequency` counts all of them."""
    near: tuple[Related, ...]
    """The names mentioned with it, most often first."""


UNSURE = Belief()
"""No evidence for or against."""
TOLD = Belief(9.0, 1.0)
"""The belief of a told fact, higher than that of a mention in a text."""
MENTIONED = Belief(3.0, 1.0)
"""The belief of a mention: a text may use the name for something else."""
CERTAIN = Belief(19.0, 1.0)
"""The belief of relations that follow from the form of a text, such as its title."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where an edge was read: a chunk and the characters within it."""

    chunk: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Edge:
    """A typed, weighted, directed relation that holds for a time.

    The id is above 0 if somebody wrote the edge (a told edge), below 0 if a text states it, and 0
    if it follows from mentions (the relation `documents`).

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
    """The parts of the weight: sim, type_prior, evidence, freshness."""
    belief: Belief = UNSURE
    superseded_by: int | None = None
    provenance: Provenance | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cite(self) -> str:
        """The citation: the number of a told edge, the chunk of one that a text states."""
        stated = self.id <= 0 and self.provenance
        return stated.chunk if stated else f"edge {self.id}"

    def has_ended(self, moment: datetime) -> bool:
        """Return whether it no longer held at a moment."""
        return self.valid_to is not None and self.valid_to <= moment

    def __str__(self) -> str:
        return f"{self.source} --[{self.relation}]--> {self.target}"


@dataclass(frozen=True, slots=True)
class FactChange:
    """The result of `change_fact`: the new state, the edges closed and the edges opened."""

    at: datetime
    state: State | None
    closed: tuple[Edge, ...]
    opened: tuple[Edge, ...]
    affected: tuple[Edge, ...] = ()
    """The edges that lead to the subject: they may have changed with it."""
    proposed: Proposal | None = None
    """The change that waits for review, if only a description of it was given."""


@dataclass(frozen=True, slots=True)
class RelationChange:
    """The moment one relation gave way to another, as `when_changed` finds it."""

    at: datetime
    before: Edge
    after: Edge | None


@dataclass(frozen=True, slots=True)
class Likeness:
    """Two entities that may be the same, how similar their names are, and in what way."""

    keep: str
    other: str
    score: float
    why: str


@dataclass(frozen=True, slots=True)
class Resolution:
    """The result of `resolve`, or what a dry run would do."""

    merged: tuple[Likeness, ...] = ()
    """Entities merged because of their spelling; `split` undoes it."""
    left: tuple[Likeness, ...] = ()
    """Entities spelled as nearly alike that something speaks against merging: decide by hand."""
    similar: tuple[Likeness, ...] = ()
    """New edges `similar_to`: near in meaning, by the encoder."""
    ended: int = 0
    """Edges `similar_to` of an earlier run that are no longer justified."""
    embedded: int = 0
    """Names that got a vector, or in a dry run would get one."""
    proposed: tuple[Likeness, ...] = ()
    """Edges `implements` that now wait for review: `keep` is the paper, `other` its repository."""
    dry_run: bool = False


class Reason(StrEnum):
    """The reason of a diagnostic: why something was trimmed, stopped or done another way."""

    CAP_EXCEEDED = "cap_exceeded"
    COVERAGE_REACHED = "coverage_reached"
    TIMEOUT = "timeout"
    BUDGET_EXHAUSTED = "budget_exhausted"
    CLAMPED = "clamped"
    IGNORED = "ignored"
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
    NOT_CONNECTED = "not_connected"
    NOT_INDEXED = "not_indexed"
    ENCODER_FAILED = "encoder_failed"
    CUT_QUESTION = "cut_question"
    FOLLOW_UP = "follow_up"
    NO_HIERARCHY = "no_hierarchy"
    ARCHIVE_LOST = "archive_lost"
    VOLUME_MISSING = "volume_missing"
