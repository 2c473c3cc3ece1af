"""Signals: what the retrievers and the walks say of every passage, for one question.

The prior is what meaning and words say together. A passage lends to its neighbours in the
same document: the turn after a question, the paragraph after a heading (LoCoMo turn recall
at 10: 67.8 without, 77.4 with). Walks start from the names of the question and from the
prior, and are mixed afterwards: a walk is linear in its seeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hades.domain.graph import Reason
from hades.graph.arrays import Flags, Floats, Ints
from hades.graph.ppr import Query, Walk, walk_many
from hades.index.graph_view import GraphView

LEND, LEND_FAR = 0.4, 0.15
"""What a chunk lends to those one and two away in its document."""
PRIOR_SHARE, PRIOR_POWER, PRIOR_SEEDS = 0.3, 4, 200
"""The walk's seeds: names by 1/frequency, and this share of the prior to this power."""
DAMPING_FAR = 0.75
"""A second walk goes further: it finds what is two names away."""
EPSILON = 1e-5


@dataclass(slots=True)
class Signals:
    """Scores by chunk number; what is not there has none."""

    mask: Flags
    cosine: Floats
    """Similarity to the question. A chunk without a vector gets a value by its words."""
    words: Floats
    prior: Floats
    named: Ints
    """The entities the question names, by number among the entities."""
    walked_names: Floats
    walked_prior: Floats
    walked: Floats
    """Both together."""
    far: Floats
    scaled: tuple[Floats, Floats] | None = None
    """Meaning and words, each from 0 to 1."""
    top: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """The best by prior, as many as walks start from, best first."""
    capped: list[Reason] = field(default_factory=list)


def minmax(scores: Floats) -> Floats:
    """The best is 1, the worst 0; all alike are 0."""
    low, high = float(scores.min(initial=0.0)), float(scores.max(initial=0.0))
    if len(scores):
        low = float(scores.min())
    return (scores - low) / (high - low) if high > low else np.zeros_like(scores)


def scaled(scores: Floats, mask: Flags) -> Floats:
    """What the mask lets through on a scale of 0 to 1, the rest 0."""
    if mask.all():
        return minmax(scores)
    made = np.zeros(len(scores))
    made[mask] = minmax(scores[mask])
    return made


def lent(graph: GraphView, scores: Floats) -> Floats:
    """Scores joined with those up to two turns away in the same conversation.

    Squares are added, so one strong neighbour counts for more than two weak ones. Passages
    of other documents keep their own: each says its own thing (lending there costs 4 points
    of SciFact's nDCG, whose abstracts are cut in two or three).
    """
    if not len(graph.turns):
        return np.maximum(scores, 0)
    square = np.maximum(scores, 0) ** 2
    square[graph.turns] = _joined(graph, square, graph.turns)
    joined: Floats = np.sqrt(square, out=square)
    return joined


def lent_to(graph: GraphView, scores: Floats, chunks: Ints) -> Floats:
    """The same, of some chunks only."""
    square = np.maximum(scores, 0) ** 2
    own = square[chunks]
    spoken = graph.spoken[chunks]
    own[spoken] = _joined(graph, square, chunks[spoken])
    joined: Floats = np.sqrt(own, out=own)
    return joined


def _joined(graph: GraphView, square: Floats, chunks: Ints) -> Floats:
    """The squares of chunks and, in part, of their neighbours."""
    before, after = graph.previous[chunks], graph.next[chunks]
    near = _at(square, before) + _at(square, after)
    far = _at(square, _step(graph.previous, before)) + _at(square, _step(graph.next, after))
    joined: Floats = square[chunks] + LEND * near + LEND_FAR * far
    return joined


def _at(scores: Floats, chunks: Ints) -> Floats:
    return np.where(chunks >= 0, scores[chunks], 0.0)


def _step(to: Ints, chunks: Ints) -> Ints:
    return np.where(chunks >= 0, to[chunks], -1)


def prior_of(graph: GraphView, signals: Signals) -> Floats:
    """Meaning and words on one scale, lent to the neighbours in a document."""
    mask = signals.mask
    signals.scaled = scaled(signals.cosine, mask), scaled(signals.words, mask)
    if not signals.cosine.any() and not signals.words.any():
        return np.zeros(len(mask))
    joined = lent(graph, (signals.scaled[0] + signals.scaled[1]) / 2)
    joined[~mask] = 0
    return scaled(joined, mask)


def best(scores: Floats, mask: Flags, limit: int, least: float = 0.0) -> Ints:
    """The numbers of the best scores above nothing, best first; ties go to the older.

    `least` is a score that at least so many reach, where one is known.
    """
    there = np.flatnonzero(mask & (scores > 0) & (scores >= least))
    if len(there) > limit:
        kth = np.partition(scores[there], len(there) - limit)[len(there) - limit]
        there = there[scores[there] >= kth]
    return there[np.lexsort((there, -scores[there]))][:limit]


def walks(
    graph: GraphView,
    signals: Signals,
    damping: float,
    deadline: Callable[[], bool] | None,
    background: Callable[[Callable[[], Any]], Callable[[], Any]],
) -> Callable[[], None]:
    """Begin the walks: from the names, from the prior, and the far one.

    What is given back waits for them and fills them in.
    """
    barred = graph.barred
    if signals.mask is not graph.visible:
        barred = barred.copy()
        barred[: len(signals.mask)] |= ~signals.mask
    named, prior = signals.named, signals.prior
    top = np.sort(signals.top)
    by_prior = prior[top] ** PRIOR_POWER
    by_prior = by_prior / max(1e-12, by_prior.sum())
    by_name = 1.0 / np.maximum(1, graph.frequency[named])
    by_name = by_name / max(1e-12, by_name.sum())
    at = graph.first_entity + named

    def go(queries: list[Query], damping: float) -> list[Walk]:
        return walk_many(
            graph.adjacency,
            queries,
            damping=damping,
            epsilon=EPSILON,
            barred=barred,
            deadline=deadline,
        )

    both = np.concatenate([at, top]), np.concatenate([by_name, PRIOR_SHARE * by_prior])
    far = background(lambda: go([both], DAMPING_FAR))
    near = background(lambda: go([(at, by_name), (top, by_prior)], damping))

    def wait() -> None:
        walks = [*near(), *far()]
        names, prior, signals.far = (_by_chunk(graph, one) for one in walks)
        share = PRIOR_SHARE / (1 + PRIOR_SHARE)
        signals.walked_names, signals.walked_prior = names, prior
        signals.walked = names * (1 - share) + prior * share if len(named) else prior
        signals.capped += [one.capped for one in walks if one.capped is not None]

    return wait


def _by_chunk(graph: GraphView, found: Walk) -> Floats:
    scores = np.zeros(len(graph.chunks))
    chunk = found.nodes < graph.first_entity
    scores[found.nodes[chunk]] = found.scores[chunk]
    return scores
