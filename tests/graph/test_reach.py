"""What lies within a few hops, with a limit."""

from __future__ import annotations

import numpy as np
import pytest

from hades.errors import InvalidInput
from hades.graph.adjacency import Adjacency
from hades.graph.reach import expand, walk_from_around, with_synonyms

PYTHON, LEARNING, WEB, FLASK, PANDAS, LONELY = range(6)


@pytest.fixture
def topics() -> Adjacency:
    return Adjacency.undirected(
        6, [PYTHON, PYTHON, WEB, LEARNING], [LEARNING, WEB, FLASK, PANDAS], [1, 2, 1, 1]
    )


def test_hops_come_strongest_first(topics: Adjacency) -> None:
    reached = expand(topics, np.array([PYTHON]), hops=2, limit=10)
    assert reached.nodes.tolist() == [PYTHON, WEB, LEARNING, FLASK, PANDAS]
    assert reached.hops.tolist() == [0, 1, 1, 2, 2]
    assert reached.left_out == 0


def test_the_limit_is_hard_and_tells(topics: Adjacency) -> None:
    reached = expand(topics, np.array([PYTHON]), hops=3, limit=2)
    assert reached.nodes.tolist() == [PYTHON, WEB]
    assert reached.left_out == 1
    assert expand(topics, np.array([PYTHON, WEB]), hops=0, limit=1).left_out == 1
    assert len(expand(topics, np.zeros(0, np.int64), hops=3, limit=2).nodes) == 0
    with pytest.raises(InvalidInput):
        expand(topics, np.array([6]), hops=1, limit=1)


def test_barred_nodes_are_not_reached(topics: Adjacency) -> None:
    barred = np.zeros(6, np.bool_)
    barred[WEB] = True
    assert expand(topics, np.array([PYTHON]), 3, 10, barred).nodes.tolist() == [
        *(PYTHON, LEARNING, PANDAS)
    ]


def test_synonyms_join_the_seeds_by_similarity() -> None:
    similar = Adjacency.undirected(4, [0, 0, 1], [1, 2, 3], [0.9, 0.5, 0.8])
    seeds, weights = with_synonyms(np.array([0, 1]), np.array([1.0, 0.5]), similar)
    assert seeds.tolist() == [0, 1, 3]
    assert weights == pytest.approx([1, 0.9, 0.4])


def test_a_walk_from_around_scores_what_a_walk_scores_low(topics: Adjacency) -> None:
    found = walk_from_around(topics, np.array([PYTHON]), np.ones(1), hops=2, fade=1.0)
    scores = dict(zip(found.nodes.tolist(), found.scores.tolist(), strict=True))
    assert LONELY not in scores
    assert scores[FLASK] > 0.1
