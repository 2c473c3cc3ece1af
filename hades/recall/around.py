"""Around a name: the paths between two things, and what stands next to one."""

from __future__ import annotations

import math

import numpy as np

from hades.domain.answer import Neighbour, Path
from hades.domain.graph import NodeKind
from hades.graph.adjacency import Neighbours
from hades.graph.paths import between
from hades.graph.reach import Reached, expand
from hades.recall.scene import Scene
from hades.recall.telling import Teller

ARCS_A_HOP = 2
ARCS_AT_MOST = 10
ARC_DECAY = 0.85
"""Each arc weakens a path by this (seed 000's decay), so of two that are equally strong the
shorter comes first. Seed 002's length correction divides sums of negative logarithms, which
puts detours first."""


def paths(scene: Scene, source: int, target: int, *, limit: int, hops: int) -> list[Path]:
    """The best paths between two nodes, best first; none when nothing joins them."""
    web = scene.web
    ends = [_numbers(scene, node) for node in (source, target)]
    if not all(ends) or ends[0] == ends[1]:
        return []
    found = between(
        web.graph,
        ends[0],
        ends[1],
        keep=limit,
        longest=min(ARCS_AT_MOST, hops * ARCS_A_HOP),
        boost=lambda _one, _other: ARC_DECAY,
        length_lambda=0.0,
        barred=_barred(scene, {*ends[0], *ends[1]}),
    )
    teller = Teller(scene)
    return [teller.path(list(one.nodes), math.exp(one.score)) for one in found.paths]


def neighbours(scene: Scene, node: int, *, limit: int, hops: int) -> list[Neighbour]:
    """What is joined with a node, nearest first, by the strongest arcs."""
    web = scene.web
    start = _numbers(scene, node)
    if not start:
        return []
    reached = expand(web.graph, np.array(start), hops, limit + len(start), _barred(scene, {*start}))
    ways = _ways(web.graph, reached)
    teller = Teller(scene)
    found = []
    for one, hop in zip(reached.nodes.tolist(), reached.hops.tolist(), strict=True):
        if hop:
            numbers, strength = ways[one]
            path = teller.path(numbers, strength)
            found.append(Neighbour(teller.node(one), hop, round(strength, 4), path))
    return found[:limit]


def _ways(graph: Neighbours, reached: Reached) -> dict[int, tuple[list[int], float]]:
    """By node: the way to it by the strongest arcs, and the product of their weights."""
    hop_of = dict(zip(reached.nodes.tolist(), reached.hops.tolist(), strict=True))
    ways = {one: ([one], 1.0) for one, hop in hop_of.items() if not hop}
    counts, targets, weights = graph.of(reached.nodes)
    ends = np.cumsum(counts)
    for at, (one, hop) in enumerate(hop_of.items()):
        own = slice(ends[at] - counts[at], ends[at])
        before = [
            (weight * ways[other][1], -other)
            for other, weight in zip(targets[own].tolist(), weights[own].tolist(), strict=True)
            if hop and hop_of.get(other) == hop - 1
        ]
        if before:
            strength, other = max(before)
            ways[one] = ([*ways[-other][0], one], strength)
    return ways


def _numbers(scene: Scene, node: int) -> list[int]:
    """The numbers that stand for a node: itself, or a topic's chunks where nothing is stated."""
    web = scene.web
    number = web.number(node)
    if number is not None and web.graph.of(np.array([number]))[0][0]:
        return [number]
    if node & 7 != NodeKind.TOPIC:
        return []
    chunks = scene.store.passages.ever_of(node >> 3)
    numbers = (web.number(chunk << 3 | NodeKind.CHUNK) for chunk in chunks)
    return [one for one in numbers if one is not None and web.visible[one]]


def _barred(scene: Scene, ends: set[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Hubs carry nothing, but may be an end."""
    barred = scene.web.barred.copy()
    barred[list(ends)] = False
    return barred
