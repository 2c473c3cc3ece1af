"""Links: mentions, edges and vectors that may join the topics of a space."""

from __future__ import annotations

from typing import NamedTuple

from hades.domain.graph import NodeKind
from hades.domain.times import AsOf
from hades.store.database import StorePart, believed, holds
from hades.store.states import STATE_THEN

ROWS_AT_MOST = 500_000
PASSAGES_AT_MOST = 100_000
"""The most mentions or edges that are read, and the most vectors."""
_THERE = f"{holds('p', ':valid')} AND {believed('p', ':known')}"
_TOPICS = f"""
SELECT t.id, t.name, t.kind, t.entity, s.id, s.version, s.valid_from, s.confidence,
  (SELECT max(u.last_used) FROM uses u WHERE u.state = s.id)
FROM topics t JOIN states s ON s.id = {STATE_THEN}
WHERE t.space = :space AND s.encoding IS NOT NULL AND s.level = 0
ORDER BY s.id DESC LIMIT :limit
"""
_MENTIONS = f"""
SELECT DISTINCT c.topic, m.entity FROM mentions m JOIN chunks c ON c.id = m.chunk
JOIN presences p ON p.chunk = c.id WHERE c.topic = ANY(:topics) AND {_THERE}
ORDER BY c.topic DESC, m.entity LIMIT {ROWS_AT_MOST}
"""
_EDGES = f"""
SELECT e.source, e.target FROM edges e WHERE e.space = :space AND {holds("e", ":valid")}
  AND {believed("e", ":known")}
UNION SELECT d.source, d.target FROM derived_edges d JOIN chunks c ON c.id = d.chunk
JOIN presences p ON p.chunk = c.id WHERE c.topic = ANY(:topics) AND {_THERE}
LIMIT {ROWS_AT_MOST}
"""
_VECTORS = f"""
SELECT c.topic, substr(v.vector, 1, CAST(:bytes AS INT)) FROM chunks c
JOIN embeddings v ON v.node = c.id << 3 | {NodeKind.CHUNK}
JOIN encoders n ON n.id = v.encoder AND n.name = :encoder
WHERE c.topic = ANY(:topics)
  AND EXISTS (SELECT 1 FROM presences p WHERE p.chunk = c.id AND {_THERE})
ORDER BY c.topic DESC, c.id LIMIT {PASSAGES_AT_MOST}
"""
_GONE = f"""
WITH held AS (
  SELECT * FROM edges e WHERE e.space = :space AND {holds("e", ":valid")}
    AND {believed("e", ":known")}),
ends AS (
  SELECT id, source >> 3 AS topic FROM held WHERE source & 7 = {NodeKind.TOPIC}
  UNION SELECT id, target >> 3 FROM held WHERE target & 7 = {NodeKind.TOPIC})
SELECT DISTINCT ends.id FROM ends JOIN topics t ON t.id = ends.topic
LEFT JOIN states s ON s.id = {STATE_THEN} WHERE s.encoding IS NULL ORDER BY ends.id LIMIT :limit
"""


class TopicRow(NamedTuple):
    """A topic with the state that holds at a moment."""

    id: int
    name: str
    kind: str
    entity: int | None
    state: int
    version: int
    valid_from: int
    confidence: float
    last_used: int | None


class Links(StorePart):
    """Mentions, edges and vectors that may join topics."""

    def topics(self, space: int, as_of: AsOf, limit: int) -> list[TopicRow]:
        """Return topics that hold at a moment, without summaries, the last written first."""
        rows = self._database.rows(
            _TOPICS, space=space, limit=limit, **self._database.named_moment(as_of)
        )
        return [TopicRow(*row) for row in rows]

    def mentions(self, topics: list[int], as_of: AsOf) -> list[tuple[int, int]]:
        """Return (topic, entity) for each entity that the text of a topic mentions."""
        return self._database.rows(_MENTIONS, topics=topics, **self._database.named_moment(as_of))

    def edges(self, space: int, topics: list[int], as_of: AsOf) -> list[tuple[int, int]]:
        """Return (source, target) of edges that hold: all written ones and those of `topics`."""
        return self._database.rows(
            _EDGES, space=space, topics=topics, **self._database.named_moment(as_of)
        )

    def vectors(
        self, topics: list[int], encoder: str, dims: int, as_of: AsOf
    ) -> list[tuple[int, bytes]]:
        """Return (topic, vector) for the chunks that hold at a moment."""
        wanted = {"topics": topics, "encoder": encoder, "bytes": 2 * dims}
        return self._database.rows(_VECTORS, **wanted, **self._database.named_moment(as_of))

    def to_gone(self, space: int, as_of: AsOf, limit: int) -> list[int]:
        """Return ids of edges that hold, though a topic at an end was forgotten or has no state."""
        return self._database.column(
            _GONE, space=space, limit=limit, **self._database.named_moment(as_of)
        )
