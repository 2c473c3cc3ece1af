"""Database: the seam between what is remembered and the engine that keeps it.

Everything in this package is written once, as SQL that both engines understand, over the
members of this class. A statement's values stand as `?`, `?1` or `:name`; a list is one value,
tested by `= ANY(?1)` or `<> ALL(?1)`; a pattern is a `Glob`, tested by `GLOB`. `json_has(a, b)`
says that a JSON list has a text. Flags are the numbers 0 and 1 in tables.

Whatever the engine, writers come one after another, so that change numbers become visible in
their order: an index that has read up to one never misses a lower one.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

from hades.domain.times import FOREVER, AsOf, Clock, to_micros
from hades.errors import Denied, InvalidInput, Unavailable
from hades.store.clocks import SET_THE_CLOCK, has_jumped, jump
from hades.store.records import EMBEDDED, Problem, Write
from hades.store.schema import COLUMNS

_LAST_CHANGE = "SELECT number, at FROM changes ORDER BY number DESC LIMIT 1"
NO_LIMIT = 1 << 40
"""A limit that none of our tables reaches."""


def believed(row: str, known: str) -> str:
    """That a row is believed at a known time: it was recorded, and not retired."""
    return (
        f"{row}.recorded_at <= {known} AND ({row}.retired_at IS NULL OR {row}.retired_at > {known})"
    )


def holds(row: str, valid: str) -> str:
    """That what a row says is true at a valid time."""
    return f"{row}.valid_from <= {valid} AND ({row}.valid_to IS NULL OR {row}.valid_to > {valid})"


@lru_cache(maxsize=256)
def inserting(table: str, columns: tuple[str, ...]) -> str:
    """The statement that inserts a row."""
    names = ", ".join(f'"{name}"' for name in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"


class Glob(str):
    """A pattern of names, as shells have it: `*`, `?` and `[a-z]`."""

    __slots__ = ()


class _Cancelled(Exception):
    """Undoes a write that has nothing to say."""


class Local(threading.local):
    """What is under way in one thread."""

    def __init__(self) -> None:
        self.reading = False
        self.kept: dict[Any, Any] | None = None
        """What was looked up in the transaction under way, where nobody else can change it."""
        self.afterwards: list[Callable[[], object]] = []


class Database(ABC):
    """The tables of one memory, and the transactions on them."""

    place: str
    """How messages call it: a path, or an address without its password."""
    embedded = EMBEDDED
    """Key prefix for the embedding progress in `meta`. A role that sees fewer rows has its own."""

    owes = ""
    """Suffix of the rows in `owed` that this role recorded; empty for a role that sees all rows."""

    def __init__(self, *, read_only: bool, busy_timeout_s: float, clock: Clock) -> None:
        self.read_only = read_only
        self.busy_timeout_s = busy_timeout_s
        self.clock = clock
        self.on_undo: list[Callable[[], object]] = []
        """Called when a transaction, or a part of one, is undone."""
        self._local = Local()

    # What an engine does its own way

    @abstractmethod
    def rows(self, sql: str, *values: Any, **named: Any) -> list[Any]:
        """All rows of a statement, its values given in order or by name."""

    @abstractmethod
    def batches(self, at_once: int, sql: str, *values: Any) -> Iterator[list[Any]]:
        """The rows of a statement as they are read, so many at once."""

    @abstractmethod
    def run(self, sql: str, *values: Any) -> int:
        """A statement that changes something, inside a transaction; how many rows."""

    @abstractmethod
    def run_many(self, sql: str, values: list[tuple[Any, ...]]) -> None:
        """The same statement with many values."""

    @abstractmethod
    def insert(self, table: str, **values: Any) -> int:
        """Insert a row, its values given by column; its id, where the table gives one."""

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether this thread is inside a write or a snapshot."""

    @abstractmethod
    def _begin(self, *, writing: bool) -> None:
        """Begin a transaction; one for writing waits until no other writer is left."""

    @abstractmethod
    def _end(self, word: str) -> None:
        """COMMIT or ROLLBACK, or the same of a part."""

    @abstractmethod
    def patient(self, seconds: float) -> AbstractContextManager[None]:
        """Inside, this thread's writes wait so long for another's end."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections of all threads; what was written stays written."""

    @abstractmethod
    def last_id(self, table: str, column: str) -> int:
        """The highest number a table ever gave to a row."""

    @abstractmethod
    def keep_ids(self, given: Mapping[str, int] | None = None) -> None:
        """After rows came with numbers of their own: give none of these out again, nor those
        up to the one `given` for a table."""

    @abstractmethod
    def size(self) -> int:
        """The bytes all of it takes."""

    @abstractmethod
    def damage(self) -> list[Problem]:
        """What the engine itself finds damaged."""

    @abstractmethod
    def maintain(self) -> dict[str, Callable[[], object]]:
        """How what is owed after an erasure is done here; each says whether it was."""

    @property
    @abstractmethod
    def files(self) -> Path:
        """The path beside which lie indexes, uploads and other files of this memory."""

    # Reading

    def row(self, sql: str, *values: Any, **named: Any) -> Any:
        """The first row, or None."""
        found = self.rows(sql, *values, **named)
        return found[0] if found else None

    def value(self, sql: str, *values: Any, **named: Any) -> Any:
        """The first value of the first row, or None."""
        found = self.row(sql, *values, **named)
        return None if found is None else found[0]

    def column(self, sql: str, *values: Any, **named: Any) -> list[Any]:
        """The first value of every row."""
        return [row[0] for row in self.rows(sql, *values, **named)]

    def once(self, sql: str, *values: Any) -> Any:
        """The first row, read once in a transaction: nobody else can change it meanwhile."""
        kept, key = self._local.kept, (sql, values)
        if kept is None:
            return self.row(sql, *values)
        if kept.get(key) is None:
            kept[key] = self.row(sql, *values)
        return kept[key]

    def look_again(self) -> None:
        """Keep nothing of what was read `once`: this very transaction changed some of it."""
        if self._local.kept is not None:
            self._local.kept = {}

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside sees the same moment, whoever writes meanwhile."""
        if self.in_transaction:
            yield
            return
        self._begin(writing=False)
        self._local.reading, self._local.kept = True, {}
        try:
            yield
        finally:
            self._local.reading, self._local.kept = False, None
            if self.in_transaction:
                self._end("ROLLBACK")

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes inside become one commit; inside another, a part that can fail alone."""
        if self.read_only:
            raise Denied(f"{self.place} is open for reading only.")
        nested = self.in_transaction
        if self._local.reading:
            raise InvalidInput("A snapshot is for reading: leave it, then write.")
        if nested:
            self.run("SAVEPOINT part")
        else:
            self._begin(writing=True)
            self._local.afterwards, self._local.kept = [], {}
        try:
            yield
            self._end("RELEASE SAVEPOINT part" if nested else "COMMIT")
        except BaseException:
            self.look_again()  # ids of what was undone are given anew
            if self.in_transaction:
                self._end("ROLLBACK TO SAVEPOINT part" if nested else "ROLLBACK")
                for forget in self.on_undo:
                    forget()
                if nested:
                    self._end("RELEASE SAVEPOINT part")
            raise
        finally:
            if not nested:
                self._local.kept = None
        if not nested:
            calls, self._local.afterwards = self._local.afterwards, []
            for call in calls:
                call()

    def afterwards(self, call: Callable[[], object]) -> None:
        """Do something once the transaction under way is committed."""
        self._local.afterwards.append(call)

    @contextmanager
    def write(self, actor: str, action: str, space: int | None = None) -> Iterator[Write]:
        """One logged write: it happens whole, under one number, or not at all."""
        try:
            with self.transaction():
                last = self.once(_LAST_CHANGE)
                write = Write(1, self.write_clock(), space)
                if last:
                    if has_jumped(write.at, last[1]):
                        raise Unavailable(f"{jump(write.at, last[1])}: {SET_THE_CLOCK}.")
                    write = Write(last[0] + 1, max(write.at, last[1] + 1), space)
                yield write
                if write.cancelled:
                    raise _Cancelled
                if write.logged:
                    self.run(
                        "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?)",
                        *(write.change, write.at, self.actor_id(actor)),
                        *(action, write.space, write.subject),
                    )
                    if self._local.kept is not None:
                        self._local.kept[_LAST_CHANGE, ()] = write.change, write.at
        except _Cancelled:
            pass

    def load(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        """Insert many whole rows, as fast as the engine can."""
        names = [f'"{name}"' for name in COLUMNS[table]]
        marks = ", ".join("?" * len(names))
        self.run_many(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({marks})", rows)

    def upsert(self, table: str, keys: tuple[str, ...], **values: Any) -> None:
        """Insert a row, or where its keys are there already give it the other values."""
        others = [name for name in values if name not in keys]
        self.run(
            f"{inserting(table, tuple(values))} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET "
            + ", ".join(f"{name} = excluded.{name}" for name in others),
            *values.values(),
        )

    def actor_id(self, name: str) -> int:
        """The small number that stands for who is writing."""
        found = self.once("SELECT id FROM actors WHERE name = ?", name)
        return found[0] if found else self.insert("actors", name=name)

    def relation_id(self, name: str) -> int:
        """The small number that stands for a type of edge."""
        found = self.once("SELECT id FROM relations WHERE name = ?", name)
        return found[0] if found else self.insert("relations", name=name)

    def risks(self) -> list[Problem]:
        """What is not damaged, but may be one day without anybody noticing."""
        return []

    # Time

    def write_clock(self) -> int:
        """Return the time for a write. PostgreSQL limits some roles to the server's clock."""
        return self.clock()

    def within(self, seconds: float | None) -> AbstractContextManager[None]:
        """Inside, a statement of this thread's snapshot runs no longer; None: as long as any.

        An engine that cannot stop a statement sets no limit.
        """
        return nullcontext()

    # Facts about the memory

    def sees_all(self) -> bool:
        """Return whether the caller sees all rows of the memory now."""
        return True

    def change(self) -> int:
        """The number of the last committed write."""
        last = self.once(_LAST_CHANGE)
        return last[0] if last else 0

    def now(self) -> int:
        """Now, and never before the last write: a clock set back hides nothing."""
        kept = self._local.kept if self._local.reading else None
        if kept and "now" in kept:  # one moment for all that is read in a snapshot
            return int(kept["now"])
        last = self.once(_LAST_CHANGE)
        now = max(self.clock(), last[1]) if last else self.clock()
        if kept is not None:
            kept["now"] = now
        return now

    def moment(self, as_of: AsOf) -> tuple[int, int]:
        """An AsOf as (valid, known) in microseconds; an open known axis sees everything."""
        known = FOREVER if as_of.known is None else to_micros(as_of.known)
        if as_of.valid is not None:
            return to_micros(as_of.valid), known
        return min(self.now(), known), known

    def meta(self, key: str) -> str | None:
        """A named fact about the memory."""
        found: str | None = self.value("SELECT value FROM meta WHERE key = ?", key)
        return found

    def set_meta(self, key: str, value: str) -> None:
        """Note a fact about the memory; inside a write."""
        self.upsert("meta", ("key",), key=key, value=value)
