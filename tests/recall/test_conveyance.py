"""How much a recall conveyed."""

from __future__ import annotations

import pytest

import hades
from hades.recall.answer.conveyance import conveyance


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
