"""The graph as of one moment, in the form every graph format is written from."""

from __future__ import annotations

from dataclasses import dataclass

from hades.domain.graph import Edge, Entity, Node
from hades.domain.names import name_key
from hades.domain.trace import Chunk, State


@dataclass(frozen=True, slots=True)
class GraphSnapshot:
    """Topics with their state, their chunks, entities, and the edges that hold."""

    states: list[State]
    chunks: list[Chunk]
    entities: list[Entity]
    edges: list[Edge]

    def ids(self) -> dict[Node, str]:
        """A stable id for each node: a topic's and chunk's name, an entity's folded name."""
        ids = {Node("topic", state.topic): f"topic:{state.topic}" for state in self.states}
        ids |= {Node("chunk", chunk.id): f"chunk:{chunk.id}" for chunk in self.chunks}
        for entity in self.entities:
            ids[Node("entity", entity.name)] = name_key(entity.name).replace(" ", "_")
        for edge in self.edges:
            for end in (edge.source, edge.target):
                # An end whose topic was forgotten still needs a place to stand.
                ids.setdefault(end, f"{end.kind}:{end.name}")
        return ids
