"""Kept lists: the first rows of a list in the store, cached in the process and kept up to date.

A list is sorted by a key, the highest first. After a write only the rows that it touched are read.
The list is read again if too many kept rows are gone (the rows after them are unknown), after a
change that may do more than add rows, and when time alone may change it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hades.store.database import Database

LISTS_AT_MOST = 32
SPARE = 2
"""A list keeps this many times the rows that were asked for."""
ADDING = frozenset(
    {
        "remember",
        "forget",
        "withdraw",
        "promote",
        "consolidate",
        "ingest",
        "relate",
        "unrelate",
        "change_fact",
        "resolve",
        "prune",
        "propose",
        "approve",
        "reject",
        "refuse",
        "add_alias",
        "mention",
        "feedback",
        "cut",
        "embed",
        "link",
        "match",
        "organise",
        "set_inverse",
    }
)
"""Actions that add states, or beliefs about edges, and change no other row of a list."""


@dataclass(frozen=True, slots=True)
class Stand:
    """How far a list has read: the generation, the last change, and the last state."""

    generation: str
    change: int
    state: int


@dataclass(frozen=True, slots=True)
class _KeptList:
    stand: Stand
    until: int
    """The time from which rows may differ without a write."""
    rows: Sequence[Any]
    is_cut: bool
    """Whether there are further rows."""


@dataclass(frozen=True, slots=True)
class ListReader:
    """How to read a list. Rows are tuples, the first value being the id."""

    read: Callable[[int, Collection[Any] | None], list[Any]]
    """Returns the first rows, at most so many, or of these ids only."""
    touched: Callable[[Stand, int], Collection[Any] | None]
    """Returns the ids whose rows may have changed since; None if all may have."""
    until: Callable[[int], int]
    """Returns the time from which rows may differ without a write."""
    id_of: Callable[[Any], Any]
    key: Callable[[Any], tuple[int, int]]


class KeptLists:
    """The lists of one store. Threads may share it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, _KeptList] = OrderedDict()
        database.on_undo.append(self._clear)  # a list may have been read inside the transaction

    def first(self, name: Hashable, limit: int, now: int, reader: ListReader) -> list[Any]:
        """Return the first `limit` rows of a list at the moment `now`, inside a snapshot."""
        stand = self._stand()
        with self._lock:
            kept = self._kept.get(name)
        if kept is not None:
            kept = self._renewed(kept, stand, limit, now, reader)
        if kept is None:
            rows = reader.read(limit * SPARE + 1, None)
            is_cut = len(rows) > limit * SPARE
            kept = _KeptList(stand, reader.until(now), rows[: limit * SPARE], is_cut)
        with self._lock:
            self._kept[name] = kept
            self._kept.move_to_end(name)
            while len(self._kept) > LISTS_AT_MOST:
                self._kept.popitem(last=False)
        return list(kept.rows[:limit])

    def _clear(self) -> None:
        with self._lock:
            self._kept.clear()

    def _stand(self) -> Stand:
        return Stand(
            *self._database.row(
                "SELECT coalesce((SELECT value FROM meta WHERE key = 'generation'), ''), "
                "coalesce((SELECT max(number) FROM changes), 0), "
                "coalesce((SELECT max(id) FROM states), 0)"
            )
        )

    def _renewed(
        self, kept: _KeptList, stand: Stand, limit: int, now: int, reader: ListReader
    ) -> _KeptList | None:
        """Return a kept list at another stand; None if it must be read again."""
        if kept.stand == stand and now < kept.until:
            return kept
        if kept.stand.generation != stand.generation or now >= kept.until:
            return None
        if stand.change < kept.stand.change:  # this snapshot is older than the list
            return None
        actions = self._database.column(
            "SELECT DISTINCT action FROM changes WHERE number > ?", kept.stand.change
        )
        if not ADDING.issuperset(actions):
            return None
        touched = reader.touched(kept.stand, now)
        if touched is None or len(touched) > limit:
            return None
        rows = [row for row in kept.rows if reader.id_of(row) not in touched]
        rows += reader.read(limit * SPARE, touched) if touched else []
        rows.sort(key=reader.key, reverse=True)
        if kept.is_cut:  # rows below the last kept one may follow others that are unknown
            last = reader.key(kept.rows[-1])
            rows = [row for row in rows if reader.key(row) >= last]
            if len(rows) < limit:
                return None
        rest = rows[limit * SPARE :]
        return replace(
            kept, stand=stand, rows=rows[: limit * SPARE], is_cut=kept.is_cut or bool(rest)
        )
