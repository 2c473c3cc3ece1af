"""The error bound of the push, against a PageRank solved directly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.graph import ppr
from hades.graph.adjacency import Adjacency
from hades.graph.ppr import walk

pytestmark = pytest.mark.usefixtures("walk_engine")


def steps(count: int, arcs: Any) -> tuple[Any, Any]:
    """The chance of each step as a matrix, and the weight of each node's arcs."""
    step = np.zeros((count, count))
    np.add.at(step, (arcs[1], arcs[0]), arcs[2])
    weight = step.sum(0)
    return step / np.where(weight > 0, weight, 1), weight


@given(
    st.integers(0, 2**32),
    st.integers(1, 60),
    st.sampled_from([0.5, 0.85]),
    st.sampled_from([1e-1, 1e-2, 1e-3, 1e-5]),
    st.booleans(),
)
def test_the_push_is_too_low_by_at_most_epsilon_times_the_weight(
    seed: int, count: int, damping: float, epsilon: float, masked: bool
) -> None:
    generator = np.random.default_rng(seed)
    arcs = generator.integers(0, 4 * count)
    a, b = generator.integers(0, count, (2, arcs))
    graph = Adjacency.undirected(count, a, b, generator.random(arcs) + 0.01)
    seeds, weights = generator.integers(0, count, 4), generator.random(4)
    barred = generator.random(count) < 0.3 if masked else np.zeros(count, np.bool_)
    found = walk(graph, seeds, weights, damping=damping, epsilon=epsilon, barred=barred)
    pushed = np.zeros(count)
    pushed[found.nodes] = found.scores
    left = graph.arcs()
    inside = ~(barred[left[0]] | barred[left[1]])
    step, weight = steps(count, [part[inside] for part in left])
    begin = np.zeros(count)
    np.add.at(begin, *ppr.seeded(graph, seeds, weights, barred))
    true = np.linalg.solve(np.eye(count) - damping * step, (1 - damping) * begin)
    assert (pushed <= true + 1e-9).all()
    assert (true - pushed <= epsilon * weight + 1e-9).all()


def test_lost_walkers_change_the_sum_and_not_the_order() -> None:
    """A PageRank that sends lost walkers back to the seeds, solved directly."""
    graph = Adjacency.directed(4, [0, 0, 1], [1, 2, 2], [1, 2, 1])
    lost = walk(graph, np.array([0]), np.ones(1), epsilon=1e-14)
    step = np.zeros((4, 4))
    step[1, 0], step[2, 0], step[2, 1], step[0, 2], step[0, 3] = 1 / 3, 2 / 3, 1, 1, 1
    back = np.linalg.solve(np.eye(4) - 0.5 * step, [0.5, 0, 0, 0])
    assert lost.scores / lost.scores.sum() == pytest.approx(back[lost.nodes])
