"""The port: what a store must be able to do, whichever engine is behind it.

A store keeps spaces; in a space, topics with their traces of states; entities with
their other names; edges between them; chunks and their vectors. Every write happens
inside `Store.write`, which gives it a change number and a known time and makes it
whole or undone. Reads take an `AsOf`. Rows are known by small integers inside the
store and by their names everywhere else; a *node* is the integer of a topic, entity
or chunk together with its kind.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from hades.domain.graph import UNSURE, Belief, Edge, Entity, Node, NodeKind
from hades.domain.proposal import Proposal
from hades.domain.times import AsOf
from hades.domain.trace import Change, Chunk, Space, State, Topic

Direction = Literal["out", "in", "both"]
Progress = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is (0: not known)."""


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
class Standing:
    """A chunk, where it stands in its topic's content and when that held."""

    chunk: Chunk
    line: int
    end_line: int
    valid_from: datetime
    recorded_at: datetime
    valid_to: datetime | None


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
    belief: Belief = UNSURE
    chunk: int | None = None
    span: tuple[int, int] | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EdgeFilter:
    """Which edges are wanted. `any_time` also gives those that no longer hold.

    `exact` looks at the node alone, not at what it was merged with. With a `limit`, those of
    the next so many numbers above `beyond`, whatever their sign.
    """

    node: int | None = None
    direction: Direction = "both"
    relation: str | None = None
    target: int | None = None
    any_time: bool = False
    exact: bool = False
    beyond: int = 0
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Cut:
    """A passage about to be placed in a state: characters `start` to `end` of it."""

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


@dataclass(frozen=True, slots=True)
class Mention:
    """An entity in a chunk: where its name stands, and how it was brought in, if it was."""

    chunk: int
    entity: int
    positions: bytes | None = None
    introduces: int | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """An entity that stands for itself at a moment, as resolution looks at it."""

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
    """Something `check` found: what is wrong, where, and how to mend it."""

    what: str
    where: str
    mend: str


class Spaces(Protocol):
    """Named, isolated memories in one store."""

    def list(self) -> list[Space]: ...
    def id(self, name: str) -> int: ...
    def create(self, write: Write, name: str) -> Space: ...
    def drop(self, write: Write, name: str) -> None: ...


class Traces(Protocol):
    """Topics and the states they pass through."""

    def state(self, space: int, topic: str, as_of: AsOf) -> State: ...
    def version(self, space: int, topic: str, version: int, as_of: AsOf) -> State: ...
    def trace(self, space: int, topic: str, as_of: AsOf) -> Iterator[State]: ...
    def topics(self, space: int, wanted: TopicFilter, as_of: AsOf) -> list[Topic]: ...
    def exists(self, space: int, topic: str) -> bool: ...
    def content(self, state: int) -> str: ...
    def add(self, write: Write, space: int, topic: str, draft: Draft) -> tuple[State, bool]: ...


class Entities(Protocol):
    """Named things, their other names, and which of them are one."""

    def node(self, space: int, name: str, as_of: AsOf) -> int | None: ...
    def own_nodes(self, space: int, name: str) -> list[int]: ...
    def ensure(self, write: Write, space: int, name: str, kind: str) -> int: ...
    def same_as(self, space: int, node: int, as_of: AsOf) -> list[int]: ...
    def describe(self, node: int) -> Node: ...
    def names(self, entities: Sequence[int]) -> dict[int, str]: ...
    def get(self, space: int, name: str, as_of: AsOf) -> Entity: ...
    def list(self, space: int, glob: str | None, as_of: AsOf) -> list[Entity]: ...
    def page(
        self, space: int, glob: str | None, as_of: AsOf, after: tuple[str, int], limit: int
    ) -> Sequence[tuple[int, Entity]]: ...
    def add_alias(self, write: Write, space: int, name: str, alias: str) -> None: ...
    def merge(self, write: Write, space: int, keep: str, other: str) -> None: ...
    def split(self, write: Write, space: int, name: str) -> None: ...
    def set_kind(self, write: Write, space: int, name: str, kind: str) -> None: ...
    def splits(self, space: int) -> set[frozenset[int]]: ...


class Edges(Protocol):
    """Relations that hold for a time."""

    def find(self, space: int, wanted: EdgeFilter, as_of: AsOf) -> list[Edge]: ...
    def there_are(self, space: int) -> bool: ...
    def get(self, space: int, edge: int) -> Edge: ...
    def beliefs(self, space: int, edge: int, as_of: AsOf) -> list[Edge]: ...
    def add(self, write: Write, space: int, draft: EdgeDraft) -> int: ...
    def revise(self, write: Write, edge: int, **changed: Any) -> None: ...
    def retire(self, write: Write, edge: int) -> None: ...
    def taken_back(self, space: int, relation: str, action: str) -> set[tuple[int, int]]: ...
    def inverses(self) -> dict[str, str]: ...
    def set_inverse(self, write: Write, relation: str, inverse: str) -> None: ...


