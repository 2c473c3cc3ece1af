"""Columns: a table as numpy arrays, updated by key."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from hades.domain.times import FOREVER
from hades.graph.arrays import Flags, Ints
from hades.index.array_store import Array

ROOM_TO_GROW = 1.1
"""Factor by which a full array grows, so that appending rarely copies it."""


class Columns:
    """Named arrays of one length, sorted by the first, which is the unique key of a row.

    No row of an array is ever overwritten, so a snapshot never changes.
    """

    def __init__(self, types: Mapping[str, Any]) -> None:
        self._key = next(iter(types))
        self._types = dict(types)
        self._arrays: dict[str, Array] = {
            name: np.zeros(0, kind) for name, kind in self._types.items()
        }

    def __len__(self) -> int:
        return len(self._arrays[self._key])

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]

    def snapshot(self) -> Columns:
        """Return the current rows; later changes do not show in it."""
        return copy.copy(self)

    def put(self, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows; a row with a known key replaces the old one."""
        if not rows:
            return
        new = {
            name: np.array(column, self._types[name])
            for name, column in zip(self._types, zip(*rows, strict=True), strict=True)
        }
        self.put_arrays(new)

    def put_arrays(self, new: Mapping[str, Array]) -> None:
        """Insert rows given as one array per column; a row with a known key replaces the old."""
        order = np.argsort(new[self._key], kind="stable")
        keys = new[self._key][order]
        known = self._arrays[self._key]
        at = np.searchsorted(known, keys)
        same = known[np.minimum(at, len(known) - 1)] == keys if len(known) else at < 0
        fresh = ~same
        at_end = not fresh.any() or at[fresh][0] == len(known)
        merged = {}
        for name, array in self._arrays.items():
            values = new[name][order]
            if same.any():
                array = array.copy()
                array[at[same]] = values[same]
            own = values[fresh]
            merged[name] = _longer(array, own) if at_end else np.insert(array, at[fresh], own)
        self._arrays = merged

    def append(self, new: Mapping[str, Array]) -> None:
        """Append rows at the end, by one array per column, even if their keys are not in order."""
        self._arrays = {name: _longer(array, new[name]) for name, array in self._arrays.items()}

    def set(self, name: str, values: Array) -> None:
        """Replace the values of one column."""
        self._arrays = {**self._arrays, name: values.astype(self._types[name])}

    def drop(self, keys: Array) -> None:
        """Remove rows by key."""
        self.keep(~np.isin(self._arrays[self._key], keys))

    def keep(self, mask: Flags) -> None:
        """Remove the rows where the mask is False."""
        if not mask.all():
            self._arrays = {name: array[mask] for name, array in self._arrays.items()}

    def arrays(self, name: str) -> dict[str, Array]:
        """Return the columns, to be saved, each as `name.column`."""
        return {f"{name}.{column}": array for column, array in self._arrays.items()}

    def take(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Restore the columns from saved arrays. Raise ValueError if their lengths differ."""
        self._arrays = {
            column: arrays[f"{name}.{column}"].view(kind) for column, kind in self._types.items()
        }
        if len({len(array) for array in self._arrays.values()}) > 1:
            raise ValueError(f"the columns of {name} have different lengths")


class RowsById:
    """Values of chunks or of edges, one row each. The column `chunk` has the id of either."""

    _rows: Columns

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def chunks(self) -> Ints:
        """The id of the chunk or edge of each row."""
        return self._rows["chunk"]

    def snapshot(self) -> Self:
        """Return the current rows; later changes do not show in it."""
        taken = copy.copy(self)
        taken._rows = self._rows.snapshot()
        return taken


def next_time(times: Array, after: int) -> int:
    """Return the earliest of these unsorted times that is later than `after`, or FOREVER."""
    return int(times[times > after].min(initial=FOREVER))


def _longer(array: Array, values: Array) -> Array:
    """Return an array with values appended, in the same buffer if that has room."""
    first = len(array)
    end = len(array) + len(values)
    room = array.base
    is_room = isinstance(room, np.ndarray) and room.flags.writeable and room.dtype == array.dtype
    if room is None or not is_room or len(room) < end:
        room = np.empty(int(end * ROOM_TO_GROW), array.dtype)
        room[:first] = array
    room[first:end] = values
    return room[:end]
