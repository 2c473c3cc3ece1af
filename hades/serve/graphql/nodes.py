"""Nodes: what there is in a space, and the ways from one thing to the next.

Every field reads through the view of its `At`: the space and the moment that were said at
the root of the query.
"""

from __future__ import annotations

from enum import Enum

import strawberry
from strawberry.scalars import JSON

from hades.domain import answer, graph, trace
from hades.domain.times import iso
from hades.errors import NotFound
from hades.serve.graphql.reading import At
from hades.serve.graphql.shapes import (
    Chunk,
    ChunkPage,
    Diff,
    Interval,
    Mention,
    Provenance,
    Related,
    State,
    StatePage,
    WorkingSet,
    iso_or_none,
    json,
)
from hades.serve.rest.paging import EDGE_KEY, cut, decode, edge_key


@strawberry.enum(description="Which way an edge points, seen from a node.")
class Direction(Enum):
    OUT = "out"
    IN = "in"
    BOTH = "both"


@strawberry.type(description="A node of the graph, and the ways on from it.")
class Node:
    at: strawberry.Private[At]
    kind: str = strawberry.field(description="`topic`, `entity` or `chunk`.")
    name: str

    @classmethod
    def of(cls, at: At, node: graph.Node) -> Node:
        return cls(at=at, kind=node.kind, name=node.name)

    @strawberry.field(description="The topic it is, or stands in; null when it is none.")
    def topic(self) -> Topic | None:
        try:
            return Topic.of(self.at, self.at.view.get(_topic(self.kind, self.name)))
        except NotFound:
            return None

    @strawberry.field(description="The entity it is; null when it is none.")
    def entity(self) -> Entity | None:
        return Entity.of(self.at, self.at.view.entity(self.name)) if self.kind == "entity" else None

    @strawberry.field(description="The edges that hold, told ones first.")
    def edges(
        self,
        relation: str | None = None,
        direction: Direction = Direction.BOTH,
        all: bool = False,
        first: int = 20,
        after: str | None = None,
    ) -> EdgePage | None:
        if self.kind == "chunk":
            return EdgePage(items=[], next=None)
        return edges_of(self.at, self.name, relation, direction, all, first, after)

    @strawberry.field(description="What it is joined with, nearest first.")
    def neighbours(self, first: int = 20, hops: int = 1) -> list[Neighbour] | None:
        if self.kind == "chunk":
            return []
        found = self.at.view.neighbours(self.name, first, hops=hops)
        return [Neighbour.of(self.at, one) for one in found]

    @strawberry.field(description="The best paths to another node, best first.")
    def paths(self, to: str, first: int = 5, hops: int = 3) -> list[Path] | None:
        found = self.at.view.paths(_topic(self.kind, self.name), to, first, hops=hops)
        return [Path.of(self.at, path) for path in found]

    @strawberry.field(description="The passages that mention it by any of its names.")
    def mentions(self, first: int = 20) -> list[Mention] | None:
        if self.kind != "entity":
            return []
        return [Mention.of(one) for one in self.at.view.mentions(self.name, first)]

    @strawberry.field(description="What is mentioned together with it, most often first.")
    def related(self, first: int = 20) -> list[Related] | None:
        if self.kind != "entity":
            return []
        return [Related.of(one) for one in self.at.view.related(self.name, first)]


@strawberry.type(description="A typed, weighted, directed relation that holds for a time.")
class Edge:
    id: int = strawberry.field(description="Above 0: told; below: a text states it; 0: it follows.")
    source: Node
    relation: str
    target: Node
    weight: float
    valid_from: str
    valid_to: str | None
    recorded_at: str
    retired_at: str | None
    evidence: str
    belief: float = strawberry.field(description="The expected probability that it holds.")
    superseded_by: int | None
    provenance: Provenance | None
    components: JSON
    metadata: JSON

    @classmethod
    def of(cls, at: At, edge: graph.Edge) -> Edge:
        read = edge.provenance
        return cls(
            id=edge.id,
            source=Node.of(at, edge.source),
            relation=edge.relation,
            target=Node.of(at, edge.target),
            weight=edge.weight,
            valid_from=iso(edge.valid_from),
            valid_to=iso_or_none(edge.valid_to),
            recorded_at=iso(edge.recorded_at),
            retired_at=iso_or_none(edge.retired_at),
            evidence=edge.evidence,
            belief=edge.belief.mean,
            superseded_by=edge.superseded_by,
            provenance=None
            if read is None
            else Provenance(chunk=read.chunk, start=read.start, end=read.end),
            components=json(edge.components),
            metadata=json(edge.metadata),
        )


@strawberry.type
class EdgePage:
    items: list[Edge]
    next: str | None = strawberry.field(description="`after` of the page that follows.")


