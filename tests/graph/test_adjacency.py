"""Adjacency: building, replacing rows, compacting, and what lies within a few hops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.errors import InvalidInput
from hades.graph.adjacency import Adjacency, _order
from hades.graph.reach import expand


def rows(graph: Adjacency) -> list[dict[int, float]]:
    found = []
    for node in range(len(graph)):
        counts, targets, weights = graph.of(np.array([node]))
        assert counts.tolist() == [len(targets)]
        found.append(dict(zip(targets.tolist(), weights.tolist(), strict=True)))
    return found


def test_doubles_are_added_up_and_loops_left_out() -> None:
    graph = Adjacency.undirected(4, [0, 1, 0, 2, 3], [1, 0, 2, 2, 0], [1, 2, 0.5, 9, 0])
    assert rows(graph) == [{1: 3, 2: 0.5}, {0: 3}, {0: 0.5}, {}]
    assert graph.rows.totals.tolist() == [3.5, 3, 0.5, 0]
    assert graph.degrees(np.arange(4)).tolist() == [2, 1, 1, 0]


def test_directed_arcs() -> None:
    graph = Adjacency.directed(3, [0, 0], [1, 2], [1, 2])
    assert rows(graph) == [{1: 1, 2: 2}, {}, {}]
    assert graph.has_arcs
    assert not Adjacency.directed(3, [], [], []).has_arcs


def test_replacing_rows_leaves_earlier_states_alone() -> None:
    graph = Adjacency.undirected(3, [0, 1], [1, 2], [1, 1])
    before = graph.rows
    graph.replace({0: ([2, 2], [1, 1]), 5: ([0], [4])})
    assert rows(graph) == [{2: 2}, {0: 1, 2: 1}, {1: 1}, {}, {}, {0: 4}]
    assert graph.rows.row_of.tolist() == [0, -1, -1, -1, -1, 1]
    assert before.row_of.tolist() == [-1, -1, -1]
    assert 0 < graph.overlay_share < 1
    assert graph.compacted().overlay_share == 0


def test_a_new_neighbour_makes_the_graph_grow() -> None:
    graph = Adjacency.undirected(0, [], [], [])
    graph.replace({0: ([3], [1])})
    assert len(graph) == 4
    graph.replace({}, count=9)
    assert len(graph) == 9


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_any_replacements_read_as_a_dict_would(seed: int, steps: int) -> None:
    generator = np.random.default_rng(seed)
    a, b = generator.integers(0, 8, (2, 12))
    graph = Adjacency.undirected(8, a, b, generator.random(12) + 0.1)
    expected = rows(graph)
    for _ in range(steps):
        nodes = generator.choice(len(graph) + 2, 3, replace=False).tolist()
        new = {}
        for node in nodes:
            targets = generator.choice(len(graph) + 2, 4, replace=False)
            new[node] = targets[targets != node], np.ones((targets != node).sum())
        graph.replace(new)
        expected += [{} for _ in range(len(graph) - len(expected))]
        for node, (targets, _) in new.items():
            expected[node] = dict.fromkeys(sorted(targets.tolist()), 1.0)
    assert rows(graph) == expected == rows(graph.compacted())
    everything = np.array([*range(len(graph))][::-1])
    counts, targets, _ = graph.of(everything)
    assert targets.tolist() == [to for row in expected[::-1] for to in row]
    assert counts.tolist() == [len(row) for row in expected[::-1]]
    assert graph.rows.totals == pytest.approx([sum(row.values()) for row in expected])


def test_wrong_arcs_are_refused() -> None:
    for a, b, w in (([0], [2], [1]), ([-1], [0], [1]), ([0], [1], [-1]), ([0], [1], [np.nan])):
        with pytest.raises(InvalidInput):
            Adjacency.undirected(2, a, b, w)
    with pytest.raises(InvalidInput):
        Adjacency.undirected(2, [0], [1], [])
    graph = Adjacency.undirected(2, [0], [1], [1])
    for row in ({0: ([-2], [1])}, {-1: ([0], [1])}, {-1: ([], [])}, {0: ([1], [])}):
        with pytest.raises(InvalidInput):
            graph.replace(row)  # type: ignore[arg-type]
    assert rows(graph) == [{1: 1}, {0: 1}]


def test_keys_too_large_to_be_packed_are_sorted_all_the_same() -> None:
    keys = np.array([7, 2**62, 3, 7])
    for count in (10, 2**31):
        use = keys[keys < count * count]
        order, ordered = _order(use, count)
        assert ordered.tolist() == sorted(use.tolist()) == use[order].tolist()


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
