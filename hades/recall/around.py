"""Around a name: the paths between two things, and what stands next to one."""

from __future__ import annotations

import math

import numpy as np

from hades.domain.answer import Neighbour, Path
from hades.graph.paths import between
from hades.graph.reach import expand
from hades.recall.scene import Scene
from hades.recall.telling import Teller

ARCS_A_HOP = 2
ARCS_AT_MOST = 10
TEXT_CHARACTERS = 120


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
    _, targets, weights = web.graph.of(np.array(start))
    strongest: dict[int, float] = {}
    for one, weight in zip(targets.tolist(), weights.tolist(), strict=True):
        strongest[one] = max(weight, strongest.get(one, 0.0))
    teller = Teller(scene)
    met = [
        (int(one), int(hop))
        for one, hop in zip(reached.nodes, reached.hops, strict=True)
        if hop > 0
    ]
    return [
        Neighbour(
            node=teller.node(one),
            hops=hop,
            weight=round(strongest.get(one, 0.0), 4),
            relation=teller.step(start[0], one).relation if one in strongest else "",
            text=teller.text(one)[:TEXT_CHARACTERS],
        )
        for one, hop in met[:limit]
    ]


def _numbers(scene: Scene, node: int) -> list[int]:
    """The numbers that stand for a node: itself, or a topic's own chunks where it has no node."""
    web = scene.web
    number = web.number(node)
    if number is not None:
        return [number]
    chunks = scene.store.passages.ever_of(node >> 3)
    numbers = (web.number(chunk << 3 | 2) for chunk in chunks)
    return [one for one in numbers if one is not None and web.visible[one]]


def _barred(scene: Scene, ends: set[int]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Hubs carry nothing, but may be an end."""
    barred = scene.web.barred.copy()
    barred[list(ends)] = False
    return barred
