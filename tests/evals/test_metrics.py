"""What a ranking is worth: computed by hand, and what must always hold."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.evals.metrics import (
    expected_calibration_error,
    ndcg_at,
    percentile,
    recall_at,
    reciprocal_rank,
    standard_error,
)

IDS = st.lists(st.integers(0, 30).map(str), unique=True, max_size=20)
GOLD = st.frozensets(st.integers(0, 30).map(str), min_size=1, max_size=6)


def test_recall_is_the_share_of_the_gold_that_was_found() -> None:
    ranking = ["a", "x", "b", "y"]
    assert recall_at(2, ranking, {"a", "b"}) == 0.5
    assert recall_at(3, ranking, {"a", "b"}) == 1.0
    assert recall_at(50, ranking, {"a", "b", "c", "d"}) == 0.5


def test_gain_is_discounted_by_rank() -> None:
    # Found at ranks 1 and 3: 1/log2(2) + 1/log2(4) = 1.5; at best 1 + 1/log2(3).
    assert ndcg_at(10, ["a", "x", "b"], {"a", "b"}) == pytest.approx(1.5 / (1 + 1 / math.log2(3)))
    assert ndcg_at(10, ["a", "b", "x"], {"a", "b"}) == 1.0
    # With more gold than places, filling the places is perfect.
    assert ndcg_at(1, ["a"], {"a", "b", "c"}) == 1.0


def test_the_first_gold_decides_the_reciprocal_rank() -> None:
    assert reciprocal_rank(["x", "y", "a", "b"], {"a", "b"}) == pytest.approx(1 / 3)
    assert reciprocal_rank(["x", "y"], {"a"}) == 0.0


def test_calibration_compares_beliefs_with_what_came_true() -> None:
    # Bin 0.8–0.9: mean .85, half true, off by .35. Bin 0.1–0.2: mean .1, none true, off by .1.
    told = [(0.9 - 1e-9, True), (0.8, False), (0.1, False), (0.1, False)]
    assert expected_calibration_error(told) == pytest.approx(0.5 * 0.35 + 0.5 * 0.1)
    assert expected_calibration_error([(1.0, True), (0.0, False)]) == 0.0
    assert expected_calibration_error([]) is None


def test_the_standard_error_is_near_the_textbook_one() -> None:
    values = [0.0, 1.0] * 50
    assert standard_error(values) == pytest.approx(0.5 / math.sqrt(100), rel=0.15)
    assert standard_error(values) == standard_error(values), "seeded: the same every time"
    assert standard_error([0.7]) == 0.0


def test_percentiles_are_values_that_were_measured() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert percentile(values, 0.5) == 3.0
    assert percentile(values, 0.95) == 5.0
    assert percentile([], 0.5) == 0.0


@given(IDS, GOLD)
def test_everything_is_a_share_and_more_ranks_never_lose(
    ranking: list[str], gold: frozenset[str]
) -> None:
    recalls = [recall_at(k, ranking, gold) for k in range(1, 25)]
    assert recalls == sorted(recalls)
    for value in (*recalls, ndcg_at(10, ranking, gold), reciprocal_rank(ranking, gold)):
        assert 0 <= value <= 1 + 1e-12


@given(IDS, GOLD)
def test_gold_first_is_perfect(ranking: list[str], gold: frozenset[str]) -> None:
    best = [*sorted(gold), *(one for one in ranking if one not in gold)]
    assert ndcg_at(10, best, gold) == pytest.approx(1)
    assert recall_at(len(gold), best, gold) == 1
    assert reciprocal_rank(best, gold) == 1


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1))
def test_calibration_error_is_bounded_and_ignores_order(told: list[tuple[float, bool]]) -> None:
    error = expected_calibration_error(told)
    assert error is not None
    assert 0 <= error <= 1
    assert expected_calibration_error(told[::-1]) == pytest.approx(error)
