"""Themes: clusters of the hierarchy that answer a question for an overview (HiRAG).

“What are the main themes?” gets the largest clusters of level 2. “What does this corpus say about
bread?” gets the clusters of level 1 to which the best passages for “bread” belong. Each theme cites
its most central passages, and `hades clusters` leads further down.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from hades.domain.graph import Reason
from hades.domain.hierarchy import HIGH, Theme, cluster_name
from hades.graph.arrays import Flags, Floats, Ints
from hades.index.hierarchy import NONE, ClusterArrays
from hades.models.encoder import Encoder
from hades.recall.find.results import Found
from hades.recall.find.scores import best, scaled
from hades.recall.find.seeds import Encoding, start_encoding
from hades.recall.query_context import QueryContext
from hades.recall.run import Run, Stage

VOTERS = 200
"""The best passages by meaning and words that vote for their clusters. This and the next value were
chosen on the even half of the overview questions over papers (evals/overview)."""
VOTES_AT_LEAST = 0.1
"""The share of the votes that a theme needs."""
THEMES_AT_MOST = 8
CITES = 3
"""The most central passages of a theme that are cited."""


def find_themes(run: Run, found: Found, subject: str, encoder: Encoder) -> tuple[Theme, ...]:
    """Return the themes of a subject, or of everything if it is "", best first.

    Without a hierarchy there are none, and a diagnostic says so.
    """
    with run.stage("themes", run.plan.graph.timeout_ms) as stage:
        query = found.search.query
        arrays = query.clusters()
        if arrays is None:
            hint = "the passages are not organised into themes: `hades organise` does that"
            stage.note(Reason.NO_HIERARCHY, hint)
            return ()
        if subject:
            shares = _votes(arrays, query, subject, start_encoding(run, encoder, subject), stage)
        else:
            shares = _sizes(arrays, found.seeds.mask)
        order = np.lexsort((arrays.numbers, -shares))[:THEMES_AT_MOST]
        chosen = [int(at) for at in order if shares[at] >= (VOTES_AT_LEAST if subject else 1e-9)]
        themes = _described(query, arrays, shares, chosen)
        stage.found = len(themes)
        return themes


def _votes(
    arrays: ClusterArrays,
    query: QueryContext,
    subject: str,
    encoding: Encoding | None,
    stage: Stage,
) -> Floats:
    """Return, by cluster of level 1, its share of the votes of the best passages for a subject.

    A vote counts by the square of the prior, so that the rest of a small memory has no say.
    """
    prior = scaled(query.words(subject), query.mask)
    with suppress(TimeoutError):  # then words alone decide
        vector = encoding(stage.seconds_left)[0] if encoding else None
        if vector is not None:
            prior = scaled(prior + scaled(query.cosine(vector), query.mask), query.mask)
    voters = best(prior, query.mask, VOTERS)
    return _shares(arrays, arrays.cluster_of[voters], prior[voters] ** 2)


def _sizes(arrays: ClusterArrays, mask: Flags) -> Floats:
    """Return, by cluster of level 2, or 1 if there is one at most, its share of the passages."""
    seen = np.flatnonzero(mask)
    several = len(arrays.at_level(HIGH)) > 1
    of = arrays.group_of(seen) if several else arrays.cluster_of[seen]
    return _shares(arrays, of, np.ones(len(seen)))


def _shares(arrays: ClusterArrays, clusters: Ints, weights: Floats) -> Floats:
    own = clusters != NONE
    sums = np.bincount(clusters[own], weights[own], len(arrays.numbers))
    return sums / max(1e-12, float(weights.sum()))


def _described(
    query: QueryContext, arrays: ClusterArrays, shares: Floats, chosen: Sequence[int]
) -> tuple[Theme, ...]:
    """Return the chosen clusters with their labels, summaries and central passages."""
    if not chosen:
        return ()
    store = query.store.hierarchies
    known = {cluster.id: cluster for cluster in store.clusters(arrays.hierarchy.id, query.as_of)}
    central = {at: _central(query, arrays, at) for at in chosen}
    chunks = [chunk for found in central.values() for chunk in found]
    cites = query.store.chunks.labels(chunks, *query.indexes.moment(query.as_of))
    return tuple(
        Theme(
            known[cluster_name(int(arrays.numbers[at]))],
            round(float(shares[at]), 4),
            tuple(cites[chunk] for chunk in central[at] if chunk in cites),
        )
        for at in chosen
    )


def _central(query: QueryContext, arrays: ClusterArrays, cluster: int) -> list[int]:
    """Return the most central chunks of a cluster; of level 2, one of each of its children."""
    store = query.store.hierarchies
    parts, each = np.array([cluster]), CITES
    if arrays.level[cluster] == HIGH:
        parts, each = arrays.children(cluster), 1
        sizes = [np.count_nonzero(arrays.cluster_of == part) for part in parts]
        parts = parts[np.lexsort((parts, -np.array(sizes)))][:CITES]
    return [
        member.chunk
        for part in parts
        for member in store.members(int(arrays.numbers[part]), query.as_of, each)
    ]
