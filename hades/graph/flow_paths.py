"""The search for the best paths within a flow: best first, by an upper bound.

A prefix is worth at most what its best continuation could reach; the prefix worth most is
continued first, so the first whole path to come up is the best there is.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

from hades.domain.graph import Reason
from hades.graph.trims import Trims

STEPS_PER_PAIR = 20_000
"""A pair is given up after so many prefixes: some 0.1 s; flows rarely need a hundred."""
_SAME = 12
"""Bounds that agree in so many decimals are ties, which go to the smaller node numbers."""

Found = tuple[float, tuple[int, ...], tuple[float, ...]]
"""Reliability, nodes, parts."""


@dataclass(slots=True)
class Field:
    """What flowed from a source."""

    source: int
    holds: dict[int, float] = field(default_factory=dict)
    """What each reached node holds, nearest first."""
    arcs: dict[int, dict[int, float]] = field(default_factory=dict)
    """The arcs of the nodes that pass something on."""
    into: dict[int, list[int]] = field(default_factory=dict)
    """Who passes something on to a node."""

    def carry(self, node: int, targets: list[int], weights: list[float]) -> None:
        """Let a node pass on what it holds."""
        self.arcs[node] = dict(zip(targets, weights, strict=True))
        for other in targets:
            self.into.setdefault(other, []).append(node)

    def hops_to(self, target: int) -> dict[int, int]:
        """How many arcs at least lead from each carrying node to a target."""
        hops = {target: 0}
        queue = [target]
        for node in queue:
            for other in self.into.get(node, ()):
                if other not in hops:
                    hops[other] = hops[node] + 1
                    queue.append(other)
        return hops


class Scoring:
    """The score of a path, and how good a prefix can still become."""

    def __init__(self, flowed: Field) -> None:
        self._holds = flowed.holds
        inner = [node for node in flowed.arcs if node != flowed.source]
        self._most_held = max((flowed.holds[node] for node in inner), default=0.0)

    def step(self, parts: tuple[float, ...], other: int) -> tuple[float, ...]:
        """The parts after one more arc."""
        return (*parts, self._holds[other])

    def reliability(self, parts: tuple[float, ...]) -> float:
        """The score of a whole path: what its nodes hold, divided by its number of arcs."""
        return sum(parts) / (len(parts) - 1)

    def at_most(self, parts: tuple[float, ...], target: int, least: int, longest: int) -> float:
        """The best score of any continuation by at least so many arcs."""
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
    """The best paths from the source to a target, none through a node twice."""
    if target not in flowed.holds:
        return []
    hops = flowed.hops_to(target)
    heap: list[tuple[float, tuple[int, ...], tuple[float, ...]]] = []
    if hops.get(flowed.source, longest + 1) <= longest:
        heap.append((-1.0, (flowed.source,), (1.0,)))
    found: list[Found] = []
    steps = 0
    while heap and len(found) < keep:
        _, nodes, parts = heapq.heappop(heap)
        node = nodes[-1]
        if node == target:
            found.append((scoring.reliability(parts), nodes, parts))
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
            longer = scoring.step(parts, other)
            bound = (
                scoring.reliability(longer)
                if last
                else scoring.at_most(longer, target, left, longest)
            )
            heapq.heappush(heap, (-round(bound, _SAME), (*nodes, other), longer))
    return found
