"""SQLite: one file, one connection per thread, one writer at a time.

A write takes the file's write lock at its start and is on the disk when it returns (write-ahead
log, synchronous=FULL). Every error of SQLite is raised as a HadesError with one clear sentence.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from hades.domain.times import Clock
from hades.errors import Unavailable
from hades.store.database import Database, Local, inserting
from hades.store.drafts import leftovers
from hades.store.owed import LEFTOVERS, LOG, REWRITE
from hades.store.records import Problem
from hades.store.sqlite.dialect import bound, rewrite
from hades.store.sqlite.faults import CLOSED, FAULTS, translate, translated
from hades.store.sqlite.guards import file_damage, row_guard

SYNCHRONOUS = "FULL"
"""How far a commit waits for the disk (see SQLite's `PRAGMA synchronous`)."""
CACHED_KIB = 8_192
"""The KiB of pages that each connection keeps; every thread has one. Eight times as many, or
mapping the file, made questions no faster. A mapped file that is truncated kills the process, and
its pages count towards the memory of each process."""
_STATEMENTS_CACHED = 256
Taken = TypeVar("Taken")
_ROW_COUNT: Callable[[sqlite3.Cursor], int] = attrgetter("rowcount")
_ROW_ID: Callable[[sqlite3.Cursor], int | None] = attrgetter("lastrowid")
_INTERRUPTS = 100
_INTERRUPT_S = 0.1
"""How often, and with which pause between, closing interrupts a statement of another thread."""
_Opened = dict[sqlite3.Connection, threading.Lock]


_inherited: list[object] = []
"""Connections of the parent process. After a fork the child must neither use nor close them."""


def add_functions(connection: sqlite3.Connection) -> None:
    """Add the SQL function that the tables' checksums need to a connection."""
    connection.create_function("row_guard", -1, row_guard, deterministic=True)


class _ThreadConnection:
    """The connection of a thread, closed when the thread ends.

    The lock is held during each statement. A connection that another thread closes during one
    would crash the process.
    """

    def __init__(self, connection: sqlite3.Connection, opened: _Opened) -> None:
        self.connection = connection
        self.lock = threading.Lock()
        self._opened = opened
        self._pid = os.getpid()
        opened[connection] = self.lock

    def __del__(self) -> None:
        if self._pid == os.getpid():
            self._opened.pop(self.connection, None)
            self.connection.close()


class SqliteDatabase(Database):
    """One memory file and the connections to it."""

    def __init__(self, path: Path, *, read_only: bool, busy_timeout_s: float, clock: Clock) -> None:
        super().__init__(read_only=read_only, busy_timeout_s=busy_timeout_s, clock=clock)
        self.path = path
        self.place = str(path)
        self._closed = False
        self._registered = _register(path)
        self._begin_process()

    # Connections

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection, opened on first use."""
        return self._thread.connection

    @property
    def _thread(self) -> _ThreadConnection:
        own: _ThreadConnection | None = getattr(self._own, "own", None)
        if own is None or self._closed or self._pid != os.getpid():
            own = self._connect()
        return own

    def _begin_process(self) -> None:
        self._pid = os.getpid()
        self._own = threading.local()
        self._local = Local()
        self._opened: _Opened = {}
        # Runs at `close`, at garbage collection, or when Python ends.
        self._release = weakref.finalize(
            self, _close_all, self._opened, self._pid, self._registered
        )

    def _connect(self) -> _ThreadConnection:
        if self._closed:
            raise Unavailable(CLOSED)
        if self._pid != os.getpid():
            _inherited.append((self._opened, self._own))
            self._release.detach()
            self._begin_process()
        with translated(self.path):
            own = self._own.own = _ThreadConnection(self._open_file(), self._opened)
        if self._closed:  # meanwhile, by another thread
            own.connection.close()
            raise Unavailable(CLOSED)
        return own

    def _open_file(self) -> sqlite3.Connection:
        connection = self._open_uri("ro" if self.read_only else "rw")
        try:
            try:
                connection.execute("SELECT 1 FROM sqlite_master").fetchone()
            except sqlite3.OperationalError:
                # A write-ahead log needs an index file. In a read-only folder none can be made,
                # but a file without a log can be read as immutable.
                if not self.read_only or Path(f"{self.path}-wal").exists():
                    raise
                connection.close()
                connection = self._open_uri("ro&immutable=1")
            if not self.read_only:
                connection.execute(f"PRAGMA synchronous={SYNCHRONOUS}")
                connection.execute("PRAGMA secure_delete=ON")
            connection.execute(f"PRAGMA cache_size={-CACHED_KIB}")
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
        """Close the connections of all threads, and interrupt what they do."""
        self._closed = True
        self._release()

    # Statements

    def rows(self, sql: str, *values: Any, **named: Any) -> list[Any]:
        """Return all rows of a query. Pass its values in order or by name."""
        return self._done(sql, named or values, sqlite3.Cursor.fetchall)

    def row(self, sql: str, *values: Any, **named: Any) -> Any:
        """Return the first row, or None, without reading the others."""
        return self._done(sql, named or values, sqlite3.Cursor.fetchone)

    def batches(self, at_once: int, sql: str, *values: Any) -> Iterator[list[Any]]:
        """Yield the rows of a query, `at_once` rows at a time."""
        # `iter` returns the cursor itself. This generator may outlive the open database.
        own = self._thread
        cursor = self._done(sql, values, iter)
        while True:
            with translated(self.path), own.lock:
                rows = cursor.fetchmany(at_once)
            if not rows:
                return
            yield rows

    def run(self, sql: str, *values: Any) -> int:
        """Run a statement that writes, inside a transaction. Return the number of rows."""
        return self._done(sql, values, _ROW_COUNT)

    def run_many(self, sql: str, values: list[tuple[Any, ...]]) -> None:
        """Run a statement once for each tuple of values."""
        own = self._thread
        with translated(self.path), own.lock:
            own.connection.executemany(rewrite(sql)[0], values)

    def insert(self, table: str, **values: Any) -> int:
        """Insert a row, given by column. Return its id, or any number if the table assigns none."""
        sql = inserting(table, tuple(values))
        return self._done(sql, tuple(values.values()), _ROW_ID) or 0

    def _done(self, sql: str, values: Any, take: Callable[[sqlite3.Cursor], Taken]) -> Taken:
        """Run a statement and return `take` of its cursor."""
        text, has_lists = rewrite(sql)
        if has_lists:
            values = bound(values)
        own = self._thread
        try:
            with own.lock:
                return take(own.connection.execute(text, values))
        except FAULTS as error:
            raise translate(error, self.path) from error

    # Transactions

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside a transaction or a snapshot."""
        return self.connection.in_transaction

    def _begin(self, *, writing: bool) -> None:
        self.run("BEGIN IMMEDIATE" if writing else "BEGIN")

    def _end(self, word: str) -> None:
        self.run(word)

    @contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """Within the block, writes of this thread wait at most this long for other writers."""
        self.run(f"PRAGMA busy_timeout={int(seconds * 1000)}")
        try:
            yield
        finally:
            if not self._closed:
                self.run(f"PRAGMA busy_timeout={int(self.busy_timeout_s * 1000)}")

    # The file

    @property
    def files(self) -> Path:
        """The path beside which the indexes, uploads and other files of this memory are."""
        return self.path

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return self.path.stat().st_size

    def last_id(self, table: str, column: str) -> int:
        """Return the highest number that a table ever assigned to a row."""
        given = self.value("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
        top = self.value(f"SELECT max({column}) FROM {table}")
        return max(given or 0, top or 0)

    def keep_ids(self, given: Mapping[str, int] | None = None) -> None:
        """Never assign the numbers up to those in `given`. SQLite itself never reuses other
        numbers."""
        for table, last in (given or {}).items():
            known = self.value("SELECT seq FROM sqlite_sequence WHERE name = ?", table) or 0
            self.run("DELETE FROM sqlite_sequence WHERE name = ?", table)
            self.run("INSERT INTO sqlite_sequence VALUES (?, ?)", table, max(last, known))

    def damage(self) -> list[Problem]:
        """Return the damage that SQLite finds, or rows that do not match their checksums."""
        return file_damage(self)

    def maintain(self) -> dict[str, Callable[[], object]]:
        """Return a function for each kind of owed work. It returns whether the work is done.

        Deleted cells are overwritten, but cells that moved between pages leave copies in the
        unused part of a page. Only rewriting the file (VACUUM) is sure to remove them.
        """
        return {
            REWRITE: lambda: self.run("VACUUM") is not None,
            LOG: lambda: self.row("PRAGMA wal_checkpoint(TRUNCATE)")[0] == 0,
            LEFTOVERS: lambda: not leftovers(self.path, remove=True),
        }


# Closing any descriptor of a file drops all locks of this process on it (POSIX), including
# SQLite's. So a file is read directly only while no database of this process has it open.
OPENING = threading.RLock()
_registry: Counter[tuple[int, int]] = Counter()


def _close_all(opened: _Opened, pid: int, registered: tuple[int, int]) -> None:
    if pid == os.getpid():
        for connection, lock in list(opened.items()):
            # a statement may begin after an interrupt, so interrupt several times
            for _ in range(_INTERRUPTS):
                if lock.acquire(timeout=_INTERRUPT_S):
                    connection.close()
                    lock.release()
                    break
                with suppress(sqlite3.ProgrammingError):  # its thread ended meanwhile
                    connection.interrupt()
        opened.clear()
        with OPENING:
            _registry[registered] -= 1


def _identity(path: Path) -> tuple[int, int]:
    status = path.stat()
    return status.st_dev, status.st_ino


def is_registered(path: Path) -> bool:
    return _registry[_identity(path)] > 0


def _register(path: Path) -> tuple[int, int]:
    with OPENING:
        identity = _identity(path)
        _registry[identity] += 1
        return identity
