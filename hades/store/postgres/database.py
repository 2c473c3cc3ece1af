"""PostgreSQL: one database for many processes.

A statement outside a transaction takes a connection from the pool for as long as it runs; a
transaction keeps one. Writers come one after another by an advisory lock, which is taken
before anything is read and let go by the commit: so change numbers become visible in their
order, and what a write read is still true when it commits.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

from platformdirs import user_cache_path
from psycopg import Connection, sql
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool

from hades.domain.times import Clock
from hades.errors import Unavailable
from hades.store.database import Database, Local, inserting
from hades.store.drafts import leftovers
from hades.store.postgres.address import ServerAddress
from hades.store.postgres.dialect import bound, said
from hades.store.postgres.faults import FAULTS, is_lost, translated
from hades.store.purge import LEFTOVERS, LOG, REWRITE
from hades.store.records import Problem
from hades.store.schema import COLUMNS

_CLOSED = "This memory is closed: open it again."
_NUMBERED = {table: next(iter(columns)) for table, columns in COLUMNS.items()}
"""By table: its first column, which is `id` or `row` where the server gives it out."""
_KEYS = ("id", "row")

Found = TypeVar("Found")


def lock_number(schema: str) -> int:
    """The advisory lock of the writers of a schema."""
    return crc32(f"hades {schema}".encode())


class _Thread(Local):
    """What is under way in one thread, and the connection it has for that."""

    connection: Connection[Any] | None = None
    wait_s: float | None = None


class PostgresDatabase(Database):
    """One schema of a PostgreSQL database, and the connections to it."""

    _local: _Thread

    def __init__(
        self, address: ServerAddress, *, read_only: bool, busy_timeout_s: float, clock: Clock
    ) -> None:
        super().__init__(read_only=read_only, busy_timeout_s=busy_timeout_s, clock=clock)
        self.address = address
        self.place = address.shown
        self._closed = False
        self._cursors = count()
        self._begin_process()

    # Connections

    def _begin_process(self) -> None:
        self._pid = os.getpid()
        self._local = _Thread()
        self._pool = ConnectionPool(
            self.address.conninfo,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=self.address.connections,
            timeout=max(1.0, self.busy_timeout_s),
            configure=self._configure,
            open=True,
        )

    def _configure(self, connection: Connection[Any]) -> None:
        connection.adapters.register_dumper(int, Int8Dumper)
        connection.execute(
            sql.SQL("SET search_path TO {}").format(sql.Identifier(self.address.schema))
        )
        if self.read_only:
            connection.execute("SET default_transaction_read_only TO on")

    def _taken(self) -> Connection[Any]:
        if self._closed:
            raise Unavailable(_CLOSED)
        if self._pid != os.getpid():
            self._begin_process()
        return self._pool.getconn()

    def _with(self, call: Callable[[Connection[Any]], Found]) -> Found:
        """Call with this thread's connection, or with one of the pool for this call alone.

        One of the pool may have been cut while it waited there: then another is taken, once.
        """
        with translated(self.place):
            if self._local.connection is not None:
                return call(self._local.connection)
            for last in (False, True):
                connection = self._taken()
                try:
                    return call(connection)
                except FAULTS as error:
                    if last or not is_lost(error):
                        raise
                finally:
                    self._pool.putconn(connection)
        raise AssertionError("never reached")

    def close(self) -> None:
        """Close all connections; what was written stays written."""
        self._closed = True
        if self._pid == os.getpid():
            self._pool.close()

    # Statements

    def rows(self, sql: str, *values: Any, **named: Any) -> list[Any]:
        """All rows of a statement, its values given in order or by name."""
        text, given = said(sql), bound(sql, values, named)
        return self._with(lambda connection: connection.execute(text, given).fetchall())

    def batches(self, at_once: int, sql: str, *values: Any) -> Iterator[list[Any]]:
        """The rows of a statement as they are read, so many at once."""
        with self.snapshot(), translated(self.place):
            assert self._local.connection is not None
            name = f"rows_{next(self._cursors)}"
            with self._local.connection.cursor(name=name) as cursor:
                cursor.execute(said(sql), bound(sql, values, {}))
                while rows := cursor.fetchmany(at_once):
                    yield rows

    def run(self, sql: str, *values: Any) -> int:
        """A statement that changes something, inside a transaction; how many rows."""
        text, given = said(sql), bound(sql, values, {})
        return self._with(lambda connection: connection.execute(text, given).rowcount)

    def run_many(self, sql: str, values: list[tuple[Any, ...]]) -> None:
        """The same statement with many values."""

        def run(connection: Connection[Any]) -> None:
            with connection.cursor() as cursor:
                cursor.executemany(said(sql), [bound(sql, one, {}) for one in values])

        self._with(run)

    def insert(self, table: str, **values: Any) -> int:
        """Insert a row, its values given by column; its id, where the table gives one."""
        text = inserting(table, tuple(values))
        if _NUMBERED[table] in _KEYS:
            return int(self.value(f"{text} RETURNING {_NUMBERED[table]}", *values.values()))
        self.run(text, *values.values())
        return 0

    # Transactions

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside a write or a snapshot."""
        return self._local.connection is not None

    def _begin(self, *, writing: bool) -> None:
        wait_s = self.busy_timeout_s if self._local.wait_s is None else self._local.wait_s
        begin = (
            f"BEGIN; SET LOCAL lock_timeout TO {max(1, int(wait_s * 1000))}; "
            f"SELECT pg_advisory_xact_lock({lock_number(self.address.schema)})"
            if writing
            else "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
        )
        with translated(self.place):
            for last in (False, True):
                connection = self._taken()
                try:
                    connection.execute(begin)
                except FAULTS as error:
                    self._give_back(connection)
                    if last or not is_lost(error):
                        raise
                else:
                    self._local.connection = connection
                    return

    def _end(self, word: str) -> None:
        connection = self._local.connection
        assert connection is not None
        try:
            with translated(self.place):
                connection.execute(word)
        finally:
            if "SAVEPOINT" not in word:
                self._local.connection = None
                self._give_back(connection)

    def _give_back(self, connection: Connection[Any]) -> None:
        if connection.info.transaction_status not in (TransactionStatus.IDLE,):
            connection.close()
        self._pool.putconn(connection)

    @contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """Inside, this thread's writes wait so long for another's end."""
        before, self._local.wait_s = self._local.wait_s, seconds
        try:
            yield
        finally:
            self._local.wait_s = before

    # The database

    @property
    def files(self) -> Path:
        """The path beside which lie indexes, uploads and other files of this memory."""
        folder = user_cache_path("hades") / "postgres"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder / self.address.file_name

    def size(self) -> int:
        """The bytes of all tables and indexes."""
        found = self.value(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'",
            self.address.schema,
        )
        return int(found or 0)

    def last_id(self, table: str, column: str) -> int:
        """The highest number a table ever gave to a row."""
        given = self.value(f"SELECT last_value FROM {table}_{column}_seq")
        return max(int(given), self.value(f"SELECT max({column}) FROM {table}") or 0)

    def keep_ids(self) -> None:
        """After rows came with numbers of their own: give none of these out again."""
        for table, column in _NUMBERED.items():
            if column in _KEYS:
                self.rows(
                    f"SELECT setval('{table}_{column}_seq', ?)", max(1, self.last_id(table, column))
                )

    def damage(self) -> list[Problem]:
        """Nothing to look for: PostgreSQL verifies checksums of its pages as it reads them."""
        return []

    def maintain(self) -> dict[str, Callable[[], object]]:
        """How what is owed after an erasure is done here; each says whether it was.

        VACUUM FULL writes every table anew, without what was deleted. The server's own log
        (WAL) and its backups are for its operator to let go of.
        """
        return {
            REWRITE: self._rewrite,
            LOG: lambda: True,
            LEFTOVERS: lambda: not leftovers(self.files, remove=True),
        }

    def _rewrite(self) -> bool:
        for table in COLUMNS:
            self.run(f"VACUUM (FULL, ANALYZE) {table}")
        return True
