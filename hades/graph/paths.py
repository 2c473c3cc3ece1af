"""Paths: the k best between two nodes, or two sets, by the weights of their arcs.

The score of a path is Σ log(max(w·decay, ε)), so the shorter of two equally strong paths comes
first. For each number of arcs, a table holds the best score from every node to a target, so that
the search expands only the best paths. Only nodes near the ends are looked at: every node of a path
of L arcs is at most L/2 arcs away from one of the ends.

Logarithms are rounded to units of 2⁻⁴⁰, so that equal sums are equal in any order of addition. Ties
go to the path with fewer arcs, then to the smaller node numbers.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable
from dataclasses import dataclass

from hades.domain.graph import Reason
from hades.errors import InvalidInput
from hades.graph.adjacency import Neighbours, RowCache
from hades.graph.arrays import Deadline, Flags
from hades.graph.trims import Trim, Trims

EPSILON = 1e-6
STEPS = 200_000
"""The most prefixes that one search tries, about a second."""
ARCS_ALWAYS = 2
"""Paths of at most this many arcs are searched even after the deadline: they cost little."""
_UNITS = 2**40


@dataclass(frozen=True, slots=True)
class BestPath:
    """A path and its score."""

    nodes: tuple[int, ...]
    score: float


@dataclass(frozen=True, slots=True)
class BestPaths:
    """The best paths, best first, and what was left out on the way."""

    paths: tuple[BestPath, ...]
    trims: tuple[Trim, ...]


@dataclass(frozen=True, slots=True)
class _Near:
    """The part of the graph near the ends."""

    sources: list[int]
    targets: set[int]
    arcs: dict[int, dict[int, int]]
    """Target and log weight, in units, of the arcs of nodes that a path may start at or pass."""


@dataclass(slots=True)
class _Side:
    """The state of the search around one end."""

    layer: list[int]
    """The nodes reached last, whose arcs are followed next."""
    depth: int
    """The number of layers still to reach."""
    met: set[int]
    """All nodes reached from this end."""


def between(
    graph: Neighbours,
    sources: Iterable[int],
    targets: Iterable[int],
    *,
    keep: int = 6,
    longest: int = 5,
    decay: float = 1.0,
    nodes: int = 20_000,
    barred: Flags | None = None,
    deadline: Deadline | None = None,
) -> BestPaths:
    """Return the `keep` best simple paths of up to `longest` arcs from any source to any target.

    No path passes another source or target, or a `barred` node. The graph must be undirected. Each
    arc multiplies the strength of a path by `decay`. At most `nodes` nodes are looked at. After the
    `deadline`, the search ends with the paths found so far, but not before paths of two arcs.
    """
    if longest < 1:
        raise InvalidInput("paths have 1 arc or more")
    trims = Trims()
    starts = _ends(sources, len(graph), barred)
    ends = _ends(targets, len(graph), barred)
    rows = RowCache(graph, barred)
    known = _known(rows, starts, ends, longest, nodes, trims)
    first = set(starts)
    last = set(ends)
    carriers = [node for node in known if node in first or node not in last]
    near = _Near(starts, last, _weighed(rows, carriers, known, decay))
    rest = _best_rest(near, longest)
    best: list[BestPath] = []
    steps = [STEPS]
    for arcs in range(1, longest + 1):
        if arcs > ARCS_ALWAYS and deadline and deadline():
            trims.add(Reason.TIMEOUT, "lengths", longest + 1 - arcs)
            break
        for units, path in _search(near, rest[: arcs + 1], keep, steps, trims):
            best.append(BestPath(path, units / _UNITS))
    best.sort(key=lambda path: (-path.score, len(path.nodes), path.nodes))
    return BestPaths(tuple(best[:keep]), trims.all())


def outward(rows: RowCache, source: int, *, keep: int, longest: int = 5) -> list[BestPath]:
    """Return the best path from a node to each of the `keep` nodes nearest to it, best first.

    Paths have 1 to `longest` arcs. `rows` has fetched every node that they may pass.
    """
    heap: list[tuple[int, int, tuple[int, ...]]] = [(0, 0, (source,))]
    reached: dict[int, BestPath] = {}
    while heap and len(reached) <= keep:
        units, arcs, nodes = heapq.heappop(heap)
        if nodes[-1] in reached:
            continue
        reached[nodes[-1]] = BestPath(nodes, -units / _UNITS)
        if arcs < longest:
            for other, weight in zip(*rows[nodes[-1]][:2], strict=True):
                if other not in reached:
                    more = round(math.log(max(weight, EPSILON)) * _UNITS)
                    heapq.heappush(heap, (units - more, arcs + 1, (*nodes, other)))
    return [*reached.values()][1:]


def _ends(given: Iterable[int], count: int, barred: Flags | None) -> list[int]:
    nodes = [*dict.fromkeys(given)]
    if not all(0 <= node < count for node in nodes):
        raise InvalidInput(f"paths join nodes from 0 to {count - 1}")
    return [node for node in nodes if barred is None or not barred[node]]


def _known(
    rows: RowCache, starts: list[int], ends: list[int], longest: int, limit: int, trims: Trims
) -> dict[int, None]:
    """Return the nodes that a path could use: those within `longest` / 2 arcs of an end.

    The side with fewer arcs to follow goes first, so that a hub near one end does not use up the
    limit. If a layer exceeds the limit, nodes next to the other side are kept first: they complete
    a path.
    """
    known = dict.fromkeys((*starts, *ends))
    tips = set(known)
    sides = [
        _Side(starts, longest // 2, set(starts)),
        _Side(ends, (longest - 1) // 2, set(ends)),
    ]
    while open_sides := [side for side in sides if side.depth and side.layer]:
        rows.fetch(node for side in sides for node in side.layer)
        side = min(open_sides, key=lambda side: sum(len(rows[node][0]) for node in side.layer))
        other = sides[side is sides[0]]
        reached = dict.fromkeys(n for node in side.layer for n in rows[node][0])
        layer = [node for node in reached if node not in side.met]
        new = [node for node in layer if node not in known]
        room = max(0, limit - len(known))
        if len(new) > room:
            beside = {n for node in other.layer for n in rows[node][0]}
            new.sort(key=lambda node: node not in beside)
        left_out = set(new[room:])
        trims.add(Reason.CAP_EXCEEDED, "nodes", len(left_out))
        layer = [node for node in layer if node not in left_out]
        side.met.update(layer)
        known.update(dict.fromkeys(layer))
        side.layer = [node for node in layer if node not in tips]
        side.depth -= 1
    rows.fetch(known)
    return known


def _weighed(
    rows: RowCache, carriers: list[int], known: dict[int, None], decay: float
) -> dict[int, dict[int, int]]:
    """Return the logarithms of the weights between known nodes, in units."""
    return {
        node: {
            other: round(math.log(max(weight * decay, EPSILON)) * _UNITS)
            for other, weight in zip(*rows[node][:2], strict=True)
            if other in known
        }
        for node in carriers
    }


def _best_rest(near: _Near, arcs: int) -> list[dict[int, int]]:
    """Return, for each number of arcs, the best score from each node to a target."""
    tables: list[dict[int, int]] = [dict.fromkeys(near.targets, 0)]
    for _ in range(arcs):
        last = tables[-1]
        table = {}
        for node, row in near.arcs.items():
            rest = [units + last[other] for other, units in row.items() if other in last]
            if rest:
                table[node] = max(rest)
        tables.append(table)
    return tables


def _search(
    near: _Near, rest: list[dict[int, int]], keep: int, steps: list[int], trims: Trims
) -> list[tuple[int, tuple[int, ...]]]:
    """Return the best (score, path) of `len(rest) - 1` arcs. Each step is taken off `steps[0]`."""
    arcs = len(rest) - 1
    starts = set(near.sources)
    heap: list[tuple[int, tuple[int, ...], int]] = [
        (-rest[arcs][start], (start,), 0) for start in near.sources if start in rest[arcs]
    ]
    heapq.heapify(heap)
    paths: list[tuple[int, tuple[int, ...]]] = []
    while heap and len(paths) < keep:
        _, nodes, units = heapq.heappop(heap)
        left = arcs - len(nodes) + 1
        if left == 0:
            paths.append((units, nodes))
            continue
        if steps[0] <= 0:
            trims.add(Reason.CAP_EXCEEDED, "steps", len(heap) + 1)
            break
        steps[0] -= 1
        for other, more in near.arcs[nodes[-1]].items():
            inner = left > 1
            if other in rest[left - 1] and other not in nodes and not (inner and other in starts):
                total = units + more
                heapq.heappush(heap, (-(total + rest[left - 1][other]), (*nodes, other), total))
    return paths
