"""Features of candidate passages, for the ranker.

No feature depends on a data set, on the order of a file or on the number of answers; each is
computed within the candidates of one question.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hades.graph.arrays import Floats, Floats32, Ints
from hades.index.graph_view import GraphView
from hades.index.vectors import product
from hades.recall.find.results import Candidates, Retrieved, Seeds, Walks
from hades.recall.find.scores import lent, minmax
from hades.recall.query_context import QueryContext

FEATURES: tuple[str, ...] = (
    *("log_walk", "log_walk_names", "log_walk_prior", "walk_rank", "log_far", "far_rank"),
    *("prior", "prior_rank", "meaning", "words", "cosine"),
    *("coverage", "title_coverage"),
    *("named_count", "named_weight", "named_share", "title_named"),
    *("bridge_in", "bridge_in_prior", "bridge_in_count"),
    *("bridge_out", "bridge_out_prior", "bridge_out_count"),
    *("shared", "shared_prior", "pair_coverage", "pair_gain", "title_gain"),
    *("near_strong", "second_hop", "second_hop_rank"),
    *("following", "following_rank"),
    "turn",
)
"""`bridge_in` and `bridge_out` are about candidates that mention each other's titles. The last,
`turn`, only selects the model."""
STRONG = 10
"""The number of strongest candidates to which links are counted."""
SHARED_AT_LEAST = 0.4
"""Two passages that share names of this weight are linked."""
_LEAST = 1e-4


def passage_features(retrieved: Retrieved, candidates: Candidates) -> Floats32:
    """Compute a row of features for each candidate, with the columns in the order of FEATURES."""
    query = retrieved.search.query
    at = candidates.numbers
    term_table = has_term, weight = retrieved.search.term_table(at)
    among = _CandidateGraph(query.graph, retrieved.seeds.named, at)
    chosen: dict[str, Any] = {}
    _walk_features(chosen, retrieved.walks, at)
    _retriever_features(chosen, query.graph, retrieved.seeds, at)
    chosen["coverage"] = has_term @ weight
    chosen["title_coverage"] = _title_coverage(query, at, set(retrieved.search.terms))
    _name_features(chosen, retrieved.seeds.named, among)
    _link_features(chosen, retrieved, at, term_table, among)
    _second_hop_features(chosen, query, candidates)
    chosen["following"] = retrieved.following[at]
    chosen["following_rank"] = log_ranks(chosen["following"]) * bool(retrieved.following.any())
    chosen["turn"] = query.graph.spoken[at]
    return np.stack([chosen[name] for name in FEATURES], 1).astype(np.float32)


def _walk_features(chosen: dict[str, Any], walks: Walks, at: Ints) -> None:
    for name, scores in (
        ("log_walk", walks.joined),
        ("log_walk_names", walks.from_names),
        ("log_walk_prior", walks.from_prior),
        ("log_far", walks.far),
    ):
        chosen[name] = np.log(scores[at] / max(1e-12, scores.max(initial=0.0)) + _LEAST)
    chosen["walk_rank"] = log_ranks(walks.joined[at])
    chosen["far_rank"] = log_ranks(walks.far[at])


def _retriever_features(chosen: dict[str, Any], graph: GraphView, seeds: Seeds, at: Ints) -> None:
    chosen["prior"] = seeds.prior[at]
    chosen["prior_rank"] = log_ranks(seeds.prior[at])
    for name, on_one_scale in zip(("meaning", "words"), seeds.scaled, strict=True):
        if len(graph.turns):
            on_one_scale = minmax(lent(graph, on_one_scale))
        chosen[name] = on_one_scale[at]
    chosen["cosine"] = lent(graph, np.where(seeds.mask, seeds.cosine, 0))[at]


def _title_coverage(query: QueryContext, numbers: Ints, terms: set[str]) -> Floats:
    """Return how much of each candidate's title is in the question, by weight."""
    titles = query.graph.title_of[numbers]
    each = np.unique(titles[titles >= 0])
    entities = query.graph.entities[each].tolist()
    weighed = query.indexes.words.weighed(entities, query.store.entities.names)
    covered = np.zeros(len(each) + 1)  # the last entry is for candidates without a title
    for at, (rarity, total) in enumerate(weighed):
        if not terms.isdisjoint(rarity):
            shared = sum(weight for term, weight in rarity.items() if term in terms)
            covered[at] = shared / max(1e-9, total)
    return covered[np.where(titles >= 0, np.searchsorted(each, titles), -1)]


