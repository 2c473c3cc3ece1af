"""Terms: the words of each chunk, to measure how much of a question it covers.

The inverted index finds the chunks of a word. The ranker needs the words of a hundred candidates at
once, so the stems of each chunk are kept as hashes, 4 bytes per word, sorted within the chunk.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from hades.graph.arrays import Flags, Floats32, Ints, spread
from hades.index.array_store import Array
from hades.index.columns import Columns, RowsById
from hades.index.graph_view import are_known

_COLUMNS = {"chunk": np.int64, "first": np.int64, "count": np.int32}


def term_hash(term: str) -> int:
    """Return a 32-bit hash. In a chunk of 100 terms, two collide once in a million chunks."""
    return zlib.crc32(term.encode())


class ChunkTerms(RowsById):
    """The hashed stems of each chunk, or of each edge, found by its id."""

    def __init__(self) -> None:
        self._rows = Columns(_COLUMNS)
        self._hashes: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)

    def put(self, chunks: Iterable[tuple[int, Sequence[str]]]) -> None:
        """Insert the stems of new chunks. Skip known ones: a chunk's words never change."""
        given = dict(chunks)
        new = np.array(sorted(given), np.int64)
        new = new[~are_known(self._rows["chunk"], new)]
        if not len(new):
            return
        terms = (map(term_hash, given[chunk]) for chunk in new.tolist())
        self._put(new, [np.unique(np.fromiter(row, np.uint32)) for row in terms])

    def put_hashed(self, chunks: Mapping[int, bytes]) -> None:
        """Insert the stems of new chunks as `hashed` returned them elsewhere."""
        new = np.array(sorted(chunks), np.int64)
        self._put(new, [np.frombuffer(chunks[chunk], np.uint32) for chunk in new.tolist()])

    def hashed(self, chunks: Sequence[int]) -> list[tuple[int, bytes]]:
        """Return (chunk, hashed stems) for each given chunk whose stems are here."""
        rows = np.flatnonzero(np.isin(self._rows["chunk"], np.array(chunks, np.int64)))
        first = self._rows["first"][rows]
        count = self._rows["count"][rows]
        return [
            (int(chunk), self._hashes[start : start + size].tobytes())
            for chunk, start, size in zip(
                self._rows["chunk"][rows], first.tolist(), count.tolist(), strict=True
            )
        ]

    def known(self, chunks: Ints) -> Flags:
        """Return for each chunk whether its stems are here."""
        return are_known(self._rows["chunk"], chunks)

    def _put(self, new: Ints, hashes: Sequence[npt.NDArray[np.uint32]]) -> None:
        if not len(new):
            return
        counts = np.array([len(row) for row in hashes], np.int32)
        first = len(self._hashes) + np.concatenate([[0], np.cumsum(counts)[:-1]])
        self._rows.put_arrays({"chunk": new, "first": first.astype(np.int64), "count": counts})
        self._hashes = np.concatenate([self._hashes, *hashes])

    def having(self, chunks: Ints, terms: Sequence[str]) -> Floats32:
        """Return a matrix, a row per chunk id and a column per stem: 1 where the chunk has it."""
        has = np.zeros((len(chunks), len(terms)), np.float32)
        rows = self._rows["chunk"]
        if not len(rows) or not terms:
            return has
        at = np.minimum(np.searchsorted(rows, chunks), len(rows) - 1)
        at = np.where(rows[at] == chunks, at, -1)
        counts = np.where(at >= 0, self._rows["count"][at], 0)
        own = self._hashes[spread(self._rows["first"][at], counts)]
        row = np.repeat(np.arange(len(chunks)), counts)
        for number, term in enumerate(terms):
            has[row[own == term_hash(term)], number] = 1
        return has

    def counted(self, chunks: Ints) -> tuple[npt.NDArray[np.uint32], Ints]:
        """Return the hashed stems of these chunks, sorted, and how many chunks have each."""
        own = np.isin(self._rows["chunk"], chunks)
        each = self._hashes[spread(self._rows["first"][own], self._rows["count"][own])]
        stems, counts = np.unique(each, return_counts=True)
        return stems, counts

    def drop(self, chunks: Ints) -> None:
        """Remove chunks and their words, because purged words must not be saved again."""
        if not np.isin(self._rows["chunk"], chunks).any():
            return
        self._rows.drop(chunks)
        counts = self._rows["count"]
        self._hashes = self._hashes[spread(self._rows["first"], counts)]
        self._rows.set("first", np.cumsum(counts) - counts)

    def arrays(self, name: str) -> dict[str, Array]:
        """Return everything as arrays to be saved."""
        return {**self._rows.arrays(name), f"{name}.hashes": self._hashes}

    def take(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Restore from saved arrays."""
        self._rows.take(name, arrays)
        self._hashes = arrays[f"{name}.hashes"]
