"""Connections and transactions: how the file is opened, read, written and guarded.

Every thread has its own connection. A write takes the file's single write lock at
its start, gets the next change number, and is on disk when it returns
(write-ahead log, synchronous=FULL). Whatever SQLite raises leaves here as a
HadesError with one clear sentence.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hades.domain.times import FOREVER, AsOf, Clock, to_micros
from hades.errors import Denied, InvalidInput, Unavailable
from hades.store.clocks import SET_THE_CLOCK, has_jumped, jump
from hades.store.faults import translated
from hades.store.records import Write
from hades.store.schema import row_guard

_STATEMENTS_CACHED = 256
_CLOSED = "This memory is closed: open it again."


_inherited: list[object] = []
"""Connections of the parent process. After a fork the child must neither use nor close them."""


SCHEMA = "schema"
"""The key under which a checksum of the tables' definitions is noted."""


def add_functions(connection: sqlite3.Connection) -> None:
    """Give a connection what the tables need to be written."""
    connection.create_function("row_guard", -1, row_guard, deterministic=True)


class _ThreadConnection:
    """A thread's connection; it is closed when the thread ends, and this goes with it."""

    def __init__(self, connection: sqlite3.Connection, opened: set[sqlite3.Connection]) -> None:
        self.connection = connection
        self._opened = opened
        self._pid = os.getpid()
        opened.add(connection)

    def __del__(self) -> None:
        if self._pid == os.getpid():
            self._opened.discard(self.connection)
            self.connection.close()


class _Cancelled(Exception):
    """Undoes a write that has nothing to say."""


