"""Personalised PageRank: how near every node is to the seeds, by local push.

A walker starts at a seed. With probability `damping` it follows an arc, chosen in proportion to the
weights; otherwise it stops. The score of a node is the probability to stop there. Local push
(Andersen, Chung and Lang 2006) keeps an estimate and a residual for each node and pushes residuals
above ε·W(u), so its cost depends on ε and not on the size of the graph. In an undirected graph the
score at v is too low by at most ε·W(v).

A walker at a node without arcs is lost. So the scores are additive: the walk of a mix of seeds is
the mix of their walks. Divided by their sum they are the scores of a PageRank whose lost walkers
start again at a seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from hades.domain.graph import Reason
from hades.errors import InvalidInput
from hades.graph.adjacency import Adjacency, Neighbours, RowCache
from hades.graph.arrays import Deadline, Flags, Floats, Ints
from hades.graph.lazy_kernel import LazyKernel

Query = tuple[Ints, Floats]
"""Seeds and their weights."""

DAMPING = 0.5
EPSILON = 1e-5
SLICE_PUSHES = 20_000
"""Pushes of the kernel between two looks at the deadline, about 5 ms."""
CHECKED_EVERY_PUSHES = 500
"""Pushes in plain Python between two looks at the deadline, about 1 ms."""
KERNEL_FROM_WALKS = 4
"""A question takes up to three walks. The first question of a process does them in plain Python,
because loading the kernel takes longer."""
_NO_LIMIT = np.iinfo(np.int64).max
_NONE_BARRED: Flags = np.zeros(0, np.bool_)


@dataclass(frozen=True, slots=True)
class Walk:
    """The nodes that a walk reached, in the order it met them, and their scores."""

    nodes: Ints
    scores: Floats
    pushes: int
    capped: Reason | None = None
    """`timeout` if the walk ended early; its scores are too low then."""

    def best(self, limit: int) -> Walk:
        """Return a walk with the `limit` best nodes only, best first, ties by node number."""
        order = np.lexsort((self.nodes, -self.scores))[:limit]
        return Walk(self.nodes[order], self.scores[order], self.pushes, self.capped)


def walk(graph: Neighbours, seeds: Ints, weights: Floats, **options: Any) -> Walk:
    """Do one walk from weighted seeds, with the options of `walk_many`."""
    return walk_many(graph, [(seeds, weights)], **options)[0]


def walk_many(
    graph: Neighbours,
    queries: Sequence[Query],
    *,
    damping: float = DAMPING,
    epsilon: float = EPSILON,
    barred: Flags | None = None,
    deadline: Deadline | None = None,
) -> list[Walk]:
    """Do one walk per query. The weights of a query's seeds are scaled to a sum of 1.

    No walk enters a `barred` node. If that mask is read-only, later walks are faster: sums of
    weights are kept for it. A walk stops early when `deadline` returns True.
    """
    if not 0 < damping < 1 or not epsilon > 0:
        raise InvalidInput("damping must be between 0 and 1, epsilon above 0")
    if barred is not None and len(barred) < len(graph):
        raise InvalidInput(f"the barred mask needs {len(graph)} nodes, not {len(barred)}")
    ready = [seeded(graph, seeds, weights, barred) for seeds, weights in queries]
    if isinstance(graph, Adjacency) and kernel.is_ready():
        return _fast(graph, ready, damping, epsilon, barred, deadline)
    rows = RowCache(graph, barred)
    return [plain_walk(rows, *query, damping, epsilon, deadline) for query in ready]


def seeded(graph: Neighbours, seeds: Ints, weights: Floats, barred: Flags | None) -> Query:
    """Return the seeds with a weight above 0 that are not barred, their weights scaled to sum 1."""
    seeds, weights = np.asarray(seeds, np.int64), np.asarray(weights, np.float64)
    if len(seeds) != len(weights):
        raise InvalidInput(f"{len(seeds)} seeds need as many weights, not {len(weights)}")
    if not (weights >= 0).all() or not np.isfinite(weights).all():
        raise InvalidInput("weights of seeds are finite numbers of 0 or more")
    if len(seeds) and not 0 <= seeds.min() <= seeds.max() < len(graph):
        raise InvalidInput(f"seeds are nodes from 0 to {len(graph) - 1}")
    use = weights > 0
    if barred is not None:
        use &= ~barred[seeds]
    seeds, weights = seeds[use], weights[use]
    return seeds, weights / weights.sum() if len(weights) else weights


def _fast(
    graph: Adjacency, queries: Sequence[Query], damping: float, epsilon: float,
    barred: Flags | None, deadline: Deadline | None,
) -> list[Walk]:  # fmt: skip
    """Walk with the kernel, in slices if there is a deadline."""
    from hades.graph import kernels

    rows, mask = graph.rows, _NONE_BARRED if barred is None else barred
    count = len(rows.row_of)
    ends = np.cumsum([len(seeds) for seeds, _ in queries])
    seeds, shares = (np.concatenate(parts) for parts in zip(*queries, strict=True))
    nodes, scores = np.empty(count * len(queries), np.int64), np.empty(count * len(queries))
    done, pushes = np.full(len(queries), -1), np.zeros(len(queries), np.int64)
    short = np.zeros(len(queries), np.bool_)
    with graph.scratch.lend(count) as scratch:
        held = scratch.state, scratch.queue, scratch.touched, scratch.at
        known = graph.weighed.under(barred, rows)
        given = seeds, shares, ends, damping, epsilon
        kept = rows, mask, known, *held, nodes, scores, done, pushes, short
        step = SLICE_PUSHES if deadline else _NO_LIMIT // 2
        while kernels.several(*given, False, step, *kept):
            if deadline and deadline():
                kernels.several(*given, True, step, *kept)  # write the unfinished walks
                break
    begins = [0, *done[:-1].tolist()]
    return [
        Walk(
            nodes[begin : done[number]].copy(),
            scores[begin : done[number]].copy(),
            int(pushes[number]),
            Reason.TIMEOUT if short[number] else None,
        )
        for number, begin in enumerate(begins)
    ]


def plain_walk(
    rows: RowCache, seeds: Ints, shares: Floats, damping: float, epsilon: float,
    deadline: Deadline | None,
) -> Walk:  # fmt: skip
    """Walk in plain Python: the pushes of the kernel, in the same order."""
    residual: dict[int, float] = {}
    estimate: dict[int, float] = {}
    frontier: list[int] = []
    waiting: set[int] = set()
    totals = rows.totals
    rows.fetch(seeds.tolist())
    for node, share in zip(seeds.tolist(), shares.tolist(), strict=True):
        residual[node] = residual.get(node, 0.0) + share
        if residual[node] > epsilon * totals[node] and node not in waiting:
            waiting.add(node)
            frontier.append(node)
    pushes, capped = 0, None
    while frontier and capped is None:
        rows.fetch(chain.from_iterable(rows[node][0] for node in frontier))
        following: list[int] = []
        for node in frontier:
            if deadline and pushes % CHECKED_EVERY_PUSHES == 0 and deadline():
                capped = Reason.TIMEOUT
                break
            pushes += 1
            waiting.discard(node)
            pushed, residual[node] = residual[node], 0.0
            estimate[node] = estimate.get(node, 0.0) + (1 - damping) * pushed
            targets, weights, total = rows[node]
            if total <= 0:
                continue
            spread = damping * pushed / total
            for other, weight in zip(targets, weights, strict=True):
                held = residual[other] = residual.get(other, 0.0) + spread * weight
                if held > epsilon * totals[other] and other not in waiting:
                    waiting.add(other)
                    following.append(other)
        frontier = following
    return Walk(
        np.fromiter(estimate, np.int64, len(estimate)),
        np.fromiter(estimate.values(), np.float64, len(estimate)),
        pushes,
        capped,
    )


def _load() -> None:
    """Compile the kernel, or load it from the cache, for the types that walks use."""
    graph = Adjacency.undirected(2, [0], [1], [1.0])
    seeds, weights = np.zeros(1, np.int64), np.ones(1)
    _fast(graph, [(seeds, weights)], DAMPING, EPSILON, None, None)


kernel = LazyKernel(_load, after=KERNEL_FROM_WALKS)
