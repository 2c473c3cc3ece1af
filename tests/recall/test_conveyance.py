"""How much a recall conveyed."""

from __future__ import annotations

from typing import Any

import pytest

from hades.recall.conveyance import conveyance

GOOD: dict[str, Any] = {
    "coverage": 0.9,
    "joined": 3,
    "beliefs": [0.8, 0.6, 0.7, 0.9],
    "seconds": 0.5,
    "evidence_tokens": 400,
    "tokens": 500,
}


def test_the_factors_and_their_product() -> None:
    found = conveyance(**GOOD)
    assert (found.what, found.where, found.context) == (0.9, 0.75, 0.8)
    assert found.how == pytest.approx(0.75)
    assert found.value == pytest.approx(0.9 * 0.75 * 0.75 / 0.5 * 0.8**1.7)


@pytest.mark.parametrize(
    "missing",
    [
        {"coverage": 0.0},
        {"coverage": -1.0},
        {"joined": 0},
        {"beliefs": []},
        {"beliefs": [0.0]},
        {"seconds": 0.0},
        {"evidence_tokens": 0},
        {"tokens": 0},
    ],
    ids=str,
)
def test_without_one_factor_nothing_is_conveyed(missing: dict[str, Any]) -> None:
    assert conveyance(**GOOD | missing).value == 0