class Passages(Protocol):
    """Chunks of states with their times, and vectors of them."""

    def pending(self, phase: int, space: int | None, limit: int) -> list[Pending]: ...
    def pending_count(self, space: int | None, phase: int | None = None) -> int: ...
    def advance(self, state: int, phase: int | None, outline: bytes | None = None) -> None: ...
    def outline(self, space: int, topic: str, version: int, outline: bytes) -> None: ...
    def is_forgotten(self, state: int) -> bool: ...
    def place(self, write: Write, state: int, cuts: Sequence[Cut]) -> list[tuple[int, bool]]: ...
    def placed(self, state: int) -> list[int]: ...
    def of_topic(self, space: int, topic: str) -> list[int]: ...
    def chunks(self, space: int, topic: str, version: int) -> list[Chunk]: ...
    def ever_of(self, topic: int) -> list[int]: ...
    def texts(self, chunks: Sequence[int]) -> dict[int, str]: ...
    def headings(self, chunks: Sequence[int]) -> dict[int, str]: ...
    def find(self, chunks: Sequence[int], as_of: AsOf) -> dict[int, Chunk]: ...
    def standing(self, chunks: Sequence[int], as_of: AsOf) -> dict[int, Standing]: ...
    def line(self, chunk: int, start: int) -> int: ...
    def unembedded(self, encoder: str, after: int, limit: int) -> list[int]: ...
    def embedded(self, encoder: str) -> int: ...
    def set_embedded(self, encoder: str) -> None: ...
    def put_vectors(
        self, write: Write, encoder: str, dims: int, vectors: Iterable[tuple[int, bytes]]
    ) -> None: ...


class Links(Protocol):
    """Names in texts: introductions, mentions and stated edges."""

    def introduce(
        self,
        write: Write,
        space: int,
        name: str,
        kind: str,
        origin: int,
        chunks: Sequence[int],
        *,
        symbol: bool = False,
    ) -> int: ...
    def entity(
        self,
        write: Write,
        space: int,
        name: str,
        kind: str,
        origin: int,
        *,
        symbol: bool = False,
    ) -> int: ...
    def add_alias(
        self, write: Write, space: int, entity: int, alias: str, origin: int, chunk: int
    ) -> None: ...
    def names(self, space: int, after: int = 0) -> list[tuple[int, int, str]]: ...
    def between(self, source: int, target: int) -> list[tuple[int, str, float, str]]: ...
    def named(self, space: int, keys: Sequence[str], known: int) -> list[tuple[str, int]]: ...
    def going_by(self, space: int, keys: Sequence[str]) -> list[tuple[int, int, str]]: ...
    def mentioned(self, space: int, keys: Sequence[str], known: int) -> list[tuple[int, int]]: ...
    def mentions(
        self, entities: Sequence[int], valid: int, known: int, limit: int
    ) -> list[tuple[int, bytes]]: ...
    def together(
        self, entities: Sequence[int], valid: int, known: int, limit: int
    ) -> list[tuple[str, str, int, float]]: ...
    def standing(self, space: int, as_of: AsOf) -> list[Named]: ...
    def told_apart(self, one: int, other: int, as_of: AsOf) -> bool: ...
    def matched(self, space: int) -> tuple[int, int]: ...
    def set_matched(self, space: int, chunk: int, name: int) -> None: ...
    def chunks_between(self, space: int, after: int, up_to: int, limit: int) -> list[int]: ...
    def last_chunk(self) -> int: ...
    def put_mentions(self, write: Write, mentions: Iterable[Mention]) -> int: ...
    def positions(self, chunks: Sequence[int]) -> dict[tuple[int, int], bytes]: ...
    def put_link(
        self,
        write: Write,
        chunk: int,
        source: int,
        relation: str,
        target: int,
        *,
        weight: float,
        evidence: str,
        components: Mapping[str, float],
    ) -> None: ...
    def vectors(self, encoder: str, nodes: Sequence[int]) -> dict[int, bytes]: ...
    def topic_node(self, space: int, topic: str) -> int: ...


class Stated(Protocol):
    """What texts state, read as edges."""

    def find(self, space: int, wanted: EdgeFilter, as_of: AsOf) -> list[Edge]: ...
    def links(
        self, space: int, wanted: EdgeFilter, as_of: AsOf
    ) -> tuple[list[Edge], int | None]: ...
    def documents(self, space: int, wanted: EdgeFilter, as_of: AsOf) -> list[Edge]: ...


