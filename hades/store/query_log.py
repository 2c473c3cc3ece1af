"""The query log: the last questions of each space and the results they showed, for feedback.

Like uses, entries are written without a change number and wait in a buffer (buffer.py). A purge
deletes the log of its space, and an entry from before the purge is not written after it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping

from hades.domain.answer import Recall
from hades.domain.feedback import LoggedQuery, ShownPath
from hades.domain.times import from_micros, to_micros
from hades.errors import NotFound
from hades.store.buffer import Buffer
from hades.store.database import Database, intact

WRITTEN_FROM_ENTRIES = 64
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


class QueryLog(Buffer[str, _Entry]):
    """The log of questions; entries wait by their id, the oldest first."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.kept: int | None = 0 if database.read_only else None
        """How many entries are kept of each space; 0: nothing is logged, None: by the settings."""

    def add(self, space: int, change: int, asker: str, recall: Recall) -> str:
        """Log a recall that began after `change`. Return its new id; "" if nothing is logged."""
        if self.kept is None:
            from hades.settings import load_settings  # loads pydantic, which opening does not need

            self.kept = load_settings().query_log
        if not self.kept:
            return ""
        query = _logged(secrets.token_hex(6), self._database.clock(), asker, recall)
        self._put({query.id: (space, change, query)}, WRITTEN_FROM_ENTRIES)
        return query.id

    def _keep(self, rows: Mapping[str, _Entry]) -> None:
        self._waiting |= rows
        for recall in list(self._waiting)[:-WAITING_AT_MOST]:
            del self._waiting[recall]

    def _insert(self, rows: Mapping[str, _Entry]) -> None:
        self._database.run_many(_WRITE, [_row(*entry) for entry in rows.values()])
        for space in {space for space, _, _ in rows.values()}:
            self._database.run(_TRIM, space, self.kept)

    def get(self, space: int, recall: str) -> LoggedQuery:
        """Return the entry of a recall. Raise NotFound if this space's log does not have it."""
        for query in self._unwritten(space):
            if query.id == recall:
                return query
        row = self._database.row(f"{_READ} AND recall = ?", space, recall)
        if row is None:
            raise NotFound(
                f"There is no recall {recall[:80]!r} in the query log of this space: "
                "`hades query-log` lists them."
            )
        return _query(row)

    def last(self, space: int, limit: int) -> list[LoggedQuery]:
        """Return the last entries of a space, newest first."""
        rows = self._database.rows(f"{_READ} ORDER BY id DESC LIMIT ?", space, limit)
        return [*self._unwritten(space), *(_query(row) for row in rows)][:limit]

    def _unwritten(self, space: int) -> list[LoggedQuery]:
        """Return the waiting entries of a space, newest first."""
        with self._lock:
            waiting = [query for owner, _, query in self._waiting.values() if owner == space]
        return waiting[::-1]


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
        id=number,
        at=from_micros(at),
        asker=asker,
        question=recall.question,
        passages=tuple(passage.id for passage in recall.passages),
        paths=tuple(paths),
        facts=tuple(fact.edge.id for fact in recall.facts),
        conveyance=round(recall.conveyance.value, 4),
        ms=recall.ms,
    )


def _row(space: int, change: int, query: LoggedQuery) -> tuple[object, ...]:
    shown = {
        "passages": query.passages,
        "paths": [[path.text, path.score, path.steps] for path in query.paths],
        "facts": query.facts,
        "conveyance": query.conveyance,
    }
    return (
        space,
        query.id,
        to_micros(query.at),
        query.asker or None,
        query.question,
        json.dumps(shown, ensure_ascii=False),
        query.ms,
        change,
    )


def _query(row: tuple[str, int, str | None, str, str, float]) -> LoggedQuery:
    recall, at, asker, question, text, ms = row
    with intact(f"The log of recall {recall}"):
        shown = json.loads(text)
        paths = [
            ShownPath(words, score, tuple((relation, edge) for relation, edge in steps))
            for words, score, steps in shown["paths"]
        ]
        return LoggedQuery(
            id=recall,
            at=from_micros(at),
            asker=asker or "",
            question=question,
            passages=tuple(shown["passages"]),
            paths=tuple(paths),
            facts=tuple(shown["facts"]),
            conveyance=shown["conveyance"],
            ms=ms,
        )
