"""Neighbourhood: the paths between two nodes, and the nodes around one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hades.domain.answer import Neighbour, Path, Subgraph, SubgraphEdge, SubgraphNode, path_order
from hades.domain.graph import NodeKind, Reason, row_of
from hades.domain.weights import PathScoring
from hades.graph.adjacency import Neighbours
from hades.graph.arrays import Deadline
from hades.graph.paths import between
from hades.graph.reach import Reached, expand
from hades.index.graph_view import GraphView
from hades.recall.paths.edge_walk import by_symbols, direct
from hades.recall.paths.path_text import PathArcs, PathWriter
from hades.recall.plan import ARCS_A_HOP
from hades.recall.query_context import QueryContext

ARCS_AT_MOST = 10
NODES_SEARCHED = 20_000
"""The most nodes that one search for paths looks at, which takes about a second."""
SCORED_MORE = 2
SCORED_AT_LEAST = 10
"""The search by arcs finds a multiple of the limit, and at least this many paths; the best by
relations are returned, as in memory-enhanced PathRAG."""
ARCS_DRAWN_A_NODE = 4
"""The most arcs of a subgraph for each node; the strongest stay, since more are unreadable."""
RELATED_HOPS = 2
RELATED_LOOKED_AT = 1_000
"""The most nodes around a topic that are searched for other topics."""


def paths(
    query: QueryContext,
    source: int,
    target: int,
    scoring: PathScoring,
    *,
    limit: int,
    hops: int,
    deadline: Deadline | None = None,
) -> tuple[list[Path], int]:
    """Return the best paths between two nodes, best first, and how many nodes were left out.

    Hubs lower the rank of a path but never remove it: the threshold applies to the score before hub
    demotion.
    """
    graph = query.graph
    ends = [_numbers(query, node) for node in (source, target)]
    if not all(ends) or ends[0] == ends[1]:
        return [], 0
    longest = min(ARCS_AT_MOST, hops * ARCS_A_HOP)
    searched = between(
        PathArcs(graph, scoring.hub_demotion),
        ends[0],
        ends[1],
        keep=max(limit * SCORED_MORE, SCORED_AT_LEAST),
        longest=longest,
        decay=scoring.decay_rate,
        nodes=NODES_SEARCHED,
        barred=_barred(query, {*ends[0], *ends[1]}),
        deadline=deadline,
    )
    writer = PathWriter(query)
    scoring = scoring.learned(query.weights)
    # A direct edge is written only once.
    pool: list[tuple[Path, Sequence[int]]] = [(path, ()) for path in direct(query, source, target)]
    pool += [(writer.path(way.nodes, 0.0), way.nodes[1:-1]) for way in searched.paths]
    passed = {node for path, _ in pool for node in path.nodes}
    by_symbol = by_symbols(query, source, target)
    pool += [
        (path, ())
        for symbol, path in by_symbol.items()
        if symbol not in passed and len(path.steps) <= longest
    ]
    scored: dict[str, Path] = {}
    for path, through in pool:
        degrees = graph.adjacency.degrees(np.array(through, np.int64)).tolist()
        if scoring.score(path.edge_types, path.edge_weights) >= scoring.pruning_threshold:
            score = round(scoring.score(path.edge_types, path.edge_weights, degrees), 6)
            scored.setdefault(str(path), replace(path, reliability=score, score=score))
    left_out = sum(trim.count for trim in searched.trims if trim.reason is Reason.CAP_EXCEEDED)
    return sorted(scored.values(), key=path_order)[:limit], left_out


def neighbours(query: QueryContext, node: int, *, limit: int, hops: int) -> list[Neighbour]:
    """Return at most `limit` nodes within `hops`, nearest first, each with a shortest path."""
    start = _numbers(query, node)
    if not start:
        return []
    reached = _reached(query, start, hops, limit + len(start))
    ways = _ways(query.graph.adjacency, reached)
    writer = PathWriter(query)
    joined = []
    for number, hop in zip(reached.nodes.tolist(), reached.hops.tolist(), strict=True):
        if hop:
            numbers, strength = ways[number]
            path = writer.path(numbers, strength)
            joined.append(Neighbour(writer.node(number), hop, round(strength, 4), path))
    return joined[:limit]


def subgraph(query: QueryContext, nodes: list[int], *, limit: int, hops: int) -> Subgraph:
    """Return these nodes, up to `limit` within `hops` of them, and the strongest edges of all.

    Without nodes, start from the most linked ones of the space, and follow nothing.
    """
    graph = query.graph
    writer = PathWriter(query)
    starts = {node: _numbers(query, node) for node in nodes}
    seeds = list(dict.fromkeys(number for numbers in starts.values() for number in numbers))
    if not nodes:
        seeds = _most_linked(graph, limit)
        hops = 0
    reached = _reached(query, seeds, hops, limit)
    counts, targets, weights = graph.adjacency.of(reached.nodes)
    sources = np.repeat(reached.nodes, counts)
    inside = np.isin(targets, reached.nodes) & (sources < targets)
    strongest = np.argsort(-weights[inside], kind="stable")[: limit * ARCS_DRAWN_A_NODE]
    drawn = [
        edge
        for arc in strongest.tolist()
        for edge in writer.edges(int(sources[inside][arc]), int(targets[inside][arc]))
    ]
    shown = [
        SubgraphNode(node.kind, node.name, hop, degree)
        for node, hop, degree in zip(
            map(writer.node, reached.nodes.tolist()),
            reached.hops.tolist(),
            counts.tolist(),
            strict=True,
        )
    ]
    drawn_nodes = {*reached.nodes.tolist()}
    for node, numbers in starts.items():
        # A node without arcs, or a topic that its chunks stand for.
        if graph.number(node) not in drawn_nodes:
            alone = query.store.entities.describe(node)
            own = [number for number in numbers if number in drawn_nodes]
            shown.insert(0, SubgraphNode(alone.kind, alone.name, 0, len(numbers)))
            drawn += [SubgraphEdge(alone, "says", writer.node(number), 1.0) for number in own]
    return Subgraph(tuple(shown), tuple(drawn), reached.left_out)


def _most_linked(graph: GraphView, limit: int) -> list[int]:
    """Return the names and topics with the most neighbours, and what joins most of these.

    Names and topics get half of the room at most. Hubs are left out, since they join everything.
    """
    degrees = graph.adjacency.degrees(np.arange(graph.n))
    degrees[: graph.first_entity] = 0
    degrees[graph.barred] = 0
    names = np.argsort(-degrees, kind="stable")[: limit - limit // 2]
    names = names[degrees[names] > 0]
    joined = np.bincount(graph.adjacency.of(names)[1], minlength=graph.n)
    joined[names] = 0
    joined[graph.barred] = 0
    others = np.argsort(-joined, kind="stable")[: limit - len(names)]
    return [*names.tolist(), *others[joined[others] > 0].tolist()]


def related_topics(query: QueryContext, node: int, *, limit: int) -> list[tuple[str, Path]]:
    """Return the topics around a node, nearest first, each with the path to it."""
    start = _numbers(query, node)
    if not start:
        return []
    reached = _reached(query, start, RELATED_HOPS, RELATED_LOOKED_AT)
    ways = _ways(query.graph.adjacency, reached)
    writer = PathWriter(query)
    own = {writer.topic(number) for number in start} | {str(query.store.entities.describe(node))}
    paths_by_topic: dict[str, Path] = {}
    for number in reached.nodes[len(start) :].tolist():
        topic = writer.topic(number)
        if topic in own or topic in paths_by_topic or number not in ways:
            continue
        if query.store.topics.exists(query.space, topic):
            paths_by_topic[topic] = writer.path(*ways[number])
            if len(paths_by_topic) == limit:
                break
    return list(paths_by_topic.items())


def _reached(query: QueryContext, starts: list[int], hops: int, limit: int) -> Reached:
    at = np.array(starts, np.int64)
    barred = _barred(query, {*starts})
    return expand(query.graph.adjacency, at, hops, limit, barred)


def _ways(adjacency: Neighbours, reached: Reached) -> dict[int, tuple[list[int], float]]:
    """Map each node to the strongest of its shortest paths, and the product of that path's
    weights."""
    hop_of = dict(zip(reached.nodes.tolist(), reached.hops.tolist(), strict=True))
    ways = {node: ([node], 1.0) for node, hop in hop_of.items() if not hop}
    counts, targets, weights = adjacency.of(reached.nodes)
    ends = np.cumsum(counts)
    for at, (node, hop) in enumerate(hop_of.items()):
        own = slice(ends[at] - counts[at], ends[at])
        before = [
            (weight * ways[other][1], -other)
            for other, weight in zip(targets[own].tolist(), weights[own].tolist(), strict=True)
            if hop and hop_of.get(other) == hop - 1
        ]
        if before:
            strength, other = max(before)
            ways[node] = ([*ways[-other][0], node], strength)
    return ways


def _numbers(query: QueryContext, node: int) -> list[int]:
    """Return the graph number of a node; for a topic without arcs, those of its visible chunks."""
    graph = query.graph
    number = graph.number(node)
    if number is not None and graph.adjacency.of(np.array([number]))[0][0]:
        return [number]
    if not NodeKind.TOPIC.has(node):
        return []
    chunks = query.store.chunks.ever_of(row_of(node))
    numbers = (graph.number(NodeKind.CHUNK.node(chunk)) for chunk in chunks)
    return [
        chunk_number
        for chunk_number in numbers
        if chunk_number is not None and graph.visible[chunk_number]
    ]


def _barred(query: QueryContext, ends: set[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return a flag per node: whether no path may pass it, as for hubs that are not an end."""
    barred = query.graph.barred.copy()
    barred[list(ends)] = False
    return barred
