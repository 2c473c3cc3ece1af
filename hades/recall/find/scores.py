"""Scores by chunk number: scaling, choosing the best, and lending between neighbours.

A turn lends a part of its score to its neighbours in the conversation: the answer often is the turn
after the question.
"""

from __future__ import annotations

import numpy as np

from hades.graph.arrays import Flags, Floats, Ints
from hades.index.graph_view import GraphView

LEND = 0.4
LEND_FAR = 0.15
"""The share that a chunk lends to chunks one and two away in its document."""
FOUND_BY_RETRIEVER = 50
"""A passage counts as found by a retriever if it is among this many of its best."""
ROUNDING = 1e-3
"""Cosines of the same text differ by less than this: its vectors have 8 bits or 16 bits."""


def minmax(scores: Floats) -> Floats:
    """Scale scores so that the highest is 1 and the lowest 0; scores as good as equal become 0."""
    if not len(scores):
        return np.zeros_like(scores)
    low = float(scores.min())
    high = float(scores.max(initial=0.0))
    return (scores - low) / (high - low) if high - low > ROUNDING else np.zeros_like(scores)


def scaled(scores: Floats, mask: Flags) -> Floats:
    """Scale the scores inside the mask to 0 … 1; those outside become 0."""
    if mask.all():
        return minmax(scores)
    on_one_scale = np.zeros(len(scores))
    on_one_scale[mask] = minmax(scores[mask])
    return on_one_scale


def lent(graph: GraphView, scores: Floats) -> Floats:
    """Raise each turn's score by a part of the scores up to two turns away in the conversation.

    Squares are added, so one strong neighbour counts for more than two weak ones. Passages of other
    documents keep their scores, because lending makes their ranking worse.
    """
    if not len(graph.turns):
        return np.maximum(scores, 0)
    square = np.maximum(scores, 0) ** 2
    square[graph.turns] = _joined(graph, square, graph.turns)
    joined: Floats = np.sqrt(square, out=square)
    return joined


def _joined(graph: GraphView, square: Floats, chunks: Ints) -> Floats:
    """Return the squared scores of chunks plus a part of their neighbours' squared scores."""
    before = graph.previous[chunks]
    after = graph.next[chunks]
    near = _at(square, before) + _at(square, after)
    far = _at(square, _step(graph.previous, before)) + _at(square, _step(graph.next, after))
    joined: Floats = square[chunks] + LEND * near + LEND_FAR * far
    return joined


def _at(scores: Floats, chunks: Ints) -> Floats:
    return np.where(chunks >= 0, scores[chunks], 0.0)


def _step(to: Ints, chunks: Ints) -> Ints:
    return np.where(chunks >= 0, to[chunks], -1)


def best(scores: Floats, mask: Flags, limit: int, least: float = 0.0) -> Ints:
    """Return `limit` chunk numbers with the highest positive scores, best first; of equals, older.

    `least` saves work: it is a score that at least `limit` chunks are known to reach.
    """
    chunks = np.flatnonzero(mask & (scores >= least if least > 0 else scores > 0))
    if len(chunks) > limit:
        kth = np.partition(scores[chunks], len(chunks) - limit)[len(chunks) - limit]
        chunks = chunks[scores[chunks] >= kth]
    return chunks[np.lexsort((chunks, -scores[chunks]))][:limit]


def nth_best(scores: Floats) -> float:
    """Return the FOUND_BY_RETRIEVER-th best positive score; 0 if there are fewer."""
    positive = scores[scores > 0]
    if len(positive) < FOUND_BY_RETRIEVER:
        return 0.0
    return float(np.partition(positive, -FOUND_BY_RETRIEVER)[-FOUND_BY_RETRIEVER])
