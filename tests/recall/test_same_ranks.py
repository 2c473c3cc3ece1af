"""What is ranked does not depend on how it is computed: each short cut against the long way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hades.graph.beam import _most_common
from hades.index.graph_view import GraphView
from hades.recall.find.candidates import strongest
from hades.recall.find.results import Seeds, Walks
from hades.recall.find.scores import (
    FOUND_BY_RETRIEVER,
    LEND,
    LEND_FAR,
    best,
    lent,
    nth_best,
)
from hades.recall.find.seeds import PRIOR_SEEDS
from hades.recall.rank.ranking import Ranking, merge

SCORES = st.lists(st.sampled_from([-0.5, 0.0, 0.1, 0.25, 0.7, 1.0]), min_size=1, max_size=80)


@dataclass(frozen=True)
class Documents:
    """Chunks in documents of these lengths, as a graph knows them."""

    previous: Any
    next: Any
    turns: Any
    spoken: Any


def _documents(lengths: list[int]) -> Documents:
    before, after = [], []
    for length in lengths:
        first = len(before)
        before += [-1, *range(first, first + length - 1)]
        after += [*range(first + 1, first + length), -1]
    previous, following = np.array(before), np.array(after)
    size = len(before)
    return Documents(previous, following, np.arange(size), np.ones(size, np.bool_))


def _lent_slowly(lengths: list[int], scores: Any) -> list[float]:
    found, first = [], 0
    for length in lengths:
        own = [max(score, 0.0) ** 2 for score in scores[first : first + length]]
        for at in range(length):
            shares = {0: 1.0, 1: LEND, 2: LEND_FAR}
            near = [shares.get(abs(at - other), 0.0) * own[other] for other in range(length)]
            found.append(sum(near) ** 0.5)
        first += length
    return found


@given(st.lists(st.integers(1, 6), min_size=1, max_size=12), st.data())
def test_a_turn_lends_to_those_up_to_two_away(lengths: list[int], data: st.DataObject) -> None:
    size = sum(lengths)
    scores = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=size, max_size=size)))
    graph = cast(GraphView, _documents(lengths))
    joined = lent(graph, scores)
    assert np.allclose(joined, _lent_slowly(lengths, scores), atol=1e-12)


@given(SCORES, SCORES)
def test_the_strongest_are_those_of_a_full_sort(walked: list[float], prior: list[float]) -> None:
    size = min(len(walked), len(prior))
    nothing, mask = np.zeros(size), np.arange(size) % 3 != 1
    none, by_prior = np.zeros(0, np.int64), np.maximum(prior[:size], 0) * mask
    by_walk = np.maximum(walked[:size], 0)
    seeds = Seeds(
        mask=mask, cosine=nothing, words=nothing, named=none, naming=none,
        scaled=(nothing, nothing), prior=by_prior, top=best(by_prior, mask, PRIOR_SEEDS), least={},
    )  # fmt: skip
    both = by_walk / max(1e-12, float(by_walk.max())) + by_prior
    there = [at for at in range(size) if mask[at]]
    whole = sorted(there, key=lambda at: (-both[at], at))
    walks = Walks(nothing, nothing, by_walk, nothing)
    assert strongest(seeds, walks).tolist() == whole[:5]


@given(SCORES, st.integers(1, 12))
def test_the_best_are_those_of_a_full_sort(scores: list[float], limit: int) -> None:
    found, mask = np.array(scores), np.arange(len(scores)) % 3 != 1
    there = [at for at, score in enumerate(scores) if mask[at] and score > 0]
    order = sorted(there, key=lambda at: (-scores[at], at))
    assert best(found, mask, limit).tolist() == order[:limit]


@given(SCORES)
def test_the_best_of_a_door_are_those_that_few_surpass(scores: list[float]) -> None:
    found = np.array(scores)
    for score in scores:
        is_best = score > 0 and sum(other > score for other in scores) < FOUND_BY_RETRIEVER
        assert (score > 0 and score >= nth_best(found)) == is_best


@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=6, unique=True), min_size=2))
def test_what_paths_have_in_common_is_counted_by_bits(paths: list[list[int]]) -> None:
    first, *others = [set(nodes) for nodes in paths]
    bits = [sum(1 << node for node in nodes) for nodes in paths]
    shares = [len(first & other) / len(first | other) for other in others]
    assert _most_common(bits[0], bits[1:]) == max(shares)


def test_each_kind_keeps_its_order() -> None:
    # The last passage is believed most, so all before it are raised to the same value.
    passages = Ranking(
        numbers=np.array([7, 3, 5]),
        scores=np.array([3.0, 2.0, 1.0]),
        belief=np.array([0.2, 0.3, 0.6]),
        near=np.array([0.5, 0.5, 0.5]),
    )
    note = Ranking(
        numbers=np.array([9]),
        scores=np.array([1.0]),
        belief=np.array([0.1]),
        near=np.array([0.5]),
    )
    assert merge(passages, note).numbers.tolist() == [7, 3, 5, 9]