@strawberry.type(description="What a memory is about; its states are what was known when.")
class Topic:
    at: strawberry.Private[At]
    name: str
    version: int
    valid_from: str
    recorded_at: str
    tags: list[str]
    importance: float

    @classmethod
    def of(cls, at: At, found: trace.Topic | trace.State) -> Topic:
        return cls(
            at=at,
            name=found.name if isinstance(found, trace.Topic) else found.topic,
            version=found.version,
            valid_from=iso(found.valid_from),
            recorded_at=iso(found.recorded_at),
            tags=list(found.tags),
            importance=found.importance,
        )

    @strawberry.field(description="As a node of the graph, with the ways on from it.")
    def node(self) -> Node:
        return topic_node(self.at, self.name)

    @strawberry.field(description="Its state at this moment, or one version.")
    def state(self, version: int | None = None) -> State | None:
        return State.of(self.at.shown(self.at.view.get(self.name, version)))

    @strawberry.field(description="Every state in the order they were recorded.")
    def history(self, first: int = 20, after: str | None = None) -> StatePage | None:
        since = decode(after, int)
        states = self.at.view.history(self.name)
        found = cut(states, first, lambda state: [state.version], since)
        items = [State.of(self.at.shown(one)) for one in found["items"]]
        return StatePage(items=items, next=found["next"])

    @strawberry.field(description="What changed between two versions; by default the last change.")
    def diff(self, before: int | None = None, after: int | None = None) -> Diff | None:
        found = self.at.view.diff(self.name, before, after)
        self.at.room.take(len(found.text))
        return Diff.of(found)

    @strawberry.field(description="The passages of its state, or of one version.")
    def chunks(
        self, version: int | None = None, first: int = 20, after: str | None = None
    ) -> ChunkPage | None:
        since = decode(after, int)
        chunks = self.at.view.chunks(self.name, version)
        found = cut(chunks, first, lambda chunk: [chunk.ordinal], since)
        self.at.room.take(sum(len(one.text) for one in found["items"]))
        return ChunkPage(items=[Chunk.of(one) for one in found["items"]], next=found["next"])

    @strawberry.field(description="What to have in mind when working on it.")
    def working_memory(self, budget: int = 2_000) -> WorkingSet | None:
        found = self.at.view.working_memory(self.name, budget=budget)
        self.at.room.take(len(found.context))
        for item in found.items:
            self.at.shown(item.state)
        return WorkingSet.of(found)


@strawberry.type(description="A named thing with the other names it goes by.")
class Entity:
    at: strawberry.Private[At]
    name: str
    kind: str
    aliases: list[str]
    merged: list[str] = strawberry.field(description="Entities that were merged into this one.")
    summary: str
    degree: int = strawberry.field(description="How many edges it has that were told.")
    frequency: int = strawberry.field(description="In how many passages it is mentioned.")

    @classmethod
    def of(cls, at: At, entity: graph.Entity) -> Entity:
        return cls(
            at=at,
            name=entity.name,
            kind=entity.kind,
            aliases=list(entity.aliases),
            merged=list(entity.merged),
            summary=entity.summary,
            degree=entity.edges,
            frequency=entity.frequency,
        )

    @strawberry.field(description="As a node of the graph, with the ways on from it.")
    def node(self) -> Node:
        return Node(at=self.at, kind="entity", name=self.name)


@strawberry.type(description="One edge of a path, in the direction it is read.")
class Step:
    relation: str
    target: Node
    weight: float
    forward: bool = strawberry.field(description="False when the edge itself points back.")
    snippet: str
    chunk: str


@strawberry.type(description="A walk through the graph, with how reliable it is.")
class Path:
    text: str = strawberry.field(description="The whole path on one line.")
    start: Node
    steps: list[Step]
    nodes: list[Node]
    reliability: float
    belief: Interval
    rationale: str

    @classmethod
    def of(cls, at: At, path: answer.Path) -> Path:
        steps = [
            Step(
                relation=step.relation,
                target=Node.of(at, step.target),
                weight=step.weight,
                forward=step.forward,
                snippet=step.snippet,
                chunk=step.chunk,
            )
            for step in path.steps
        ]
        return cls(
            text=str(path),
            start=Node.of(at, path.start),
            steps=steps,
            nodes=[Node.of(at, node) for node in path.nodes],
            reliability=path.reliability,
            belief=Interval.of(path.belief),
            rationale=path.rationale,
        )


@strawberry.type(description="A node that stands around another, with the path to it.")
class Neighbour:
    node: Node
    hops: int
    score: float
    path: Path

    @classmethod
    def of(cls, at: At, found: answer.Neighbour) -> Neighbour:
        return cls(
            node=Node.of(at, found.node),
            hops=found.hops,
            score=found.score,
            path=Path.of(at, found.path),
        )


def topic_node(at: At, name: str) -> Node:
    """A topic as a node of the graph."""
    return Node(at=at, kind="topic", name=name)


def edges_of(
    at: At,
    name: str | None,
    relation: str | None,
    direction: Direction,
    all: bool,
    first: int,
    after: str | None,
) -> EdgePage:
    """A page of edges, told ones first, in the order REST gives them."""
    since = decode(after, *EDGE_KEY)
    found = at.view.edges(name, relation=relation, direction=direction.value, all=all)
    page = cut(found, first, edge_key, since)
    return EdgePage(items=[Edge.of(at, edge) for edge in page["items"]], next=page["next"])


def _topic(kind: str, name: str) -> str:
    """The topic a node stands in: of a chunk `docs/guide.md@3#0` it is `docs/guide.md`."""
    return name.rpartition("@")[0] if kind == "chunk" else name
