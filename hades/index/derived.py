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
SAVED_SHARE = 0.01
"""Rows that came little by little are saved when this share of all is new: a save writes all."""
TableTypes = dict[str, dict[str, Any]]
"""For each table, the types of its columns; the first column is the key."""


class Derived:
    """Tables at one change number. They are rebuilt if their files are damaged.

    A subclass that saves more than its tables adds the rest to `_parts` in `_forget`.
    """

    NAME: ClassVar[str]
    FORMAT: ClassVar[int]
    FED: ClassVar[TableTypes]
    """Tables that the changefeed has under the same name."""
    OWN: ClassVar[TableTypes] = {}
    """Tables that the class fills itself."""

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
            loaded = self._files.load(self._revision(generation), now)
        try:
            if loaded is not None:
                self._take(loaded[1])
                self.generation = generation
                self.change = loaded[0]
        except UNREADABLE:
            self._forget("")

    def __getitem__(self, name: str) -> Columns:
        return self._columns[name]

    def _read_fed(self) -> dict[str, int]:
        """Insert the rows written since the last change. Return their number per table."""
        counts = {}
        for name in self.FED:
            rows = self._owned(name, self.store.changefeed.since(name, self.change))
            self._columns[name].put(rows)
            counts[name] = len(rows)
        return counts

    def _owned(self, name: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        """Return the rows to insert: here, all. A subclass leaves out rows of missing chunks."""
        return rows

    def _purged(self) -> Ints:
        """Return the nodes that were purged since the last change."""
        rows = self.store.changefeed.since("purged", self.change)
        return np.array([row[0] for row in rows], np.int64)

    def _forget(self, generation: str) -> None:
        """Empty all tables and set the new generation. The next catch-up reads everything."""
        tables = {**self.FED, **self.OWN}
        self._columns = {name: Columns(types) for name, types in tables.items()}
        self._parts: dict[str, Stored] = {**self._columns}
        self.generation = generation
        self.change = 0
        self._unsaved = 0
        """How many rows were inserted since the last save."""

    def _take(self, arrays: Mapping[str, Array]) -> None:
        for name, part in self._parts.items():
            part.take(name, arrays)

    def _save_from(self, least: int, new: int) -> None:
        """Save if at least `least` rows were inserted now, or many since the last save.

        Many are `least` and SAVED_SHARE of all rows. Saved rows are mapped from the file, so a
        process that runs for weeks stays small.
        """
        self._unsaved += new
        many = max(least, SAVED_SHARE * sum(map(len, self._columns.values())))
        if new >= least or self._unsaved >= many:
            self._unsaved = 0
            self._save()

    def _save(self) -> None:
        """Save everything and use the mapped arrays from now on. A failed write is logged only."""
        if not self._saved:
            return
        arrays: dict[str, Array | Sequence[Array]] = {}
        for name, part in self._parts.items():
            arrays.update(part.arrays(name))
        try:
            with locked(self.folder):
                self._take(self._files.save(self._revision(self.generation), self.change, arrays))
        except OSError as error:
            _LOG.warning("the index %s cannot be written: %s", self.folder / self.NAME, error)

    def _revision(self, generation: str) -> dict[str, Any]:
        """Return the format and the generation of the memory that the files belong to."""
        return {"format": self.FORMAT, "generation": generation}
