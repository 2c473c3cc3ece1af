"""What lies within a few hops, with a limit."""

from __future__ import annotations

import numpy as np
import pytest

from hades.errors import InvalidInput
from hades.graph.adjacency import Adjacency
from hades.graph.reach import expand

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
