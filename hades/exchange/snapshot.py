"""Snapshot: the graph as of one moment, from which all graph formats are written.

It is read from the store in parts. Names, numbers and the pairs of `related_to` are held in memory,
but not texts, vectors or edges. Use it inside a snapshot of the store.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import TypeVar

from hades.domain.feedback import LoggedQuery, WeightSnapshot
from hades.domain.graph import Edge, Node, NodeKind
from hades.domain.hierarchy import MEMBER_OF, SIBLING, SUBTOPIC_OF, cluster_name
from hades.domain.times import AsOf, from_micros
from hades.domain.topics import Chunk, State
from hades.exchange.clusters import DECIMALS, Clusters, Placement
from hades.exchange.elements import ExportedEdge, ExportedNode, derived_edge, times_of
from hades.exchange.mentions import CoOccurrence, CountedMention, counted_mentions
from hades.exchange.vectors import NodeVectors, cosine
from hades.language.names import name_key
from hades.language.words import starts_at, word_places
from hades.store.bridges import Bridge
from hades.store.database import NO_LIMIT
from hades.store.edge_pages import FIRST, edge_place, edges_after
from hades.store.graph_rows import SubjectRow
from hades.store.records import EdgeFilter, TopicFilter
from hades.store.store import Store

MENTIONS = "mentions"
RELATED_TO = "related_to"
PART_OF = "part_of"
ABOUT = "about"
PAPER = "paper"
PAGE = 500
"""Rows that are read together."""
EDGES_PAGE = 5_000
ENTITIES_PAGE = 50_000
"""How many entities are read together. The page is large because each page reads which names of the
whole space mean the same."""
_MARK_BYTES = 4
Item = TypeVar("Item")


class GraphSnapshot:
    """The graph of a space at one moment: topics, chunks, entities, and the edges that hold."""

    def __init__(
        self, store: Store, space: int, as_of: AsOf, encoder: str, *, embeddings: bool = False
    ) -> None:
        self._store = store
        self._space = space
        self._as_of = as_of
        self.embeddings = embeddings
        self.clusters = Clusters(store, space, as_of)
        self._vectors = NodeVectors(
            store, space, as_of, encoder, self.clusters, embeddings=embeddings
        )
        self.dimensions = self._vectors.dimensions

    # Nodes

    def nodes(self) -> Iterator[ExportedNode]:
        """Yield topics with their chunks, then entities, other ends of edges, and clusters."""
        for states in self._states():
            for state in states:
                yield self._topic_node(state)
            for batch in _batches(self._chunks(states), PAGE):
                vectors = self._vectors.rounded(
                    [NodeKind.CHUNK.node(number) for number, _ in batch]
                )
                for number, chunk in batch:
                    node = Node("chunk", chunk.id)
                    vector = vectors.get(NodeKind.CHUNK.node(number))
                    yield ExportedNode(
                        self.id_of(node),
                        node,
                        "chunk",
                        chunk=chunk,
                        embedding=vector,
                        place=self.clusters.placement(number),
                    )
        yield from self._entities()
        for node in self._other_ends:
            yield ExportedNode(self.id_of(node), node, node.kind)
        for cluster in self.clusters.clusters:
            node = Node("cluster", cluster.id)
            place = Placement(cluster_id=cluster.parent)
            yield ExportedNode(self.id_of(node), node, "cluster", cluster=cluster, place=place)

    def id_of(self, node: Node) -> str:
        """Return a stable id: `topic:NAME`, `chunk:ID`, or an entity's folded name.

        Entities with the same folded name get a hash of their full name added. Any other end of an
        edge is `KIND:NAME`.
        """
        key = self._entity_keys.get(node.name) if node.kind == "entity" else None
        return key or f"{node.kind}:{node.name}"

    def number_of(self, node: Node) -> int | None:
        """Return the number of an entity or topic in the store, or None."""
        if node.kind == "entity":
            return self._entity_numbers.get(node.name)
        row = self.topics.get(node.name) if node.kind == "topic" else None
        return row.id if row else None

    @cached_property
    def topics(self) -> dict[str, SubjectRow]:
        """All topics of the space, by name."""
        return self._store.graph_rows.topics(self._space)

    def subject_of(self, topic: str) -> Node | None:
        """Return the entity that a topic is about: a paper's title, or the entity of its name."""
        row = self.topics.get(topic)
        if row is None:
            return None
        name = row.title if row.kind == PAPER else self._entity_names.get(row.entity or 0)
        return Node("entity", name) if name in self._entity_numbers else None

    # Edges

    def edges(self) -> Iterator[ExportedEdge]:
        """Yield told edges, edges that texts state, then edges that follow from the texts.

        The last are `part_of` (chunk to topic), `about` (topic to its subject), `mentions` (chunk
        to entity), `related_to` (entities that chunks mention together), and the edges of the
        hierarchy: `member_of`, `subtopic_of` and `sibling`.
        """
        after = FIRST
        while page := edges_after(
            self._store, self._space, EdgeFilter(), self._as_of, after, EDGES_PAGE
        ):
            yield from self._with_similarity(page)
            after = edge_place(page[-1])
        together = CoOccurrence()
        for states in self._states():
            for state in states:
                if subject := self.subject_of(state.topic):
                    yield derived_edge(times_of(state), Node("topic", state.topic), ABOUT, subject)
            of_topic = {state.topic: state for state in states}
            for batch in _batches(self._chunks(states), PAGE):
                yield from self._mentions(batch, of_topic, together)
        yield from self._related(together)
        yield from self._cluster_edges()

    def _mentions(
        self,
        chunks: Sequence[tuple[int, Chunk]],
        states: Mapping[str, State],
        together: CoOccurrence,
    ) -> Iterator[ExportedEdge]:
        numbers = [number for number, _ in chunks]
        rows = self._store.graph_rows.mentions(numbers)
        counted = [
            mention
            for mention in counted_mentions(rows, self._meant, self._vectors.titled)
            if mention.entity in self._entity_names
        ]
        together.add(counted)
        vectors = self._vectors.of(
            {NodeKind.CHUNK.node(number) for number in numbers}
            | {NodeKind.ENTITY.node(mention.entity) for mention in counted}
        )
        of_chunk: dict[int, list[CountedMention]] = {}
        for mention in counted:
            of_chunk.setdefault(mention.chunk, []).append(mention)
        for number, chunk in chunks:
            times = times_of(states[chunk.topic])
            source = Node("chunk", chunk.id)
            yield derived_edge(times, source, PART_OF, Node("topic", chunk.topic))
            if row := self.clusters.members.get(number):
                target = Node("cluster", cluster_name(row.cluster))
                yield derived_edge(times, source, MEMBER_OF, target, sim=round(row.near, DECIMALS))
            places = word_places(chunk.text) if number in of_chunk else []
            for mention in of_chunk.get(number, ()):
                target = Node("entity", self._entity_names[mention.entity])
                entity = NodeKind.ENTITY.node(mention.entity)
                yield derived_edge(
                    times,
                    source,
                    MENTIONS,
                    target,
                    sim=cosine(vectors, NodeKind.CHUNK.node(number), entity),
                    count=len(mention.places) // 4,
                    positions=starts_at(places, mention.places),
                )

    def _related(self, together: CoOccurrence) -> Iterator[ExportedEdge]:
        moment = from_micros(self._store.moment(self._as_of)[0])
        for batch in _batches(together.related(), PAGE):
            vectors = self._vectors.of(
                {NodeKind.ENTITY.node(end) for row in batch for end in row[:2]}
            )
            for entity, other, count, strength in batch:
                source, target = (Node("entity", self._entity_names[e]) for e in (entity, other))
                yield derived_edge(
                    (moment, None, moment),
                    source,
                    RELATED_TO,
                    target,
                    sim=cosine(vectors, NodeKind.ENTITY.node(entity), NodeKind.ENTITY.node(other)),
                    weight=strength,
                    count=count,
                )

    def _cluster_edges(self) -> Iterator[ExportedEdge]:
        hierarchy = self.clusters.hierarchy
        if hierarchy is None:
            return
        times = hierarchy.made_at, None, hierarchy.made_at
        for cluster in self.clusters.clusters:
            if cluster.parent is not None:
                ends = Node("cluster", cluster.id), Node("cluster", cluster.parent)
                yield derived_edge(times, ends[0], SUBTOPIC_OF, ends[1])
        for cluster, other, sim in self.clusters.siblings():
            ends = Node("cluster", cluster.id), Node("cluster", other.id)
            yield derived_edge(times, ends[0], SIBLING, ends[1], sim=sim)

    def _with_similarity(self, edges: Sequence[Edge]) -> Iterator[ExportedEdge]:
        ends = {node: self._stored_node(node) for e in edges for node in (e.source, e.target)}
        vectors = self._vectors.of({number for number in ends.values() if number is not None})
        for edge in edges:
            sim = edge.components.get("sim")
            if sim is None:
                sim = cosine(vectors, ends[edge.source], ends[edge.target])
            places = [self._vectors.place_of(ends[end]) for end in (edge.source, edge.target)]
            yield ExportedEdge(edge, sim, layer_bridge=self.clusters.are_distant(*places))

    def bridges(self) -> Iterator[tuple[Bridge, list[Node]]]:
        """Yield the stored bridges whose three nodes are in the export."""
        stored = self._store.bridges.of_space(self._space)
        chunks = {node >> 3 for row in stored for node in (row.source, row.target)}
        labels = self._store.chunks.labels(chunks, *self._store.moment(self._as_of))
        for row in stored:
            name = self._entity_names.get(row.node >> 3)
            ends = [labels.get(row.source >> 3), labels.get(row.target >> 3)]
            if name is not None and ends[0] is not None and ends[1] is not None:
                nodes = [Node("chunk", ends[0]), Node("entity", name), Node("chunk", ends[1])]
                yield row, nodes

    # Weights and logged questions

    def weight_snapshots(self) -> list[WeightSnapshot]:
        """Return the weight snapshots that were known at the moment, oldest first."""
        learned = self._store.weights.find(self._space)
        return [snapshot for snapshot in learned if self._is_known(snapshot.at)]

    def query_log(self) -> list[LoggedQuery]:
        """Return the logged questions up to the moment, newest first."""
        logged = self._store.query_log.last(self._space, NO_LIMIT)
        return [query for query in logged if self._is_known(query.at)]

    def _is_known(self, at: datetime) -> bool:
        return self._as_of.known is None or at <= self._as_of.known

    # Reading

    def _names(self) -> Iterator[list[str]]:
        """Yield the names of topics at the moment, without summaries, which can be made again."""
        after = ""
        while page := self._store.topics.list(
            self._space, TopicFilter(after=after or None, limit=PAGE), self._as_of
        ):
            yield [topic.name for topic in page if not self.topics[topic.name].is_summary]
            after = page[-1].name

    def _states(self) -> Iterator[list[State]]:
        for names in self._names():
            yield [self._store.topics.state(self._space, name, self._as_of) for name in names]

    def _chunks(self, states: Iterable[State]) -> Iterator[tuple[int, Chunk]]:
        for state in states:
            yield from self._store.chunks.numbered(self._space, state.topic, state.version)

    def _topic_node(self, state: State) -> ExportedNode:
        node = Node("topic", state.topic)
        row = self.topics[state.topic]
        first = self._vectors.first_chunks.get(row.id)
        vectors = self._vectors.rounded([] if first is None else [NodeKind.CHUNK.node(first)])
        return ExportedNode(
            self.id_of(node),
            node,
            row.kind,
            state=state,
            out_degree=self._degrees[node],
            embedding=next(iter(vectors.values()), None),
            place=self.clusters.placement(first),
        )

    def _entities(self) -> Iterator[ExportedNode]:
        papers = {row.title for row in self.topics.values() if row.kind == PAPER}
        after: tuple[str, int] | None = None
        while page := self._store.entities.list(
            self._space, None, self._as_of, after, ENTITIES_PAGE
        ):
            numbers = [NodeKind.ENTITY.node(entity.id) for entity in page]
            vectors = self._vectors.rounded(numbers)
            for entity, number in zip(page, numbers, strict=True):
                if self._entity_numbers[entity.name] != entity.id:
                    continue  # edges name their ends: the first entity with a name stands for all
                node = Node("entity", entity.name)
                kind = PAPER if entity.name in papers else entity.kind
                yield ExportedNode(
                    self.id_of(node),
                    node,
                    kind,
                    entity=entity,
                    out_degree=self._degrees[node],
                    embedding=vectors.get(number),
                    place=self.clusters.placement(self._vectors.place_of(number)),
                )
            after = page[-1].name, page[-1].id

    @cached_property
    def _entity_numbers(self) -> dict[str, int]:
        numbers: dict[str, int] = {}
        for entity, name in self._store.graph_rows.entities(self._space, self._as_of):
            if entity not in self._meant:
                numbers.setdefault(name, entity)
        return numbers

    @cached_property
    def _entity_names(self) -> dict[int, str]:
        return {number: name for name, number in self._entity_numbers.items()}

    @cached_property
    def _entity_keys(self) -> dict[str, str]:
        folded = {name: name_key(name).replace(" ", "_") for name in self._entity_numbers}
        shared = {key for key, count in Counter(folded.values()).items() if count > 1}
        for name, key in folded.items():
            if key in shared:
                mark = blake2b(name.encode(), digest_size=_MARK_BYTES).hexdigest()
                folded[name] = f"{key}_{mark}"
        return folded

    @cached_property
    def _meant(self) -> dict[int, int]:
        """The entity that each merged or explained entity stands for."""
        identity = self._store.entities.identity(self._space, self._as_of)
        roots = self._store.entities.roots(self._space, self._as_of)
        return {**roots, **identity.explained(self._space)}

    @cached_property
    def _ends(self) -> list[tuple[Node, Node, int]]:
        """The ends of edges, merged entities replaced, each pair with its number of edges."""
        rows = self._store.graph_rows.ends(self._space, self._as_of)
        ends = {end for row in rows for end in row[:2]}
        meant = self._store.entities.meant(self._space, ends, self._as_of)
        return [(meant[source], meant[target], count) for source, target, count in rows]

    @cached_property
    def _degrees(self) -> Counter[Node]:
        """The number of edges that leave each node for another one."""
        degrees: Counter[Node] = Counter()
        for source, target, count in self._ends:
            if source != target:
                degrees[source] += count
        return degrees

    @cached_property
    def _other_ends(self) -> list[Node]:
        """The ends of edges that are neither a topic nor an entity at the moment."""
        held = {name for names in self._names() for name in names}
        known = {"topic": held, "entity": self._entity_numbers, "chunk": held}
        nodes = {node for *ends, _ in self._ends for node in ends}
        return sorted((node for node in nodes if node.name not in known[node.kind]), key=str)

    def _stored_node(self, node: Node) -> int | None:
        """Return the number of a topic or entity as a node of the store."""
        number = self.number_of(node)
        kind = NodeKind.TOPIC if node.kind == "topic" else NodeKind.ENTITY
        return None if number is None else kind.node(number)


def _batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
