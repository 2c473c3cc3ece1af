"""Snapshot: the graph as of one moment, which all graph formats are written from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b

from hades.domain.graph import Edge, Entity, Node
from hades.domain.topics import Chunk, State
from hades.language.names import name_key

_MARK_BYTES = 4


@dataclass(frozen=True, slots=True)
class ExportedNode:
    """A node as graph formats write it."""

    id: str
    node: Node
    kind: str
    """`topic`, `chunk`, or the kind of an entity."""
    other_names: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class GraphSnapshot:
    """The graph at one moment: states of topics, chunks, entities, and the edges that hold."""

    states: list[State]
    chunks: list[Chunk]
    entities: list[Entity]
    edges: list[Edge]

    def nodes(self) -> Iterator[ExportedNode]:
        """Yield topics, chunks, entities, and then ends of edges that are none of these."""
        texts = {Node("topic", state.topic): state.content for state in self.states}
        texts |= {Node("chunk", chunk.id): chunk.text for chunk in self.chunks}
        entities = {Node("entity", entity.name): entity for entity in self.entities}
        for node, node_id in self.ids().items():
            entity = entities.get(node)
            yield ExportedNode(
                id=node_id,
                node=node,
                kind=entity.kind if entity else node.kind,
                other_names=(*entity.aliases, *entity.merged) if entity else (),
                text=texts.get(node, ""),
            )

    def ids(self) -> dict[Node, str]:
        """Return a stable id per node: `topic:NAME`, `chunk:ID`, or an entity's folded name.

        Entities with the same folded name get a hash of their full name added. Any other end of an
        edge is `KIND:NAME`.
        """
        ids = {Node("topic", state.topic): f"topic:{state.topic}" for state in self.states}
        ids |= {Node("chunk", chunk.id): f"chunk:{chunk.id}" for chunk in self.chunks}
        folded = {entity.name: name_key(entity.name).replace(" ", "_") for entity in self.entities}
        shared = {key for key, count in Counter(folded.values()).items() if count > 1}
        for name, key in folded.items():
            mark = blake2b(name.encode(), digest_size=_MARK_BYTES).hexdigest()
            ids[Node("entity", name)] = f"{key}_{mark}" if key in shared else key
        for edge in self.edges:
            for end in (edge.source, edge.target):
                # The topic of an end may be forgotten; the edge still needs a node.
                ids.setdefault(end, f"{end.kind}:{end.name}")
        return ids
