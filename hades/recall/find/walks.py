"""Walks: personalised PageRank from the names of the question and from the prior.

The two walks run separately and are mixed afterwards, because a walk is linear in its seeds. A
third walk, from both together, goes further: it finds passages two names away.
"""

from __future__ import annotations

import numpy as np

from hades.domain.graph import Reason
from hades.graph.arrays import Floats
from hades.graph.ppr import Query, Walk, walk_many
from hades.index.graph_view import GraphView
from hades.recall.find.results import SearchQuery, Seeds, Walks
from hades.recall.run import Stage

PRIOR_SHARE = 0.3
PRIOR_POWER = 4
"""The far walk starts from names, weighted by 1/frequency, and from this share of the prior raised
to this power."""
DAMPING_FAR = 0.75
EPSILON = 3e-5
"""A smaller error bound finds nothing more and takes longer."""


def find_walks(stage: Stage, search: SearchQuery, seeds: Seeds) -> Walks:
    """Walk from the names of the question and from the prior; without a walk, all scores are 0."""
    plan = stage.run.plan.graph
    graph = search.query.graph
    nothing = np.zeros(len(seeds.mask))
    if not plan.walk:
        stage.note(Reason.SWITCHED_OFF)
    elif not graph.adjacency.has_arcs:
        stage.note(Reason.EMPTY_GRAPH)
    elif not stage.is_late("the walk"):
        return _walked(stage, search, seeds)
    return Walks(nothing, nothing, nothing, nothing)


def _walked(stage: Stage, search: SearchQuery, seeds: Seeds) -> Walks:
    graph = search.query.graph
    barred = search.query.barred
    named = seeds.named
    top = np.sort(seeds.top)
    by_prior = seeds.prior[top] ** PRIOR_POWER
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
            deadline=stage.is_over,
        )

    both = np.concatenate([at, top]), np.concatenate([by_name, PRIOR_SHARE * by_prior])
    walks = go([(at, by_name), (top, by_prior)], stage.run.plan.graph.damping)
    walks += go([both], DAMPING_FAR)
    for reason in dict.fromkeys(walk.capped for walk in walks if walk.capped is not None):
        stage.stop(reason, "the walk is not complete")
    from_names, from_prior, further = (_by_chunk(graph, walk) for walk in walks)
    share = PRIOR_SHARE / (1 + PRIOR_SHARE)
    joined = from_names * (1 - share) + from_prior * share if len(named) else from_prior
    stage.found = int((joined > 0).sum())
    stage.added = int(((joined > 0) & (seeds.prior <= 0)).sum())
    return Walks(from_names, from_prior, joined, further)


def _by_chunk(graph: GraphView, walk: Walk) -> Floats:
    scores = np.zeros(len(graph.chunks))
    is_chunk = walk.nodes < graph.first_entity
    scores[walk.nodes[is_chunk]] = walk.scores[is_chunk]
    return scores
