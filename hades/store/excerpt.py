"""An excerpt: the rows around one question, of a memory larger than a process may hold.

It starts with the chunks that the retrievers find and follows the graph with one query per hop, in
which the database adds up the worth of each neighbour. An excerpt is a changefeed that has only the
chosen chunks, so that they are read like a small memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hades.domain.graph import NodeKind
from hades.domain.times import FOREVER
from hades.store.changefeed import SINCE, Changefeed
from hades.store.database import Database
from hades.store.states import STATE_THEN

HUB_MENTIONS = 100
"""A name with more mentions is a hub: hops do not follow it."""
COUNTED_AT_MOST = 1_000
"""The most mentions that are counted to see how rare a name is. A name with this many counts as
being everywhere."""
EDGE_HOPS = 3
EDGES_AT_MOST = 5_000
"""How many hops written edges are followed, and the most edges of a hop."""
_TITLE_WORTH = 3.0
"""Weight of an arc to a title, where one to another name is 1 (as in `hades.index.graph_build`)."""
_HOP = f"""
WITH names AS (
  SELECT entity, sum(worth) AS worth FROM (
    SELECT entity, CAST(1 AS float8) AS worth FROM mentions WHERE chunk = ANY(?1)
    UNION ALL SELECT entity, CAST(?4 AS float8) FROM unnest(CAST(?2 AS bigint[])) AS said (entity)
  ) s GROUP BY entity
), reached AS (
  SELECT m.chunk, n.worth * CASE WHEN m.introduces = 1 THEN {_TITLE_WORTH} ELSE 1.0 END AS worth,
    count(*) OVER (PARTITION BY n.entity) AS mentions
  FROM names n JOIN mentions m ON m.entity = n.entity
  WHERE NOT EXISTS (SELECT 1 FROM mentions h WHERE h.entity = n.entity OFFSET {HUB_MENTIONS})
)
SELECT chunk FROM reached WHERE chunk <> ALL(?1)
GROUP BY chunk ORDER BY sum(worth / mentions) DESC, chunk LIMIT ?3
"""
_BESIDE = """
SELECT q.chunk FROM placements p JOIN placements q
  ON q.state = p.state AND q.ordinal BETWEEN p.ordinal - 2 AND p.ordinal + 2 WHERE p.chunk = ANY(?1)
UNION SELECT o.id FROM chunks c JOIN topics t ON t.id = c.topic AND t.kind = 'note'
  JOIN chunks o ON o.topic = t.id WHERE c.id = ANY(?1)
UNION SELECT p.chunk FROM edges e JOIN topics t ON t.id = e.target >> 3
  JOIN placements p ON p.state = t.latest WHERE e.source = ANY(?2) AND e.target & 7 = 0
UNION SELECT p.chunk FROM edges e JOIN topics t ON t.id = e.source >> 3
  JOIN placements p ON p.state = t.latest WHERE e.target = ANY(?2) AND e.source & 7 = 0
