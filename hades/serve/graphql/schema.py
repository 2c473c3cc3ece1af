"""The schema: from spaces to what is in them. It only reads."""

from __future__ import annotations

import strawberry
from graphql import GraphQLSchema
from strawberry.scalars import JSON
from strawberry.schema.config import StrawberryConfig
from strawberry.types import Info

from hades.domain import answer, graph
from hades.domain.times import iso
from hades.errors import InvalidInput, NotFound
from hades.serve.graphql.nodes import (
    Direction,
    Edge,
    EdgePage,
    Entity,
    Node,
    Path,
    Topic,
    edges_of,
    topic_node,
)
from hades.serve.graphql.reading import At, Reading
from hades.serve.graphql.shapes import Hit, Interval, Note, Passage, iso_or_none, json
from hades.serve.rest.paging import cut, decode, page

Context = Info[Reading, None]
NAMES_AT_MOST = 50


@strawberry.type
class TopicPage:
    items: list[Topic]
    next: str | None = strawberry.field(description="`after` of the page that follows.")


@strawberry.type
class EntityPage:
    items: list[Entity]
    next: str | None = strawberry.field(description="`after` of the page that follows.")


@strawberry.type(description="A node of a part of the graph.")
class SubgraphNode:
    node: Node
    hops: int = strawberry.field(description="How far it is from what was named.")
    degree: int = strawberry.field(description="How many nodes it is joined with in all.")


@strawberry.type(description="An edge among the nodes of a part of the graph.")
class SubgraphEdge:
    source: Node
    relation: str
    target: Node
    weight: float
    snippet: str
    chunk: str


@strawberry.type(description="A part of the graph, to be drawn.")
class Subgraph:
    nodes: list[SubgraphNode]
    edges: list[SubgraphEdge]
    left_out: int = strawberry.field(description="So many nodes next to these are over the limit.")

    @classmethod
    def of(cls, at: At, found: answer.Subgraph) -> Subgraph:
        nodes = [
            SubgraphNode(
                node=Node(at=at, kind=one.kind, name=one.name), hops=one.hops, degree=one.degree
            )
            for one in found.nodes
        ]
        edges = [
            SubgraphEdge(
                source=Node.of(at, edge.source),
                relation=edge.relation,
                target=Node.of(at, edge.target),
                weight=edge.weight,
                snippet=edge.snippet,
                chunk=edge.chunk,
            )
            for edge in found.edges
        ]
        return cls(nodes=nodes, edges=edges, left_out=found.left_out)


@strawberry.type(description="What is known about a question: passages, paths, and why these.")
class Recall:
    question: str
    intent: str
    evidence: str
    mode: str
    context: str = strawberry.field(description="The text for a model.")
    tokens: int
    passages: list[Passage]
    paths: list[Path]
    reasons: list[Note]
    belief: Interval
    ms: float

    @classmethod
    def of(cls, at: At, found: answer.Recall) -> Recall:
        return cls(
            question=found.question,
            intent=found.intent.value,
            evidence=found.evidence,
            mode=found.mode.value,
            context=found.context,
            tokens=found.tokens,
            passages=[Passage.of(one) for one in found.passages],
            paths=[Path.of(at, one) for one in found.paths],
            reasons=[Note.of(one) for one in found.reasons],
            belief=Interval.of(found.belief),
            ms=found.ms,
        )


@strawberry.type(description="When one relation gave way to another.")
class Turn:
    moment: str
    before: Edge
    after: Edge | None

    @classmethod
    def of(cls, at: At, turn: graph.Turn) -> Turn:
        after = None if turn.after is None else Edge.of(at, turn.after)
        return cls(moment=iso(turn.at), before=Edge.of(at, turn.before), after=after)


