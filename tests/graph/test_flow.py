"""Flow-pruned paths: golden numbers, hubs, bounds, and a plain version to agree with."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.errors import InvalidInput
from hades.graph.adjacency import Adjacency
from hades.graph.flow import best_paths, flow

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


def test_wrong_arguments(small: Adjacency) -> None:
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
