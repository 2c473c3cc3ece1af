"""Personalised PageRank: golden numbers, both engines, the error bound, the caps."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.errors import InvalidInput
from hades.graph import ppr
from hades.graph.adjacency import Adjacency
from hades.graph.arrays import Floats32, Ints
from hades.graph.ppr import Walk, walk, walk_many

pytestmark = pytest.mark.usefixtures("walk_engine")

HORT, MONTEBELLO, ROCKLAND, MINSK, P1, P2, P3 = range(7)
EDGES = [
    *((HORT, MONTEBELLO), (MONTEBELLO, ROCKLAND), (P1, HORT), (P1, MONTEBELLO)),
    *((P2, MONTEBELLO), (P2, ROCKLAND), (P3, MINSK)),
]
SEEDS = np.array([HORT, MONTEBELLO, P1, P2])
SHARES = np.array([1, 0.5, 0.05, 0.02])


class Remote:
    """A graph that is somewhere else: it can be asked, and counts how often."""

    def __init__(self, graph: Adjacency) -> None:
        self._graph, self.asked = graph, 0

    def __len__(self) -> int:
        return len(self._graph)

    def of(self, nodes: Ints) -> tuple[Ints, Ints, Floats32]:
        self.asked += 1
        return self._graph.of(nodes)


@pytest.fixture
def train() -> Adjacency:
    a, b = zip(*EDGES, strict=True)
    return Adjacency.undirected(7, a, b, [1] * len(EDGES))


def scores(walk: Walk, count: int) -> np.ndarray:
    dense = np.zeros(count)
    dense[walk.nodes] = walk.scores
    return dense


def both(graph: Adjacency) -> Iterator[Adjacency | Remote]:
    """The kernel walks an adjacency, numpy everything else."""
    yield graph
    yield Remote(graph)


@pytest.mark.parametrize(("damping", "p1", "p2"), [(0.5, 0.1565, 0.0614), (0.85, 0.1780, 0.1249)])
def test_golden_numbers(train: Adjacency, damping: float, p1: float, p2: float) -> None:
    for graph in both(train):
        found = scores(walk(graph, SEEDS, SHARES, damping=damping, epsilon=1e-9), 7)
        assert found[[P1, P2, P3]] == pytest.approx([p1, p2, 0], abs=5e-5)
        assert found.sum() == pytest.approx(1, abs=1e-6)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Adjacency, np.random.Generator]:
    count = draw(st.integers(1, 40))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    arcs = draw(st.integers(0, 4 * count))
    a, b = generator.integers(0, count, (2, arcs))
    graph = Adjacency.undirected(count, a, b, generator.random(arcs) + 0.01)
    for node in generator.integers(0, count + 2, draw(st.integers(0, 3))).tolist():
        targets = generator.integers(0, len(graph), 3)
        graph.replace({node: (targets, generator.random(3))})
    return graph, generator


@given(graphs(), st.sampled_from([0.3, 0.5, 0.85]), st.sampled_from([1e-2, 1e-4]), st.booleans())
def test_both_engines_agree(
    made: tuple[Adjacency, np.random.Generator], damping: float, epsilon: float, masked: bool
) -> None:
    graph, generator = made
    seeds = generator.integers(0, len(graph), 5)
    weights = generator.random(5)
    barred = generator.random(len(graph)) < 0.3 if masked else None
    fast, plain = (
        walk(g, seeds, weights, damping=damping, epsilon=epsilon, barred=barred)
        for g in both(graph)
    )
    assert fast.pushes == plain.pushes
    assert scores(fast, len(graph)) == pytest.approx(scores(plain, len(graph)), abs=1e-12)


def test_barred_nodes_are_walls(train: Adjacency) -> None:
    barred = np.zeros(7, np.bool_)
    barred[[MONTEBELLO, P3]] = True
    for graph in both(train):
        found = scores(walk(graph, SEEDS, SHARES, barred=barred, epsilon=1e-9), 7)
        assert found[MONTEBELLO] == 0
        assert found[P1] > 0
        assert len(walk(graph, [P3], [1.0], barred=barred).nodes) == 0  # type: ignore[arg-type]


def test_a_mask_that_cannot_change_is_remembered_with_the_same_result(train: Adjacency) -> None:
    barred = np.zeros(7, np.bool_)
    barred[MONTEBELLO] = True
    loose = walk(train, SEEDS, SHARES, barred=barred.copy())
    barred.flags.writeable = False
    for _ in range(2):
        kept = walk(train, SEEDS, SHARES, barred=barred)
        assert kept.scores.tolist() == loose.scores.tolist()
    train.replace({HORT: ([P1, ROCKLAND], [1, 1]), ROCKLAND: ([P2, HORT], [1, 1])})
    after = scores(walk(train, SEEDS, SHARES, barred=barred), 7)
    assert after[ROCKLAND] > 0


def test_a_deadline_is_hard(train: Adjacency) -> None:
    late = walk(Remote(train), SEEDS, SHARES, deadline=lambda: True)
    assert (late.pushes, late.capped) == (0, hades.Reason.TIMEOUT)


def test_a_long_walk_looks_at_the_deadline(
    walk_engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ppr, "SLICE_PUSHES", 10)
    ring = np.arange(1000)
    graph = Adjacency.undirected(1000, ring, (ring + 1) % 1000, np.ones(1000))
    answers = iter([False, False, True])
    cut = walk(graph, np.array([0]), np.ones(1), epsilon=1e-9, deadline=lambda: next(answers))
    # The kernel looks after 10 pushes, numpy before each round: one node, two nodes, …
    assert (cut.pushes, cut.capped) == (30 if walk_engine == "kernel" else 3, hades.Reason.TIMEOUT)
    whole = walk(graph, np.array([0]), np.ones(1), deadline=lambda: False)
    assert whole.capped is None


def test_a_remote_graph_is_asked_a_frontier_at_a_time(train: Adjacency) -> None:
    alone, together = Remote(train), Remote(train)
    first = walk(alone, SEEDS, SHARES)
    queries = [(SEEDS, SHARES)] * 20
    many = walk_many(together, queries)
    assert together.asked == alone.asked < first.pushes
    assert all(w.scores.tolist() == first.scores.tolist() for w in many)


def test_walks_leave_nothing_behind(train: Adjacency, monkeypatch: pytest.MonkeyPatch) -> None:
    before = walk(train, SEEDS, SHARES)
    for pushes in range(1, 8):
        monkeypatch.setattr(ppr, "SLICE_PUSHES", pushes)
        walk(train, np.array([P3, P1]), np.ones(2), deadline=lambda: True)
    assert walk(train, SEEDS, SHARES).scores.tolist() == before.scores.tolist()


def test_many_threads_walk_one_graph() -> None:
    generator = np.random.default_rng(3)
    a, b = generator.integers(0, 2000, (2, 10_000))
    graph = Adjacency.undirected(2000, a, b, np.ones(10_000))

    def ask(seed: int) -> list[float]:
        return scores(walk(graph, np.array([seed]), np.ones(1)), 2000).tolist()

    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(ask, range(64)))
    assert together == [ask(seed) for seed in range(64)]


def test_a_walk_after_the_graph_has_grown(train: Adjacency) -> None:
    train.replace({7: ([P3], [1.0]), P3: ([MINSK, 7], [1.0, 1.0])})
    for graph in both(train):
        found = walk(graph, np.array([7]), np.ones(1))
        assert sorted(found.nodes.tolist()) == [MINSK, P3, 7]


def test_no_seeds_and_wrong_seeds(train: Adjacency) -> None:
    for graph in both(train):
        assert len(walk(graph, np.zeros(0, np.int64), np.zeros(0)).nodes) == 0
        assert len(walk(graph, np.array([1]), np.zeros(1)).nodes) == 0
        for seeds, weights in (([9], [1]), ([-1], [1]), ([1], [-1]), ([1], [1, 2])):
            with pytest.raises(InvalidInput):
                walk(graph, np.array(seeds), np.array(weights))
        with pytest.raises(InvalidInput):
            walk(graph, SEEDS, SHARES, damping=1)
        with pytest.raises(InvalidInput):
            walk(graph, SEEDS, SHARES, barred=np.zeros(2, np.bool_))


def test_best_is_ordered_with_ties_by_number() -> None:
    star = Adjacency.undirected(5, [4, 4, 4, 4], [2, 0, 3, 1], [1, 1, 2, 1])
    best = walk(star, np.array([4]), np.ones(1)).best(4)
    assert best.nodes.tolist() == [4, 3, 0, 1]


@pytest.mark.slow
def test_a_first_question_does_not_load_the_kernel(walk_engine: str) -> None:
    if walk_engine == "numpy":
        pytest.skip("needs numba")
    code = (
        "import sys, numpy as np\n"
        "from hades.graph import ppr\n"
        "from hades.graph.adjacency import Adjacency\n"
        "graph = Adjacency.undirected(2, [0], [1], [1])\n"
        "for _ in range(3): ppr.walk(graph, np.array([0]), np.ones(1))\n"
        "print('numba' in sys.modules)\n"
        "ppr.kernel.wait()\n"
        "print('numba' in sys.modules, ppr.kernel.is_ready())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True", "True"]


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
