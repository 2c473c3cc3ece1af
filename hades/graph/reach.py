"""Reach: what lies within a few hops, by breadth and with a limit.

Used to widen a question before a walk (seed document 004: multi-hop and synonyms) and to
show what is around one thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hades.errors import InvalidInput
from hades.graph.adjacency import Mask, Neighbours, Nodes
from hades.graph.ppr import Scores, Walk, walk

SYNONYMS_FROM = 0.8
"""Names at least this similar stand for each other (seed document 004)."""


@dataclass(frozen=True, slots=True)
class Reached:
    """Nodes in the order they were met, and after how many hops."""

    nodes: Nodes
    hops: Nodes
    left_out: int = 0
    """So many neighbours were seen but are over the limit; what lies behind was not looked at."""


def expand(
    graph: Neighbours, seeds: Nodes, hops: int, limit: int, barred: Mask | None = None
) -> Reached:
    """At most `limit` nodes within so many hops; in each hop the strongest arcs first."""
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


def with_synonyms(
    seeds: Nodes, weights: Scores, synonyms: Neighbours, least: float = SYNONYMS_FROM
) -> tuple[Nodes, Scores]:
    """Seeds and what means the same: a synonym weighs as its seed, times how similar it is.

    `synonyms` joins nodes by similarity. A node that is reached twice takes the larger.
    """
    counts, targets, similar = synonyms.of(np.asarray(seeds, np.int64))
    owners = np.repeat(np.arange(len(seeds)), counts)
    use = similar >= np.float32(least)
    best: dict[int, float] = {}
    for node, weight in (
        *zip(np.asarray(seeds).tolist(), np.asarray(weights).tolist(), strict=True),
        *zip(targets[use].tolist(), (weights[owners] * similar)[use].tolist(), strict=True),
    ):
        best[node] = max(weight, best.get(node, 0.0))
    return np.array([*best], np.int64), np.array([*best.values()], np.float64)


def walk_from_around(
    graph: Neighbours,
    seeds: Nodes,
    weights: Scores,
    *,
    hops: int = 3,
    limit: int = 1_000,
    fade: float = 0.5,
    barred: Mask | None = None,
    **options: Any,
) -> Walk:
    """Widen the seeds by hops, then walk from all of them (seed document 004's multi-hop).

    A node met after h hops weighs fade^h times the mean seed; with fade 1 all are equal.
    """
    reached = expand(graph, seeds, hops, limit, barred)
    own = dict(zip(np.asarray(seeds).tolist(), np.asarray(weights).tolist(), strict=True))
    mean = sum(own.values()) / max(1, len(own))
    wide = [
        own.get(node, mean * fade**hop)
        for node, hop in zip(reached.nodes.tolist(), reached.hops.tolist(), strict=True)
    ]
    return walk(graph, reached.nodes, np.array(wide, np.float64), barred=barred, **options)


def _next(
    graph: Neighbours, frontier: list[int], known: dict[int, int], barred: Mask | None
) -> list[int]:
    """The neighbours of a frontier that are new, strongest arc first, ties by number."""
    _, targets, weights = graph.of(np.array(frontier, np.int64))
    if barred is not None:
        targets, weights = targets[~barred[targets]], weights[~barred[targets]]
    order = np.lexsort((targets, -weights))
    return [node for node in dict.fromkeys(targets[order].tolist()) if node not in known]
