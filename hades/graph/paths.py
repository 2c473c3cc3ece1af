"""Paths: the k best between two nodes, or two sets, by the weights of their arcs.

The score of a path is Σ log(max(w·boost, ε)) / (1 + λ(arcs − 2)) (seed document 002). For
each number of arcs a table says the best that can still come from every node, so that the
search goes straight for the best paths. Only what lies near either end is looked at: a
node of a path of L arcs is at most half of L away from one of its ends.

Logarithms are counted in whole units of 2⁻⁴⁰, so that equal sums are equal and ties go to
the path with fewer arcs, then the smaller numbers, whatever the order of adding up.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

from hades.domain.graph import Reason
from hades.errors import InvalidInput
from hades.graph.adjacency import Mask, Neighbours
from hades.graph.row_cache import RowCache
from hades.graph.trims import Trim, Trims

Boost = Callable[[int, int], float]
"""How much the type of the arc between two nodes counts; 1 leaves its weight as it is."""
Deadline = Callable[[], bool]

LAMBDA = 0.3
EPSILON = 1e-6
BOOSTS = {
    "refers_to": 0.8,
    "implements": 0.7,
    "cites": 0.6,
    "derives_from": 0.6,
    "coref": 0.4,
}
"""By relation; every other counts 1 (seed document 002)."""
STEPS = 200_000
"""The search is given up after so many prefixes: about a second."""
CHECKED_EVERY_STEPS = 1_000
_UNITS = 2**40


@dataclass(frozen=True, slots=True)
class BestPath:
    """A path and its score; `logs` has one number for each arc."""

    nodes: tuple[int, ...]
    score: float
    logs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class BestPaths:
    """The best paths, best first, and what was left out on the way."""

    paths: tuple[BestPath, ...]
    trims: tuple[Trim, ...]


@dataclass(frozen=True, slots=True)
class _Near:
    """What lies near the ends."""

    sources: list[int]
    targets: set[int]
    arcs: dict[int, dict[int, int]]
    """The arcs of nodes that a path may begin at or lead through, in units."""


def between(
    graph: Neighbours,
    sources: Iterable[int],
    targets: Iterable[int],
    *,
    keep: int = 6,
    longest: int = 5,
    boost: Boost | None = None,
    back: Neighbours | None = None,
    length_lambda: float = LAMBDA,
    epsilon: float = EPSILON,
    hub_degree: int | None = None,
    nodes: int = 20_000,
    barred: Mask | None = None,
    deadline: Deadline | None = None,
) -> BestPaths:
    """The best simple paths of at most `longest` arcs from any source to any target.

    No path leads through another source or target, nor through a node with more than
    `hub_degree` neighbours, though it may end there. `back` has the arcs the other way
    round when the graph is directed. At most `nodes` nodes are looked at.
    """
    if not longest >= 1 or not 0 <= length_lambda < 1 or not epsilon > 0:
        raise InvalidInput("paths need longest ≥ 1, 0 ≤ lambda < 1 and epsilon above 0")
    trims = Trims()
    starts, ends = _ends(sources, len(graph), barred), _ends(targets, len(graph), barred)
    rows = RowCache(graph, barred)
    behind = rows if back is None else RowCache(back, barred)
    known = _known(rows, behind, starts, ends, longest, hub_degree, nodes, trims)
    first, last = set(starts), set(ends)
    carriers = [n for n in known if n in first or _carries(n, last, rows, hub_degree)]
    near = _Near(starts, last, _weighed(rows, carriers, known, boost, epsilon))
    rest = _best_rest(near, longest)
    found: list[BestPath] = []
    steps = [STEPS]
    for arcs in range(1, longest + 1):
        for units, path in _search(near, rest[: arcs + 1], keep, steps, deadline, trims):
            score = units / _UNITS / (1 + length_lambda * (arcs - 2))
            logs = tuple(near.arcs[a][b] / _UNITS for a, b in pairwise(path))
            found.append(BestPath(path, score, logs))
    found.sort(key=lambda path: (-path.score, len(path.nodes), path.nodes))
    return BestPaths(tuple(found[:keep]), trims.all())


def _ends(given: Iterable[int], count: int, barred: Mask | None) -> list[int]:
    nodes = [*dict.fromkeys(given)]
    if not all(0 <= node < count for node in nodes):
        raise InvalidInput(f"paths join nodes from 0 to {count - 1}")
    return [node for node in nodes if barred is None or not barred[node]]


def _known(
    rows: RowCache, behind: RowCache, starts: list[int], ends: list[int],
    longest: int, hub_degree: int | None, limit: int, trims: Trims,
) -> dict[int, None]:  # fmt: skip
    """The nodes that a path could use: those within half its length of one of its ends."""
    known = dict.fromkeys((*starts, *ends))
    tips = set(known)
    for cache, begin, depth in ((rows, starts, longest // 2), (behind, ends, (longest - 1) // 2)):
        layer, met = begin, set(begin)
        for _ in range(depth):
            rows.fetch(layer)
            cache.fetch(layer)
            if layer is not begin:
                layer = [node for node in layer if _carries(node, tips, rows, hub_degree)]
            layer = [*dict.fromkeys(o for n in layer for o in cache[n][0] if o not in met)]
            new = [node for node in layer if node not in known]
            left_out = set(new[max(0, limit - len(known)) :])
            trims.add(Reason.CAP_EXCEEDED, "nodes", len(left_out))
            layer = [node for node in layer if node not in left_out]
            met.update(layer)
            known.update(dict.fromkeys(layer))
    rows.fetch(known)
    return known


def _carries(node: int, tips: set[int], rows: RowCache, hub_degree: int | None) -> bool:
    """Whether a path may lead through a node."""
    return node not in tips and (hub_degree is None or len(rows[node][0]) <= hub_degree)


def _weighed(
    rows: RowCache, carriers: list[int], known: dict[int, None], boost: Boost | None, epsilon: float
) -> dict[int, dict[int, int]]:
    """The logarithms of the weights among known nodes, in units."""
    made: dict[int, dict[int, int]] = {}
    for node in carriers:
        made[node] = {}
        for other, weight in zip(*rows[node][:2], strict=True):
            if other in known:
                boosted = weight * boost(node, other) if boost else weight
                made[node][other] = round(math.log(max(boosted, epsilon)) * _UNITS)
    return made


def _best_rest(near: _Near, arcs: int) -> list[dict[int, int]]:
    """For each number of arcs, the best sum that leads from a node to a target in so many."""
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
    near: _Near,
    rest: list[dict[int, int]],
    keep: int,
    steps: list[int],
    deadline: Deadline | None,
    trims: Trims,
) -> list[tuple[int, tuple[int, ...]]]:
    """The best paths of as many arcs as `rest` tells: best first by what they can become."""
    arcs = len(rest) - 1
    starts = set(near.sources)
    heap: list[tuple[int, tuple[int, ...], int]] = [
        (-rest[arcs][start], (start,), 0) for start in near.sources if start in rest[arcs]
    ]
    heapq.heapify(heap)
    found: list[tuple[int, tuple[int, ...]]] = []
    while heap and len(found) < keep:
        _, nodes, units = heapq.heappop(heap)
        left = arcs - len(nodes) + 1
        if left == 0:
            found.append((units, nodes))
            continue
        if steps[0] <= 0:
            trims.add(Reason.CAP_EXCEEDED, "steps", len(heap) + 1)
            break
        if deadline and steps[0] % CHECKED_EVERY_STEPS == 0 and deadline():
            trims.add(Reason.TIMEOUT, "steps", len(heap) + 1)
            break
        steps[0] -= 1
        for other, more in near.arcs[nodes[-1]].items():
            inner = left > 1
            if other in rest[left - 1] and other not in nodes and not (inner and other in starts):
                total = units + more
                heapq.heappush(heap, (-(total + rest[left - 1][other]), (*nodes, other), total))
    return found
