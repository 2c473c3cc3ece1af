"""PageRank over the whole graph: the measure of the push, and the last resort.

Power iteration reads every arc many times, so it is for small graphs and for checking.
`ranked_anyway` always gives an order: exact, else with less precision, else by how many
neighbours a node has and whether it was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hades.domain.graph import Reason
from hades.graph.adjacency import Mask, Neighbours, Nodes
from hades.graph.ppr import DAMPING, Scores, seeded

TRIES = ((1e-6, 100), (1e-4, 200))
"""Tolerance and iterations: first exact, then relaxed."""


@dataclass(frozen=True, slots=True)
class Exact:
    """The score of every node, and whether the iteration came to rest."""

    scores: Scores
    iterations: int
    converged: bool


@dataclass(frozen=True, slots=True)
class FallbackRanking:
    """The score of every node, and why it is not the exact one (None: it is)."""

    scores: Scores
    reason: Reason | None = None
    detail: str = ""


def exact(
    graph: Neighbours,
    seeds: Nodes,
    weights: Scores,
    *,
    damping: float = DAMPING,
    tolerance: float = 1e-6,
    iterations: int = 100,
    barred: Mask | None = None,
) -> Exact:
    """Personalised PageRank by power iteration, until all scores together move less."""
    begin = np.zeros(len(graph))
    np.add.at(begin, *seeded(graph, seeds, weights, barred))
    sources, targets, chances = _chances(graph, barred)
    scores = (1 - damping) * begin
    for done in range(1, iterations + 1):
        walked = np.bincount(targets, scores[sources] * chances, len(graph))
        new = (1 - damping) * begin + damping * walked
        moved = float(np.abs(new - scores).sum())
        scores = new
        if moved < tolerance:
            return Exact(scores, done, True)
    return Exact(scores, iterations, False)


def ranked_anyway(
    graph: Neighbours,
    seeds: Nodes,
    weights: Scores,
    *,
    damping: float = DAMPING,
    barred: Mask | None = None,
    tries: Sequence[tuple[float, int]] = TRIES,
) -> FallbackRanking:
    """Scores that add up to 1, whatever happens, and the reason when they are not exact."""
    use, shares = seeded(graph, seeds, weights, barred)
    degrees = _degrees(graph, barred)
    if len(use) and degrees.any():
        for attempt, (tolerance, iterations) in enumerate(tries):
            found = exact(
                graph, use, shares, damping=damping, tolerance=tolerance,
                iterations=iterations, barred=barred,
            )  # fmt: skip
            if found.converged:
                relaxed = f"tolerance relaxed to {tolerance:g}" if attempt else ""
                reason = Reason.FALLBACK if attempt else None
                return FallbackRanking(_summed_to_one(found.scores), reason, relaxed)
    # Degree centrality with the seeds lifted above: what seed document 004 ends with.
    scores = degrees / max(1, len(graph) - 1)
    np.add.at(scores, use, shares)
    if not degrees.any():
        return FallbackRanking(_summed_to_one(scores), Reason.EMPTY_GRAPH, "no arcs: seeds only")
    return FallbackRanking(_summed_to_one(scores), Reason.FALLBACK, "by degree, seeds first")


def _arcs(graph: Neighbours, barred: Mask | None) -> tuple[Nodes, Nodes, Scores]:
    counts, targets, weights = graph.of(np.arange(len(graph)))
    sources = np.repeat(np.arange(len(graph)), counts)
    if barred is not None:
        use = ~(barred[sources] | barred[targets])
        sources, targets, weights = sources[use], targets[use], weights[use]
    return sources, targets, weights.astype(np.float64)


def _chances(graph: Neighbours, barred: Mask | None) -> tuple[Nodes, Nodes, Scores]:
    """Every arc with the chance that a walker at its beginning takes it."""
    sources, targets, weights = _arcs(graph, barred)
    totals = np.bincount(sources, weights, len(graph))
    return sources, targets, weights / totals[sources]


def _degrees(graph: Neighbours, barred: Mask | None) -> Scores:
    sources, _, _ = _arcs(graph, barred)
    return np.bincount(sources, minlength=len(graph)).astype(np.float64)


def _summed_to_one(scores: Scores) -> Scores:
    total = scores.sum()
    return scores / total if total > 0 else scores
