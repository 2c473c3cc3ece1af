"""The query log: the last questions of each space and what they were shown, for feedback.

Like uses, entries are written without a change number. They wait in this process and are written
together: when there are many, after some time, or when the memory is closed. A killed process
loses those that wait. A purge deletes the log of its space, and an entry from before the purge is
not written after it.
"""

from __future__ import annotations

import json
import os
import secrets
import threading
import time
from collections import deque

from hades.domain.answer import Recall
from hades.domain.feedback import LoggedQuery, ShownPath
from hades.domain.times import from_micros, to_micros
from hades.errors import HadesError, NotFound
from hades.store.database import Database, intact

WRITTEN_FROM_ENTRIES = 64
WRITTEN_AFTER_S = 30.0
WAITING_AT_MOST = 256
"""The most entries that wait while another process is writing; the oldest are dropped."""

_WRITE = """
INSERT INTO query_logs (space, recall, at, asker, question, shown, ms)
SELECT s.id, ?2, ?3, ?4, ?5, ?6, ?7 FROM spaces s WHERE s.id = ?1
AND NOT EXISTS (SELECT 1 FROM purged WHERE change > ?8)
"""
_TRIM = """
DELETE FROM query_logs WHERE space = ?1 AND id <= (
  SELECT id FROM query_logs WHERE space = ?1 ORDER BY id DESC LIMIT 1 OFFSET ?2)
"""
_READ = "SELECT recall, at, asker, question, shown, ms FROM query_logs WHERE space = ?"


_Entry = tuple[int, int, LoggedQuery]
"""The space, the last change before the question (a later purge may have erased what the entry
shows), and the entry."""


class QueryLog:
    """The log of questions, with a buffer of entries that wait. Threads may share it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.kept: int | None = 0 if database.read_only else None
        """How many entries are kept of each space; 0: nothing is logged, None: by the settings."""
        self._begin_process()

    def _begin_process(self) -> None:
        self._pid, self._lock = os.getpid(), threading.Lock()
        self._waiting: deque[_Entry] = deque(maxlen=WAITING_AT_MOST)
        self._due = time.monotonic() + WRITTEN_AFTER_S

    def add(self, space: int, change: int, asker: str, recall: Recall) -> str:
        """Log a recall that began after `change`. Return its new id; "" if nothing is logged."""
        if self.kept is None:
            from hades.settings import load_settings  # loads pydantic, which opening does not need

            self.kept = load_settings().query_log
        if not self.kept:
            return ""
        if self._pid != os.getpid():  # after a fork, the parent writes its own
            self._begin_process()
        query = _logged(secrets.token_hex(6), self._database.clock(), asker, recall)
        with self._lock:
            self._waiting.append((space, change, query))
            due = len(self._waiting) >= WRITTEN_FROM_ENTRIES or time.monotonic() >= self._due
        if due and not self._database.in_transaction:
            self.write()
        return query.id

    def write(self, wait_s: float = 0.0) -> None:
        """Write the waiting entries in one transaction, or keep them if that fails."""
        if self._pid != os.getpid() or not self._waiting:
            return
        with self._lock:
            taken, self._due = list(self._waiting), time.monotonic() + WRITTEN_AFTER_S
            self._waiting.clear()
        try:
            with self._database.patient(wait_s), self._database.transaction():
                self._database.run_many(_WRITE, [_row(*entry) for entry in taken])
                for space in {space for space, _, _ in taken}:
                    self._database.run(_TRIM, space, self.kept)
        except HadesError:
            with self._lock:
                self._waiting = deque([*taken, *self._waiting], maxlen=WAITING_AT_MOST)

    def forget(self) -> None:
        """Drop the waiting entries, because what they show was purged or replaced."""
        with self._lock:
            self._waiting.clear()

    def get(self, space: int, recall: str) -> LoggedQuery:
        """Return the entry of a recall. Raise NotFound if this space's log does not have it."""
        for query in self._unwritten(space):
            if query.id == recall:
                return query
        row = self._database.row(f"{_READ} AND recall = ?", space, recall)
        if row is None:
            raise NotFound(f"There is no recall {recall[:80]!r} in the query log of this space.")
        return _query(row)

    def last(self, space: int, limit: int) -> list[LoggedQuery]:
        """Return the last entries of a space, newest first."""
        rows = self._database.rows(f"{_READ} ORDER BY id DESC LIMIT ?", space, limit)
        return [*self._unwritten(space), *(_query(row) for row in rows)][:limit]

    def _unwritten(self, space: int) -> list[LoggedQuery]:
        """Return the waiting entries of a space, newest first."""
        with self._lock:
            return [query for owner, _, query in reversed(self._waiting) if owner == space]


def _logged(number: str, at: int, asker: str, recall: Recall) -> LoggedQuery:
    paths = (
        ShownPath(
            path.told(snippets=False),
            path.score / path.parts.get("boost", 1.0),
            tuple((step.relation, step.edge) for step in path.steps),
        )
        for path in recall.paths
    )
    return LoggedQuery(
        number,
        from_micros(at),
        asker,
        recall.question,
        tuple(passage.id for passage in recall.passages),
        tuple(paths),
        tuple(fact.edge.id for fact in recall.facts),
        round(recall.conveyance.value, 4),
        recall.ms,
    )


def _row(space: int, change: int, query: LoggedQuery) -> tuple[object, ...]:
    shown = {
        "passages": query.passages,
        "paths": [[path.text, path.score, path.steps] for path in query.paths],
        "facts": query.facts,
        "conveyance": query.conveyance,
    }
    asked = query.id, to_micros(query.at), query.asker or None, query.question
    return space, *asked, json.dumps(shown, ensure_ascii=False), query.ms, change


def _query(row: tuple[str, int, str | None, str, str, float]) -> LoggedQuery:
    recall, at, asker, question, text, ms = row
    with intact(f"The log of recall {recall}"):
        shown = json.loads(text)
        paths = [
            ShownPath(words, score, tuple((relation, edge) for relation, edge in steps))
            for words, score, steps in shown["paths"]
        ]
        return LoggedQuery(
            *(recall, from_micros(at), asker or "", question, tuple(shown["passages"])),
            *(tuple(paths), tuple(shown["facts"]), shown["conveyance"], ms),
        )
