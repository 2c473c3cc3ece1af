"""PostgreSQL: one database for many processes.

A statement outside a transaction takes a connection from the pool while it runs; a transaction
keeps one. A writer locks the table `commits` before it reads anything and holds the lock until the
commit. So writers run one at a time, change numbers become visible in order, and the rows that a
writer has read do not change before it commits. The last statement of a write inserts a random mark
into that table. If the reply to a COMMIT is lost, the writer looks for its mark.
"""

from __future__ import annotations

import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import count
from math import ceil
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import Connection, Cursor, sql
from psycopg.pq import TransactionStatus
from psycopg.types.numeric import Int8Dumper
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from hades.breaker import breaker_of
from hades.domain.times import Clock
from hades.errors import HadesError, Unavailable
from hades.store.catalogue import TABLES, quoted
from hades.store.database import Database, Local, inserting
from hades.store.drafts import leftovers
from hades.store.owed import LEFTOVERS, LOG, REWRITE
from hades.store.postgres.address import ServerAddress
from hades.store.postgres.dialect import bound, rewrite
from hades.store.postgres.faults import FAULTS, translated
from hades.store.postgres.replica import POSITION, WAIT_S, Pool, Replica
from hades.store.records import EMBEDDED, Problem

_SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_CLOSED = "This memory is closed: open it again."
_UNSURE = (
    "The connection to {place} broke while a write was being committed: it may be stored or not; "
    "look before you do it again, or use a key (`once`), so that it is done only once."
)
_UNDONE = (
    "The connection to {place} broke before a write was committed: it is not stored; try again."
)
_FAILED = "An earlier statement of this write failed in {place}: nothing of it is stored."
TURN = "LOCK TABLE commits IN SHARE UPDATE EXCLUSIVE MODE"
"""Waits until no other writer holds this lock. Only a role that may write can take it. A stronger
lock is not safe: a role that may only read could block it with PREPARE of a write."""
MARKS_KEPT_S = 3600
_DROPPED_EVERY = 1_000
"""On average, one write in this many deletes the marks older than MARKS_KEPT_S."""
_DROP_MARKS = f"DELETE FROM commits WHERE at < now() - interval '{MARKS_KEPT_S} s'; "
_SERVER_CLOCK = "SELECT CAST(floor(1000000 * extract(epoch FROM clock_timestamp())) AS bigint)"
_SEES_ALL = (
    "SELECT NOT row_security_active('archived') OR EXISTS (SELECT FROM pg_policy WHERE polrelid = "
    "'archived'::regclass AND pg_get_expr(polqual, polrelid) = 'true' "
    "AND EXISTS (SELECT FROM unnest(polroles) r WHERE pg_has_role(r, 'MEMBER')))"
)
_NUMBERED = {t: name for t, about in TABLES.items() for name in about.having("itself")}
"""For each table, the column whose numbers the server assigns."""
# The pool logs every lost connection. Keep that off stderr: the caller gets an error.
logging.getLogger("psycopg.pool").addHandler(logging.NullHandler())

Result = TypeVar("Result")


def _configure(address: ServerAddress, read_only: bool, connection: Connection[Any]) -> None:
    connection.adapters.register_dumper(int, Int8Dumper)
    wanted = sql.SQL("SET search_path TO {}").format(sql.Identifier(address.schema))
    if address.statement_s:
        limit = sql.SQL("; SET statement_timeout TO {}")
        wanted += limit.format(sql.Literal(int(address.statement_s * 1000)))
    if read_only:
        wanted += sql.SQL("; SET default_transaction_read_only TO on")
    connection.execute(wanted)


def _give_back(connection: Connection[Any], pool: Pool) -> None:
    if connection.info.transaction_status != TransactionStatus.IDLE:
        connection.close()
    pool.putconn(connection)


class _Thread(Local):
    """The state of a thread's transaction, and its connection."""

    connection: Connection[Any] | None = None
    pool: Pool
    """The pool of the connection."""
    settling = False
    """Whether it looks up the outcome of a COMMIT whose reply was lost."""
    wait_s: float | None = None
    within_s: float | None = None
    """The wanted time limit of a statement in this transaction."""
    limit_s: float | None = None
    """The limit that was last sent to the server."""

    def take(self, connection: Connection[Any], pool: Pool) -> None:
        """Record the connection of a new transaction."""
        self.connection = connection
        self.pool = pool
        self.limit_s = None


