"""How much a recall conveyed."""

from __future__ import annotations

from typing import Any

import pytest

import hades
from hades.recall.answer.conveyance import conveyance

GOOD: dict[str, Any] = {
    "packed": (0.9, 0.75, 0.75),
    "chosen": (1.0, 1.0, 0.5),
    "seconds": 0.5,
    "context": 0.8,
    "lig": (0.5, 1.0, 0.9),
    "fits": 0.75,
}


def test_the_factors_and_their_product() -> None:
    found = conveyance(**GOOD)
    assert (found.what, found.where, found.how, found.context) == (0.9, 0.75, 0.75, 0.8)
    assert found.value == pytest.approx(0.9 * 0.75 * 0.75 / 0.5 * 0.8**1.7)


def test_from_memory_to_reader() -> None:
    found = conveyance(**GOOD)
    assert found.external == pytest.approx((0.5 + 1.0 + 0.8 + 0.9) / 4)
    sent, taken = 1.0 * 1.0 * 0.5 / 0.5, 0.9 * 0.75 * 0.75 / 0.5
    middle = 2 / (1 / sent + 1 / taken)
    assert found.pair == pytest.approx(middle * found.external**1.7 * 0.75)
    assert conveyance(**GOOD | {"chosen": (0.0, 1.0, 1.0)}).pair == 0


def test_a_recall_measures_them(story: hades.Memory) -> None:
    whole = story.recall("Why was approach X rejected?")
    assert 0 < whole.conveyance.external <= 1
    assert whole.conveyance.compatibility > 0
    assert whole.conveyance.pair > 0
    cut = story.recall("Why was approach X rejected?", plan={"budget": {"tokens": 60}})
    assert cut.conveyance.compatibility < whole.conveyance.compatibility
    (seeds,) = (stage for stage in whole.telemetry if stage.stage == "seeds")
    assert 0 < seeds.reads <= whole.plan["retriever"]["k"]


@pytest.mark.parametrize(
    "missing",
    [
        {"packed": (0.0, 0.75, 0.75)},
        {"packed": (-1.0, 0.75, -0.75)},
        {"packed": (0.9, 0.0, 0.75)},
        {"packed": (0.9, 0.75, 0.0)},
        {"seconds": 0.0},
        {"context": 0.0},
    ],
    ids=str,
)
def test_without_one_factor_nothing_is_conveyed(missing: dict[str, Any]) -> None:
    assert conveyance(**GOOD | missing).value == 0
