"""Uses: how often questions used each state, and when last.

Uses are written without a change number, because no index and no cache depends on them. They wait
in a buffer (buffer.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from hades.domain.times import to_micros
from hades.store.buffer import Buffer
from hades.store.database import Database

WRITTEN_FROM_STATES = 256
WAITING_AT_MOST = 4_096
"""The most states whose uses wait while another process is writing; more are dropped."""

Used = tuple[int, str, int, int]
"""Space, topic, version and recording time, which differs if the name was purged and used again."""

_WRITE = """
INSERT INTO uses SELECT s.id, ?5, ?6 FROM topics t JOIN states s ON s.topic = t.id
WHERE t.space = ?1 AND t.name = ?2 AND s.version = ?3 AND s.recorded_at = ?4
ON CONFLICT (state) DO UPDATE SET count = uses.count + excluded.count,
  last_used = CASE WHEN excluded.last_used > uses.last_used THEN excluded.last_used
              ELSE uses.last_used END
"""


class Uses(Buffer[Used, tuple[int, int]]):
    """The uses that wait to be written: how many of each state, and the time of the last."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.counts = not database.read_only
        """Whether uses are counted. An evaluation turns it off, so that its results repeat."""

    def add(self, space: int, states: Iterable[tuple[str, int, datetime]]) -> None:
        """Count a use of each state, given as (topic, version, recording time)."""
        if self.counts:
            use = 1, self._database.clock()
            used = ((space, topic, version, to_micros(when)) for topic, version, when in states)
            self._put(dict.fromkeys(used, use), WRITTEN_FROM_STATES)

    def _keep(self, rows: Mapping[Used, tuple[int, int]]) -> None:
        for state, (count, at) in rows.items():
            before, last = self._waiting.get(state, (0, at))
            if before or len(self._waiting) < WAITING_AT_MOST:
                self._waiting[state] = before + count, max(at, last)

    def _insert(self, rows: Mapping[Used, tuple[int, int]]) -> None:
        self._database.run_many(_WRITE, [(*state, *use) for state, use in rows.items()])
