"""Vectors: the nearest passages by meaning, by an exact scan.

Vectors are kept as int8 with one scale each, 388 bytes per passage. A numba kernel scans them in
one pass and skips those outside the mask, so a filter costs no accuracy. The kernel rounds the
question to int8 too; the best vectors are ranked again with the exact question. A scan takes 3 ms
for 100,000 passages on one core. A graph index of the same passages takes minutes to build, misses
some, and cannot filter by time. numpy scans small sets and answers the first question of a process,
because loading the kernel would take longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hades.graph.arrays import Flags, Floats32, Ints
from hades.graph.lazy_kernel import LazyKernel
from hades.index.array_store import Array
from hades.index.columns import Columns, RowsById

RERANKED = 4
"""This many times the wanted number of vectors is ranked again with the exact question."""
EXACT_AT_LEAST = 400
"""`near` returns exact cosines for this many of the nearest chunks."""
KERNEL_FROM_ROWS = 10_000
"""numpy scans fewer rows in a few milliseconds."""
KERNEL_FROM_LOOKS = 8
"""The kernel is loaded after this many scans. One question scans four times, so a command that asks
once does not load the kernel, which would take longer than the answer."""
_BLOCK_ROWS = 1_024
"""Rows that are converted together. Their floats, 1.5 MB, fit into a core's cache."""

Codes = npt.NDArray[np.int8]


def quantise(vectors: Floats32) -> tuple[Codes, Floats32]:
    """Return int8 codes and a scale per vector. A vector with NaN or infinity becomes zeros."""
    top = np.abs(vectors).max(axis=1, keepdims=True)
    if not (is_finite := np.isfinite(top)).all():
        vectors = np.where(is_finite, vectors, 0)
        top = np.where(is_finite, top, 0)
    scales = np.where(top > 0, top / 127, 1).astype(np.float32)
    return np.rint(vectors / scales).astype(np.int8), scales[:, 0]


def _load_kernel() -> None:
    from hades.index import scan

    scan.warm()


kernel = LazyKernel(_load_kernel, after=KERNEL_FROM_LOOKS)


def product(rows: Floats32, vector: Floats32) -> Floats32:
    """Multiply each row with a vector, or with each row of a second matrix, on one thread.

    BLAS is not faster here, but keeps all cores busy and doubles the processor time of a recall.
    """
    by = "ij,j->i" if vector.ndim == 1 else "ij,kj->ik"
    products: Floats32 = np.einsum(by, rows, vector)
    return products


class Vectors(RowsById):
    """The vectors of one encoder, by chunk id or by edge id.

    Saved vectors are mapped and new ones are kept beside them, so that a new note does not load a
    gigabyte of old vectors into memory.
    """

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self._rows = Columns({"chunk": np.int64, "scale": np.float32})
        self._saved: Codes = np.zeros((0, dims), np.int8)
        self._new = self._saved

    def put(self, batches: Iterable[tuple[Ints, npt.NDArray[np.float16]]]) -> int:
        """Insert vectors, replacing old ones of the same chunks. Return their number.

        Each chunk may be in one batch only.
        """
        read = [(ids, *quantise(vectors.astype(np.float32))) for ids, vectors in batches]
        if not sum(len(ids) for ids, _, _ in read):
            return 0
        chunks, codes, scales = (list(parts) for parts in zip(*read, strict=True))
        new = np.concatenate(chunks)
        self.drop(new)
        self._rows.append({"chunk": new, "scale": np.concatenate(scales)})
        self._new = np.concatenate([self._new, *codes])
        return len(new)

    def drop(self, chunks: Ints) -> None:
        """Remove the vectors of chunks."""
        stay = ~np.isin(self._rows["chunk"], chunks)
        if not stay.all():
            self._rows.keep(stay)
            first = len(self._saved)
            self._saved = self._saved[stay[:first]]
            self._new = self._new[stay[first:]]

    def nearest(
        self, question: Floats32, numbers: Ints, mask: Flags, own: Flags, limit: int
    ) -> tuple[Ints, Floats32]:
        """Return the numbers and the cosines of the nearest chunks of `mask`, best first.

        `numbers` is the chunk number of each row; `own` flags the chunks of the space asked about.
        """
        limit = min(limit, len(self))
        if not len(self) or limit <= 0:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        best = _highest(self._scan(question, numbers, mask, own), limit * RERANKED)
        exact = product(self.full(best), question)
        # Ties go to the older chunk, so that the order does not depend on `argpartition`.
        order = np.lexsort((numbers[best], -exact))[:limit]
        return numbers[best[order]], exact[order]

    def near(
        self, question: Floats32, numbers: Ints, mask: Flags, own: Flags, *, exact: bool = True
    ) -> Floats32:
        """Return the cosines of all chunks, by chunk number; if `exact`, the nearest are exact.

        Chunks outside the mask and chunks without a vector get -inf.
        """
        by_number = np.full(len(mask), -np.inf, np.float32)
        if not len(self):
            return by_number
        near = self._scan(question, numbers, mask, own)
        if exact:
            best = _highest(near, EXACT_AT_LEAST)
            near[best] = product(self.full(best), question)
        by_number[numbers] = near
        return by_number

    def _scan(self, question: Floats32, numbers: Ints, mask: Flags, own: Flags) -> Floats32:
        """Return the approximate cosine of every row; -inf outside the mask.

        Only the number of rows of the space decides between kernel and numpy, so that other spaces
        do not influence its scores.
        """
        near = np.full(len(self), -np.inf, np.float32)
        rows = np.flatnonzero(own[numbers])
        scales = self._rows["scale"]
        if len(rows) >= KERNEL_FROM_ROWS and kernel.is_ready():
            from hades.index.scan import scan

            code, scale = quantise(question[None, :])
            first = len(self._saved)
            for part, at in ((self._saved, slice(0, first)), (self._new, slice(first, None))):
                scan(part, scales[at], code[0], numbers[at], mask, near[at])
            near *= scale[0]
            return near
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = rows[start : start + _BLOCK_ROWS]
            near[block] = product(self.codes(block).astype(np.float32), question) * scales[block]
        near[~mask[numbers]] = -np.inf
        return near

    def full(self, rows: Ints) -> Floats32:
        """Return the vectors of rows as float32, restored from int8."""
        scales: Floats32 = self._rows["scale"][rows]
        return self.codes(rows).astype(np.float32) * scales[:, None]

    def codes(self, rows: Ints) -> Codes:
        """Return the int8 codes of rows; zeros for a vector that had no finite values."""
        if not len(self._new):
            return self._saved[rows]
        first = len(self._saved)
        old = rows < first
        codes = np.empty((len(rows), self.dims), np.int8)
        codes[old] = self._saved[rows[old]]
        codes[~old] = self._new[rows[~old] - first]
        return codes

    def arrays(self, name: str) -> dict[str, Array | Sequence[Array]]:
        """Return everything as arrays to be saved, new vectors after the saved ones."""
        return {**self._rows.arrays(name), f"{name}.codes": [self._saved, self._new]}

    def take(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Restore from saved arrays, which stay mapped."""
        self._rows.take(name, arrays)
        saved = arrays[f"{name}.codes"]
        if len(saved) != len(self._rows):
            raise ValueError("the vectors are not complete")
        self._saved = saved
        self._new = saved[:0]


def _highest(scores: Floats32, count: int) -> Ints:
    """Return the rows of the highest finite scores, in no order."""
    count = min(count, len(scores))
    best = np.argpartition(scores, len(scores) - count)[len(scores) - count :]
    return best[np.isfinite(scores[best])]
