"""Database: the interface between the store and a database engine.

This package is written once, in SQL that both engines understand, using the members of this class.
Values of a statement are `?`, `?1` or `:name`. A list is one value, tested by `= ANY(?1)` or
`<> ALL(?1)`; a pattern is a `Glob`, tested by `GLOB`. `json_has(a, b)` tests whether a JSON list
contains a text. Flags in tables are the numbers 0 and 1.

In both engines writers run one at a time, so change numbers become visible in order: an index that
has read up to a number never misses a lower one.
"""

from __future__ import annotations

import threading
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from hades.domain.times import DAY_MICROSECONDS, FOREVER, AsOf, Clock, from_micros, to_micros
from hades.errors import Corrupt, Denied, InvalidInput, Unavailable
from hades.store.catalogue import TABLES, quoted
from hades.store.records import EMBEDDED, Problem, Write

Made = TypeVar("Made")
_LAST_CHANGE = "SELECT number, at FROM changes ORDER BY number DESC LIMIT 1"
NO_LIMIT = 1 << 40
"""A limit larger than any table."""
_YEAR_MICROSECONDS = 365 * DAY_MICROSECONDS
JUMP_AT_MOST_YEARS = 20
"""A write later than this after the last one is refused: the clock must be wrong. Since the times
of writes only grow, all later writes would get the wrong time, too."""
SET_THE_CLOCK = "set the clock right, or if it is right, run `hades check --repair`"


def jump(now: int, last: int) -> str:
    """Describe how far the clock is ahead of the last write, or return "" if that is plausible."""
    years = (now - last) // _YEAR_MICROSECONDS
    if not last or now - last <= JUMP_AT_MOST_YEARS * _YEAR_MICROSECONDS:
        return ""
    return f"The clock says {from_micros(now):%Y-%m-%d}, {years} years after the last write"


class Busy(Unavailable):
    """A write waited too long for another writer: it can be tried again."""


class intact:
    """A context: a stored value in it that cannot be read raises Corrupt, which says that `what` is
    damaged.

    This is a class because every read of a state uses it: a generator takes four times as long.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, ValueError | KeyError | TypeError | OverflowError | zlib.error):
            raise Corrupt(f"{self._what} is damaged ({error}): run `hades check`.") from error


def believed(row: str, known: str) -> str:
    """Return the SQL condition that a row (a table alias) is believed at a known time."""
    return (
        f"{row}.recorded_at <= {known} AND ({row}.retired_at IS NULL OR {row}.retired_at > {known})"
    )


def holds(row: str, valid: str) -> str:
    """Return the SQL condition that a row (a table alias) holds at a valid time."""
    return f"{row}.valid_from <= {valid} AND ({row}.valid_to IS NULL OR {row}.valid_to > {valid})"


@lru_cache(maxsize=256)
def inserting(table: str, columns: tuple[str, ...]) -> str:
    """Return the statement that inserts a row with values for these columns."""
    return f"INSERT INTO {table} ({quoted(columns)}) VALUES ({', '.join('?' * len(columns))})"


class Glob(str):
    """A shell pattern for names: `*`, `?` and `[a-z]`."""

    __slots__ = ()


class _Cancelled(Exception):
    """Raised to undo a write that would change nothing."""


class Local(threading.local):
    """The state of a thread's transaction."""

    def __init__(self) -> None:
        self.reading = False
        self.kept: dict[Any, Any] | None = None
        """Cache of `once` for the current transaction. Nobody else can change these rows."""
        self.afterwards: list[Callable[[], object]] = []