class Sources(Protocol):
    """Where ingested topics come from."""

    def of_root(self, space: int, root: str) -> dict[str, bytes]: ...
    def forgotten(self, space: int, root: str) -> dict[str, bytes]: ...
    def root_of(self, space: int, topic: str) -> str | None: ...
    def put(
        self, space: int, topic: str, root: str, fingerprint: bytes, kind: str, title: str
    ) -> None: ...
    def rename(self, write: Write, space: int, topic: str, new: str) -> None: ...


class Proposals(Protocol):
    """Changes that wait for approval."""

    def add(
        self,
        write: Write,
        space: int,
        by: str,
        kind: str,
        fields: Mapping[str, Any],
        *,
        confidence: float,
        threshold: float,
    ) -> int: ...
    def get(self, space: int, proposal: int) -> Proposal: ...
    def find(
        self, space: int, status: str | None, after: int, limit: int | None
    ) -> list[Proposal]: ...
    def waiting(self, space: int, kind: str, fields: Mapping[str, Any]) -> int | None: ...
    def decide(self, write: Write, proposal: int, status: str, by: str, why: str) -> None: ...


class Answers(Protocol):
    """What was answered to writes that may be sent again."""

    def get(self, space: int, by: str, key: str, since: int) -> tuple[bytes, str] | None: ...
    def put(self, space: int, by: str, key: str, request: bytes, answer: str, at: int) -> None: ...
    def drop(self, before: int) -> None: ...


class Feed(Protocol):
    """The rows derived indexes are made of."""

    def stand(self) -> tuple[str, int]: ...
    def since(self, what: str, change: int) -> list[tuple[Any, ...]]: ...
    def mentions(
        self, change: int, after: tuple[int, int], limit: int
    ) -> list[tuple[int, int, int | None, bytes | None]]: ...
    def order(self, space: int, valid: int, known: int) -> list[tuple[int, int, int, int]]: ...
    def vectors(
        self, encoder: str, change: int, at_once: int
    ) -> Iterator[list[tuple[int, bytes]]]: ...
    def tagged(self, space: int, tag: str, valid: int, known: int) -> list[int]: ...
    def topics_like(self, space: int, glob: str | None, kind: str | None) -> list[int]: ...


class Store(Protocol):
    """A memory's truth. Everything else is derived from it and can be rebuilt."""

    @property
    def spaces(self) -> Spaces: ...
    @property
    def traces(self) -> Traces: ...
    @property
    def entities(self) -> Entities: ...
    @property
    def edges(self) -> Edges: ...
    @property
    def passages(self) -> Passages: ...
    @property
    def links(self) -> Links: ...
    @property
    def stated(self) -> Stated: ...
    @property
    def sources(self) -> Sources: ...
    @property
    def proposals(self) -> Proposals: ...
    @property
    def answers(self) -> Answers: ...
    @property
    def feed(self) -> Feed: ...
    @property
    def index_folder(self) -> Path: ...
    @property
    def read_only(self) -> bool: ...
    @property
    def in_transaction(self) -> bool: ...
    def afterwards(self, call: Callable[[], object]) -> None: ...
    def moment(self, as_of: AsOf) -> tuple[int, int]: ...

    def write(
        self, actor: str, action: str, space: int | None = None
    ) -> AbstractContextManager[Write]: ...
    def transaction(self) -> AbstractContextManager[None]: ...
    def patient(self, seconds: float) -> AbstractContextManager[None]: ...
    def snapshot(self) -> AbstractContextManager[None]: ...
    def now(self) -> int: ...
    def meta(self, key: str) -> str | None: ...
    def set_meta(self, key: str, value: str) -> None: ...
    def change(self) -> int: ...
    def log(self, space: int | None, limit: int) -> list[Change]: ...
    def stats(self, space: int) -> dict[str, int]: ...
    def cache_uses(self) -> dict[str, dict[str, int]]: ...
    def purge(self, write: Write, space: int, name: str) -> dict[str, int]: ...
    def wipe(self) -> bool: ...
    def clear_places(self) -> None: ...
    def check(self, on_progress: Progress | None, *, mend: bool) -> list[Problem]: ...
    def dump(self) -> Generator[dict[str, Any], None, None]: ...
    def load(
        self, write: Write, records: Iterable[dict[str, Any]], rename: str | None
    ) -> dict[str, int]: ...
    def backup(self, target: str, on_progress: Progress | None) -> None: ...
    def restore(self, source: str, actor: str, on_progress: Progress | None) -> None: ...
    def close(self) -> None: ...
