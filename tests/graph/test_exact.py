"""The exact PageRank, the error bound of the push against it, and the fallback chain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.domain.graph import Reason
from hades.graph import ppr
from hades.graph.adjacency import Adjacency
from hades.graph.exact import exact, ranked_anyway
from hades.graph.ppr import walk


@pytest.fixture(scope="module", autouse=True)
def _kernel() -> None:
    ppr.kernel.wait()


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
    true = exact(
        graph, seeds, weights, damping=damping, tolerance=1e-13, iterations=1000, barred=barred
    )
    assert true.converged
    left = graph.arcs()
    inside = ~(barred[left[0]] | barred[left[1]])
    weight = np.bincount(left[0][inside], left[2][inside], count)
    assert (pushed <= true.scores + 1e-9).all()
    assert (true.scores - pushed <= epsilon * weight + 1e-9).all()


def test_the_chain_of_fallbacks() -> None:
    ring = np.arange(6)
    graph = Adjacency.undirected(7, ring, (ring + 1) % 6, np.ones(6))
    seeds, weights = np.array([1]), np.ones(1)
    good = ranked_anyway(graph, seeds, weights)
    assert good.reason is None
    assert good.scores.sum() == pytest.approx(1)
    relaxed = ranked_anyway(graph, seeds, weights, tries=((1e-6, 1), (1e-4, 200)))
    assert relaxed.reason == Reason.FALLBACK
    assert relaxed.scores == pytest.approx(good.scores, abs=1e-3)
    assert "0.0001" in relaxed.detail
    by_degree = ranked_anyway(graph, seeds, weights, tries=((1e-6, 1),))
    assert by_degree.reason == Reason.FALLBACK
    assert by_degree.scores.argmax() == 1
    assert by_degree.scores[2] == by_degree.scores[5] > by_degree.scores[6] == 0


def test_a_graph_without_arcs_ranks_its_seeds() -> None:
    empty = Adjacency.undirected(3, [], [], [])
    ranked = ranked_anyway(empty, np.array([2, 0]), np.array([3.0, 1.0]))
    assert ranked.reason == Reason.EMPTY_GRAPH
    assert ranked.scores.tolist() == [0.25, 0, 0.75]
    assert not ranked_anyway(empty, np.zeros(0, np.int64), np.zeros(0)).scores.any()


def test_without_seeds_the_order_is_by_degree() -> None:
    star = Adjacency.undirected(4, [0, 0, 0], [1, 2, 3], [1, 1, 1])
    ranked = ranked_anyway(star, np.zeros(0, np.int64), np.zeros(0))
    assert ranked.reason == Reason.FALLBACK
    assert ranked.scores == pytest.approx([0.5, 1 / 6, 1 / 6, 1 / 6])


def test_lost_walkers_change_the_sum_and_not_the_order() -> None:
    """A PageRank that sends lost walkers back to the seeds, solved directly."""
    graph = Adjacency.directed(4, [0, 0, 1], [1, 2, 2], [1, 2, 1])
    lost = exact(graph, np.array([0]), np.ones(1), tolerance=1e-14)
    step = np.zeros((4, 4))
    step[1, 0], step[2, 0], step[2, 1], step[0, 2], step[0, 3] = 1 / 3, 2 / 3, 1, 1, 1
    back = np.linalg.solve(np.eye(4) - 0.5 * step, [0.5, 0, 0, 0])
    assert lost.scores / lost.scores.sum() == pytest.approx(back)
