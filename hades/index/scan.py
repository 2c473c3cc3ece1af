"""The scan of int8 vectors, in numba: numpy takes three times as long.

Loading numba takes half a second, and the first compilation several. `Vectors` uses numpy until
this module is ready, and where numba is not installed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath=True)
def scan(codes: Any, scales: Any, question: Any, rows: Any, mask: Any, out: Any) -> None:
    """Write the similarity of each vector to a question into `out`; -inf outside the mask.

    `rows` holds the position of each vector in `mask`.

    Every step is cast to int32, because numba would compute in int64, for which the compiler cannot
    multiply sixteen pairs at once.
    """
    count, dims = codes.shape
    for row in range(count):
        if mask[rows[row]]:
            total = np.int32(0)
            for at in range(dims):
                both = np.int32(np.int32(codes[row, at]) * np.int32(question[at]))
                total = np.int32(total + both)
            out[row] = np.float32(total) * scales[row]
        else:
            out[row] = -np.inf


def warm() -> None:
    """Load or compile the kernel for the types it is called with."""
    codes = np.zeros((2, 8), np.int8)
    ones = np.ones(2, np.float32)
    scan(
        codes,
        ones,
        np.zeros(8, np.int8),
        np.zeros(2, np.int64),
        np.ones(1, np.bool_),
        np.empty(2, np.float32),
    )
