"""Uses: on how many days the questions of each actor used a state, and when last.

One actor counts once a day, and on ACTOR_DAYS_AT_MOST days at most, so that nobody can raise a
state for everybody by asking again and again. Uses are written without a change number, because no
index and no cache depends on them. They wait in a buffer (buffer.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from hades.domain.feedback import ACTOR_DAYS_AT_MOST
from hades.domain.times import DAY_MICROSECONDS, to_micros
from hades.store.buffer import Buffer
from hades.store.database import Database

WRITTEN_FROM_STATES = 256
WAITING_AT_MOST = 4_096
"""The most states whose uses wait while another process is writing; more are dropped."""

Used = tuple[int, str, int, int, str]
"""Space, topic, version, recording time (another one if the name was purged and reused), actor."""

_WRITE = f"""
INSERT INTO uses SELECT s.id, ?5, 1, ?6 FROM topics t JOIN states s ON s.topic = t.id
WHERE t.space = ?1 AND t.name = ?2 AND s.version = ?3 AND s.recorded_at = ?4
ON CONFLICT (state, actor) DO UPDATE SET count = uses.count + CASE
    WHEN uses.count < {ACTOR_DAYS_AT_MOST} AND uses.last_used / {DAY_MICROSECONDS}
      < excluded.last_used / {DAY_MICROSECONDS} THEN 1 ELSE 0 END,
  last_used = CASE WHEN excluded.last_used > uses.last_used THEN excluded.last_used
              ELSE uses.last_used END
"""


class Uses(Buffer[Used, int]):
    """The uses that wait to be written, with the time of the last."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.counts = not database.read_only
        """Whether uses are counted. An evaluation turns it off, so that its results repeat."""

    def add(self, space: int, actor: str, states: Iterable[tuple[str, int, datetime]]) -> None:
        """Count a use of each state, given as (topic, version, recording time), by an actor."""
        if self.counts:
            used = (
                (space, topic, version, to_micros(when), actor) for topic, version, when in states
            )
            self._put(dict.fromkeys(used, self._database.clock()), WRITTEN_FROM_STATES)

    def _keep(self, rows: Mapping[Used, int]) -> None:
        for used, at in rows.items():
            if used in self._waiting or len(self._waiting) < WAITING_AT_MOST:
                self._waiting[used] = max(at, self._waiting.get(used, at))

    def _insert(self, rows: Mapping[Used, int]) -> None:
        actor_id = self._database.actor_id
        self._database.run_many(
            _WRITE, [(*state, actor_id(actor), at) for (*state, actor), at in rows.items()]
        )
