"""Beam search: the score, the reasons, and caps that are never exceeded."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.errors import InvalidInput
from hades.graph.adjacency import Adjacency
from hades.graph.beam import Beam, Caps, beam


@pytest.fixture
def tree() -> Adjacency:
    """0 – 1, 2, 3 (ever weaker); 1 – 4; 2 – 5."""
    return Adjacency.directed(6, [0, 0, 0, 1, 2], [1, 2, 3, 4, 5], [0.9, 0.8, 0.1, 0.5, 1.0])


def reasons(found: Beam) -> dict[tuple[str, str], int]:
    return {(trim.reason.value, trim.what): trim.count for trim in found.trims}


def test_paths_are_scored_as_written(tree: Adjacency) -> None:
    caps = Caps(hops=2, fanout=2, beam=10)
    found = beam(tree, np.array([0]), np.array([0.7]), caps=caps)
    scores = {path.nodes: path.score + 0.3 * path.redundancy for path in found.paths}
    assert scores == pytest.approx(
        {
            (0,): 0.7,
            (0, 1): 0.7 + 0.45 - 0.1,
            (0, 2): 0.7 + 0.4 - 0.1,
            (0, 1, 4): 0.7 + 0.5 * 0.7 - 0.2,
            (0, 2, 5): 0.7 + 0.5 * 0.9 - 0.2,
        }
    )
    assert found.paths[0].nodes == (0, 1)
    assert found.paths[1].redundancy == pytest.approx(1 / 3)
    assert reasons(found) == {("cap_exceeded", "fanout"): 1}
    assert found.read == 5


def test_what_says_the_same_again_is_worth_less(tree: Adjacency) -> None:
    caps = Caps(hops=1, fanout=1, beam=2)
    apart = beam(tree, np.array([0, 5]), np.array([1.0, 0.84]), caps=caps)
    assert [path.nodes for path in apart.paths] == [(0, 1), (0,)]
    diverse = beam(tree, np.array([0, 5]), np.array([1.0, 0.86]), caps=caps)
    assert [path.nodes for path in diverse.paths] == [(0, 1), (5,)]


def test_the_budget_counts_documents_only(tree: Adjacency) -> None:
    caps = Caps(hops=2, fanout=3, beam=10, documents=1)
    found = beam(tree, np.array([0]), np.ones(1), caps=caps)
    assert [path.nodes for path in found.paths] == [(0,)]
    assert reasons(found)["budget_exhausted", "documents"] == 3
    documents = np.array([False, False, False, False, True, True])
    found = beam(tree, np.array([0]), np.ones(1), caps=caps, counted=documents)
    assert found.read == 1
    assert {path.nodes[-1] for path in found.paths} == {0, 1, 2, 3, 4}


def test_it_stops_when_late(tree: Adjacency) -> None:
    caps = Caps(hops=2, fanout=2, beam=10)
    answers = iter([False, False, True])
    late = beam(tree, np.array([0]), np.ones(1), caps=caps, deadline=lambda: next(answers))
    assert len(late.paths) == 3
    assert reasons(late) == {
        ("cap_exceeded", "fanout"): 1, (hades.Reason.TIMEOUT.value, "paths"): 2
    }  # fmt: skip


def test_barred_nodes_are_pruned_early(tree: Adjacency) -> None:
    barred = np.zeros(6, np.bool_)
    barred[1] = True
    caps = Caps(hops=2, fanout=9, beam=99)
    found = beam(tree, np.array([0, 1]), np.ones(2), caps=caps, barred=barred)
    assert {path.nodes for path in found.paths} == {(0,), (0, 2), (0, 2, 5), (0, 3)}


def test_words_of_the_question_lead_on(tree: Adjacency) -> None:
    """3 is joined weakest, and says what is asked: it goes before 1 and 2."""
    says = np.array([0, 0, 0, 1.0, 0, 0])
    caps = Caps(hops=1, fanout=1, beam=10)
    found = beam(tree, np.array([0]), np.array([0.7]), caps=caps, lexical=says)
    assert [path.nodes for path in found.paths] == [(0, 3), (0,)]
    assert found.paths[0].score == pytest.approx(0.7 + 0.5 * 0.1 + 0.5 * 1.0 - 0.1)


def test_it_stops_when_a_path_says_enough(tree: Adjacency) -> None:
    caps = Caps(hops=2, fanout=2, beam=10)
    asked: list[tuple[int, ...]] = []

    def covered(paths: Iterable[tuple[int, ...]]) -> bool:
        asked.extend(paths)
        return (0, 2) in asked

    found = beam(tree, np.array([0]), np.ones(1), caps=caps, covered=covered)
    assert {path.nodes for path in found.paths} == {(0,), (0, 1), (0, 2)}
    assert reasons(found)["coverage_reached", "paths"] == 2


def test_wrong_caps_and_seeds(tree: Adjacency) -> None:
    with pytest.raises(InvalidInput):
        Caps(beam=-1)
    with pytest.raises(InvalidInput):
        beam(tree, np.array([6]), np.ones(1))
    assert beam(tree, np.zeros(0, np.int64), np.zeros(0)).paths == ()


@given(
    st.integers(0, 2**32), st.integers(0, 5), st.integers(0, 6), st.integers(0, 12),
    st.integers(0, 40), st.integers(0, 20),
)  # fmt: skip
def test_no_cap_is_ever_exceeded(
    seed: int, hops: int, fanout: int, width: int, documents: int, calls: int
) -> None:
    generator = np.random.default_rng(seed)
    count = int(generator.integers(1, 40))
    a, b = generator.integers(0, count, (2, 4 * count))
    graph = Adjacency.undirected(count, a, b, generator.random(4 * count))
    seeds, scores = generator.integers(0, count, 5), generator.random(5)
    caps = Caps(hops, fanout, width, documents)
    left = [calls]

    def late() -> bool:
        left[0] -= 1
        return left[0] < 0

    found = beam(graph, seeds, scores, caps=caps, deadline=late)
    assert len(found.paths) <= width
    assert found.read <= documents
    assert len({n for path in found.paths for n in path.nodes}) <= documents
    arcs = {(u, v): w for u, v, w in zip(*(x.tolist() for x in graph.arcs()), strict=True)}
    children: dict[tuple[int, ...], int] = {}
    for path in found.paths:
        assert path.hops <= hops
        assert len(set(path.nodes)) == len(path.nodes)
        steps = zip(path.nodes, path.nodes[1:], strict=False)
        assert [arcs[step] for step in steps] == list(path.weights)
        if path.hops:
            children[path.nodes[:-1]] = children.get(path.nodes[:-1], 0) + 1
    assert max(children.values(), default=0) <= fanout
    if left[0] < 0:
        assert any(trim.reason == hades.Reason.TIMEOUT for trim in found.trims)
    ordered = [path.score for path in found.paths]
    assert ordered == sorted(ordered, reverse=True)


def test_a_million_arcs_are_looked_through_once() -> None:
    """Everything hangs on node 0: each path may go on by its strongest arcs only."""
    count = 1_000_001
    ends = np.arange(1, count)
    hub = Adjacency.undirected(count, np.zeros(count - 1, int), ends, 1 / ends)
    found = beam(hub, np.array([7, 8]), np.array([1.0, 0.9]), caps=Caps(hops=4, fanout=3, beam=16))
    assert {path.nodes[:2] for path in found.paths if len(path.nodes) > 1} == {(7, 0), (8, 0)}
    assert {path.nodes[2] for path in found.paths if len(path.nodes) > 2} == {1, 2, 3}
    assert found.read <= 2 + 1 + 3
    assert sum(trim.count for trim in found.trims if trim.what == "fanout") > count