class _CandidateGraph:
    """The names that the candidates mention, without hubs, and which candidates share them."""

    def __init__(self, graph: GraphView, named: Ints, at: Ints) -> None:
        counts, targets, _ = graph.adjacency.of(at)
        row = np.repeat(np.arange(len(at)), counts)
        entity = targets - graph.first_entity
        is_name = (entity >= 0) & (targets < graph.first_topic)
        row = row[is_name]
        entity = entity[is_name]
        kept = ~graph.hub[entity]
        self.row = row[kept]
        self.entity = entity[kept]
        self.title = graph.title_of[at]
        self.rarity = graph.rarity
        self._rarest = graph.rarest
        self.mentions_title = self._mentions_title(graph, len(at))
        self.shared = self._shared(named, len(at))

    def _mentions_title(self, graph: GraphView, m: int) -> Floats32:
        """Return a matrix: [i, j] is 1 if j mentions the title of i and has another title.

        Titles that are hubs do not count.
        """
        usable = self.title >= 0
        usable[usable] = ~graph.hub[self.title[usable]]
        titles, place = np.unique(self.title[usable], return_inverse=True)
        at = np.searchsorted(titles, self.entity)
        at = np.minimum(at, max(0, len(titles) - 1))
        mentioned = np.zeros((max(1, len(titles)), m), np.float32)
        if len(titles):
            hit = titles[at] == self.entity
            mentioned[at[hit], self.row[hit]] = 1
        joined = np.zeros((m, m), np.float32)
        joined[usable] = mentioned[place]
        joined[self.title[:, None] == self.title[None, :]] = 0
        np.fill_diagonal(joined, 0)
        return joined

    def _shared(self, named: Ints, m: int) -> Floats32:
        """Return a matrix: the summed rarity of names that both candidates have, except `named`."""
        asked = np.isin(self.entity, named)
        names, place, count = np.unique(
            self.entity[~asked], return_inverse=True, return_counts=True
        )
        twice = count[place] > 1
        order = np.argsort(place[twice], kind="stable")
        row = self.row[~asked][twice][order]
        of = place[twice][order]
        # Few pairs have a name in common, so list these pairs: a matrix would be mostly zeros.
        others = count[of]
        first = np.searchsorted(of, of)
        ends = np.cumsum(others)
        at = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - others - first, others)
        weight = np.repeat(self.rarity[names[of]] / max(1e-9, self._rarest), others)
        pairs = np.repeat(row, others) * m + row[at]
        shared = np.bincount(pairs, weight, m * m).astype(np.float32).reshape(m, m)
        np.fill_diagonal(shared, 0)
        return shared


def _name_features(chosen: dict[str, Any], named: Ints, among: _CandidateGraph) -> None:
    asked = np.isin(among.entity, named)
    m = len(among.title)
    weight = among.rarity[among.entity[asked]]
    chosen["named_count"] = np.bincount(among.row[asked], minlength=m)
    chosen["named_weight"] = np.bincount(among.row[asked], weight, minlength=m)
    total = float(among.rarity[named].sum())
    chosen["named_share"] = chosen["named_weight"] / max(1e-9, total)
    chosen["title_named"] = np.isin(among.title, named)


def _link_features(
    chosen: dict[str, Any],
    retrieved: Retrieved,
    at: Ints,
    term_table: tuple[Floats32, Floats],
    among: _CandidateGraph,
) -> None:
    joined = among.mentions_title
    shared = among.shared
    walked = retrieved.walks.joined
    strength = walked[at] / max(1e-12, walked.max(initial=0.0))
    prior = retrieved.seeds.prior[at]
    good = np.argsort(-(strength + prior), kind="stable")[:STRONG]
    for name, matrix in (("bridge_in", joined), ("bridge_out", joined.T)):
        chosen[name] = (matrix * strength).max(1)
        chosen[f"{name}_prior"] = (matrix * prior).max(1)
        chosen[f"{name}_count"] = np.log1p(matrix[:, good].sum(1, dtype=np.float64))
    capped = np.minimum(shared, 2)
    chosen["shared"] = (capped * strength).max(1)
    chosen["shared_prior"] = (capped * prior).max(1)
    # The terms of the question that two linked passages contain together.
    has, weight = term_table
    cover = chosen["coverage"]
    lacked = np.maximum(has[:, None, :] - has[None, good, :], 0) @ weight
    by_title = (joined + joined.T > 0)[:, good]
    linked = by_title | (shared[:, good] > SHARED_AT_LEAST)
    chosen["pair_coverage"] = ((cover[good][None, :] + lacked) * linked).max(1)
    chosen["pair_gain"] = (lacked * linked * prior[good]).max(1)
    chosen["title_gain"] = (lacked * by_title * prior[good]).max(1)


def _second_hop_features(
    chosen: dict[str, Any], query: QueryContext, candidates: Candidates
) -> None:
    at = candidates.numbers
    strong = candidates.strong
    near = product(query.indexes.vectors_of(at), query.indexes.vectors_of(strong))
    near[at[:, None] == strong[None, :]] = 0
    chosen["near_strong"] = near.max(1, initial=0.0)
    chosen["second_hop"] = candidates.second_hop[at]
    chosen["second_hop_rank"] = log_ranks(candidates.second_hop[at])


def log_ranks(scores: Floats) -> Floats:
    """Return log(1 + rank) of each score, where the best has rank 0."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
    return np.log1p(ranks)
