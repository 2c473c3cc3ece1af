"""Columns: rows kept as numpy arrays, brought up to date by key, saved as plain files."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hades.graph.arrays import Flags
from hades.index.array_store import Array

ROOM_TO_GROW = 1.1
"""Rows at the end are written into arrays this much longer, so that few of them are copied."""


class Columns:
    """Named arrays of one length, sorted by the first, which is the key that tells rows apart.

    No row of an array is ever written twice: so what `snapshot` gives stays as it is.
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
        """The rows as they are now, whatever is put later."""
        return copy.copy(self)

    def put(self, rows: Sequence[Sequence[Any]]) -> None:
        """Take rows in; those whose key is known already replace it."""
        if not rows:
            return
        new = {
            name: np.array(column, self._types[name])
            for name, column in zip(self._types, zip(*rows, strict=True), strict=True)
        }
        self.put_arrays(new)

    def put_arrays(self, new: Mapping[str, Array]) -> None:
        """The same, from arrays. Rows stay sorted by key, and those known keep their place."""
        order = np.argsort(new[self._key], kind="stable")
        keys = new[self._key][order]
        known = self._arrays[self._key]
        at = np.searchsorted(known, keys)
        same = known[np.minimum(at, len(known) - 1)] == keys if len(known) else at < 0
        fresh = ~same
        at_end = not fresh.any() or at[fresh][0] == len(known)
        made = {}
        for name, array in self._arrays.items():
            values = new[name][order]
            if same.any():
                array = array.copy()
                array[at[same]] = values[same]
            own = values[fresh]
            made[name] = _longer(array, own) if at_end else np.insert(array, at[fresh], own)
        self._arrays = made

    def append(self, new: Mapping[str, Array]) -> None:
        """Take rows in at the end, in whatever order they come: these are then not sorted."""
        self._arrays = {name: _longer(array, new[name]) for name, array in self._arrays.items()}

    def set(self, name: str, values: Array) -> None:
        """Give every row another value in one column."""
        self._arrays = {**self._arrays, name: values.astype(self._types[name])}

    def drop(self, keys: Array) -> None:
        """Let rows go, by key."""
        self.keep(~np.isin(self._arrays[self._key], keys))

    def keep(self, mask: Flags) -> None:
        """Keep the rows of a mask only."""
        if not mask.all():
            self._arrays = {name: array[mask] for name, array in self._arrays.items()}

    def arrays(self, name: str) -> dict[str, Array]:
        """Each column under a name of its own, to be saved."""
        return {f"{name}.{column}": array for column, array in self._arrays.items()}

    def take(self, name: str, arrays: Mapping[str, Array]) -> None:
        """Be the columns that were saved."""
        self._arrays = {
            column: arrays[f"{name}.{column}"].view(kind) for column, kind in self._types.items()
        }
        if len({len(array) for array in self._arrays.values()}) > 1:
            raise ValueError(f"the columns of {name} have different lengths")


def _longer(array: Array, values: Array) -> Array:
    """An array with more at its end, written into the room behind it where there is any."""
    first, end, room = len(array), len(array) + len(values), array.base
    is_room = isinstance(room, np.ndarray) and room.flags.writeable and room.dtype == array.dtype
    if room is None or not is_room or len(room) < end:
        room = np.empty(int(end * ROOM_TO_GROW), array.dtype)
        room[:first] = array
    room[first:end] = values
    return room[:end]
