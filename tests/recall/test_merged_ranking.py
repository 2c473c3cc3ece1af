"""Merging the ranking of notes with that of other texts."""

from __future__ import annotations

import numpy as np

from hades.recall.rank.ranking import Ranking, merge


def test_each_kind_keeps_its_order() -> None:
    # The last passage is believed most, so all before it are raised to the same value.
    passages = Ranking(
        numbers=np.array([7, 3, 5]),
        scores=np.array([3.0, 2.0, 1.0]),
        belief=np.array([0.2, 0.3, 0.6]),
        near=np.array([0.5, 0.5, 0.5]),
    )
    note = Ranking(
        numbers=np.array([9]),
        scores=np.array([1.0]),
        belief=np.array([0.1]),
        near=np.array([0.5]),
    )
    assert merge(passages, note).numbers.tolist() == [7, 3, 5, 9]
