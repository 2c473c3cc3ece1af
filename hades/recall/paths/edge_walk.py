"""Edge walk: the nodes around a node by edges of some relations, a direction or a least weight.

The graph arrays have neither relations nor directions, so the walk reads the edges of every node
that it reaches from the store.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from hades.domain.answer import Neighbour, Path, Step, Subgraph, SubgraphEdge, SubgraphNode
from hades.domain.graph import Edge, Node, NodeKind
from hades.recall.paths.path_text import path_of, step_along
from hades.recall.query_context import QueryContext
from hades.store.derived_edges import DOCUMENTS
from hades.store.records import Direction, EdgeFilter


@dataclass(frozen=True, slots=True)
class EdgeChoice:
    """A filter for the edges that a walk follows."""

    relations: tuple[str, ...] = ()
    """Empty means any relation."""
    direction: Direction = "both"
    least_weight: float = 0.0


EDGES_LOOKED_AT = 1_000
"""`direct` reads the edges of a node only if it has at most this many; for others, path search
finds them."""
SYMBOLS_NESTED_AT_MOST = 5
"""The most steps from a symbol to its file: a method is in a class, which is in a file."""
Way = tuple[tuple[Edge, Step], ...]
"""The edges that lead to a node; their strength is the product of the weights."""


def neighbours(
    query: QueryContext, node: int, chosen: EdgeChoice, *, limit: int, hops: int
) -> list[Neighbour]:
    """Return at most `limit` nodes within `hops` chosen edges, nearest first, each with a path."""
    ways, _ = _walk(query, [node], chosen, limit + 1, hops)
    (start, _), *others = ways.items()
    return [
        Neighbour(end, len(way), round(_strength(way), 4), _path(start, way)) for end, way in others
    ]


def direct(query: QueryContext, source: int, target: int) -> list[Path]:
    """Return the edges between two nodes as one-step paths, strongest first; [] if from a hub."""
    start = query.store.entities.describe(source)
    if _degree(query, start) > EDGES_LOOKED_AT:
        return []
    ends = query.store.derived_edges.nodes(query.space, [target], query.as_of)
    steps = _steps(query, start, EdgeChoice())
    ways = [(step,) for step in steps if _node(query, step[1].target) in ends]
    return [_path(start, way) for way in sorted(ways, key=_strength, reverse=True)]


def by_symbols(query: QueryContext, source: int, target: int) -> dict[Node, Path]:
    """Return a path between a text and a file of code through each symbol that the text names.

    Bare names such as `evict` are common words, so the graph has no arcs for them.
    """
    start, end = (query.store.entities.describe(node) for node in (source, target))
    paths = {way[0][1].target: _path(start, way) for way in _to_code(query, start, end, target)}
    for way in _to_code(query, end, start, source):
        paths[way[0][1].target] = _path(start, _reversed(end, way))
    return paths


def _to_code(query: QueryContext, text: Node, file: Node, code: int) -> Iterator[Way]:
    """Yield the ways from a text to a symbol that it names, and on to the file that contains it."""
    known = query.store.derived_edges
    symbols = {*known.symbols_of([code])} if NodeKind.TOPIC.has(code) else set()
    if not symbols or _degree(query, text) > EDGES_LOOKED_AT:
        return
    for first in _steps(query, text, EdgeChoice((DOCUMENTS,), "out")):
        if _node(query, first[1].target) in symbols:
            way = [first]
            at = first[1].target
            while at != file and len(way) <= SYMBOLS_NESTED_AT_MOST:
                owners = _steps(query, at, EdgeChoice(("contains",), "in"))
                own = [step for step in owners if step[1].chunk.startswith(f"{file.name}@")]
                if not own:
                    break
                way.append(own[0])
                at = own[0][1].target
            if at == file:
                yield tuple(way)


def _reversed(start: Node, way: Way) -> Way:
    """Return a way in the other direction, ending at `start`."""
    nodes = [start, *(step.target for _, step in way)]
    back = [
        (edge, step_along(edge, node, forward=not step.forward))
        for node, (edge, step) in zip(nodes, way, strict=False)
    ]
    return tuple(back[::-1])


def subgraph(
    query: QueryContext, nodes: Sequence[int], chosen: EdgeChoice, *, limit: int, hops: int
) -> Subgraph:
    """Return at most `limit` nodes within `hops` chosen edges, and the chosen edges among them."""
    ways, left_out = _walk(query, nodes, chosen, limit, hops)
    drawn = list[SubgraphEdge]()
    told = set[int]()
    for node in ways:
        for edge, step in _steps(query, node, replace(chosen, direction="out")):
            if step.target in ways and edge.id not in told:
                drawn.append(
                    SubgraphEdge(
                        source=node,
                        relation=step.relation,
                        target=step.target,
                        weight=step.weight,
                        snippet=step.snippet,
                        chunk=step.chunk,
                    )
                )
                told |= {edge.id} if edge.id > 0 else set()
    reached = [
        SubgraphNode(node.kind, node.name, len(way), _degree(query, node))
        for node, way in ways.items()
    ]
    return Subgraph(tuple(reached), tuple(drawn), left_out)


def _walk(
    query: QueryContext, starts: Sequence[int], chosen: EdgeChoice, limit: int, hops: int
) -> tuple[dict[Node, Way], int]:
    """Return at most `limit` nodes with the way to each, nearest and strongest first.

    Also return how many more were seen at the last hop.
    """
    nodes = [query.store.entities.describe(node) for node in dict.fromkeys(starts)]
    ways: dict[Node, Way] = dict.fromkeys(nodes[:limit], ())
    left_out = len(nodes) - len(ways)
    frontier = list(ways)
    while frontier and hops and not left_out:
        news: dict[Node, Way] = {}
        for node in frontier:
            for edge, step in _steps(query, node, chosen):
                end = step.target
                way = (*ways[node], (edge, step))
                if end not in ways and _strength(way) > _strength(news.get(end)):
                    news[end] = way
        best = sorted(news, key=lambda node: (-_strength(news[node]), node.name))
        frontier = best[: limit - len(ways)]
        hops = hops - 1
        left_out = len(best) - len(frontier)
        ways |= {node: news[node] for node in frontier}
    return ways, left_out


def _strength(way: Way | None) -> float:
    return -1.0 if way is None else math.prod(edge.weight for edge, _ in way)


def _path(start: Node, way: Way) -> Path:
    edges, steps = zip(*way, strict=True)
    by_way = f" by way of {', '.join(str(step.target) for step in steps[:-1])}"
    rationale = f"{start} leads to {steps[-1].target}{by_way if steps[1:] else ''}"
    return path_of(start, steps, [edge.belief for edge in edges], _strength(way), rationale)


def _steps(query: QueryContext, node: Node, chosen: EdgeChoice) -> Iterator[tuple[Edge, Step]]:
    """Yield the chosen edges of a node, each as a step away from it."""
    store = query.store
    space = query.space
    as_of = query.as_of
    number = _node(query, node)
    ways: list[Direction] = ["out", "in"] if chosen.direction == "both" else [chosen.direction]
    seen = set[int]()
    for way in ways if number is not None else ():
        for relation in chosen.relations or (None,):
            wanted = EdgeFilter(node=number, direction=way, relation=relation)
            # An edge of a symmetric relation is found in both directions.
            told = [edge for edge in store.edges.find(space, wanted, as_of) if edge.id not in seen]
            seen |= {edge.id for edge in told}
            for edge in told + store.derived_edges.find(space, wanted, as_of):
                if edge.weight >= chosen.least_weight:
                    other = edge.target if way == "out" else edge.source
                    yield edge, step_along(edge, other, forward=way == "out")


def _node(query: QueryContext, node: Node) -> int | None:
    """Return the node in the store; for a chunk, that of its topic."""
    name = node.name.rpartition("@")[0] if node.kind == "chunk" else node.name
    return query.store.entities.node(query.space, name, query.as_of)


def _degree(query: QueryContext, node: Node) -> int:
    known = _node(query, node)
    number = None if known is None else query.graph.number(known)
    return 0 if number is None else int(query.graph.adjacency.of(np.array([number]))[0][0])