LIMIT ?3
"""
_ORDER = (
    "SELECT p.chunk, t.id, min(p.ordinal), t.kind = 'conversation' FROM topics t "
    "JOIN placements p ON p.state = {state} WHERE t.id = ANY(:topics) AND p.chunk = ANY(:chunks) "
    "GROUP BY p.chunk, t.id, t.kind"
)
_WHICH = {
    "chunks": ("c.id = ANY(?)", "chunks"),
    "presences": ("chunk = ANY(?)", "chunks"),
    "derived_edges": ("chunk = ANY(?)", "chunks"),
    "entities": ("id = ANY(?)", "entities"),
    "merges": ("entity = ANY(?)", "entities"),
    "edges": ("row = ANY(?)", "edges"),
}
"""For each table, the condition for its rows, and the attribute of ExcerptFeed with the numbers."""


def hop(
    database: Database, chunks: Sequence[int], named: Sequence[int], limit: int, worth: float
) -> list[int]:
    """Return other chunks that mention names of these, or `named` (weight `worth`), best first."""
    return database.column(_HOP, list(chunks), list(named), limit, worth)


def beside(
    database: Database, chunks: Sequence[int], nodes: Sequence[int], limit: int
) -> list[int]:
    """Return the neighbours of chunks in their texts, other versions of their notes, and the chunks
    of topics that written edges join to nodes."""
    return database.column(_BESIDE, list(chunks), list(nodes), limit)


class ExcerptFeed(Changefeed):
    """The rows of some chunks, and the edges around them and around some nodes."""

    def __init__(self, database: Database, chunks: Sequence[int], nodes: Sequence[int]) -> None:
        super().__init__(database)
        self._chunks = sorted(set(chunks))
        self._topics = database.column(
            "SELECT DISTINCT topic FROM chunks WHERE id = ANY(?)", self._chunks
        )
        self._mentions = database.rows(
            "SELECT chunk, entity, introduces, positions FROM mentions "
            "WHERE chunk = ANY(?) ORDER BY chunk, entity",
            self._chunks,
        )
        seen = {row[1] << 3 | NodeKind.ENTITY for row in self._mentions}
        seen |= {*nodes, *(topic << 3 | NodeKind.TOPIC for topic in self._topics)}
        front = seen
        self._edges = set[int]()
        facts = set[int]()
        for _ in range(EDGE_HOPS):
            rows = database.rows(
                "SELECT row, id, source, target FROM edges WHERE source = ANY(?1) "
                "OR target = ANY(?1) ORDER BY row DESC LIMIT ?2",
                list(front),
                EDGES_AT_MOST,
            )
            self._edges |= {row[0] for row in rows}
            facts |= {row[1] for row in rows}
            front = {end for row in rows for end in row[2:]} - seen
            seen = seen | front
        entities = [node >> 3 for node in seen if node & 7 == NodeKind.ENTITY]
        self._entities = entities + database.column(
            "SELECT target FROM merges WHERE entity = ANY(?)", entities
        )
        self._embedded = [chunk << 3 | NodeKind.CHUNK for chunk in self._chunks]
        self._embedded += [edge << 3 | NodeKind.EDGE for edge in facts]
        self._vectors: dict[str, list[tuple[int, bytes]]] = {}

    def since(self, what: str, change: int) -> list[tuple[Any, ...]]:
        """Return the excerpt's rows of kind `what`; none after `change` 0, as it never changes."""
        if change or what == "purged":
            return []
        if what == "subjects":
            return self._database.rows(
                "SELECT id, entity FROM topics WHERE entity IS NOT NULL AND id = ANY(?)",
                self._topics,
            )
        if what == "order":
            return self._ordered("t.latest")
        which, of = _WHICH[what]
        return self._database.rows(
            SINCE[what].format(end=FOREVER, by="", which=which), list(getattr(self, f"_{of}"))
        )

    def mentions(
        self, change: int, after: tuple[int, int], limit: int
    ) -> list[tuple[int, int, int | None, bytes | None]]:
        """Return all mentions in its chunks as the first page."""
        return self._mentions if after == (0, 0) and not change else []

    def order(self, space: int, valid: int, known: int) -> list[tuple[int, int, int, int]]:
        """Return (chunk, topic, ordinal, is it a turn) for the states that hold at a moment."""
        return self._ordered(STATE_THEN, valid=valid, known=known)

    def _ordered(self, state: str, **moment: int) -> list[Any]:
        return self._database.rows(
            _ORDER.format(state=state), topics=self._topics, chunks=self._chunks, **moment
        )

    def vectors(self, encoder: str, change: int, at_once: int) -> Iterator[list[tuple[int, bytes]]]:
        """Return an iterator of one batch: all (node, vector) of its chunks and edges."""
        if encoder not in self._vectors:
            self._vectors[encoder] = self._database.rows(
                "SELECT v.node, v.vector FROM embeddings v JOIN encoders e ON e.id = v.encoder "
                "WHERE e.name = ? AND v.node = ANY(?)",
                encoder,
                self._embedded,
            )
        return iter([self._vectors[encoder]])

    def frequency(self, entities: Sequence[int]) -> tuple[dict[int, int], int] | None:
        """Return how often the whole memory mentions each entity, and how many chunks it has."""
        rows = self._database.rows(
            "SELECT e.id, (SELECT count(*) FROM "
            "(SELECT 1 FROM mentions WHERE entity = e.id LIMIT ?2) s) "
            "FROM unnest(CAST(?1 AS bigint[])) AS e (id)",
            list(entities),
            COUNTED_AT_MOST,
        )
        whole = self._database.value("SELECT max(id) FROM chunks") or 0
        return {entity: whole if n == COUNTED_AT_MOST else n for entity, n in rows}, whole
