"""The scans of int8 vectors and of sketches, in numba: our own, as numpy's take three times
as long.

Loading numba takes half a second, compiling for the first time several: `Vectors` answers
with numpy until this module is ready.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange, types
from numba.extending import intrinsic

_BLOCKS = 64
"""A sketch scan is cut in so many, each with its own counts: more than there are cores."""


def _set_bits(_typing: Any, _word: Any) -> Any:
    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


_ones: Any = intrinsic(_set_bits)
"""How many bits of a word are set: one instruction, which numba does not offer."""


@njit(cache=True, nogil=True, fastmath=True)
def scan(codes: Any, scales: Any, question: Any, rows: Any, mask: Any, out: Any) -> None:
    """How near each vector is to a question; what the mask rules out is infinitely far.

    Four vectors at a time, all in int8: the compiler then multiplies sixteen pairs at once,
    which made one core twice as fast as two were (16,000 vectors: 0.35 ms).
    """
    count, dims = codes.shape
    whole = count - count % 4
    for row in range(0, whole, 4):
        if mask[rows[row]] or mask[rows[row + 1]] or mask[rows[row + 2]] or mask[rows[row + 3]]:
            first, second, third, fourth = np.int32(0), np.int32(0), np.int32(0), np.int32(0)
            for at in range(dims):
                weight = np.int32(question[at])
                first += np.int32(codes[row, at]) * weight
                second += np.int32(codes[row + 1, at]) * weight
                third += np.int32(codes[row + 2, at]) * weight
                fourth += np.int32(codes[row + 3, at]) * weight
            out[row] = first * scales[row]
            out[row + 1] = second * scales[row + 1]
            out[row + 2] = third * scales[row + 2]
            out[row + 3] = fourth * scales[row + 3]
    for row in range(whole, count):
        total = np.int32(0)
        for at in range(dims):
            total += np.int32(codes[row, at]) * np.int32(question[at])
        out[row] = total * scales[row]
    for row in range(count):
        if not mask[rows[row]]:
            out[row] = -np.inf


@njit(cache=True, parallel=True)
def count_differing(bits: Any, question: Any, rows: Any, mask: Any, outside: Any, out: Any) -> Any:
    """In how many bits each sketch differs from a question's; how many rows have each count."""
    counts = np.zeros((_BLOCKS, outside + 1), np.int64)
    size = (len(bits) + _BLOCKS - 1) // _BLOCKS
    for block in prange(_BLOCKS):
        for row in range(block * size, min(len(bits), (block + 1) * size)):
            differing = np.uint64(0)
            if mask[rows[row]]:
                for at in range(bits.shape[1]):
                    differing += _ones(bits[row, at] ^ question[at])
            else:
                differing = np.uint64(outside)
            out[row] = differing
            counts[block, differing] += 1
    return counts.sum(axis=0)


def warm() -> None:
    """Load or compile the kernels for the types they are called with."""
    bits = np.zeros((2, 1), np.uint64)
    numbers, mask = np.zeros(2, np.int64), np.ones(1, np.bool_)
    count_differing(bits, bits[0], numbers, mask, 65, np.empty(2, np.uint16))
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
