"""Edge walk: what is around a node by edges of some relations, one direction or enough weight.

The arrays of the graph have neither relations nor directions, so the edges of every node on
the way are read from the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hades.domain.answer import Neighbour, Path, Step, Subgraph, SubgraphEdge, SubgraphNode
from hades.domain.graph import Edge, Node
from hades.recall.path_text import path_of, step_along
from hades.recall.query_context import QueryContext
from hades.store.records import Direction, EdgeFilter


@dataclass(frozen=True, slots=True)
class EdgeChoice:
    """Which edges are followed."""

    relations: tuple[str, ...] = ()
    """None named: any."""
    direction: Direction = "both"
    least_weight: float = 0.0


@dataclass(frozen=True, slots=True)
class _Way:
    """How a node is reached; its strength is the product of the weights."""

    start: Node
    steps: tuple[tuple[Edge, Step], ...] = ()
    strength: float = 1.0

    def path(self) -> Path:
        edges, steps = zip(*self.steps, strict=True)
        by_way = f" by way of {', '.join(str(one.target) for one in steps[:-1])}"
        rationale = f"{self.start} leads to {steps[-1].target}{by_way if steps[1:] else ''}"
        beliefs = [edge.belief for edge in edges]
        return path_of(self.start, steps, beliefs, self.strength, rationale)


def neighbours(
    query: QueryContext, node: int, chosen: EdgeChoice, *, limit: int, hops: int
) -> list[Neighbour]:
    """What the chosen edges lead to, nearest first, by the strongest of them."""
    ways, _ = _walk(query, [node], chosen, limit + 1, hops)
    return [
        Neighbour(end, len(way.steps), round(way.strength, 4), way.path())
        for end, way in ways.items()
        if way.steps
    ]


def subgraph(
    query: QueryContext, nodes: Sequence[int], chosen: EdgeChoice, *, limit: int, hops: int
) -> Subgraph:
    """What the chosen edges lead to, and all chosen edges among these nodes."""
    ways, left_out = _walk(query, nodes, chosen, limit, hops)
    drawn = [
        SubgraphEdge(node, step.relation, step.target, step.weight, step.snippet, step.chunk)
        for node in ways
        for _, step in _steps(query, node, replace(chosen, direction="out"))
        if step.target in ways
    ]
    found = [
        SubgraphNode(node.kind, node.name, len(way.steps), _degree(query, node))
        for node, way in ways.items()
    ]
    return Subgraph(tuple(found), tuple(drawn), left_out)


def _walk(
    query: QueryContext, starts: Sequence[int], chosen: EdgeChoice, limit: int, hops: int
) -> tuple[dict[Node, _Way], int]:
    """At most `limit` nodes with the way to each, nearest and strongest first, and how many
    more were seen."""
    found = [query.store.entities.describe(node) for node in dict.fromkeys(starts)]
    ways = {node: _Way(node) for node in found[:limit]}
    left_out, frontier = len(found) - len(ways), list(ways)
    for _ in range(0 if left_out else hops):
        news: dict[Node, _Way] = {}
        for node in frontier:
            for edge, step in _steps(query, node, chosen):
                way = ways[node]
                way = _Way(way.start, (*way.steps, (edge, step)), way.strength * edge.weight)
                known = news.get(step.target)
                if step.target not in ways and (known is None or way.strength > known.strength):
                    news[step.target] = way
        best = sorted(news, key=lambda node: (-news[node].strength, node.name))
        frontier = best[: limit - len(ways)]
        left_out = len(best) - len(frontier)
        ways |= {node: news[node] for node in frontier}
        if left_out or not frontier:
            break
    return ways, left_out


def _steps(query: QueryContext, node: Node, chosen: EdgeChoice) -> Iterator[tuple[Edge, Step]]:
    """The chosen edges of a node, each as a step away from it."""
    store, space, as_of = query.store, query.space, query.as_of
    number = store.entities.node(space, node.name, as_of)
    ways: list[Direction] = ["out", "in"] if chosen.direction == "both" else [chosen.direction]
    for way in ways if number is not None else ():
        for relation in chosen.relations or (None,):
            wanted = EdgeFilter(node=number, direction=way, relation=relation)
            told = store.edges.find(space, wanted, as_of)
            for edge in told + store.derived_edges.find(space, wanted, as_of):
                if edge.weight >= chosen.least_weight:
                    other = edge.target if way == "out" else edge.source
                    yield edge, step_along(edge, other, forward=way == "out")


def _degree(query: QueryContext, node: Node) -> int:
    known = query.store.entities.node(query.space, node.name, query.as_of)
    number = None if known is None else query.graph.number(known)
    return 0 if number is None else int(query.graph.adjacency.of(np.array([number]))[0][0])
