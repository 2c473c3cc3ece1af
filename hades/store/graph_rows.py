"""Rows that a graph export reads: topics, entities, mentions and the ends of edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hades.domain.times import AsOf
from hades.store.database import StorePart, believed, holds
from hades.store.identity import PRESENT


class SubjectRow(NamedTuple):
    """A topic, its title, and the entity that has its name."""

    id: int
    kind: str
    title: str | None
    entity: int | None
    is_summary: bool


class MentionRow(NamedTuple):
    """A name in a chunk. `introduces` is the origin of the name if the chunk introduces it."""

    chunk: int
    entity: int
    introduces: int | None
    positions: bytes | None


_ENDS = f"""
SELECT source, target, count(*) FROM (
  SELECT e.source, e.target FROM edges e
  WHERE e.space = ?1 AND {holds("e", "?2")} AND {believed("e", "?3")}
  UNION ALL SELECT l.source, l.target FROM derived_edges l
  JOIN chunks c ON c.id = l.chunk JOIN topics t ON t.id = c.topic AND t.space = ?1
  JOIN presences p ON p.chunk = l.chunk WHERE {PRESENT}) AS ends
GROUP BY source, target
"""
_FIRST_CHUNKS = f"""
SELECT c.topic, min(c.id) FROM chunks c JOIN topics t ON t.id = c.topic AND t.space = ?1
JOIN presences p ON p.chunk = c.id WHERE {PRESENT} GROUP BY c.topic
"""
_MENTIONED = f"""
SELECT m.entity, min(m.chunk) FROM mentions m JOIN entities e ON e.id = m.entity AND e.space = ?1
JOIN presences p ON p.chunk = m.chunk WHERE {PRESENT} AND (m.introduces IN (1, 3) OR ?4 = 0)
GROUP BY m.entity
"""


class GraphRows(StorePart):
    """Reads of a whole graph, in parts."""

    def topics(self, space: int) -> dict[str, SubjectRow]:
        """Return all topics of a space, by name."""
        rows = self._database.rows(
            "SELECT t.name, t.id, t.kind, t.title, t.entity, coalesce(s.level, 0) > 0 "
            "FROM topics t LEFT JOIN states s ON s.id = t.latest WHERE t.space = ?",
            space,
        )
        return {
            name: SubjectRow(id_, kind, title, entity, bool(is_summary))
            for name, id_, kind, title, entity, is_summary in rows
        }

    def entities(self, space: int, as_of: AsOf) -> list[tuple[int, str]]:
        """Return (id, name) of all entities of a space known at a moment, merged ones too."""
        return self._database.rows(
            "SELECT id, name FROM entities WHERE space = ? AND recorded_at <= ? ORDER BY name, id",
            space,
            self._database.moment(as_of)[1],
        )

    def mentions(self, chunks: Sequence[int]) -> list[MentionRow]:
        """Return the mentions in chunks, by chunk and entity."""
        rows = self._database.rows(
            "SELECT chunk, entity, introduces, positions FROM mentions "
            "WHERE chunk = ANY(?) ORDER BY chunk, entity",
            list(chunks),
        )
        return [MentionRow(*row) for row in rows]

    def first_mentions(self, space: int, as_of: AsOf, *, titles: bool) -> dict[int, int]:
        """Return the first chunk at a moment that mentions each entity.

        With `titles`, only chunks count that have the entity as their title or symbol.
        """
        moment = self._database.moment(as_of)
        return dict(self._database.rows(_MENTIONED, space, *moment, int(titles)))

    def first_chunks(self, space: int, as_of: AsOf) -> dict[int, int]:
        """Return the first chunk of each topic at a moment."""
        return dict(self._database.rows(_FIRST_CHUNKS, space, *self._database.moment(as_of)))

    def ends(self, space: int, as_of: AsOf) -> list[tuple[int, int, int]]:
        """Return (source, target, number of edges) of the edges at a moment, as nodes."""
        return self._database.rows(_ENDS, space, *self._database.moment(as_of))

    def dimensions(self, encoder: str) -> int:
        """Return the length of the vectors of an encoder, or 0 if there are none."""
        return self._database.value("SELECT dims FROM encoders WHERE name = ?", encoder) or 0
