"""The k best paths and flow-pruned ones: scores, hubs, limits, and plain versions to agree with."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hades
from hades.errors import InvalidInput
from hades.graph import paths
from hades.graph.adjacency import Adjacency
from hades.graph.flow import best_paths, flow
from hades.graph.paths import between

PAPER, METHOD, CODE, REVIEW, HUB = range(5)


@pytest.fixture
def library() -> Adjacency:
    return Adjacency.undirected(
        5,
        [PAPER, METHOD, PAPER, REVIEW, PAPER, HUB, HUB],
        [METHOD, CODE, REVIEW, CODE, HUB, CODE, METHOD],
        [0.9, 0.9, 0.5, 0.5, 1, 1, 0.1],
    )


def test_scores_as_written(library: Adjacency) -> None:
    found = between(library, [PAPER], [CODE], decay=0.8, longest=3).paths
    assert [path.nodes for path in found[:3]] == [
        *((PAPER, HUB, CODE), (PAPER, METHOD, CODE), (PAPER, REVIEW, CODE))
    ]
    assert found[1].score == pytest.approx(2 * math.log(0.9 * 0.8))
    longer = next(path for path in found if path.nodes == (PAPER, HUB, METHOD, CODE))
    assert longer.score == pytest.approx(math.log(0.8 * 0.08 * 0.72), abs=1e-6)


def test_limits_tell(library: Adjacency, monkeypatch: pytest.MonkeyPatch) -> None:
    few = between(library, [PAPER], [CODE], nodes=3)
    assert [trim.what for trim in few.trims] == ["nodes"]
    monkeypatch.setattr(paths, "STEPS", 0)
    cut = between(library, [PAPER], [CODE])
    assert not cut.paths
    assert {(trim.reason, trim.what) for trim in cut.trims} == {
        (hades.Reason.CAP_EXCEEDED, "steps")
    }


def test_a_hub_does_not_use_up_the_limit() -> None:
    left, hub, *others, right, far = range(60)
    near_one_end = Adjacency.undirected(
        60, [left, far, far, *others], [hub, hub, right, *([hub] * 56)], [1] * 59
    )
    for ends in ((left, right), (right, left)):
        (path, *_) = between(near_one_end, [ends[0]], [ends[1]], nodes=10).paths
        assert set(path.nodes) == {left, hub, far, right}


def test_two_hubs_meet_in_the_one_node_they_share() -> None:
    left, hub, shared, other_hub, right = 0, 1, 99, 98, 97
    first, second = range(2, 50), range(50, 97)
    graph = Adjacency.undirected(
        100,
        [left, right, shared, shared, *first, *second],
        [hub, other_hub, hub, other_hub, *[hub] * 48, *[other_hub] * 47],
        [1] * 99,
    )
    (path,) = between(graph, [left], [right], nodes=10).paths
    assert path.nodes == (left, hub, shared, other_hub, right)


def test_wrong_arguments(library: Adjacency) -> None:
    with pytest.raises(InvalidInput):
        between(library, [PAPER], [9])
    with pytest.raises(InvalidInput):
        between(library, [PAPER], [CODE], longest=0)
    assert between(library, [], [CODE]).paths == ()


def brute(
    graph: Adjacency, sources: set[int], targets: set[int], barred: np.ndarray, longest: int
) -> list[tuple[float, tuple[int, ...]]]:
    """Every order of nodes, tried one by one."""
    arcs = {
        (u, v): w
        for u, v, w in zip(*(x.tolist() for x in graph.arcs()), strict=True)
        if not barred[u] and not barred[v]
    }
    tips = sources | targets
    found = []
    for size in range(2, longest + 2):
        for nodes in permutations(range(len(graph)), size):
            inner = nodes[1:-1]
            if (
                nodes[0] not in sources or nodes[-1] not in targets or tips & set(inner)
                or not all(step in arcs for step in pairwise(nodes))
            ):  # fmt: skip
                continue
            units = sum(round(math.log(arcs[step]) * 2**40) for step in pairwise(nodes))
            found.append((units / 2**40, nodes))
    return sorted(found, key=lambda f: (-f[0], len(f[1]), f[1]))


@settings(max_examples=80)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3), st.booleans())
def test_the_best_paths_are_those_of_brute_force(
    seed: int, longest: int, keep: int, unit: bool
) -> None:
    generator = np.random.default_rng(seed)
    count = int(generator.integers(2, 8))
    arcs = int(generator.integers(1, 6 * count))
    a, b = generator.integers(0, count, (2, arcs))
    weights = np.ones(arcs) if unit else generator.choice([0.1, 0.5, 3.0], arcs)
    graph = Adjacency.undirected(count, a, b, weights)
    sources, targets = (set(generator.integers(0, count, 2).tolist()) for _ in range(2))
    barred = generator.random(count) < 0.1 * generator.integers(0, 2)
    expected = brute(graph, sources, targets, barred, longest)[:keep]
    found = between(graph, sources, targets, keep=keep, longest=longest, barred=barred)
    assert [path.nodes for path in found.paths] == [nodes for _, nodes in expected]
    assert [path.score for path in found.paths] == [score for score, _ in expected]
    assert not found.trims


def test_after_the_deadline_only_short_paths_are_searched() -> None:
    chain = Adjacency.undirected(4, [0, 1, 2], [1, 2, 3], [1.0, 1.0, 1.0])
    near = between(chain, [0], [2], deadline=lambda: True)
    assert [path.nodes for path in near.paths] == [(0, 1, 2)]
    far = between(chain, [0], [3], deadline=lambda: True)
    assert far.paths == ()
    assert [trim.reason for trim in far.trims] == [hades.Reason.TIMEOUT]


S, A, B, C, T = range(5)


@pytest.fixture
def small() -> Adjacency:
    return Adjacency.directed(5, [S, S, A, A, B, C], [A, B, T, C, C, T], [1] * 6)


def test_golden_flow(small: Adjacency) -> None:
    holds = flow(small, S).holds
    assert holds == pytest.approx({S: 1, A: 0.4, B: 0.4, C: 0.48, T: 0.16})


def test_golden_paths(small: Adjacency) -> None:
    found = best_paths(small, [(S, T)], per_pair=9)
    assert [path.nodes for path in found.paths] == [(S, A, T), (S, A, C, T), (S, B, C, T)]
    assert [path.reliability for path in found.paths] == pytest.approx([0.780, 0.680, 0.680])


def test_the_best_of_each_pair_then_the_best_of_all(small: Adjacency) -> None:
    found = best_paths(small, [(S, T), (S, C), (A, T), (T, S), (S, S)], keep=2)
    assert [path.nodes for path in found.paths] == [(A, T), (S, A, C)]
    assert [(t.reason, t.what, t.count) for t in found.trims] == [
        (hades.Reason.CAP_EXCEEDED, "paths", 1)
    ]


def test_a_deadline_stops_between_sources(small: Adjacency) -> None:
    answers = iter([False, True])
    found = best_paths(small, [(S, T), (A, T), (B, T)], deadline=lambda: next(answers))
    assert [path.nodes for path in found.paths] == [(S, A, T)]
    assert [(t.reason, t.count) for t in found.trims] == [(hades.Reason.TIMEOUT, 2)]


def test_ties_go_to_smaller_numbers() -> None:
    ladder = Adjacency.undirected(6, [0, 0, 0, 4, 3, 1], [4, 3, 1, 5, 5, 5], [1] * 6)
    found = best_paths(ladder, [(0, 5)], per_pair=2)
    assert [path.nodes for path in found.paths] == [(0, 1, 5), (0, 3, 5)]


def test_wrong_arguments_of_a_flow(small: Adjacency) -> None:
    with pytest.raises(InvalidInput):
        flow(small, 5)
    with pytest.raises(InvalidInput):
        flow(small, S, theta=0)


def plain(
    arcs: dict[int, dict[int, float]], source: int, target: int, longest: int = 5
) -> list[tuple[float, tuple[int, ...]]]:
    """Every simple path there is, scored one by one: what the search must agree with."""
    holds, layer, carry = {source: 1.0}, [source], {source}
    while layer:
        arriving: dict[int, float] = {}
        for node in layer:
            out = arcs.get(node, {})
            if node != source and (not out or holds[node] / len(out) < 0.05):
                continue
            carry.add(node)
            for other, weight in out.items():
                if other in holds:
                    continue
                part = 0.8 * holds[node] * weight / sum(out.values())
                arriving[other] = arriving.get(other, 0) + part
        holds |= arriving
        layer = [*arriving]
    found = []

    def extend(nodes: tuple[int, ...]) -> None:
        if nodes[-1] == target:
            found.append((sum(holds[n] for n in nodes) / (len(nodes) - 1), nodes))
        elif nodes[-1] in carry and len(nodes) <= longest:
            for other in arcs.get(nodes[-1], {}):
                if other not in nodes:
                    extend((*nodes, other))

    extend((source,))
    return sorted(found, key=lambda f: (-round(f[0], 12), f[1]))


@given(st.integers(0, 2**32), st.booleans(), st.booleans())
def test_the_search_finds_what_trying_everything_finds(
    seed: int, undirected: bool, unit: bool
) -> None:
    generator = np.random.default_rng(seed)
    count = int(generator.integers(2, 9))
    a, b = generator.integers(0, count, (2, 2 * count))
    weights = np.ones(2 * count) if unit else generator.integers(1, 9, 2 * count) / 8
    make = Adjacency.undirected if undirected else Adjacency.directed
    graph = make(count, a, b, weights)
    arcs: dict[int, dict[int, float]] = {}
    for u, v, w in zip(*(x.tolist() for x in graph.arcs()), strict=True):
        arcs.setdefault(u, {})[v] = w
    expected = plain(arcs, 0, 1)
    found = best_paths(graph, [(0, 1)], per_pair=5)
    assert [p.nodes for p in found.paths] == [nodes for _, nodes in expected[:5]]
    assert [p.reliability for p in found.paths] == pytest.approx([v for v, _ in expected[:5]])


@given(st.integers(0, 2**32), st.integers(1, 30), st.sampled_from([0.02, 0.05, 0.2]))
def test_a_flow_stays_small(seed: int, nodes: int, theta: float) -> None:
    generator = np.random.default_rng(seed)
    a, b = generator.integers(0, 200, (2, 600))
    graph = Adjacency.undirected(200, a, b, generator.random(600) + 0.01)
    assert len(flow(graph, 0, theta=theta, nodes=nodes).holds) <= nodes
    wide = flow(graph, 0, theta=theta, nodes=10**6)
    followed = sum(len(arcs) for node, arcs in wide.arcs.items() if node != 0)
    assert followed <= 1 / ((1 - 0.8) * theta) + 1e-9
