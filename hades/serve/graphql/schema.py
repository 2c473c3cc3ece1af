"""The GraphQL schema, read-only: the fields of a space, and links between objects."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter

from strawberry import Parent
from strawberry.types import Info as StrawberryInfo

from hades.domain.answer import Path, SubgraphNode
from hades.domain.graph import Entity, Node
from hades.domain.topics import Chunk, Space, State, Topic
from hades.errors import NotFound
from hades.operations.declare import OPERATIONS
from hades.serve.graphql.fields import FIRST, FIRST_AT_MOST, add_field, check, counted
from hades.serve.graphql.query import RunningQuery
from hades.serve.graphql.types import NAMES, ListPage, field_of
from hades.serve.rest.paging import decode, page

Info = StrawberryInfo[RunningQuery, None]


@dataclass(frozen=True, slots=True)
class Query:
    """The root of every query."""


@dataclass(frozen=True, slots=True)
class SpaceAt:
    """A space as of one moment."""

    name: str
    as_of: datetime | None
    """The world as of this time; null: now."""
    known_at: datetime | None
    """Only what the memory knew at this time; null: now."""


NAMES[SpaceAt] = "Space"


def _node_name(node: Node) -> str:
    """Return the name of a node's topic or entity; for a chunk `docs/guide.md@3#0`, its topic."""
    return node.name.rpartition("@")[0] if node.kind == "chunk" else node.name


_OF_A_SPACE = ("stats", "topics", "entity", "entities", "edge", "edges", "when_changed")
_QUESTIONS = ("about", "paths", "query_paths", "subgraph", "search", "recall", "ask")
for operation in (*_OF_A_SPACE, *_QUESTIONS):
    add_field(SpaceAt, OPERATIONS[operation])
_topic_name = attrgetter("name")
add_field(Topic, OPERATIONS["get"], "state", of=_topic_name)
for operation in ("history", "diff", "working_memory"):
    add_field(Topic, OPERATIONS[operation], of=_topic_name)
for operation in ("edges", "neighbours", "paths", "mentions"):
    add_field(Node, OPERATIONS[operation], of=_node_name)


@field_of(Query)
def space(
    info: Info, name: str = "default", as_of: str | None = None, known_at: str | None = None
) -> SpaceAt:
    """A space: the world as of `asOf`, by what the memory knew at `knownAt`."""
    view = info.context.open(info.path.key, name, as_of, known_at)
    return SpaceAt(name, view.as_of.valid, view.as_of.known)


@field_of(Query)
def spaces(info: Info) -> list[Space]:
    """The spaces you may use."""
    listed = info.context.memory.spaces()
    return [space for space in listed if info.context.caller.sees(space.name)]


@field_of(SpaceAt)
def change(info: Info) -> int:
    """The number of the last write to the memory."""
    return info.context.view(info).change


@field_of(SpaceAt)
def topic(info: Info, name: str) -> Topic:
    """A topic by its name."""
    return _topic_of(info.context.view(info).get(name))


@field_of(SpaceAt)
def node(info: Info, name: str) -> Node:
    """A topic or entity by its name, as a node of the graph."""
    view = info.context.view(info)
    try:
        return Node("topic", view.get(name).topic)
    except NotFound:
        return Node("entity", view.entity(name).name)


@field_of(Topic)
def chunks(
    parent: Parent[Topic],
    info: Info,
    version: int | None = None,
    first: int = FIRST,
    after: str | None = None,
) -> ListPage[Chunk]:
    """The passages of the topic's state, or of one version."""
    last = -1 if after is None else decode(after, int)[0]
    check("first", first, FIRST_AT_MOST)
    read = info.context.view(info).chunks(parent.name, version)
    later = [chunk for chunk in read if chunk.ordinal > last][: first + 1]
    shown = page(later, first, lambda chunk: [chunk.ordinal])
    return ListPage(counted(info.context, shown["items"]), shown["next"])


@field_of(Topic, "node")
def topic_node(parent: Parent[Topic]) -> Node:
    """The topic as a node of the graph."""
    return Node("topic", parent.name)


@field_of(Entity, "node")
def entity_node(parent: Parent[Entity]) -> Node:
    """The entity as a node of the graph."""
    return Node("entity", parent.name)


@field_of(SubgraphNode, "node")
def subgraph_node(parent: Parent[SubgraphNode]) -> Node:
    """The node itself, which leads on to its edges, neighbours and paths."""
    return Node(parent.kind, parent.name)


@field_of(Entity)
def degree(parent: Parent[Entity]) -> int:
    """The number of written edges of the entity."""
    return parent.edges


@field_of(Path)
def text(parent: Parent[Path]) -> str:
    """The whole path on one line."""
    return str(parent)


@field_of(Node, "topic")
def node_topic(parent: Parent[Node], info: Info) -> Topic | None:
    """The topic with this name, or the topic of a chunk; null if there is none."""
    try:
        return _topic_of(info.context.view(info).get(_node_name(parent)))
    except NotFound:
        return None


@field_of(Node, "entity")
def node_entity(parent: Parent[Node], info: Info) -> Entity | None:
    """The entity; null for a topic or chunk."""
    return info.context.view(info).entity(parent.name) if parent.kind == "entity" else None


def _topic_of(state: State) -> Topic:
    return Topic(
        name=state.topic,
        version=state.version,
        versions=0,
        valid_from=state.valid_from,
        recorded_at=state.recorded_at,
        tags=state.tags,
        importance=state.importance,
    )
