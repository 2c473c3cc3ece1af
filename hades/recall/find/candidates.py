"""Candidates: the hundred passages worth ranking, and their features.

Each signal sends its best; a second hop adds what is near to the question and the five
strongest passages together: the passage that answers often shares no word with the
question, but with the passage that leads to it.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hades.graph.arrays import Floats, Floats32, Ints
from hades.recall.find.signals import Signals, best
from hades.recall.query_context import QueryContext
from hades.recall.rank.features import Candidates, features

BY_WALK, BY_PRIOR, BY_SECOND_HOP, BY_FAR, BY_RETRIEVER = 100, 40, 40, 60, 10
"""How many each signal sends: about 120 together, which hold 91 % of MuSiQue's gold."""
STRONGEST = 5


def strongest(signals: Signals) -> Ints:
    """The passages that walk and prior agree on."""
    walked = signals.walked / max(1e-12, float(signals.walked.max(initial=0.0)))
    both = np.where(signals.mask, walked + signals.prior, -1.0)
    # The best by prior are at hand, and no stronger one is below the least of them.
    least = both[signals.top[:STRONGEST]].min() if len(signals.top) >= STRONGEST else 0.0
    there = np.flatnonzero(both >= least)
    return there[np.lexsort((there, -both[there]))][:STRONGEST]


def second_hop(query: QueryContext, vector: Floats32 | None, strong: Ints) -> Floats:
    """How near each passage is to the question and the strongest together."""
    if vector is None or not len(strong):
        return np.zeros(len(query.mask))
    hop = vector + query.indexes.vectors_of(strong).mean(0)
    hop = hop / max(1e-12, float(np.linalg.norm(hop)))
    return query.cosine(hop.astype(np.float32))


def gathered(
    signals: Signals,
    second: Floats,
    following: Floats,
    least: Mapping[str, float],
) -> list[int]:
    """The candidates, by number; those of stronger signals first.

    `least` is by retriever what its best score, more of them than are wanted here.
    """
    mask = signals.mask
    chosen = [
        best(signals.walked, mask, BY_WALK),
        signals.top[:BY_PRIOR],
        best(second, mask, BY_SECOND_HOP),
        best(following, mask, BY_SECOND_HOP),
        best(signals.far, mask, BY_FAR),
        best(signals.cosine, mask, BY_RETRIEVER, least["meaning"]),
        best(signals.words, mask, BY_RETRIEVER, least["words"]),
    ]
    chosen = [one.tolist() for one in chosen]
    # One of each in turn, so that a small budget still hears every signal.
    order: dict[int, None] = {}
    for place in range(max(len(one) for one in chosen)):
        for one in chosen:
            if place < len(one):
                order[one[place]] = None
    return list(order)


def read(
    query: QueryContext,
    signals: Signals,
    numbers: Ints,
    strong: Ints,
    second: Floats,
    following: Floats,
    terms: list[str],
) -> Floats32:
    """The features of candidates."""
    weight = np.array([query.indexes.words.rarity(term) for term in terms])
    weight = weight / max(1e-9, float(weight.sum()))
    found = Candidates(
        numbers=numbers,
        vectors=query.indexes.vectors_of(numbers),
        strong_vectors=query.indexes.vectors_of(strong),
        strong=strong,
        second=second,
        following=following,
        has_term=query.terms.having(query.graph.chunks[numbers], terms),
        term_weight=weight,
        title_coverage=_title_coverage(query, numbers, terms),
    )
    return features(query.graph, signals, found)


def _title_coverage(query: QueryContext, numbers: Ints, terms: list[str]) -> Floats:
    """How much of each candidate's title the question says."""
    titles = query.graph.title_of[numbers]
    each, asked = np.unique(titles[titles >= 0]), set(terms)
    entities = query.graph.entities[each].tolist()
    weighed = query.indexes.words.weighed(entities, query.store.entities.names)
    covered = np.zeros(len(each) + 1)  # the last is for those without a title
    for at, (rarity, total) in enumerate(weighed):
        if not asked.isdisjoint(rarity):
            said = sum(weight for term, weight in rarity.items() if term in asked)
            covered[at] = said / max(1e-9, total)
    return covered[np.where(titles >= 0, np.searchsorted(each, titles), -1)]
