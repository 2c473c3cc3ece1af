"""Types that the graph, the indexes and recall share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Floats32 = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Deadline = Callable[[], bool]
"""Returns whether the time is up."""


def spread(first: npt.NDArray[Any], counts: npt.NDArray[Any]) -> Ints:
    """Return several ranges, joined: range i has `counts[i]` integers, from `first[i]` on."""
    before = np.cumsum(counts, dtype=np.int64) - counts
    starts = np.repeat(first.astype(np.int64) - before, counts)
    places: Ints = starts + np.arange(len(starts))
    return places
