"""Summaries in the store, and the states that they were made from."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hades.domain.graph import SIMILAR_TO
from hades.domain.summaries import KIND, PREFIX, SummaryPeriod, day_of
from hades.domain.times import FOREVER, AsOf
from hades.domain.topics import DEFAULT_IMPORTANCE
from hades.store.database import Glob, StorePart, believed
from hades.store.states import STATE_THEN

_ROWS = """
SELECT s.id FROM states s JOIN topics t ON t.id = s.topic
WHERE t.space = ?1 AND t.name = ?2 AND s.version BETWEEN ?3 AND ?4
"""
_REACHED = """
WITH RECURSIVE reached(state) AS (
  SELECT o.{1} FROM originals o WHERE o.{0} IN ({3})
  UNION SELECT o.{1} FROM originals o JOIN reached r ON r.state = o.{0})
SELECT t.name || '@' || s.version FROM reached r JOIN states s ON s.id = r.state
JOIN topics t ON t.id = s.topic WHERE s.level {2} ORDER BY s.level, s.valid_from, s.id
"""
ToldEdge = tuple[int, int, int | None]
"""The id of an edge, and when it began and ended."""


class StateOfPeriod(NamedTuple):
    """A version of a topic that began in a period, or that holds at a moment."""

    id: int
    """The id of the state."""
    topic: str
    version: int
    valid_from: int
    kind: str
    forgotten: int
    """1 if this empty state records a forgetting."""
    importance: float
    tags: tuple[str, ...] = ()
    """Only read for a brief."""


class StoredSummary(NamedTuple):
    """The state of a summary that holds at a moment."""

    id: int
    topic: str
    level: int
    valid_from: int
    """The end of its period, since the summary could not be known before."""
    metadata: Mapping[str, Any]

    @property
    def period(self) -> SummaryPeriod:
        """The period that this summary covers."""
        return SummaryPeriod.around(self.level, day_of(self.valid_from) - 1)


class Summaries(StorePart):
    """Summaries and the states that they were made from."""

    def states(self, space: int, since: int, until: int, as_of: AsOf) -> list[StateOfPeriod]:
        """Return states (but no summaries) that began from `since` until before `until`, by
        time."""
        rows = self._database.rows(
            "SELECT s.id, t.name, s.version, s.valid_from, t.kind, "
            "CASE WHEN s.encoding IS NULL THEN 1 ELSE 0 END, coalesce(s.importance, ?4) "
            "FROM topics t JOIN states s ON s.topic = t.id WHERE t.space = ?1 AND t.kind <> ?2 "
            f"AND s.level = 0 AND {believed('s', '?6')} AND s.valid_from >= ?5 "
            "AND s.valid_from < ?3 ORDER BY s.valid_from, s.id",
            space,
            KIND,
            until,
            DEFAULT_IMPORTANCE,
            since,
            self._database.moment(as_of)[1],
        )
        return [StateOfPeriod(*row) for row in rows]

    def told_by_day(self, space: int, as_of: AsOf) -> dict[int, set[ToldEdge]]:
        """Map each day to the written edges, except `similar_to`, that began or ended on it."""
        by_day = defaultdict[int, set[ToldEdge]](set)
        for edge in self._database.rows(
            "SELECT e.id, e.valid_from, e.valid_to FROM edges e "
            "JOIN relations r ON r.id = e.relation AND r.name <> ?2 "
            f"WHERE e.space = ?1 AND {believed('e', '?3')} ORDER BY e.id",
            space,
            SIMILAR_TO,
            self._database.moment(as_of)[1],
        ):
            for moment in edge[1:]:
                if moment is not None:
                    by_day[day_of(moment)].add(edge)
        return by_day

    def there(self, space: int, as_of: AsOf) -> list[StoredSummary]:
        """Return the summaries of a space at a moment, by name."""
        rows = self._database.rows(
            "SELECT s.id, t.name, s.level, s.valid_from, s.metadata FROM topics t "
            f"JOIN states s ON s.id = {STATE_THEN} WHERE t.space = :space AND t.name GLOB :glob "
            "AND t.kind = :kind AND s.level > 0 ORDER BY t.name",
            space=space,
            glob=Glob(PREFIX + "*"),
            kind=KIND,
            **self._database.named_moment(as_of),
        )
        return [StoredSummary._make((*row[:4], json.loads(row[4] or "{}"))) for row in rows]

    def put(self, space: int, topic: str, version: int, states: Iterable[int]) -> int:
        """Record the states that a summary was made from. Return the id of its state."""
        summary = int(self._database.value(_ROWS, space, topic, version, version))
        self._database.run_many(
            "INSERT INTO originals VALUES (?, ?) ON CONFLICT (summary, state) DO NOTHING",
            [(summary, state) for state in sorted(states)],
        )
        return summary

    def put_distilled(self, space: int, state: tuple[str, int], source: tuple[str, int]) -> None:
        """Record that a state (topic, version) was distilled from a state of a conversation."""
        topic, version = source
        original = int(self._database.value(_ROWS, space, topic, version, version))
        self.put(space, *state, [original])

    def distilled(self, space: int, topic: str) -> list[tuple[str, int, Mapping[str, Any]]]:
        """Return the states that were distilled from a conversation: topic, version, metadata."""
        rows = self._database.rows(
            "SELECT DISTINCT t.name, s.version, s.metadata, s.id FROM topics c "
            "JOIN states said ON said.topic = c.id JOIN originals o ON o.state = said.id "
            "JOIN states s ON s.id = o.summary AND s.level = 0 JOIN topics t ON t.id = s.topic "
            "WHERE c.space = ? AND c.name = ? ORDER BY s.id",
            space,
            topic,
        )
        return [
            (name, version, json.loads(metadata or "{}")) for name, version, metadata, _ in rows
        ]

    def are_there(self, states: Iterable[int], edges: Iterable[int]) -> bool:
        """Return whether all these rows still exist, since some may have been purged."""
        return all(
            self._database.value(f"SELECT count(DISTINCT id) FROM {table} WHERE id = ANY(?)", ids)
            == len(ids)
            for table, ids in (("states", sorted(states)), ("edges", sorted(edges)))
        )

    def originals(self, space: int, topic: str, version: int) -> list[str]:
        """Return the citations of the original states of a summary, through all levels."""
        reached = _REACHED.format("summary", "state", "= 0", _ROWS)
        return self._database.column(reached, space, topic, version, version)

    def holding(self, space: int, topic: str, version: int | None) -> list[str]:
        """Cite the summaries that cover a version of a topic (None: any), lowest level first."""
        reached = _REACHED.format("state", "summary", "> 0", _ROWS)
        return self._database.column(reached, space, topic, version or 1, version or FOREVER)
