"""Elements of an export: nodes and edges as all graph formats write them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from hades.domain.graph import Edge, Entity, Node
from hades.domain.hierarchy import Cluster
from hades.domain.topics import Chunk, State
from hades.exchange.clusters import NOWHERE, Placement

Times = tuple[datetime, datetime | None, datetime]
"""valid_from, valid_to and recorded_at."""


@dataclass(frozen=True, slots=True)
class ExportedNode:
    """A node; at most one of `state`, `chunk`, `entity` and `cluster` is set."""

    id: str
    node: Node
    kind: str
    """The kind of an entity or a topic, or `chunk`."""
    state: State | None = None
    chunk: Chunk | None = None
    entity: Entity | None = None
    out_degree: int = 0
    embedding: list[float] | None = None
    cluster: Cluster | None = None
    place: Placement = NOWHERE
    """The place in the hierarchy of a chunk, or of the passage that stands for another node."""

    @property
    def text(self) -> str:
        """The content of a topic or chunk, "" for others."""
        return self.state.content if self.state else self.chunk.text if self.chunk else ""

    @property
    def other_names(self) -> tuple[str, ...]:
        """The aliases of an entity and the names merged into it."""
        return (*self.entity.aliases, *self.entity.merged) if self.entity else ()

    @property
    def summary(self) -> str:
        """The summary of an entity or a cluster."""
        described = self.entity or self.cluster
        return described.summary if described else ""

    @property
    def layer(self) -> int:
        """The level of a cluster, 0 for other nodes."""
        return self.cluster.level if self.cluster else 0


@dataclass(frozen=True, slots=True)
class ExportedEdge:
    """An edge as graph formats write it."""

    edge: Edge
    sim: float | None = None
    """The cosine of the vectors of its ends, where both are known."""
    derived: bool = False
    """Whether it follows from the texts (mentions, part_of, about, related_to) or the clusters."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """`count` and `positions` of mentions, `count` of related_to."""
    layer_bridge: bool = False
    """Whether its ends are in distant clusters."""


def derived_edge(
    times: Times,
    source: Node,
    relation: str,
    target: Node,
    *,
    sim: float | None = None,
    weight: float = 1.0,
    **facts: Any,
) -> ExportedEdge:
    """Return an edge that follows from texts."""
    edge = Edge(0, source, relation, target, weight, *times)
    return ExportedEdge(edge, sim, derived=True, facts=facts)


def times_of(state: State) -> Times:
    """Return the times of a state, for the edges that follow from its text."""
    return state.valid_from, state.valid_to, state.recorded_at
