"""Personalised PageRank: how near every node is to the seeds, by local push.

A walker starts at a seed. With probability `damping` it follows an arc, chosen in proportion to the
weights; otherwise it stops. The score of a node is the probability to stop there. Local push
(Andersen, Chung and Lang 2006) keeps an estimate and a residual for each node and pushes residuals
above ε·W(u), so its cost depends on ε and not on the size of the graph. In an undirected graph the
score at v is too low by at most ε·W(v). All nodes above the threshold are pushed together, round by
round: numpy then needs twice the time of a numba kernel, and both give the same scores.

A walker at a node without arcs is lost. So the scores are additive: the walk of a mix of seeds is
the mix of their walks. Divided by their sum they are the scores of a PageRank whose lost walkers
start again at a seed.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hades.domain.graph import Reason
from hades.errors import InvalidInput
from hades.graph.adjacency import Adjacency, Neighbours
from hades.graph.arrays import Deadline, Flags, Floats, Ints
from hades.graph.lazy_kernel import LazyKernel
from hades.graph.scratch import unweighed

Query = tuple[Ints, Floats]
"""Seeds and their weights."""

DAMPING = 0.5
EPSILON = 1e-5
SLICE_PUSHES = 20_000
"""How many pushes the kernel does between two checks of the deadline, about 5 ms."""
KERNEL_FROM_WALKS = 4
"""The kernel is loaded after this many walks. A question takes up to three, so the first question
of a process uses numpy, because loading the kernel takes longer."""
_NO_LIMIT = np.iinfo(np.int64).max
_NONE_BARRED: Flags = np.zeros(0, np.bool_)


@dataclass(frozen=True, slots=True)
class Walk:
    """The nodes that a walk reached, in no order, and their scores."""

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
    if isinstance(graph, Adjacency):
        if kernel.is_ready():
            return _with_kernel(graph, ready, damping, epsilon, barred, deadline)
        graph = copy.copy(graph)  # a later `replace` does not change it
    return _with_numpy(graph, ready, damping, epsilon, barred, deadline)


def seeded(graph: Neighbours, seeds: Ints, weights: Floats, barred: Flags | None) -> Query:
    """Return the seeds with a weight above 0 that are not barred, their weights scaled to sum 1."""
    seeds = np.asarray(seeds, np.int64)
    weights = np.asarray(weights, np.float64)
    if len(seeds) != len(weights):
        raise InvalidInput(f"{len(seeds)} seeds need as many weights, not {len(weights)}")
    if not (weights >= 0).all() or not np.isfinite(weights).all():
        raise InvalidInput("weights of seeds are finite numbers of 0 or more")
    if len(seeds) and not 0 <= seeds.min() <= seeds.max() < len(graph):
        raise InvalidInput(f"seeds are nodes from 0 to {len(graph) - 1}")
    use = weights > 0
    if barred is not None:
        use &= ~barred[seeds]
    seeds = seeds[use]
    weights = weights[use]
    return seeds, weights / weights.sum() if len(weights) else weights


def _with_kernel(
    graph: Adjacency, queries: Sequence[Query], damping: float, epsilon: float,
    barred: Flags | None, deadline: Deadline | None,
) -> list[Walk]:  # fmt: skip
    """Walk with the kernel, in slices if there is a deadline."""
    from hades.graph import kernels

    rows = graph.rows
    mask = _NONE_BARRED if barred is None else barred
    count = len(rows.row_of)
    ends = np.cumsum([len(seeds) for seeds, _ in queries])
    seeds, shares = (np.concatenate(parts) for parts in zip(*queries, strict=True))
    nodes = np.empty(count * len(queries), np.int64)
    scores = np.empty(count * len(queries))
    done = np.full(len(queries), -1)
    pushes = np.zeros(len(queries), np.int64)
    short = np.zeros(len(queries), np.bool_)
    with graph.scratch.lend(count) as scratch:
        held = scratch.state, scratch.queue, scratch.pushed, scratch.touched, scratch.at
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


def _with_numpy(
    graph: Neighbours, queries: Sequence[Query], damping: float, epsilon: float,
    barred: Flags | None, deadline: Deadline | None,
) -> list[Walk]:  # fmt: skip
    """Walk with numpy, all queries together: node `n` of query `q` has the place q·count + n."""
    count = len(graph)
    residual = np.zeros(count * len(queries))
    estimate = np.zeros(count * len(queries))
    last = np.empty(len(residual), np.int64)
    totals = _totals(graph, barred)
    pushes = np.zeros(len(queries), np.int64)
    is_late = False
    reached = [np.zeros(0, np.int64)]
    nodes, given = (np.concatenate(parts) for parts in zip(*queries, strict=True))
    first = np.repeat(np.arange(len(queries)) * count, [len(seeds) for seeds, _ in queries])
    while True:
        places = first + nodes
        np.add.at(residual, places, given)
        above = np.flatnonzero(residual[places] > epsilon * _weighed(graph, nodes, totals, barred))
        last[places[above]] = above
        above = above[last[places[above]] == above]  # each place once
        if not len(above) or (is_late := deadline is not None and deadline()):
            break
        places = places[above]
        first = first[above]
        nodes = nodes[above]
        pushes += np.bincount(first // count, minlength=len(queries))
        reached.append(places)
        pushed = residual[places]
        total = totals[nodes]
        residual[places] = 0
        estimate[places] += (1 - damping) * pushed
        counts, nodes, weights = graph.of(nodes)
        given = np.repeat(damping * pushed / np.where(total > 0, total, np.inf), counts) * weights
        first = np.repeat(first, counts)
    capped = Reason.TIMEOUT if is_late else None
    # use the places that were reached; a scan of all estimates would take longer than the walks
    places = np.unique(np.concatenate(reached))
    ends = np.searchsorted(places, np.arange(1, len(queries)) * count)
    return [
        Walk(own % count, estimate[own], int(number), capped)
        for own, number in zip(np.split(places, ends), pushes, strict=True)
    ]


def _totals(graph: Neighbours, barred: Flags | None) -> Floats:
    """Return the weight of each node's arcs: -1 if unknown, infinite if no walk may enter it."""
    if isinstance(graph, Adjacency):
        if barred is None:
            return graph.rows.totals
        if len(known := graph.weighed.under(barred, graph.rows)):
            return known
    return np.full(len(graph), -1.0) if barred is None else unweighed(barred)


def _weighed(graph: Neighbours, nodes: Ints, totals: Floats, barred: Flags | None) -> Floats:
    """Return the weights of the nodes' arcs, after adding the unknown ones to `totals`."""
    sums: Floats = totals[nodes]
    if sums.min(initial=0) >= 0:
        return sums
    unknown = np.unique(nodes[sums < 0])
    counts, targets, weights = graph.of(unknown)
    if barred is not None:
        weights = np.where(barred[targets], np.float32(0), weights)
    owners = np.repeat(np.arange(len(unknown)), counts)
    totals[unknown] = np.bincount(owners, weights, len(unknown))
    return totals[nodes]


def _load() -> None:
    """Compile the kernel, or load it from the cache, for the types that walks use."""
    graph = Adjacency.undirected(2, [0], [1], [1.0])
    seeds = np.zeros(1, np.int64)
    weights = np.ones(1)
    _with_kernel(graph, [(seeds, weights)], DAMPING, EPSILON, None, None)


kernel = LazyKernel(_load, after=KERNEL_FROM_WALKS)
