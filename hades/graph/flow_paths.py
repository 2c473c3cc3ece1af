"""The search for the best paths within a flow: best first, by an upper bound.

The bound of a prefix is the best score that any continuation could reach. The prefix with the
highest bound is continued first, so the first complete path is the best one.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from hades.domain.graph import Reason
from hades.graph.trims import Trims

STEPS_PER_PAIR = 20_000
"""Limit of prefixes for one pair, about 0.1 s. Flows rarely need a hundred."""
_SAME = 12
"""Bounds that agree to this many decimals are ties, which go to the smaller node numbers."""

Found = tuple[float, tuple[int, ...], tuple[float, ...]]
"""Reliability, nodes, parts."""


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
        """Return the smallest number of arcs from each node to a target."""
        hops = {target: 0}
        queue = [target]
        for node in queue:
            for other in self.into.get(node, ()):
                if other not in hops:
                    hops[other] = hops[node] + 1
                    queue.append(other)
        return hops


class Scoring:
    """The score of a path, and an upper bound for the continuations of a prefix."""

    def __init__(self, flowed: Field) -> None:
        self._holds = flowed.holds
        inner = [node for node in flowed.arcs if node != flowed.source]
        self._most_held = max((flowed.holds[node] for node in inner), default=0.0)

    def reliability(self, parts: tuple[float, ...]) -> float:
        """Return the sum of the amounts that the nodes hold, divided by the number of arcs."""
        return sum(parts) / (len(parts) - 1)

    def at_most(self, parts: tuple[float, ...], target: int, least: int, longest: int) -> float:
        """Return an upper bound for a path that continues by at least `least` arcs."""
        done, total = len(parts) - 1, sum(parts)
        return max(
            (
                (total + (arcs - 1) * self._most_held + self._holds[target]) / (done + arcs)
                for arcs in range(max(1, least), longest - done + 1)
            ),
            default=0.0,
        )


def best_between(
    flowed: Field, target: int, scoring: Scoring, keep: int, longest: int, trims: Trims
) -> list[Found]:
    """Return the best paths from the source to a target; no path visits a node twice."""
    if target not in flowed.holds:
        return []
    hops = flowed.hops_to(target)
    heap: list[Found] = []
    if hops.get(flowed.source, longest + 1) <= longest:
        heap.append((-1.0, (flowed.source,), (1.0,)))
    paths: list[Found] = []
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
