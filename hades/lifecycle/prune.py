"""Pruning: end weak edges that nobody used, with a reason, so that it can be undone.

A weak edge fades with the time since it was last used: its weight halves every `EDGE_HALF_LIFE`. It
was used when it was written, when a recall showed it as a fact or as a step of a path, or when both
topics that it joins were used. Edges of at least `WEAK_BELOW` never fade.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from hades.domain.graph import SIMILAR_TO, Edge
from hades.domain.times import NOW, from_micros
from hades.store.records import EdgeFilter, Write
from hades.store.store import Store

WEAK_BELOW = 0.5
EDGE_HALF_LIFE = timedelta(days=90)
"""Both values were chosen by hand: an edge of weight 0.4 falls below 0.1 half a year after its last
use."""
PRUNED = "pruned"
"""The key in the metadata of an ended edge that says why it was pruned."""
RECALLS_READ = 10_000
"""The entries of the query log that are read, the latest ones."""


def faded(store: Store, space: int, below: float, now: datetime) -> Iterator[Edge]:
    """Yield the weak edges that hold and have faded below a weight, with the reason."""
    used = store.edges.last_uses(space, WEAK_BELOW)
    for recall in store.query_log.last(space, RECALLS_READ) if used else ():
        shown = {*recall.facts, *(edge for path in recall.paths for _, edge in path.steps)}
        for edge_id in shown & used.keys():
            used[edge_id] = max(used[edge_id], recall.at)
    for edge in store.edges.read(space, sorted(used), NOW).values():
        idle = max(timedelta(), now - used[edge.id])
        left = edge.weight * 2.0 ** -(idle / EDGE_HALF_LIFE)
        if left < below and edge.relation != SIMILAR_TO:
            why = f"weight {edge.weight:g}, not used for {idle.days} days: faded to {left:.2g}"
            yield replace(edge, metadata={**edge.metadata, PRUNED: why})


def prune(store: Store, write: Write, edge: Edge) -> None:
    """End an edge of `faded` now."""
    at = from_micros(write.at)
    store.edges.revise(write, edge.id, valid_to=at, metadata=edge.metadata)


def pruned(store: Store, space: int) -> list[Edge]:
    """Return the pruned edges that were not told again since."""
    edges = store.edges.find(space, EdgeFilter(any_time=True), NOW)
    holding = {str(edge) for edge in edges if edge.valid_to is None}
    return [edge for edge in edges if PRUNED in edge.metadata and str(edge) not in holding]


def restore(store: Store, write: Write, edge: Edge) -> None:
    """Let a pruned edge hold again, as if it had not ended."""
    metadata = {name: value for name, value in edge.metadata.items() if name != PRUNED}
    store.edges.revise(write, edge.id, valid_to=None, metadata=metadata)