@strawberry.type(description="A space as of the moment said at the root.")
class Space:
    at: strawberry.Private[At]
    name: str

    @strawberry.field(description="The moment of the world that is shown; null: now.")
    def as_of(self) -> str | None:
        return iso_or_none(self.at.view.as_of.valid)

    @strawberry.field(description="As known when; null: now.")
    def known_at(self) -> str | None:
        return iso_or_none(self.at.view.as_of.known)

    @strawberry.field(description="The number of the last write to the memory.")
    def change(self) -> int:
        return self.at.view.change

    @strawberry.field(description="How much there is.")
    def stats(self) -> JSON | None:
        return json(self.at.view.stats())

    @strawberry.field(description="A topic by its name.")
    def topic(self, name: str) -> Topic | None:
        return Topic.of(self.at, self.at.view.get(name))

    @strawberry.field(description="The topics there are, by name.")
    def topics(
        self,
        glob: str | None = None,
        tag: str | None = None,
        since: str | None = None,
        until: str | None = None,
        first: int = 20,
        after: str | None = None,
    ) -> TopicPage | None:
        last = decode(after, str)
        found = self.at.view.topics(
            glob,
            tag=tag,
            since=since,
            until=until,
            after=None if last is None else last[0],
            limit=first + 1,
        )
        shown = page(found, first, lambda topic: [topic.name])
        return TopicPage(
            items=[Topic.of(self.at, one) for one in shown["items"]], next=shown["next"]
        )

    @strawberry.field(description="A topic or entity by its name, with the ways on from it.")
    def node(self, name: str) -> Node | None:
        try:
            return topic_node(self.at, self.at.view.get(name).topic)
        except NotFound:
            entity = self.at.view.entity(name)
            return Node(at=self.at, kind="entity", name=entity.name)

    @strawberry.field(description="An entity by any of its names.")
    def entity(self, name: str) -> Entity | None:
        return Entity.of(self.at, self.at.view.entity(name))

    @strawberry.field(description="The entities there are, by name.")
    def entities(
        self, glob: str | None = None, first: int = 20, after: str | None = None
    ) -> EntityPage | None:
        last = decode(after, str)
        shown = cut(self.at.view.entities(glob), first, lambda entity: [entity.name], last)
        return EntityPage(
            items=[Entity.of(self.at, one) for one in shown["items"]], next=shown["next"]
        )

    @strawberry.field(description="Edges of the whole space; `Node.edges` has those of one thing.")
    def edges(
        self,
        relation: str | None = None,
        all: bool = False,
        first: int = 20,
        after: str | None = None,
    ) -> EdgePage | None:
        return edges_of(self.at, None, relation, Direction.BOTH, all, first, after)

    @strawberry.field(description="Everything believed about one edge, oldest first.")
    def edge(self, id: int) -> list[Edge] | None:
        return [Edge.of(self.at, one) for one in self.at.view.edge(id)]

    @strawberry.field(description="The best paths between two topics or entities, best first.")
    def paths(self, source: str, target: str, first: int = 5, hops: int = 3) -> list[Path] | None:
        found = self.at.view.paths(source, target, first, hops=hops)
        return [Path.of(self.at, one) for one in found]

    @strawberry.field(description="The part of the graph around some things, to be drawn.")
    def subgraph(self, names: list[str], first: int = 100, hops: int = 1) -> Subgraph | None:
        if len(names) > NAMES_AT_MOST:
            raise InvalidInput(f"Draw around at most {NAMES_AT_MOST} names, not {len(names)}.")
        return Subgraph.of(self.at, self.at.view.subgraph(*names, hops=hops, limit=first))

    @strawberry.field(description="When one relation of a thing gave way to another, last.")
    def when_changed(self, name: str, before: str, after: str | None = None) -> Turn | None:
        return Turn.of(self.at, self.at.view.when_changed(name, before, after))

    @strawberry.field(description="The passages that fit a question best.")
    def search(
        self,
        question: str,
        retriever: list[str] | None = None,
        tag: str | None = None,
        kind: str | None = None,
        glob: str | None = None,
        first: int = 10,
    ) -> list[Hit] | None:
        found = self.at.view.search(
            question, first, retriever=retriever, tag=tag, kind=kind, glob=glob
        )
        return [Hit.of(one) for one in found]

    @strawberry.field(description="The few passages and paths that answer a question.")
    def recall(
        self,
        info: Context,
        question: str,
        budget: int | None = None,
        mode: str | None = None,
        tag: str | None = None,
        kind: str | None = None,
        glob: str | None = None,
    ) -> Recall | None:
        found = self.at.view.recall(
            question, budget=budget, mode=mode, tag=tag, kind=kind, glob=glob
        )
        return Recall.of(self.at, info.context.told(found))


@strawberry.type(description="A named, isolated memory.")
class SpaceListed:
    name: str
    created_at: str
    topics: int


@strawberry.type(description="Where every query begins.")
class Query:
    @strawberry.field(
        description="A space, as the world was at `asOf` and as it was known at `knownAt`."
    )
    def space(
        self,
        info: Context,
        name: str = "default",
        as_of: str | None = None,
        known_at: str | None = None,
    ) -> Space | None:
        return Space(at=info.context.at(name, as_of, known_at), name=name)

    @strawberry.field(description="The spaces you may use.")
    def spaces(self, info: Context) -> list[SpaceListed]:
        reading = info.context
        return [
            SpaceListed(name=one.name, created_at=iso(one.created_at), topics=one.topics)
            for one in reading.memory.spaces()
            if reading.caller.sees(one.name)
        ]


SCHEMA = strawberry.Schema(Query, config=StrawberryConfig(auto_camel_case=True))
CORE: GraphQLSchema = SCHEMA._schema
"""The same as graphql-core knows it: queries are read, weighed and executed by it."""
