"""Reach: the nodes within a few hops of seeds, breadth first and with a limit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hades.errors import InvalidInput
from hades.graph.adjacency import Neighbours, open_arcs
from hades.graph.arrays import Flags, Ints


@dataclass(frozen=True, slots=True)
class Reached:
    """Nodes in the order they were reached, seeds first, with the number of hops."""

    nodes: Ints
    hops: Ints
    left_out: int = 0
    """Neighbours seen beyond the limit. Nodes behind them were not looked at."""


def expand(
    graph: Neighbours, seeds: Ints, hops: int, limit: int, barred: Flags | None = None
) -> Reached:
    """Return seeds and nodes within `hops` hops, `limit` in all; in a hop, strongest arcs first."""
    seeds = np.asarray(seeds, np.int64)
    if len(seeds) and not 0 <= seeds.min() <= seeds.max() < len(graph):
        raise InvalidInput(f"seeds are nodes from 0 to {len(graph) - 1}")
    known: dict[int, int] = {}
    frontier = [s for s in dict.fromkeys(seeds.tolist()) if barred is None or not barred[s]]
    for hop in range(hops + 1):
        room = max(0, limit - len(known))
        left_out = len(frontier) - room
        frontier = frontier[:room]
        known.update(dict.fromkeys(frontier, hop))
        if left_out > 0 or not frontier or hop == hops:
            break
        frontier = _next(graph, frontier, known, barred)
    size = len(known)
    return Reached(
        np.fromiter(known, np.int64, size),
        np.fromiter(known.values(), np.int64, size),
        max(0, left_out),
    )


def _next(
    graph: Neighbours, frontier: list[int], known: dict[int, int], barred: Flags | None
) -> list[int]:
    """Return the new neighbours of a frontier, strongest arc first, ties by number."""
    _, targets, weights = open_arcs(graph, frontier, barred)
    order = np.lexsort((targets, -weights))
    return [node for node in dict.fromkeys(targets[order].tolist()) if node not in known]
