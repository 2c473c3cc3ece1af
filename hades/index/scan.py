"""The scan of int8 vectors, in numba: our own, as it is three times as fast as numpy's.

Loading numba takes half a second, compiling for the first time several: `Vectors` answers
with numpy until this module is ready.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange


@njit(cache=True, parallel=True, fastmath=True)
def scan(codes: Any, scales: Any, question: Any, rows: Any, mask: Any, out: Any) -> None:
    """How near each vector is to a question; what the mask rules out is infinitely far."""
    for row in prange(len(codes)):
        if not mask[rows[row]]:
            out[row] = -np.inf
            continue
        total = np.int32(0)
        for at in range(codes.shape[1]):
            total += np.int32(codes[row, at]) * np.int32(question[at])
        out[row] = total * scales[row]


def warm() -> None:
    """Load or compile the kernel for the types it is called with."""
    codes = np.zeros((2, 8), np.int8)
    ones = np.ones(2, np.float32)
    scan(
        codes,
        ones,
        np.zeros(8, np.int32),
        np.zeros(2, np.int64),
        np.ones(1, np.bool_),
        np.empty(2, np.float32),
    )
