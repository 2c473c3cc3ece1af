"""Uses: how often questions used each state, and when last.

Uses are written without a change number, because no index and no cache depends on them. They wait
in this process and are written together: when there are many, after some time, or when the memory
is closed. A killed process loses those that wait.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable
from datetime import datetime

from hades.domain.times import to_micros
from hades.errors import HadesError
from hades.store.database import Database

WRITTEN_FROM_STATES = 256
WRITTEN_AFTER_S = 30.0
WAITING_AT_MOST = 4_096
"""The most states whose uses wait while another process is writing; more are dropped."""
CLOSING_WAITS_S = 1.0

Used = tuple[int, str, int, int]
"""Space, topic, version and recording time, which differs if the name was purged and used again."""

_WRITE = """
INSERT INTO uses SELECT s.id, ?5, ?6 FROM topics t JOIN states s ON s.topic = t.id
WHERE t.space = ?1 AND t.name = ?2 AND s.version = ?3 AND s.recorded_at = ?4
ON CONFLICT (state) DO UPDATE SET count = uses.count + excluded.count,
  last_used = CASE WHEN excluded.last_used > uses.last_used THEN excluded.last_used
              ELSE uses.last_used END
"""


class Uses:
    """A buffer of the uses that wait to be written. Threads may share it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.counts = not database.read_only
        """Whether uses are counted. An evaluation turns it off, so that its results repeat."""
        self._begin_process()

    def _begin_process(self) -> None:
        self._pid, self._lock = os.getpid(), threading.Lock()
        self._waiting: dict[Used, tuple[int, int]] = {}
        self._due = time.monotonic() + WRITTEN_AFTER_S

    def add(self, space: int, states: Iterable[tuple[str, int, datetime]]) -> None:
        """Count a use of each state, given as (topic, version, recording time)."""
        if not self.counts:
            return
        if self._pid != os.getpid():  # after a fork, the parent writes its own
            self._begin_process()
        at = self._database.clock()
        used = {
            (space, topic, version, to_micros(when)): (1, at) for topic, version, when in states
        }
        with self._lock:
            self._keep(used)
            due = len(self._waiting) >= WRITTEN_FROM_STATES or time.monotonic() >= self._due
        if due:
            self.write()

    def write(self, wait_s: float = 0.0) -> None:
        """Write the waiting uses in one transaction, or keep them if that fails.

        A question must neither fail nor wait for another writer because of them.
        """
        if self._pid != os.getpid() or not self._waiting:
            return
        with self._lock:
            taken, self._waiting = self._waiting, {}
            self._due = time.monotonic() + WRITTEN_AFTER_S
        try:
            with self._database.patient(wait_s), self._database.transaction():
                self._database.run_many(_WRITE, [(*state, *use) for state, use in taken.items()])
        except HadesError:
            with self._lock:
                self._keep(taken)

    def forget(self) -> None:
        """Drop the waiting uses, because the states were replaced by a restore."""
        with self._lock:
            self._waiting = {}

    def _keep(self, used: dict[Used, tuple[int, int]]) -> None:
        for state, (count, at) in used.items():
            before, last = self._waiting.get(state, (0, at))
            if before or len(self._waiting) < WAITING_AT_MOST:
                self._waiting[state] = before + count, max(at, last)