class Database(ABC):
    """The tables of one memory, and the transactions on them."""

    place: str
    """Its name in messages: a path, or an address without the password."""
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

    # Implemented by each engine

    @abstractmethod
    def rows(self, sql: str, *values: Any, **named: Any) -> list[Any]:
        """Return all rows of a query. Pass its values in order or by name."""

    @abstractmethod
    def batches(self, at_once: int, sql: str, *values: Any) -> Iterator[list[Any]]:
        """Yield the rows of a query, `at_once` rows at a time."""

    @abstractmethod
    def run(self, sql: str, *values: Any) -> int:
        """Run a statement that writes, inside a transaction. Return the number of rows."""

    @abstractmethod
    def run_many(self, sql: str, values: list[tuple[Any, ...]]) -> None:
        """Run a statement once for each tuple of values."""

    @abstractmethod
    def insert(self, table: str, **values: Any) -> int:
        """Insert a row, given by column. Return its id, or any number if the table assigns none."""

    @property
    @abstractmethod
    def in_transaction(self) -> bool:
        """Whether this thread is inside a transaction or a snapshot."""

    @abstractmethod
    def _begin(self, *, writing: bool) -> None:
        """Begin a transaction. One for writing waits until no other writer is active."""

    @abstractmethod
    def _end(self, word: str) -> None:
        """Run COMMIT or ROLLBACK, or the corresponding statement for a savepoint."""

    @abstractmethod
    def patient(self, seconds: float) -> AbstractContextManager[None]:
        """Within the block, writes of this thread wait at most this long for other writers."""

    @abstractmethod
    def close(self) -> None:
        """Close the connections of all threads."""

    @abstractmethod
    def last_id(self, table: str, column: str) -> int:
        """Return the highest number that a table ever assigned to a row."""

    @abstractmethod
    def keep_ids(self, given: Mapping[str, int] | None = None) -> None:
        """Make sure that no number of an existing row is assigned again.

        `given` maps a table to a number up to which none may be assigned either.
        """

    @abstractmethod
    def size(self) -> int:
        """Return the size of the memory in bytes."""

    @abstractmethod
    def damage(self) -> list[Problem]:
        """Return the damage that the engine itself finds."""

    @abstractmethod
    def maintain(self) -> dict[str, Callable[[], object]]:
        """Return a function for each kind of owed work. It returns whether the work is done."""

    @property
    @abstractmethod
    def files(self) -> Path:
        """Indexes, uploads and other files of this memory are placed beside this path."""

    # Reading

    def row(self, sql: str, *values: Any, **named: Any) -> Any:
        """Return the first row, or None."""
        rows = self.rows(sql, *values, **named)
        return rows[0] if rows else None

    def value(self, sql: str, *values: Any, **named: Any) -> Any:
        """Return the first value of the first row, or None."""
        row = self.row(sql, *values, **named)
        return None if row is None else row[0]

    def number(self, sql: str, *values: Any, **named: Any) -> int | None:
        """Return `value` of a query for a whole number."""
        value: int | None = self.value(sql, *values, **named)
        return value

    def text(self, sql: str, *values: Any, **named: Any) -> str | None:
        """Return `value` of a query for a text."""
        value: str | None = self.value(sql, *values, **named)
        return value

    def column(self, sql: str, *values: Any, **named: Any) -> list[Any]:
        """Return the first value of every row."""
        return [row[0] for row in self.rows(sql, *values, **named)]

    def once(self, sql: str, *values: Any) -> Any:
        """Return the first row, cached within a transaction, where nobody else can change it."""
        kept = self._local.kept
        key = (sql, values)
        if kept is None:
            return self.row(sql, *values)
        if kept.get(key) is None:
            kept[key] = self.row(sql, *values)
        return kept[key]

    def shared(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """Return the result of `make`, cached within a snapshot, where nothing changes."""
        kept = self._local.kept if self._local.reading else None
        if kept is None:
            return make()
        if key not in kept:
            kept[key] = make()
        made: Made = kept[key]
        return made

    def look_again(self) -> None:
        """Clear the cache of `once`. Call it after changing a cached row in this transaction."""
        if self._local.kept is not None:
            self._local.kept = {}

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within the block, all reads see the same moment, even if others write."""
        if self.in_transaction:
            yield
            return
        self._begin(writing=False)
        self._local.reading = True
        self._local.kept = {}
        try:
            yield
        finally:
            self._local.reading = False
            self._local.kept = None
            if self.in_transaction:
                self._end("ROLLBACK")

    # Writing

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all writes of the block together. A nested block can be undone alone."""
        if self.read_only:
            raise Denied(f"{self.place} is open for reading only.")
        nested = self.in_transaction
        if self._local.reading:
            raise InvalidInput("A snapshot is for reading: leave it, then write.")
        if nested:
            self.run("SAVEPOINT part")
        else:
            self._begin(writing=True)
            self._local.afterwards = []
            self._local.kept = {}
        try:
            yield
            self._end("RELEASE SAVEPOINT part" if nested else "COMMIT")
        except BaseException:
            self.look_again()  # ids of undone rows may be assigned again
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
            calls = self._local.afterwards
            self._local.afterwards = []
            for call in calls:
                call()

    def afterwards(self, call: Callable[[], object]) -> None:
        """Call a function after the current transaction is committed."""
        self._local.afterwards.append(call)

    @contextmanager
    def write(self, actor: str, action: str, space: int | None = None) -> Iterator[Write]:
        """Run the block as one transaction, logged as one change. A cancelled write is undone."""
        try:
            with self.transaction():
                last = self.once(_LAST_CHANGE)
                write = Write(1, self.write_clock(), space)
                if last:
                    if jumped := jump(write.at, last[1]):
                        raise Unavailable(f"{jumped}: {SET_THE_CLOCK}.")
                    write = Write(last[0] + 1, max(write.at, last[1] + 1), space)
                yield write
                if write.cancelled:
                    raise _Cancelled
                if write.logged:
                    self.run(
                        "INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?)",
                        write.change,
                        write.at,
                        self.actor_id(actor),
                        action,
                        write.space,
                        write.subject,
                    )
                    if self._local.kept is not None:
                        self._local.kept[_LAST_CHANGE, ()] = write.change, write.at
        except _Cancelled:
            pass

    def load(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        """Insert many whole rows, with values in the order of the columns."""
        self.run_many(inserting(table, tuple(TABLES[table].columns)), rows)

    def upsert(self, table: str, keys: tuple[str, ...], **values: Any) -> None:
        """Insert a row, or update the row that has the same keys."""
        others = [name for name in values if name not in keys]
        self.run(
            f"{inserting(table, tuple(values))} ON CONFLICT ({', '.join(keys)}) DO UPDATE SET "
            + ", ".join(f"{name} = excluded.{name}" for name in others),
            *values.values(),
        )

    def actor_id(self, name: str) -> int:
        """Return the number of an actor, adding the actor if needed."""
        row = self.once("SELECT id FROM actors WHERE name = ?", name)
        return row[0] if row else self.insert("actors", name=name)

    def relation_id(self, name: str) -> int:
        """Return the number of a relation, adding it if needed."""
        row = self.once("SELECT id FROM relations WHERE name = ?", name)
        return row[0] if row else self.insert("relations", name=name)

    def risks(self) -> list[Problem]:
        """Return settings of the engine under which damage would go unnoticed."""
        return []

    # Time

    def write_clock(self) -> int:
        """Return the time for a write. PostgreSQL limits some roles to the server's clock."""
        return self.clock()

    def within(self, seconds: float | None) -> AbstractContextManager[None]:
        """Within the block, limit each query of this thread's snapshot to this time.

        None removes the limit. An engine that cannot stop a query ignores it.
        """
        return nullcontext()

    # Facts about the memory

    def sees_all(self) -> bool:
        """Return whether the caller sees all rows of the memory now."""
        return True

    def change(self) -> int:
        """Return the number of the last change, or 0."""
        last = self.once(_LAST_CHANGE)
        return last[0] if last else 0

    def now(self) -> int:
        """Return the time now, but at least that of the last write, so that a clock set back hides
        no states."""
        last = self.once(_LAST_CHANGE)
        # All reads of a snapshot use one moment.
        return self.shared("now", lambda: max(self.clock(), last[1] if last else -FOREVER))

    def moment(self, as_of: AsOf) -> tuple[int, int]:
        """Return an AsOf as (valid, known) in microseconds. Without a known time, all is known."""
        known = FOREVER if as_of.known is None else to_micros(as_of.known)
        if as_of.valid is not None:
            return to_micros(as_of.valid), known
        return min(self.now(), known), known

    def named_moment(self, as_of: AsOf) -> dict[str, int]:
        """Return the same as `moment`, as the values of a statement with :valid and :known."""
        return dict(zip(("valid", "known"), self.moment(as_of), strict=True))

    def meta(self, key: str) -> str | None:
        """Return a named fact about the memory, or None."""
        return self.text("SELECT value FROM meta WHERE key = ?", key)

    def set_meta(self, key: str, value: str) -> None:
        """Store a fact about the memory. Call it inside a write."""
        self.upsert("meta", ("key",), key=key, value=value)


class StorePart:
    """A part of the store, which reads and writes the rows of one subject."""

    def __init__(self, database: Database) -> None:
        self._database = database
