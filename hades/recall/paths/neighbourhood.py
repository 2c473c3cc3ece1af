"""Neighbourhood: the paths between two nodes, and what is next to one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from hades.domain.answer import Neighbour, Path, Subgraph, SubgraphEdge, SubgraphNode
from hades.domain.graph import NodeKind, row_of
from hades.domain.weights import PathScoring
from hades.graph.adjacency import Neighbours
from hades.graph.paths import between
from hades.graph.reach import Reached, expand
from hades.recall.paths.edge_walk import direct
from hades.recall.paths.path_text import PathArcs, PathWriter
from hades.recall.plan import ARCS_A_HOP
from hades.recall.query_context import QueryContext

ARCS_AT_MOST = 10
SCORED_MORE, SCORED_AT_LEAST = 2, 10
"""Of so many times as many paths as are wanted the best are shown (source document 000): they are
found by their arcs, and scored by their relations."""
ARCS_DRAWN_A_NODE = 4
"""A picture with more lines than this shows nothing: the strongest stay."""
RELATED_HOPS = 2
RELATED_LOOKED_AT = 1_000
"""Nodes around a topic that are looked at for other topics."""


def paths(
    query: QueryContext, source: int, target: int, scoring: PathScoring, *, limit: int, hops: int
) -> list[Path]:
    """The best paths between two nodes, best first; none when nothing joins them."""
    graph = query.graph
    ends = [_numbers(query, node) for node in (source, target)]
    if not all(ends) or ends[0] == ends[1]:
        return []
    found = between(
        PathArcs(graph, scoring.hub_demotion),
        ends[0],
        ends[1],
        keep=max(limit * SCORED_MORE, SCORED_AT_LEAST),
        longest=min(ARCS_AT_MOST, hops * ARCS_A_HOP),
        decay=scoring.decay_rate,
        barred=_barred(query, {*ends[0], *ends[1]}),
    )
    writer = PathWriter(query)
    # An edge between the two comes first among equals, and once.
    pool: list[tuple[Path, Sequence[int]]] = [(one, ()) for one in direct(query, source, target)]
    pool += [(writer.path(one.nodes, 0.0), one.nodes[1:-1]) for one in found.paths]
    scored: dict[str, Path] = {}
    for path, through in pool:
        degrees = graph.adjacency.degrees(np.array(through, np.int64)).tolist()
        score = round(scoring.score(path.edge_types, path.edge_weights, degrees), 6)
        if score >= scoring.pruning_threshold:
            scored.setdefault(str(path), replace(path, reliability=score, score=score))
    return sorted(scored.values(), key=lambda path: -path.score)[:limit]


def neighbours(query: QueryContext, node: int, *, limit: int, hops: int) -> list[Neighbour]:
    """What is joined with a node, nearest first, by the strongest arcs."""
    start = _numbers(query, node)
    if not start:
        return []
    reached = _reached(query, start, hops, limit + len(start))
    ways, writer = _ways(query.graph.adjacency, reached), PathWriter(query)
    found = []
    for one, hop in zip(reached.nodes.tolist(), reached.hops.tolist(), strict=True):
        if hop:
            numbers, strength = ways[one]
            path = writer.path(numbers, strength)
            found.append(Neighbour(writer.node(one), hop, round(strength, 4), path))
    return found[:limit]


def subgraph(query: QueryContext, nodes: list[int], *, limit: int, hops: int) -> Subgraph:
    """What is around some nodes, nearest first, and the edges among all of these."""
    graph, writer = query.graph, PathWriter(query)
    starts = {node: _numbers(query, node) for node in nodes}
    seeds = list(dict.fromkeys(one for numbers in starts.values() for one in numbers))
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
    found = [
        SubgraphNode(node.kind, node.name, hop, degree)
        for node, hop, degree in zip(
            map(writer.node, reached.nodes.tolist()),
            reached.hops.tolist(),
            counts.tolist(),
            strict=True,
        )
    ]
    there = {*reached.nodes.tolist()}
    for node, numbers in starts.items():
        # One that stands alone, or for which its passages stand.
        if graph.number(node) not in there:
            alone = query.store.entities.describe(node)
            own = [one for one in numbers if one in there]
            found.insert(0, SubgraphNode(alone.kind, alone.name, 0, len(numbers)))
            drawn += [SubgraphEdge(alone, "says", writer.node(one), 1.0) for one in own]
    return Subgraph(tuple(found), tuple(drawn), reached.left_out)


def related_topics(query: QueryContext, node: int, *, limit: int) -> list[tuple[str, Path]]:
    """The topics that are next to a node, nearest first, each with the way to it."""
    start = _numbers(query, node)
    if not start:
        return []
    reached = _reached(query, start, RELATED_HOPS, RELATED_LOOKED_AT)
    ways, writer = _ways(query.graph.adjacency, reached), PathWriter(query)
    own = {writer.topic(one) for one in start} | {str(query.store.entities.describe(node))}
    found: dict[str, Path] = {}
    for one in reached.nodes[len(start) :].tolist():
        topic = writer.topic(one)
        if topic in own or topic in found or one not in ways:
            continue
        if query.store.topics.exists(query.space, topic):
            found[topic] = writer.path(*ways[one])
            if len(found) == limit:
                break
    return list(found.items())


def _reached(query: QueryContext, starts: list[int], hops: int, limit: int) -> Reached:
    at, barred = np.array(starts, np.int64), _barred(query, {*starts})
    return expand(query.graph.adjacency, at, hops, limit, barred)


def _ways(adjacency: Neighbours, reached: Reached) -> dict[int, tuple[list[int], float]]:
    """By node: the way to it by the strongest arcs, and the product of their weights."""
    hop_of = dict(zip(reached.nodes.tolist(), reached.hops.tolist(), strict=True))
    ways = {one: ([one], 1.0) for one, hop in hop_of.items() if not hop}
    counts, targets, weights = adjacency.of(reached.nodes)
    ends = np.cumsum(counts)
    for at, (one, hop) in enumerate(hop_of.items()):
        own = slice(ends[at] - counts[at], ends[at])
        before = [
            (weight * ways[other][1], -other)
            for other, weight in zip(targets[own].tolist(), weights[own].tolist(), strict=True)
            if hop and hop_of.get(other) == hop - 1
        ]
        if before:
            strength, other = max(before)
            ways[one] = ([*ways[-other][0], one], strength)
    return ways


def _numbers(query: QueryContext, node: int) -> list[int]:
    """The numbers that stand for a node: itself, or a topic's chunks where nothing is stated."""
    graph = query.graph
    number = graph.number(node)
    if number is not None and graph.adjacency.of(np.array([number]))[0][0]:
        return [number]
    if not NodeKind.TOPIC.has(node):
        return []
    chunks = query.store.chunks.ever_of(row_of(node))
    numbers = (graph.number(NodeKind.CHUNK.node(chunk)) for chunk in chunks)
    return [one for one in numbers if one is not None and graph.visible[one]]


def _barred(query: QueryContext, ends: set[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Hubs carry nothing, but may be an end."""
    barred = query.graph.barred.copy()
    barred[list(ends)] = False
    return barred