class PostgresDatabase(Database):
    """One schema of a PostgreSQL database, and the connections to it."""

    _local: _Thread

    def __init__(
        self,
        address: ServerAddress,
        *,
        read_only: bool,
        busy_timeout_s: float,
        clock: Clock,
    ) -> None:
        super().__init__(read_only=read_only, busy_timeout_s=busy_timeout_s, clock=clock)
        self.address = address
        self.place = address.shown
        self._breaker = breaker_of(address.server)
        if address.sees:
            self.embedded = f"{EMBEDDED}@{address.sees}:"
            self.owes = f"@{address.sees.partition(':')[0]}"
        self._closed = False
        self._cursors = count()
        self._begin_process()

    # Connections

    def _begin_process(self) -> None:
        self._pid = os.getpid()
        self._local = _Thread()
        wait_s = max(1.0, self.busy_timeout_s)
        self._pool = self._pool_of(self.address.conninfo, wait_s)
        self._replica: Replica | None = None
        self._seen = 0
        """Position in the log when this process last wrote to, or read from, the primary."""
        self._position = f"; {POSITION}" if self.address.replica else ""
        if self.address.replica:
            replicas = self._pool_of(self.address.replica, WAIT_S)
            self._replica = Replica(replicas, self._pool, self.address.staleness_s)

    def _pool_of(self, conninfo: str, wait_s: float) -> Pool:
        return ConnectionPool(
            conninfo,
            kwargs={"autocommit": True},
            min_size=0,
            max_size=self.address.connections,
            timeout=wait_s,
            reconnect_timeout=wait_s,  # try to reconnect as long as a caller waits
            configure=partial(_configure, self.address, self.read_only),
            open=True,
        )

    def _require_open(self) -> None:
        if self._closed:
            raise Unavailable(_CLOSED)
        if self._pid != os.getpid():
            self._begin_process()

    def _taken(self, pool: Pool) -> Connection[Any]:
        # a standby has its own rule, and the outcome of a COMMIT is always looked up
        is_free = pool is not self._pool or self._local.settling
        try:
            with nullcontext() if is_free else self._breaker.guard():
                return self._connection(pool)
        except PoolClosed as error:
            raise Unavailable(_CLOSED) from error

    def _connection(self, pool: Pool) -> Connection[Any]:
        try:
            return pool.getconn()
        except PoolTimeout:
            with translated(self.place):
                psycopg.connect(str(pool.conninfo)).close()  # raises the reason if this fails
            raise

    def _tried(
        self, pool: Pool, call: Callable[[Connection[Any]], Result]
    ) -> tuple[Connection[Any], Result]:
        """Call with a connection of the pool, and return that connection and the result.

        All idle connections may have been cut, so a lost connection is replaced once.
        """
        for last in (False, True):
            connection = self._taken(pool)
            try:
                return connection, call(connection)
            except BaseException:
                lost = connection.closed
                _give_back(connection, pool)
                if last or not lost:
                    raise
                pool.drain()
        raise AssertionError("never reached")

    def _with(self, call: Callable[[Connection[Any]], Result]) -> Result:
        """Call with this thread's connection, or with one of the pool for this call only."""
        with translated(self.place):
            if self._local.connection is not None:
                self._limit(self._local.connection)
                return call(self._local.connection)
            self._require_open()
            connection, result = self._tried(self._pool, call)
            _give_back(connection, self._pool)
            return result

    def _limit(self, connection: Connection[Any]) -> None:
        """Send the time limit of statements to the server, if it changed."""
        wanted = self._local.within_s
        if self._local.limit_s != wanted:
            ms = int((self.address.statement_s if wanted is None else wanted) * 1000)
            connection.execute(f"SET LOCAL statement_timeout TO {ms or 'DEFAULT'}".encode())
            self._local.limit_s = wanted

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        if self._pid == os.getpid():
            self._pool.close()
            if self._replica is not None:
                self._replica.pool.close()

    # Statements

    def rows(self, sql: str, *values: Any, **named: Any) -> list[Any]:
        """Return all rows of a query. Pass its values in order or by name."""
        text = rewrite(sql)
        given = bound(sql, values, named)
        is_direct = self._replica is None or self.in_transaction
        with nullcontext() if is_direct else self.snapshot():
            return self._with(lambda connection: connection.execute(text, given).fetchall())

    def batches(self, at_once: int, sql: str, *values: Any) -> Iterator[list[Any]]:
        """Yield the rows of a query, `at_once` rows at a time."""
        with self.snapshot(), translated(self.place):
            assert self._local.connection is not None
            self._limit(self._local.connection)
            name = f"rows_{next(self._cursors)}"
            with self._local.connection.cursor(name=name) as cursor:
                cursor.execute(rewrite(sql), bound(sql, values, {}))
                while rows := cursor.fetchmany(at_once):
                    yield rows

    def run(self, sql: str, *values: Any) -> int:
        """Run a statement that writes, inside a transaction. Return the number of rows."""
        text = rewrite(sql)
        given = bound(sql, values, {})
        return self._with(lambda connection: connection.execute(text, given).rowcount)

    def run_many(self, sql: str, values: list[tuple[Any, ...]]) -> None:
        """Run a statement once for each tuple of values."""

        def run(connection: Connection[Any]) -> None:
            with connection.cursor() as cursor:
                cursor.executemany(rewrite(sql), [bound(sql, row, {}) for row in values])

        self._with(run)

    def insert(self, table: str, **values: Any) -> int:
        """Insert a row, given by column. Return its id, or 0 if the table assigns none."""
        if self.address.sees and table in ("actors", "relations"):  # shared with other spaces
            return int(self.value(f"SELECT number_of_{table}(?)", values["name"]))
        text = inserting(table, tuple(values))
        if table in _NUMBERED:
            return int(self.value(f"{text} RETURNING {_NUMBERED[table]}", *values.values()))
        self.run(text, *values.values())
        return 0

    def load(self, table: str, rows: list[tuple[Any, ...]]) -> None:
        """Insert many whole rows by COPY."""
        into = f"{table} ({quoted(TABLES[table].columns)})"

        def run(connection: Connection[Any]) -> None:
            with (
                connection.cursor() as cursor,
                cursor.copy(f"COPY {into} FROM STDIN".encode()) as copy,
            ):
                for row in rows:
                    copy.write_row(row)

        self._with(run)

    # Transactions

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside a transaction or a snapshot."""
        return self._local.connection is not None

    def _begin(self, *, writing: bool) -> None:
        wait_s = self.busy_timeout_s if self._local.wait_s is None else self._local.wait_s
        begin = (
            f"BEGIN; SET LOCAL lock_timeout TO {max(1, int(wait_s * 1000))}; {TURN}"
            if writing
            else f"{_SNAPSHOT}{self._position}"
        )
        with translated(self.place):
            self._require_open()
            if not writing and self._begin_at_replica():
                return
            pool = self._pool
            connection, cursor = self._tried(pool, lambda connection: connection.execute(begin))
            if not writing:
                self._note_position(cursor)
            self._local.take(connection, pool)

    def _begin_at_replica(self) -> bool:
        """Begin a snapshot at the standby, if it is fresh and has what this process has seen."""
        replica = self._replica
        if replica is None or not replica.is_fresh() or not replica.has(self._seen):
            return False
        try:
            connection, _ = self._tried(replica.pool, lambda standby: standby.execute(_SNAPSHOT))
        except (*FAULTS, HadesError):
            replica.leave()
            return False
        self._local.take(connection, replica.pool)
        return True

    def _note_position(self, cursor: Cursor[Any]) -> None:
        """Remember the position in the log, which a standby must have reached to be read from."""
        if self._replica is not None:
            self._seen = max(self._seen, cursor.set_result(-1).fetchall()[0][0])

    def _end(self, word: str) -> None:
        connection = self._local.connection
        assert connection is not None
        if word == "COMMIT":
            self._commit(connection)
            return
        try:
            if not connection.closed:  # otherwise the server has undone the transaction
                with translated(self.place):
                    connection.execute(word)
        finally:
            if word == "ROLLBACK":
                self._leave(connection)

    def _commit(self, connection: Connection[Any]) -> None:
        if connection.closed:
            raise Unavailable(_UNDONE.format(place=self.place))
        if connection.info.transaction_status == TransactionStatus.INERROR:
            raise Unavailable(_FAILED.format(place=self.place))  # COMMIT would silently roll back
        mark = secrets.randbits(63)
        sent_at = time.time()
        drop = "" if mark % _DROPPED_EVERY else _DROP_MARKS
        commit = f"{drop}INSERT INTO commits (mark) VALUES ({mark}); COMMIT{self._position}"
        with translated(self.place):
            try:
                self._note_position(connection.execute(commit.encode()))
            except FAULTS:
                if not connection.closed:
                    raise
                self._leave(connection)
                self._settle(mark, sent_at)
            else:
                self._leave(connection)

    def _settle(self, mark: int, sent_at: float) -> None:
        """Look for the mark of a COMMIT whose reply was lost. Raise Unavailable if the write is not
        stored, or if that cannot be found out."""
        stored = None
        with suppress(HadesError):
            self._local.settling = True
            try:
                self._begin(writing=True)  # waits until that transaction is over
            finally:
                self._local.settling = False
            has_mark = self.value("SELECT 1 FROM commits WHERE mark = ?", mark) is not None
            if has_mark or time.time() - sent_at < MARKS_KEPT_S:
                stored = has_mark
            if self._replica is not None:
                self._seen = self.value(POSITION)
            self._end("ROLLBACK")
        if not stored:
            for forget in self.on_undo:
                forget()
            raise Unavailable((_UNSURE if stored is None else _UNDONE).format(place=self.place))

    def _leave(self, connection: Connection[Any]) -> None:
        self._local.connection = None
        _give_back(connection, self._local.pool)

    @contextmanager
    def patient(self, seconds: float) -> Iterator[None]:
        """Within the block, writes of this thread wait at most this long for other writers."""
        before = self._local.wait_s
        self._local.wait_s = seconds
        try:
            yield
        finally:
            self._local.wait_s = before

    @contextmanager
    def within(self, seconds: float | None) -> Iterator[None]:
        """Within the block, limit each query of this thread's snapshot to this time.

        It is rounded up to whole seconds, so that the limit is not sent again for every stage.
        """
        before = self._local.within_s
        self._local.within_s = None if seconds is None else ceil(seconds)
        try:
            yield
        finally:
            self._local.within_s = before

    # The database

    def write_clock(self) -> int:
        """Return the time for a write; for a role limited to some spaces, at most the server's."""
        now = self.clock()
        return min(now, self.value(_SERVER_CLOCK)) if self.address.sees else now

    def sees_all(self) -> bool:
        """Return whether row-level security hides no row. Grants may change, so always ask."""
        return bool(self.value(_SEES_ALL))

    @property
    def files(self) -> Path:
        """The path beside which the indexes, uploads and other files of this memory are."""
        return self.address.files

    def size(self) -> int:
        """Return the size of all tables and indexes in bytes."""
        size = self.value(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c "
            "JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = ? AND c.relkind = 'r'",
            self.address.schema,
        )
        return int(size or 0)

    def last_id(self, table: str, column: str) -> int:
        """Return the highest number that a table ever assigned to a row."""
        given = self.value(f"SELECT last_value FROM {table}_{column}_seq")
        return max(int(given), self.value(f"SELECT max({column}) FROM {table}") or 0)

    def keep_ids(self, given: Mapping[str, int] | None = None) -> None:
        """Never assign again the numbers of inserted rows, nor those up to `given`."""
        for table, column in _NUMBERED.items():
            last = max(1, self.last_id(table, column), (given or {}).get(table, 0))
            self.rows(f"SELECT setval('{table}_{column}_seq', ?)", last)

    def damage(self) -> list[Problem]:
        """Return nothing: PostgreSQL verifies checksums of its pages as it reads them."""
        return []

    def risks(self) -> list[Problem]:
        """Return a problem if the server would not notice a damaged page."""
        if self.value("SHOW data_checksums") == "on":
            return []
        repair = "stop the server, run `pg_checksums --enable`, and start it"
        return [Problem("the server keeps no checksums of its pages", self.place, repair)]

    def maintain(self) -> dict[str, Callable[[], object]]:
        """Return a function for each kind of owed work. It returns whether the work is done.

        VACUUM FULL rewrites every table without deleted rows. The operator must delete the server's
        log (WAL) and its backups.
        """
        return {
            REWRITE: self._rewrite,
            LOG: lambda: True,
            LEFTOVERS: lambda: not leftovers(self.files, remove=True),
        }

    def _rewrite(self) -> bool:
        # VACUUM skips tables of other owners with a warning only.
        if not self.value(
            "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class WHERE oid = 'topics'::regclass"
        ):
            return False

        def rewrite(connection: Connection[Any]) -> None:
            connection.execute("SET statement_timeout TO 0")
            for table in TABLES:
                connection.execute(f"VACUUM (FULL, ANALYZE) {table}".encode())
            connection.close()  # its settings must not go back to the pool

        self._with(rewrite)
        return True
