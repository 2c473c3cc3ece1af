"""The k best paths: the score as written, hubs, limits, and brute force to agree with."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hades.domain.graph import Reason
from hades.errors import InvalidInput
from hades.graph.adjacency import Adjacency
from hades.graph.paths import BOOSTS, between

PAPER, METHOD, CODE, REVIEW, HUB = range(5)
RELATIONS = {(PAPER, METHOD): "refers_to", (METHOD, CODE): "implements"}


@pytest.fixture
def library() -> Adjacency:
    return Adjacency.directed(
        5,
        [PAPER, METHOD, PAPER, REVIEW, PAPER, HUB, HUB, HUB],
        [METHOD, CODE, REVIEW, CODE, HUB, CODE, METHOD, REVIEW],
        [0.9, 0.9, 0.5, 0.5, 1, 1, 0.1, 0.1],
    )


def boost(a: int, b: int) -> float:
    return BOOSTS.get(RELATIONS.get((a, b), ""), 1.0)


def test_scores_as_written(library: Adjacency) -> None:
    found = between(library, [PAPER], [CODE], boost=boost, back=library.turned(), longest=2)
    assert [path.nodes for path in found.paths] == [
        *((PAPER, HUB, CODE), (PAPER, METHOD, CODE), (PAPER, REVIEW, CODE))
    ]
    assert found.paths[1].score == pytest.approx(math.log(0.9 * 0.8) + math.log(0.9 * 0.7))
    assert sum(found.paths[1].logs) == pytest.approx(found.paths[1].score)
    longer = between(library, [PAPER], [CODE], back=library.turned(), longest=3).paths
    through = next(path for path in longer if path.nodes == (PAPER, HUB, METHOD, CODE))
    expected = (math.log(1) + math.log(0.1) + math.log(0.9)) / 1.3
    assert through.score == pytest.approx(expected, abs=1e-6)


def test_hubs_end_paths_but_do_not_carry_them(library: Adjacency) -> None:
    back = library.turned()
    found = between(library, [PAPER], [CODE, HUB], back=back, hub_degree=2)
    assert all(HUB not in path.nodes[:-1] for path in found.paths)
    assert (PAPER, HUB) in [path.nodes for path in found.paths]


def test_limits_tell(library: Adjacency) -> None:
    back = library.turned()
    few = between(library, [PAPER], [CODE], back=back, nodes=3)
    assert [trim.what for trim in few.trims] == ["nodes"]
    late = between(library, [PAPER], [CODE], back=back, deadline=lambda: True)
    assert not late.paths
    assert {trim.reason for trim in late.trims} == {Reason.TIMEOUT}


def test_wrong_arguments(library: Adjacency) -> None:
    with pytest.raises(InvalidInput):
        between(library, [PAPER], [9])
    with pytest.raises(InvalidInput):
        between(library, [PAPER], [CODE], longest=0)
    assert between(library, [], [CODE]).paths == ()


def brute(
    graph: Adjacency, sources: set[int], targets: set[int], barred: np.ndarray,
    longest: int, hub_degree: int,
) -> list[tuple[float, tuple[int, ...]]]:  # fmt: skip
    """Every order of nodes, tried one by one."""
    arcs = {
        (u, v): w
        for u, v, w in zip(*(x.tolist() for x in graph.arcs()), strict=True)
        if not barred[u] and not barred[v]
    }
    degree = {u: sum(a == u for a, _ in arcs) for u in range(len(graph))}
    tips = sources | targets
    found = []
    for size in range(2, longest + 2):
        for nodes in permutations(range(len(graph)), size):
            inner = nodes[1:-1]
            if (
                nodes[0] not in sources or nodes[-1] not in targets or tips & set(inner)
                or any(degree[n] > hub_degree for n in inner)
                or not all(step in arcs for step in pairwise(nodes))
            ):  # fmt: skip
                continue
            units = sum(round(math.log(arcs[step]) * 2**40) for step in pairwise(nodes))
            found.append((units / 2**40 / (1 + 0.3 * (size - 3)), nodes))
    return sorted(found, key=lambda f: (-f[0], len(f[1]), f[1]))


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.booleans(), st.booleans())
def test_the_best_paths_are_those_of_brute_force(
    seed: int, longest: int, keep: int, undirected: bool, unit: bool
) -> None:
    generator = np.random.default_rng(seed)
    count = int(generator.integers(2, 8))
    arcs = int(generator.integers(1, 6 * count))
    a, b = generator.integers(0, count, (2, arcs))
    weights = np.ones(arcs) if unit else generator.choice([0.1, 0.5, 3.0], arcs)
    make = Adjacency.undirected if undirected else Adjacency.directed
    graph = make(count, a, b, weights)
    sources, targets = (set(generator.integers(0, count, 2).tolist()) for _ in range(2))
    barred = generator.random(count) < 0.1 * generator.integers(0, 2)
    hub_degree = int(generator.integers(1, 9))
    expected = brute(graph, sources, targets, barred, longest, hub_degree)[:keep]
    found = between(
        graph, sources, targets, keep=keep, longest=longest, barred=barred,
        hub_degree=hub_degree, back=None if undirected else graph.turned(),
    )  # fmt: skip
    assert [path.nodes for path in found.paths] == [nodes for _, nodes in expected]
    assert [path.score for path in found.paths] == [score for score, _ in expected]
    assert not found.trims
