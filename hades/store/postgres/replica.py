"""A read replica: a standby that answers reads while its staleness is known to be small.

The primary is asked for its position in the log (a mark), and the standby for the position that it
has replayed. A standby past a mark has everything that was written before the mark was taken. So
its staleness has a known bound without comparing clocks. If the primary is gone, the standby
answers alone.
"""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg
from psycopg import Connection
from psycopg_pool import ConnectionPool

from hades.store.postgres.faults import FAULTS

Pool = ConnectionPool[Connection[Any]]

POSITION = (
    "SELECT CAST(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() "
    "ELSE pg_current_wal_lsn() END - '0/0'::pg_lsn AS bigint)"
)
"""Position of a server in its log: written by a primary, or replayed by a standby."""
_LOOKS = 4
"""How often the staleness is measured within the allowed staleness."""
WAIT_S = 1.0
"""The wait for a connection. It is short because the other server can be asked instead."""
_AWAY_S = 5.0
"""How long to wait before asking a server again that did not answer."""


class Replica:
    """The connections to a standby, and how fresh it is."""

    def __init__(self, pool: Pool, primary: Pool, staleness_s: float) -> None:
        self.pool = pool
        self._primary = primary
        self._staleness_s = staleness_s
        self._looking = threading.Lock()
        self._look_at = 0.0
        self._mark: tuple[float, int] | None = None
        self._replayed = 0
        self._fresh_at = -1e9
        self._alone = False

    def is_fresh(self) -> bool:
        """Return whether it may be read from. From time to time, one thread measures that."""
        if time.monotonic() >= self._look_at and self._looking.acquire(blocking=False):
            try:
                self._look()
            finally:
                self._looking.release()
        return self._alone or time.monotonic() - self._fresh_at <= self._staleness_s

    def has(self, position: int) -> bool:
        """Return whether it has replayed the log up to a position."""
        return position <= self._replayed or position <= (self._ask() or 0)

    def leave(self) -> None:
        """Stop reading from it for a while, because it did not answer."""
        self._alone = False
        self._fresh_at = -1e9
        self._look_at = time.monotonic() + _AWAY_S

    def _look(self) -> None:
        """Measure the staleness, by a mark of the primary and the position of the standby."""
        now = time.monotonic()
        self._look_at = now + self._staleness_s / _LOOKS
        if self._mark is None or now - self._mark[0] > self._staleness_s:
            written = _position(self._primary)
            self._alone = written is None and _is_gone(self._primary)
            self._mark = None if written is None else (now, written)
        replayed = self._ask()
        if replayed is None:
            self.leave()
        elif self._alone:
            self._look_at = now + _AWAY_S
        elif self._mark is not None and replayed >= self._mark[1]:
            self._fresh_at = self._mark[0]
            self._mark = None

    def _ask(self) -> int | None:
        replayed = _position(self.pool)
        self._replayed = replayed or 0
        return replayed


def _position(pool: Pool) -> int | None:
    """Return the position of a server in its log, or None if it does not answer."""
    try:
        with pool.connection(WAIT_S) as connection:
            return int(connection.execute(POSITION).fetchall()[0][0])
    except FAULTS:
        return None


def _is_gone(pool: Pool) -> bool:
    """Return whether a server cannot be reached, as opposed to having no free connection."""
    try:
        psycopg.connect(str(pool.conninfo), connect_timeout=2).close()
    except psycopg.Error:
        return True
    return False