class Database:
    """One memory file and the connections to it."""

    def __init__(self, path: Path, *, read_only: bool, busy_timeout_s: float, clock: Clock) -> None:
        self.path = path
        self.read_only = read_only
        self.clock = clock
        self.busy_timeout_s = busy_timeout_s
        self._closed = False
        self.on_undo: list[Callable[[], object]] = []
        """Called when a transaction, or a part of one, is undone."""
        self._registered = _register(path)
        self._begin_process()

    # Connections

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection, opened when first asked for."""
        own: _ThreadConnection | None = getattr(self._local, "own", None)
        if own is None or self._closed or self._pid != os.getpid():
            own = self._connect()
        return own.connection

    def _begin_process(self) -> None:
        self._pid = os.getpid()
        self._local = threading.local()
        self._opened: set[sqlite3.Connection] = set()
        # Runs at `close`, or else when this is collected or Python ends.
        self._release = weakref.finalize(
            self, _close_all, self._opened, self._pid, self._registered
        )

    def _connect(self) -> _ThreadConnection:
        if self._closed:
            raise Unavailable(_CLOSED)
        if self._pid != os.getpid():
            _inherited.append((self._opened, self._local))
            self._release.detach()
            self._begin_process()
        with translated(self.path):
            own = self._local.own = _ThreadConnection(self._open_file(), self._opened)
        if self._closed:  # meanwhile, by another thread
            own.connection.close()
            raise Unavailable(_CLOSED)
        return own

    def _open_file(self) -> sqlite3.Connection:
        connection = self._open_uri("ro" if self.read_only else "rw")
        try:
            try:
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            except sqlite3.OperationalError:
                # A write-ahead log needs its index file; where none can be made (a folder
                # that is read-only) a file nobody writes to can still be read as it lies.
                if not self.read_only or Path(f"{self.path}-wal").exists():
                    raise
                connection.close()
                connection = self._open_uri("ro&immutable=1")
            if not self.read_only:
                connection.execute("PRAGMA synchronous=FULL")
                connection.execute("PRAGMA secure_delete=ON")
            connection.execute("PRAGMA mmap_size=268435456")
            connection.execute("PRAGMA cache_size=-65536")
        except BaseException:
            connection.close()
            raise
        return connection

    def _open_uri(self, mode: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self.path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=self.busy_timeout_s,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_STATEMENTS_CACHED,
        )
        add_functions(connection)
        return connection

    def close(self) -> None:
        """Close the connections of all threads; what was written stays written."""
        self._closed = True
        self._release()

    # Reading

    def rows(self, sql: str, *values: Any, **named: Any) -> list[Any]:
        """All rows of a statement, its values given in order or by name."""
        with translated(self.path):
            return self.connection.execute(sql, named or values).fetchall()

    def batches(self, at_once: int, sql: str, *values: Any) -> Iterator[list[Any]]:
        """The rows of a statement as they are read, so many at once."""
        with translated(self.path), closing(self.connection.execute(sql, values)) as cursor:
            while rows := cursor.fetchmany(at_once):
                yield rows

    def row(self, sql: str, *values: Any, **named: Any) -> Any:
        """The first row of a statement, or None."""
        with translated(self.path):
            return self.connection.execute(sql, named or values).fetchone()

    def value(self, sql: str, *values: Any, **named: Any) -> Any:
        """The first value of the first row, or None."""
        found = self.row(sql, *values, **named)
        return None if found is None else found[0]

    def column(self, sql: str, *values: Any, **named: Any) -> list[Any]:
        """The first value of every row."""
        return [row[0] for row in self.rows(sql, *values, **named)]

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Everything read inside sees the same moment, whoever writes meanwhile."""
        connection = self.connection
        if connection.in_transaction:
            yield
            return
        self.run("BEGIN")
        self._local.reading, self._local.now = True, None
        try:
            yield
        finally:
            self._local.reading = False
            if connection.in_transaction:
                connection.execute("ROLLBACK")

    # Writing

    @contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """Inside, this thread's writes wait so long for another's end."""
        self.run(f"PRAGMA busy_timeout={int(seconds * 1000)}")
        try:
            yield
        finally:
            if not self._closed:
                self.run(f"PRAGMA busy_timeout={int(self.busy_timeout_s * 1000)}")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All writes inside become one commit; inside another, a part that can fail alone."""
        if self.read_only:
            raise Denied(f"{self.path} is open for reading only.")
        connection = self.connection
        if getattr(self._local, "reading", False):
            raise InvalidInput("A snapshot is for reading: leave it, then write.")
        nested = connection.in_transaction
        begin, commit, undo = (
            ("SAVEPOINT part", "RELEASE part", "ROLLBACK TO part")
            if nested
            else ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
        )
        self.run(begin)
        if not nested:
            self._local.afterwards = []
        try:
            yield
            self.run(commit)
        except BaseException:
            if connection.in_transaction:
                connection.execute(undo)
                for forget in self.on_undo:
                    forget()  # ids of what was undone are given anew
                if nested:
                    connection.execute(commit)
            raise
        if not nested:
            calls, self._local.afterwards = self._local.afterwards, []
            for call in calls:
                call()

    def afterwards(self, call: Callable[[], object]) -> None:
        """Do something once the transaction under way is committed."""
        self._local.afterwards.append(call)

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside a write or a snapshot."""
        return self.connection.in_transaction

    @contextmanager
    def write(self, actor: str, action: str, space: int | None = None) -> Iterator[Write]:
        """One logged write: it happens whole, under one number, or not at all."""
        try:
            with self.transaction():
                last = self.row("SELECT number, at FROM changes ORDER BY number DESC LIMIT 1")
                write = Write(1, self.clock(), space)
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
        except _Cancelled:
            pass

    def run(self, sql: str, *values: Any) -> sqlite3.Cursor:
        """A statement that changes something; inside `write` or `transaction` only."""
        with translated(self.path):
            return self.connection.execute(sql, values)

    def insert(self, table: str, **values: Any) -> int:
        """Insert a row, its values given by column; its id."""
        names = ", ".join(f'"{name}"' for name in values)
        marks = ", ".join("?" * len(values))
        sql = f"INSERT INTO {table} ({names}) VALUES ({marks})"
        return int(self.run(sql, *values.values()).lastrowid or 0)

    def actor_id(self, name: str) -> int:
        """The small number that stands for who is writing."""
        found = self.value("SELECT id FROM actors WHERE name = ?", name)
        return found or self.insert("actors", name=name)

    def relation_id(self, name: str) -> int:
        """The small number that stands for a type of edge."""
        found = self.value("SELECT id FROM relations WHERE name = ?", name)
        return found or self.insert("relations", name=name)

    # Facts about the file

    def change(self) -> int:
        """The number of the last committed write."""
        return self.value("SELECT number FROM changes ORDER BY number DESC LIMIT 1") or 0

    def now(self) -> int:
        """Now, and never before the last write: a clock set back hides nothing."""
        if not getattr(self._local, "reading", False):
            return self._latest()
        if self._local.now is None:  # one moment for all that is read in a snapshot
            self._local.now = self._latest()
        return int(self._local.now)

    def _latest(self) -> int:
        last = self.value("SELECT at FROM changes ORDER BY number DESC LIMIT 1")
        return self.clock() if last is None else max(self.clock(), last)

    def moment(self, as_of: AsOf) -> tuple[int, int]:
        """An AsOf as (valid, known) in microseconds; an open known axis sees everything."""
        known = FOREVER if as_of.known is None else to_micros(as_of.known)
        if as_of.valid is not None:
            return to_micros(as_of.valid), known
        return min(self.now(), known), known

    def meta(self, key: str) -> str | None:
        """A named fact about the file."""
        found: str | None = self.value("SELECT value FROM meta WHERE key = ?", key)
        return found

    def set_meta(self, key: str, value: str) -> None:
        """Note a fact about the file; inside a write."""
        self.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)


# Closing any descriptor of a file drops all locks this process holds on it (POSIX), and
# with them SQLite's. So a file is read directly only while no database here has it open.
OPENING = threading.RLock()
_registry: dict[tuple[int, int], int] = {}


def _close_all(opened: set[sqlite3.Connection], pid: int, registered: tuple[int, int]) -> None:
    if pid == os.getpid():
        for connection in list(opened):
            connection.close()
        opened.clear()
        _unregister(registered)


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_dev, found.st_ino


def is_registered(path: Path) -> bool:
    return _registry.get(_identity(path), 0) > 0


def _register(path: Path) -> tuple[int, int]:
    with OPENING:
        identity = _identity(path)
        _registry[identity] = _registry.get(identity, 0) + 1
        return identity


def _unregister(identity: tuple[int, int]) -> None:
    with OPENING:
        _registry[identity] -= 1
        if not _registry[identity]:
            del _registry[identity]
