"""The bridge cache: stored bridges that hold in the graph of a question.

`hot_bridges` finds the bridges of clusters, to be stored; `BridgeCache.around` reads them back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from hades.domain.graph import NodeKind
from hades.domain.tiers import Tier
from hades.graph.arrays import Ints
from hades.index.hierarchy import ClusterArrays
from hades.recall.paths.path_text import PathArcs
from hades.recall.query_context import QueryContext
from hades.store.bridges import Bridge
from hades.store.store import Store

OF_A_CLUSTER = 20
"""The most bridges that are stored for a cluster of level 1."""
READ_AT_MOST = 50
"""The most bridges that one question reads."""


class BridgeCache:
    """The stored bridges of a memory, with counts of look-ups in this process."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.hits = 0
        self.misses = 0

    def around(self, query: QueryContext, numbers: Sequence[int]) -> list[tuple[list[int], float]]:
        """Return the bridges from these passages as numbers of nodes, with weights, best first."""
        nodes = [query.graph.node(number) for number in numbers]
        stored = self._store.bridges.around(query.space, nodes, READ_AT_MOST)
        wanted = {*numbers}
        bridges = list[tuple[list[int], float]]()
        for bridge in stored:
            if ends := held(query, bridge):
                bridges.append((ends if ends[0] in wanted else ends[::-1], bridge.weight))
        self.hits += bool(bridges)
        self.misses += not bridges
        return bridges

    def tier(self) -> Tier:
        """Return the number of stored bridges, and how many look-ups found some."""
        return Tier(
            "bridges",
            "store",
            self._store.bridges.count(),
            hits=self.hits,
            misses=self.misses,
        )


def held(query: QueryContext, bridge: Bridge) -> list[int]:
    """Return the numbers of a bridge's nodes; [] if the graph of the query lacks a step of it."""
    graph = query.graph
    numbers = graph.numbers(np.array(bridge[1:4], np.int64)).tolist()
    source, name, target = numbers
    if min(numbers) < 0 or not (graph.visible[source] and graph.visible[target]):
        return []
    _, beside, _ = graph.adjacency.of(np.array([name]))
    return numbers if {source, target} <= {*beside.tolist()} else []


def hot_bridges(
    query: QueryContext, arrays: ClusterArrays, clusters: Iterable[int]
) -> list[Bridge]:
    """Return the best bridges from clusters (positions in `arrays`), at most OF_A_CLUSTER of each.

    For each name, only the strongest pair of passages from different topics and communities counts.
    Its weight is the product of the two steps' weights, times the rarity of the name.
    """
    graph = query.graph
    arcs = PathArcs(query.graph)
    topics = query.indexes.chunks["topic"]
    bridges: list[Bridge] = []
    for cluster in clusters:
        members = arrays.members(cluster)
        members = members[graph.visible[members]]
        counts, names, weights = arcs.of(members)
        best: dict[int, tuple[float, int]] = {}
        for name, weight, chunk in zip(
            names.tolist(), weights.tolist(), np.repeat(members, counts).tolist(), strict=True
        ):
            if graph.first_entity <= name < graph.first_topic and not graph.barred[name]:
                best[name] = max(best.get(name, (0.0, 0)), (weight, -chunk))
        group = int(arrays.parent[cluster])
        own = [
            Bridge(
                int(arrays.numbers[cluster]),
                NodeKind.CHUNK.node(int(graph.chunks[-source])),
                graph.node(name),
                NodeKind.CHUNK.node(int(graph.chunks[target])),
                round(weight * far * _rarity(query, name), 6),
            )
            for name, (weight, source) in best.items()
            for far, target in _far_end(query, arrays, name, group, int(topics[-source]))
        ]
        own.sort(key=lambda bridge: (-bridge.weight, bridge))
        bridges += own[:OF_A_CLUSTER]
    return bridges


def _far_end(
    query: QueryContext, arrays: ClusterArrays, name: int, group: int, topic: int
) -> list[tuple[float, int]]:
    """Return weight and number of the passage of another community that a name joins best."""
    _, others, weights = PathArcs(query.graph).of(np.array([name]))
    is_chunk = others < query.graph.first_entity
    chunks: Ints = others[is_chunk].astype(np.int64)
    groups = arrays.group_of(chunks)
    far = (groups >= 0) & (groups != group) & (query.indexes.chunks["topic"][chunks] != topic)
    far &= query.graph.visible[chunks]
    ends = zip(weights[is_chunk][far].tolist(), (-chunks[far]).tolist(), strict=True)
    best = max(ends, default=None)
    return [] if best is None else [(best[0], -best[1])]


def _rarity(query: QueryContext, name: int) -> float:
    graph = query.graph
    return float(graph.rarity[name - graph.first_entity]) / max(graph.rarest, 1e-9)
