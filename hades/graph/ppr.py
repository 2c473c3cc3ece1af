"""Personalised PageRank: how near every node is to the seeds, by local push.

A walker starts at a seed, goes along an arc with chance `damping`, in proportion to the
weights, and otherwise stops; a node's score is the chance to stop there. Local push
(Andersen, Chung and Lang 2006) keeps an estimate and a residual for each node and pushes on
what is larger than ε·W(u), so its cost depends on ε and not on the size of the graph. In an
undirected graph the score at v is too low by at most ε·W(v).

A walker that finds no way on is lost. Divided by their sum the scores are those of a
PageRank whose lost walkers begin again at a seed, and as they are they can be added up:
the walk of a mix of seeds is the mix of their walks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hades.domain.graph import Reason
from hades.errors import InvalidInput
from hades.graph.adjacency import Adjacency, Mask, Neighbours, Nodes
from hades.graph.lazy_kernel import LazyKernel
from hades.graph.row_cache import RowCache

Scores = npt.NDArray[np.float64]
Deadline = Callable[[], bool]
Query = tuple[Nodes, Scores]
"""Seeds and their weights."""

DAMPING = 0.5
EPSILON = 1e-5
SLICE_PUSHES = 20_000
"""A deadline is looked at after so many pushes of the kernel: some 5 ms."""
CHECKED_EVERY_PUSHES = 500
"""The same in plain Python: about a millisecond of work."""
KERNEL_FROM_WALKS = 4
"""A question takes up to three walks, and those of a process's first are done in plain Python:
loading the kernel takes longer."""
_NO_LIMIT = np.iinfo(np.int64).max
_NOBODY: Mask = np.zeros(0, np.bool_)


@dataclass(frozen=True, slots=True)
class Walk:
    """The nodes a walk came to, in the order it met them, and their scores."""

    nodes: Nodes
    scores: Scores
    pushes: int
    capped: Reason | None = None
    """`timeout` when it ended early; the scores are too low then."""

    def best(self, limit: int) -> Walk:
        """The highest scores, best first; ties by number."""
        order = np.lexsort((self.nodes, -self.scores))[:limit]
        return Walk(self.nodes[order], self.scores[order], self.pushes, self.capped)


def walk(graph: Neighbours, seeds: Nodes, weights: Scores, **options: Any) -> Walk:
    """One walk from weighted seeds, with the options of `walk_many`."""
    return walk_many(graph, [(seeds, weights)], **options)[0]


def walk_many(
    graph: Neighbours,
    queries: Sequence[Query],
    *,
    damping: float = DAMPING,
    epsilon: float = EPSILON,
    barred: Mask | None = None,
    deadline: Deadline | None = None,
) -> list[Walk]:
    """Walk from weighted seeds, several times; the weights of each are brought to a sum of 1.

    `barred` nodes are walked neither through nor into; a mask that cannot be written to is
    remembered, so that later walks under it cost no more. `deadline` says when time is up.
    """
    if not 0 < damping < 1 or not epsilon > 0:
        raise InvalidInput("damping lies between 0 and 1, epsilon above 0")
    if barred is not None and len(barred) < len(graph):
        raise InvalidInput(f"the barred mask needs {len(graph)} nodes, not {len(barred)}")
    ready = [seeded(graph, seeds, weights, barred) for seeds, weights in queries]
    if isinstance(graph, Adjacency) and kernel.is_ready():
        return _fast(graph, ready, damping, epsilon, barred, deadline)
    rows = RowCache(graph, barred)
    return [plain_walk(rows, *query, damping, epsilon, deadline) for query in ready]


def seeded(graph: Neighbours, seeds: Nodes, weights: Scores, barred: Mask | None) -> Query:
    """The seeds that may be walked from, their weights brought to a sum of 1."""
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
    barred: Mask | None, deadline: Deadline | None,
) -> list[Walk]:  # fmt: skip
    """Walks by the kernel, in slices when there is a deadline to look at."""
    from hades.graph import kernels

    rows, mask = graph.rows, _NOBODY if barred is None else barred
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
                kernels.several(*given, True, step, *kept)  # writes down what there is
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
    rows: RowCache, seeds: Nodes, shares: Scores, damping: float, epsilon: float,
    deadline: Deadline | None,
) -> Walk:  # fmt: skip
    """The pushes of the kernel, in the same order. Rows are fetched a frontier at a time."""
    residual: dict[int, float] = {}
    estimate: dict[int, float] = {}
    frontier: list[int] = []
    waiting: set[int] = set()
    rows.fetch(seeds.tolist())
    for node, share in zip(seeds.tolist(), shares.tolist(), strict=True):
        residual[node] = residual.get(node, 0.0) + share
        if residual[node] > epsilon * rows[node][2] and node not in waiting:
            waiting.add(node)
            frontier.append(node)
    pushes, capped = 0, None
    while frontier and capped is None:
        rows.fetch(other for node in frontier for other in rows[node][0])
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
                if held > epsilon * rows[other][2] and other not in waiting:
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
    """Compile, or load from the cache, for the types walks are done with."""
    graph = Adjacency.undirected(2, [0], [1], [1.0])
    seeds, weights = np.zeros(1, np.int64), np.ones(1)
    _fast(graph, [(seeds, weights)], DAMPING, EPSILON, None, None)


kernel = LazyKernel(_load, after=KERNEL_FROM_WALKS)
