"""Sketches: one bit a dimension, to find in a large memory what is worth a closer look.

The sign of each number of a vector, 48 bytes for 384 of them. Vectors that are near share
most signs, so the few thousand with the fewest differing bits hold nearly all of the
nearest; those are then ranked by the vectors themselves. Counting bits is ten times less
to read than the int8 codes, and exact ranking follows, so only recall can be lost, never
order. Measured: docs/benchmarks.md.
"""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

Bits = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]

_BLOCK_ROWS = 65_536
_BITS = 64
_ONE_AT_A_TIME = threading.Lock()
"""Where numba has no OpenMP, two threads in a parallel kernel at once end the process."""


def words_of(dims: int) -> int:
    """How many 64-bit words hold the signs of a vector."""
    return -(-dims // _BITS)


def sketch(vectors: npt.NDArray[np.floating]) -> Bits:
    """The signs of vectors, packed; what is left of the last word is 0."""
    signs = np.packbits(vectors > 0, axis=1)
    packed = np.zeros((len(vectors), words_of(vectors.shape[1]) * 8), np.uint8)
    packed[:, : signs.shape[1]] = signs
    return packed.view(np.uint64)


def fewest_differ(
    bits: Bits,
    question: Bits,
    numbers: npt.NDArray[np.int64],
    mask: Mask,
    wanted: int,
    *,
    kernel: bool,
) -> npt.NDArray[np.int64]:
    """At least `wanted` rows, of those the mask lets in, that differ in the fewest bits.

    All that differ in as many bits as the last one come along, so that which of them are
    given never depends on their order.
    """
    # What the mask rules out is farther than any: one more than there are bits.
    outside = bits.shape[1] * _BITS + 1
    differing = np.empty(len(bits), np.uint16)
    if kernel:
        from hades.index.scan import count_differing

        with _ONE_AT_A_TIME:
            counts = count_differing(bits, question, numbers, mask, outside, differing)
    else:
        for first in range(0, len(bits), _BLOCK_ROWS):
            rows = slice(first, first + _BLOCK_ROWS)
            np.sum(np.bitwise_count(bits[rows] ^ question), axis=1, out=differing[rows])
        differing[~mask[numbers]] = outside
        counts = np.bincount(differing, minlength=outside + 1)
    enough = int(np.searchsorted(np.cumsum(counts), wanted))
    return np.flatnonzero(differing <= min(enough, outside - 1))
