"""Derived tables: rows read from the store's changefeed, saved as arrays beside the memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hades.graph.arrays import Ints
from hades.index.array_store import ArrayStore, locked
from hades.index.columns import Columns
from hades.store.store import Store

TableTypes = dict[str, tuple[str, dict[str, Any]]]
"""By name: the column that tells rows apart, and the types of all columns."""


class Derived:
    """TableTypes at one change number; whatever is wrong with their files, they are made anew.

    What a class keeps besides its tables it adds to `_forget`, `_read` and `_write`.
    """

    NAME: ClassVar[str]
    FORMAT: ClassVar[int]
    FED: ClassVar[TableTypes]
    """TableTypes that the changefeed has under the same name."""
    OWN: ClassVar[TableTypes] = {}
    """TableTypes that the class fills itself."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._files = ArrayStore(folder, self.NAME)
        self._forget("")
        generation, now = store.changefeed.stand()
        with locked(folder):
            change = self._files.load(self._stand(generation), now, self._read)
        if change is None:
            self._forget("")
        else:
            self._generation, self.change = generation, change

    def __getitem__(self, name: str) -> Columns:
        return self._columns[name]

    def _read_fed(self) -> dict[str, int]:
        """Take in the rows that were written since; how many, by table."""
        counts = {}
        for name in self.FED:
            rows = self._store.changefeed.since(name, self.change)
            self._columns[name].put(rows)
            counts[name] = len(rows)
        return counts

    def _purged(self) -> Ints:
        """The nodes that were purged since."""
        rows = self._store.changefeed.since("purged", self.change)
        return np.array([row[0] for row in rows], np.int64)

    def _forget(self, generation: str) -> None:
        tables = {**self.FED, **self.OWN}
        self._columns = {name: Columns(key, types) for name, (key, types) in tables.items()}
        self._generation, self.change = generation, 0

    def _read(self, folder: Path) -> None:
        for name, columns in self._columns.items():
            columns.load(folder, name)

    def _write(self, folder: Path) -> None:
        for name, columns in self._columns.items():
            columns.save(folder, name)

    def _save(self) -> None:
        with locked(self._folder):
            self._files.save(self._stand(self._generation), self.change, self._write)

    def _stand(self, generation: str) -> dict[str, Any]:
        """Which memory and which format the files are of."""
        return {"format": self.FORMAT, "generation": generation}
