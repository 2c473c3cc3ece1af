"""Rows of a graph as Python lists, for walks, flows and paths."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from hades.graph.adjacency import Neighbours
from hades.graph.arrays import Flags

Row = tuple[list[int], list[float], float]


class RowCache(dict[int, Row]):
    """The fetched rows: neighbours that are not barred, their weights, the sum of the weights."""

    def __init__(self, graph: Neighbours, barred: Flags | None) -> None:
        super().__init__()
        self._graph, self._barred = graph, barred

    def fetch(self, nodes: Iterable[int]) -> None:
        """Fetch the rows of nodes that are not cached, in one call."""
        missing = [node for node in dict.fromkeys(nodes) if node not in self]
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
            self[node] = to[start:end], row, sum(row)
