"""Themes: clusters of the hierarchy that answer a question for an overview (HiRAG).

“What are the main themes?” gets the clusters of level 1 if there are few, else the largest of
level 2. “What does this corpus say about bread?” gets the clusters of level 1 to which the best
passages for “bread” belong. Each theme cites its passages that fit the subject best, or its most
central ones, and `hades clusters` leads further down.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from hades.domain.graph import Reason
from hades.domain.hierarchy import LOW, Theme, cluster_name
from hades.graph.arrays import Flags, Floats, Ints
from hades.index.hierarchy import NONE, ClusterArrays
from hades.models.encoder import Encoder
from hades.recall.find.results import Retrieved
from hades.recall.find.scores import best, scaled
from hades.recall.find.seeds import Encoding, start_encoding
from hades.recall.query_context import QueryContext
from hades.recall.run import Run, Stage

VOTERS = 200
"""How many of the best passages, by meaning and words, vote for their clusters. Chosen, like the
next value, on half of `evals/overview`."""
VOTES_AT_LEAST = 0.1
"""The share of the votes that a theme needs; if there are few clusters, an even share."""
THEMES_AT_MOST = 8
CITES = 3
"""How many passages of a theme are cited."""


def find_themes(run: Run, retrieved: Retrieved, encoder: Encoder) -> tuple[Theme, ...]:
    """Return the themes that a question for an overview asks for, best first.

    A question about a time gets none: summaries answer it. Without a hierarchy there are none, and
    a diagnostic says so.
    """
    subject = retrieved.search.question.subject
    if subject is None or retrieved.search.question.time or retrieved.search.time.kind is not None:
        return ()
    with run.stage("themes", run.plan.graph.timeout_ms) as stage:
        query = retrieved.search.query
        arrays = query.clusters()
        if arrays is None:
            hint = "the passages are not organised into themes: `hades organise` does that"
            stage.note(Reason.NO_HIERARCHY, hint)
            return ()
        if subject:
            prior = _prior(query, subject, start_encoding(run, encoder, subject), stage)
            voters = best(prior, query.mask, VOTERS)
            # Votes count by the square of the prior, so that the weak passages of a small memory
            # have no say.
            shares = _shares(arrays, arrays.cluster_of[voters], prior[voters] ** 2)
        else:
            voters = np.zeros(0, np.int64)
            shares = _sizes(arrays, retrieved.seeds.mask)
        order = np.lexsort((arrays.numbers, -shares))[:THEMES_AT_MOST]
        least = max(VOTES_AT_LEAST, 1 / max(1, len(arrays.at_level(LOW)))) if subject else 1e-9
        chosen = [int(at) for at in order if shares[at] >= least]
        themes = _described(query, arrays, shares, chosen, voters)
        stage.found = len(themes)
        return themes


def _prior(query: QueryContext, subject: str, encoding: Encoding | None, stage: Stage) -> Floats:
    """Return how well each passage fits a subject by words and meaning, from 0 to 1."""
    prior = scaled(query.words(subject), query.mask)
    with suppress(TimeoutError):  # then words alone decide
        vector = encoding(stage.seconds_left)[0] if encoding else None
        if vector is not None:
            prior = scaled(prior + scaled(query.cosine(vector), query.mask), query.mask)
    return prior


def _sizes(arrays: ClusterArrays, mask: Flags) -> Floats:
    """Return the share of passages in each cluster: level 1 if there are few clusters, else 2."""
    seen = np.flatnonzero(mask)
    are_few = len(arrays.at_level(LOW)) <= THEMES_AT_MOST
    clusters = arrays.cluster_of[seen] if are_few else arrays.group_of(seen)
    return _shares(arrays, clusters, np.ones(len(seen)))


def _shares(arrays: ClusterArrays, clusters: Ints, weights: Floats) -> Floats:
    own = clusters != NONE
    sums = np.bincount(clusters[own], weights[own], len(arrays.numbers))
    return sums / max(1e-12, float(weights.sum()))


def _described(
    query: QueryContext, arrays: ClusterArrays, shares: Floats, chosen: Sequence[int], voters: Ints
) -> tuple[Theme, ...]:
    """Return the chosen clusters, citing their best voters or else their central passages."""
    store = query.store.hierarchies
    known = {cluster.id: cluster for cluster in store.clusters(arrays.hierarchy.id, query.as_of)}
    themes = []
    for at in chosen:
        number = int(arrays.numbers[at])
        own = voters[arrays.cluster_of[voters] == at][:CITES]
        chunks = query.indexes.chunks["id"][own].tolist() or [
            member.chunk for member in store.members(number, query.as_of, CITES)
        ]
        cites = query.store.chunks.labels(chunks, *query.indexes.moment(query.as_of))
        cited = tuple(cites[chunk] for chunk in chunks if chunk in cites)
        themes.append(Theme(known[cluster_name(number)], round(float(shares[at]), 4), cited))
    return tuple(themes)
