"""Derived tables: rows read from the store's changefeed, saved as arrays beside the memory."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hades.graph.arrays import Ints
from hades.index.array_store import UNREADABLE, Array, ArrayStore, Stored, locked
from hades.index.columns import Columns
from hades.store.store import Store

_LOG = logging.getLogger(__name__)
TIMES = ("valid_from", "valid_to", "recorded_at", "retired_at")
TableTypes = dict[str, dict[str, Any]]
"""By name: the types of the columns; the first tells rows apart."""


class Derived:
    """TableTypes at one change number; whatever is wrong with their files, they are made anew.

    What a class keeps besides its tables it adds to `_parts` in `_forget`.
    """

    NAME: ClassVar[str]
    FORMAT: ClassVar[int]
    FED: ClassVar[TableTypes]
    """TableTypes that the changefeed has under the same name."""
    OWN: ClassVar[TableTypes] = {}
    """TableTypes that the class fills itself."""

    def __init__(self, store: Store, folder: Path, *, saved: bool = True) -> None:
        self.store = store
        self.folder = folder
        self._saved = saved
        self._files = ArrayStore(folder, self.NAME)
        self._forget("")
        if not saved:
            return
        generation, now = store.changefeed.revision()
        with locked(folder):
            found = self._files.load(self._revision(generation), now)
        try:
            if found is not None:
                self._take(found[1])
                self._generation, self.change = generation, found[0]
        except UNREADABLE:
            self._forget("")

    def __getitem__(self, name: str) -> Columns:
        return self._columns[name]

    def _read_fed(self) -> dict[str, int]:
        """Take in the rows that were written since; how many, by table."""
        counts = {}
        for name in self.FED:
            rows = self._owned(name, self.store.changefeed.since(name, self.change))
            self._columns[name].put(rows)
            counts[name] = len(rows)
        return counts

    def _owned(self, name: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the rows to take in. A subclass drops rows whose chunk does not exist."""
        return rows

    def _purged(self) -> Ints:
        """The nodes that were purged since."""
        rows = self.store.changefeed.since("purged", self.change)
        return np.array([row[0] for row in rows], np.int64)

    def _forget(self, generation: str) -> None:
        tables = {**self.FED, **self.OWN}
        self._columns = {name: Columns(types) for name, types in tables.items()}
        self._parts: dict[str, Stored] = {**self._columns}
        self._generation, self.change = generation, 0

    def _take(self, arrays: Mapping[str, Array]) -> None:
        for name, part in self._parts.items():
            part.take(name, arrays)

    def _save(self) -> None:
        """Write everything; it is mapped then, so what was just made need not stay in memory."""
        if not self._saved:
            return
        arrays: dict[str, Array | Sequence[Array]] = {}
        for name, part in self._parts.items():
            arrays.update(part.arrays(name))
        try:
            with locked(self.folder):
                self._take(self._files.save(self._revision(self._generation), self.change, arrays))
        except OSError as error:
            _LOG.warning("the index %s cannot be written: %s", self.folder / self.NAME, error)

    def _revision(self, generation: str) -> dict[str, Any]:
        """Which memory and which format the files are of."""
        return {"format": self.FORMAT, "generation": generation}
