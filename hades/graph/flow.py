"""Flow: the few paths between two things that carry the most (PathRAG).

The source holds 1. Hop by hop, every node passes on α of the amount that it holds, split by the
weights of its arcs. Each node is reached at one hop only. A node that would give each neighbour
less than θ passes nothing on, so at most 1/((1−α)θ) arcs are followed besides those of the
source, however large the graph. The reliability of a path is the sum of the amounts that its nodes
hold, divided by its number of arcs.

Paths are searched best first, by an upper bound: the best score that any continuation of a prefix
could reach. The prefix with the highest bound is continued first, so the first complete path is the
best one.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from hades.domain.graph import Reason
from hades.errors import InvalidInput
from hades.graph.adjacency import Neighbours, RowCache
from hades.graph.arrays import Deadline
from hades.graph.trims import Trim, Trims

ALPHA = 0.8
THETA = 0.05
"""The values of PathRAG."""
NODES = 40
KEEP = 15
LONGEST_ARCS = 5
STEPS_PER_PAIR = 20_000
"""The most prefixes that are tried for one pair, about 0.1 s. A hundred are nearly always
enough."""
_SAME = 12
"""Bounds that agree to this many decimals are ties, which go to the smaller node numbers."""

_Found = tuple[float, tuple[int, ...], tuple[float, ...]]
"""Reliability, nodes, parts."""


@dataclass(frozen=True, slots=True)
class FlowPath:
    """A path and its reliability."""

    nodes: tuple[int, ...]
    reliability: float
    parts: tuple[float, ...]
    """The amount that each node holds."""


@dataclass(frozen=True, slots=True)
class FlowPaths:
    """The best paths, best first, and what was left out on the way."""

    paths: tuple[FlowPath, ...]
    trims: tuple[Trim, ...]


@dataclass(slots=True)
class Field:
    """The nodes that a flow from a source reached, and the arcs that it used."""

    source: int
    holds: dict[int, float] = field(default_factory=dict)
    """The amount that each reached node holds, nearest first."""
    arcs: dict[int, dict[int, float]] = field(default_factory=dict)
    """Targets and weights of each node that passes something on."""
    into: dict[int, list[int]] = field(default_factory=dict)
    """For each node, the nodes that pass something on to it."""

    def carry(self, node: int, targets: list[int], weights: list[float]) -> None:
        """Record that a node passes on its amount along these arcs."""
        self.arcs[node] = dict(zip(targets, weights, strict=True))
        for other in targets:
            self.into.setdefault(other, []).append(node)

    def hops_to(self, target: int) -> dict[int, int]:
        """Return the smallest number of arcs to a target, by node that can reach it."""
        hops = {target: 0}
        queue = [target]
        for node in queue:
            for other in self.into.get(node, ()):
                if other not in hops:
                    hops[other] = hops[node] + 1
                    queue.append(other)
        return hops


def flow(
    graph: Neighbours,
    source: int,
    *,
    alpha: float = ALPHA,
    theta: float = THETA,
    nodes: int = NODES,
    longest: int = LONGEST_ARCS,
    ends: Set[int] = frozenset(),
    trims: Trims | None = None,
) -> Field:
    """Return the amounts that flow from a source within `longest` hops.

    The flow reaches at most `nodes` nodes, not counting `ends`; `trims` counts those left out.
    """
    if not 0 <= source < len(graph) or not theta > 0:
        raise InvalidInput("a flow needs a source in the graph and theta above 0")
    trims = trims or Trims()
    rows = RowCache(graph, None)
    reached = Field(source, {source: 1.0})
    layer = [source]
    depth = 0
    counted = 0
    while layer and depth < longest:
        layer = [node for node in layer if reached.holds[node] >= theta or node == source]
        rows.fetch(layer)
        arriving: dict[int, float] = {}
        for node in layer:
            targets, weights, total = rows[node]
            held = reached.holds[node]
            # The source always passes on; another node only if each neighbour gets enough.
            if node != source and (not targets or held / len(targets) < theta):
                continue
            reached.carry(node, targets, weights)
            passed = alpha * held / total if total else 0.0
            for other, weight in zip(targets, weights, strict=True):
                if other not in reached.holds:
                    arriving[other] = arriving.get(other, 0.0) + passed * weight
        layer, used = _strongest(arriving, max(0, nodes - 1 - counted), ends)
        trims.add(Reason.CAP_EXCEEDED, "nodes", len(arriving) - len(layer))
        reached.holds.update((node, arriving[node]) for node in layer)
        depth = depth + 1
        counted = counted + used
    return reached


def best_paths(
    graph: Neighbours,
    pairs: Iterable[tuple[int, int]],
    *,
    keep: int = KEEP,
    per_pair: int = 1,
    alpha: float = ALPHA,
    theta: float = THETA,
    nodes: int = NODES,
    longest: int = LONGEST_ARCS,
    deadline: Deadline | None = None,
) -> FlowPaths:
    """Return the `keep` best paths, from the `per_pair` best ones of each (source, target)."""
    targets: dict[int, dict[int, None]] = {}
    for source, target in pairs:
        if source != target:
            targets.setdefault(source, {})[target] = None
    trims = Trims()
    between = []
    for number, (source, ends) in enumerate(targets.items()):
        if deadline and deadline():
            trims.add(Reason.TIMEOUT, "sources", len(targets) - number)
            break
        reached = flow(
            graph, source, alpha=alpha, theta=theta, nodes=nodes, longest=longest,
            ends=ends.keys(), trims=trims,
        )  # fmt: skip
        scoring = _Scoring(reached)
        for done, target in enumerate(ends):
            if done and deadline and deadline():
                trims.add(Reason.TIMEOUT, "targets", len(ends) - done)
                break
            between += _best_between(reached, target, scoring, per_pair, longest, trims)
    paths = [FlowPath(nodes, reliability, parts) for reliability, nodes, parts in between]
    paths.sort(key=lambda path: (-round(path.reliability, 12), path.nodes))
    trims.add(Reason.CAP_EXCEEDED, "paths", len(paths) - keep)
    return FlowPaths(tuple(paths[:keep]), trims.all())


def _strongest(arriving: dict[int, float], room: int, ends: Set[int]) -> tuple[list[int], int]:
    """Return all arriving ends and the `room` strongest other nodes, and how many are others."""
    if len(arriving) <= room:
        return [*arriving], sum(node not in ends for node in arriving)
    order = sorted(arriving, key=lambda node: (-round(arriving[node], 12), node))
    counted = [node for node in order if node not in ends][:room]
    return [*counted, *(node for node in order if node in ends)], len(counted)


class _Scoring:
    """The score of a path, and an upper bound for the continuations of a prefix."""

    def __init__(self, flowed: Field) -> None:
        self._holds = flowed.holds
        inner = [node for node in flowed.arcs if node != flowed.source]
        self._most_held = max((flowed.holds[node] for node in inner), default=0.0)

    def reliability(self, parts: tuple[float, ...]) -> float:
        """Return the sum of the amounts that the nodes hold, divided by the number of arcs."""
        return sum(parts) / (len(parts) - 1)

    def at_most(self, parts: tuple[float, ...], target: int, least: int, longest: int) -> float:
        """Return an upper bound for a prefix that needs at least `least` more arcs to a target."""
        done = len(parts) - 1
        total = sum(parts)
        return max(
            (
                (total + (arcs - 1) * self._most_held + self._holds[target]) / (done + arcs)
                for arcs in range(max(1, least), longest - done + 1)
            ),
            default=0.0,
        )


def _best_between(
    flowed: Field, target: int, scoring: _Scoring, keep: int, longest: int, trims: Trims
) -> list[_Found]:
    """Return the `keep` best simple paths from the source to a target; [] if it is not reached."""
    if target not in flowed.holds:
        return []
    hops = flowed.hops_to(target)
    heap: list[_Found] = []
    if hops.get(flowed.source, longest + 1) <= longest:
        heap.append((-1.0, (flowed.source,), (1.0,)))
    paths: list[_Found] = []
    steps = 0
    while heap and len(paths) < keep:
        _, nodes, parts = heapq.heappop(heap)
        node = nodes[-1]
        if node == target:
            paths.append((scoring.reliability(parts), nodes, parts))
            continue
        steps += 1
        if steps > STEPS_PER_PAIR:
            trims.add(Reason.CAP_EXCEEDED, "steps")
            break
        for other in flowed.arcs[node]:
            last = other == target
            left = hops.get(other, longest)
            fits = len(nodes) + left <= longest and (last or other in flowed.arcs)
            if other in nodes or other not in flowed.holds or not fits:
                continue
            longer = (*parts, flowed.holds[other])
            bound = (
                scoring.reliability(longer)
                if last
                else scoring.at_most(longer, target, left, longest)
            )
            heapq.heappush(heap, (-round(bound, _SAME), (*nodes, other), longer))
    return paths
