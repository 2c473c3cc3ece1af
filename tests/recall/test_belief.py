"""How sure we are, from an edge to an answer, and how much an answer conveyed."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.recall.answer.conveyance import conveyance
from hades.recall.rank.belief import (
    Moments,
    all_of,
    answer_belief,
    any_of,
    interval,
    of_edge,
    of_probability,
    path_belief,
)

beliefs = st.builds(hades.Belief, st.floats(0.05, 500), st.floats(0.05, 500))


@pytest.mark.parametrize(
    ("a", "b", "low", "high"),
    [
        (1, 1, 0.05, 0.95),
        (9, 1, 0.05 ** (1 / 9), 0.95 ** (1 / 9)),  # the distribution function is x⁹
        (1, 4, 1 - 0.95**0.25, 1 - 0.05**0.25),
        (2, 5, 0.0628, 0.5818),  # tables of the Beta distribution
        (0.5, 0.5, math.sin(0.05 * math.pi / 2) ** 2, math.sin(0.95 * math.pi / 2) ** 2),
    ],
)
def test_the_interval_of_an_edge(a: float, b: float, low: float, high: float) -> None:
    found = interval(of_edge(hades.Belief(a, b)))
    assert found.mean == pytest.approx(a / (a + b))
    assert (found.low, found.high) == pytest.approx((low, high), abs=2e-3)


def test_a_path_holds_when_all_its_edges_do() -> None:
    path = path_belief([hades.Belief(3, 1), hades.Belief(1, 1)])
    assert path.mean == pytest.approx(0.375)
    chance = random.Random(7)
    drawn = [chance.betavariate(3, 1) * chance.betavariate(1, 1) for _ in range(40_000)]
    mean = sum(drawn) / len(drawn)
    assert path.mean == pytest.approx(mean, abs=0.01)
    assert path.variance == pytest.approx(sum((x - mean) ** 2 for x in drawn) / 40_000, abs=0.01)
    drawn.sort()
    found = interval(path)
    assert found.low == pytest.approx(drawn[2_000], abs=0.02)
    assert found.high == pytest.approx(drawn[38_000], abs=0.02)
    assert path_belief([]) == Moments(1.0, 0.0)


def test_more_evidence_makes_the_interval_narrower() -> None:
    few, many = (interval(of_edge(hades.Belief(2 * n, n))) for n in (1, 50))
    assert few.mean == pytest.approx(many.mean)
    assert few.low < many.low < many.high < few.high


def test_an_answer_is_there_when_one_passage_has_it() -> None:
    assert answer_belief([]).mean == 0
    assert answer_belief([of_probability(0.5)] * 2).mean == pytest.approx(0.75)


@given(st.lists(beliefs, max_size=8))
def test_beliefs_stay_probabilities(edges: list[hades.Belief]) -> None:
    each = [of_edge(belief) for belief in edges]
    for found in (path_belief(edges), any_of(each), answer_belief(each)):
        shown = interval(found)
        assert 0 <= shown.low <= shown.mean <= shown.high <= 1
    assert all(all_of(each).mean <= one.mean + 1e-12 for one in each)
    assert all(any_of(each).mean >= one.mean - 1e-12 for one in each)


@given(st.floats(0, 1), st.floats(0, 0.3))
def test_any_moments_have_an_interval(mean: float, variance: float) -> None:
    shown = interval(Moments(mean, variance))
    assert 0 <= shown.low <= shown.mean <= shown.high <= 1


def test_the_value_is_evidence_by_time_and_context() -> None:
    found = conveyance(0.5, 0.25, 0.8)
    assert found.value == pytest.approx(0.5 / 0.25 * 0.8**1.7)
    assert (found.evidence, found.context) == (0.5, 0.8)


@pytest.mark.parametrize("missing", [(0.0, 0.5, 0.8), (0.5, 0.0, 0.8), (0.5, 0.5, 0.0)], ids=str)
def test_without_one_factor_nothing_is_conveyed(missing: tuple[float, float, float]) -> None:
    assert conveyance(*missing).value == 0


def test_more_evidence_of_the_right_kind_raises_the_context(story: hades.Memory) -> None:
    question = "Why was approach X rejected?"
    (one, all_of_it) = (
        story.recall(question, plan={"final_context": count}).conveyance for count in (1, 5)
    )
    assert 0 < one.context < all_of_it.context <= 1
    assert all_of_it.evidence > 0
