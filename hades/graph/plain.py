"""The push of personalised PageRank in plain Python, over any graph.

It does the pushes of the kernel in the same order. ArcRows are fetched a frontier at a time,
and once for several walks together, so that a remote graph is asked as often as the walk
is deep and not as often as it pushes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from hades.graph.adjacency import Mask, Neighbours, Nodes

CHECKED_EVERY_PUSHES = 500
"""So often a deadline is looked at: about a millisecond of work."""

Row = tuple[list[int], list[float], float]


class RowCache:
    """ArcRows that were fetched: neighbours that may be walked into, weights, their sum."""

    def __init__(self, graph: Neighbours, barred: Mask | None) -> None:
        self._graph, self._barred = graph, barred
        self._rows: dict[int, Row] = {}

    def __getitem__(self, node: int) -> Row:
        return self._rows[node]

    def fetch(self, nodes: Iterable[int]) -> None:
        """Ask for the rows of nodes that are not known yet, in one go."""
        missing = [node for node in dict.fromkeys(nodes) if node not in self._rows]
        if not missing:
            return
        counts, targets, weights = self._graph.of(np.array(missing, np.int64))
        if self._barred is not None:
            use = ~self._barred[targets]
            owner = np.repeat(np.arange(len(missing)), counts)
            counts = np.bincount(owner[use], minlength=len(missing))
            targets, weights = targets[use], weights[use]
        to, strength = targets.tolist(), weights.tolist()
        end = 0
        for node, count in zip(missing, counts.tolist(), strict=True):
            start, end = end, end + count
            row = strength[start:end]
            self._rows[node] = to[start:end], row, sum(row)


class PlainPush:
    """One walk under way."""

    def __init__(self, rows: RowCache, seeds: Nodes, shares: Iterable[float]) -> None:
        self._rows = rows
        self._start = list(zip(seeds.tolist(), shares, strict=True))
        self._frontier: list[int] = []
        self._queued: set[int] = set()
        self._residual: dict[int, float] = {}
        self.estimate: dict[int, float] = {}
        self.pushes = 0
        self._started = False

    @property
    def done(self) -> bool:
        """True when nothing is left to push."""
        return self._started and not self._frontier

    def wants(self) -> list[int]:
        """The nodes whose rows the next round reads: everything it will touch."""
        if not self._started:
            return [node for node, _ in self._start]
        return [other for node in self._frontier for other in self._rows[node][0]]

    def round(
        self, damping: float, epsilon: float, limit: int, late: Callable[[], bool] | None
    ) -> bool:
        """Push every node that waits; False when the limit or the deadline cut it short."""
        if not self._started:
            self._started = True
            for node, share in self._start:
                self._add(node, share, epsilon, self._frontier)
            return True
        following: list[int] = []
        for place, node in enumerate(self._frontier):
            checked = late and self.pushes % CHECKED_EVERY_PUSHES == 0
            if self.pushes >= limit or (checked and late and late()):
                self._frontier = self._frontier[place:] + following
                return False
            self.pushes += 1
            self._queued.discard(node)
            residual, self._residual[node] = self._residual[node], 0.0
            self.estimate[node] = self.estimate.get(node, 0.0) + (1 - damping) * residual
            targets, weights, total = self._rows[node]
            if total > 0:
                spread = damping * residual / total
                for other, weight in zip(targets, weights, strict=True):
                    self._add(other, spread * weight, epsilon, following)
        self._frontier = following
        return True

    def _add(self, node: int, share: float, epsilon: float, queue: list[int]) -> None:
        held = self._residual.get(node, 0.0) + share
        self._residual[node] = held
        if node not in self._queued and held > epsilon * self._rows[node][2]:
            self._queued.add(node)
            queue.append(node)
