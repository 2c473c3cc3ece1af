"""Vectors: the nearest passages by meaning, by an exact scan.

Vectors are kept as int8 with one scale each, 388 bytes a passage, and scanned in one pass
by a numba kernel that skips what the mask rules out, so filters cost nothing in accuracy.
The kernel rounds the question to int8 as well; the best are ranked again without that. A scan
takes 3 ms for 100,000 passages on one core; a graph index of the same takes minutes to build,
misses some, and cannot filter by time. Few vectors, and the first question of a process,
are scanned by numpy: loading the kernel would take longer.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hades.graph.arrays import Flags, Floats32, Ints
from hades.graph.lazy_kernel import LazyKernel
from hades.index.array_store import Array
from hades.index.columns import Columns

RERANKED = 4
"""So many times the wanted number is ranked again with full vectors."""
EXACT_AT_LEAST = 400
"""So many of the nearest are exact where all are asked for."""
KERNEL_FROM_ROWS = 10_000
"""Below this numpy takes no more than a few milliseconds."""
KERNEL_FROM_LOOKS = 3
"""One recall looks twice: at the question, and at it with what was found. A command that
asks once must not load the kernel, which takes longer than its answer."""
_BLOCK_ROWS = 8_192

Codes = npt.NDArray[np.int8]


def quantise(vectors: Floats32) -> tuple[Codes, Floats32]:
    """Return int8 codes and a scale per vector. A vector with NaN or infinity becomes zeros."""
    top = np.abs(vectors).max(axis=1, keepdims=True)
    if not (is_finite := np.isfinite(top)).all():
        vectors, top = np.where(is_finite, vectors, 0), np.where(is_finite, top, 0)
    scales = np.where(top > 0, top / 127, 1).astype(np.float32)
    return np.rint(vectors / scales).astype(np.int8), scales[:, 0]


def _load_kernel() -> None:
    from hades.index import scan

    scan.warm()


kernel = LazyKernel(_load_kernel, after=KERNEL_FROM_LOOKS)


def product(rows: Floats32, vector: Floats32) -> Floats32:
    """Each row times a vector, or times each row of a second matrix, on one thread.

    BLAS takes no less time, but wakes all cores for products as small as a question's and
    lets them spin: a recall cost 102 ms of processor time with it and 54 without.
    """
    by = "ij,j->i" if vector.ndim == 1 else "ij,kj->ik"
    found: Floats32 = np.einsum(by, rows, vector)
    return found


class Vectors:
    """The vectors of one encoder, by chunk, or by the fact that an edge tells.

    What was saved is mapped, and what came since is kept beside it: a note more does not
    bring a gigabyte of the others into memory.
    """

    def __init__(self, dims: int) -> None:
        self.dims = dims
        self._rows = Columns({"chunk": np.int64, "scale": np.float32})
        self._saved: Codes = np.zeros((0, dims), np.int8)
        self._new = self._saved

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def chunks(self) -> Ints:
        """The chunk of each row."""
        return self._rows["chunk"]

    def snapshot(self) -> Vectors:
        """The vectors as they are now, whatever is put later."""
        made = copy.copy(self)
        made._rows = self._rows.snapshot()
        return made

    def put(self, batches: Iterable[tuple[Ints, npt.NDArray[np.float16]]]) -> int:
        """Take in vectors, batch by batch; how many. A chunk comes in one batch only.

        A chunk that has one already gets the new one.
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
        """Let vectors go."""
        stay = ~np.isin(self._rows["chunk"], chunks)
        if not stay.all():
            self._rows.keep(stay)
            first = len(self._saved)
            self._saved, self._new = self._saved[stay[:first]], self._new[stay[first:]]

    def nearest(
        self, question: Floats32, numbers: Ints, mask: Flags, own: Flags, limit: int
    ) -> tuple[Ints, Floats32]:
        """The nearest chunks by cosine, best first: their numbers in `mask`, and how near.

        `numbers` gives the place of each row in the mask; `own` are those of the space.
        """
        limit = min(limit, len(self))
        if not len(self) or limit <= 0:
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        best = _highest(self._scan(question, numbers, mask, own), limit * RERANKED)
        exact = product(self.full(best), question)
        # Ties go to the older chunk, so that an order never depends on the partition.
        order = np.lexsort((numbers[best], -exact))[:limit]
        return numbers[best[order]], exact[order]

    def near(self, question: Floats32, numbers: Ints, mask: Flags, own: Flags) -> Floats32:
        """How near every chunk of the mask is, by number; the nearest are exact.

        What the mask rules out, and what has no vector, is infinitely far.
        """
        by_number = np.full(len(mask), -np.inf, np.float32)
        if not len(self):
            return by_number
        near = self._scan(question, numbers, mask, own)
        best = _highest(near, EXACT_AT_LEAST)
        near[best] = product(self.full(best), question)
        by_number[numbers] = near
        return by_number

    def _scan(self, question: Floats32, numbers: Ints, mask: Flags, own: Flags) -> Floats32:
        """How near every row is by its code; what the mask rules out is infinitely far.

        Which way it is done depends on the rows of the space alone: what others have must not
        show in its scores.
        """
        near = np.full(len(self), -np.inf, np.float32)
        rows = np.flatnonzero(own[numbers])
        if len(rows) >= KERNEL_FROM_ROWS and kernel.is_ready():
            from hades.index.scan import scan

            code, scale = quantise(question[None, :])
            first, scales = len(self._saved), self._rows["scale"]
            for part, at in ((self._saved, slice(0, first)), (self._new, slice(first, None))):
                scan(part, scales[at], code[0], numbers[at], mask, near[at])
            near *= scale[0]
            return near
        for start in range(0, len(rows), _BLOCK_ROWS):
            block = rows[start : start + _BLOCK_ROWS]
            near[block] = product(self.full(block), question)
        near[~mask[numbers]] = -np.inf
        return near

    def full(self, rows: Ints) -> Floats32:
        """The vectors of rows."""
        first = len(self._saved)
        old = rows < first
        codes = np.empty((len(rows), self.dims), np.int8)
        codes[old], codes[~old] = self._saved[rows[old]], self._new[rows[~old] - first]
        scales: Floats32 = self._rows["scale"][rows]
        return codes.astype(np.float32) * scales[:, None]

    def arrays(self, name: str) -> dict[str, Array | Sequence[Array]]:
        """Everything, to be saved: what was saved before, and what came since behind it."""
        return {**self._rows.arrays(name), f"{name}.codes": [self._saved, self._new]}

    def take(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Be what was saved; it stays mapped."""
        self._rows.take(name, arrays)
        saved = arrays[f"{name}.codes"]
        if len(saved) != len(self._rows):
            raise ValueError("the vectors are not complete")
        self._saved, self._new = saved, saved[:0]


def _highest(scores: Floats32, count: int) -> Ints:
    """The rows of the highest scores, in no order, without those that are infinitely far."""
    count = min(count, len(scores))
    best = np.argpartition(scores, len(scores) - count)[len(scores) - count :]
    return best[np.isfinite(scores[best])]
