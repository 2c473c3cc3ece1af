"""Names in texts, in SQLite: who is introduced where, who is mentioned, what is stated.

Rows here only say what stands in a text. Whether it counts follows from the times of the
chunk it stands in, so nothing has to be taken back when a text goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from hades.domain.graph import NodeKind
from hades.domain.names import name_key
from hades.store.port import Mention, Write
from hades.store.sqlite.engine import Engine
from hades.store.sqlite.entities import SqliteEntities

_TOGETHER = """
WITH there AS (
  SELECT DISTINCT p.chunk FROM presences p
  WHERE p.valid_from <= ?2 AND (p.valid_to IS NULL OR p.valid_to > ?2)
    AND p.recorded_at <= ?3 AND (p.retired_at IS NULL OR p.retired_at > ?3)
), own AS (
  SELECT DISTINCT m.chunk FROM mentions m JOIN there USING (chunk)
  WHERE m.entity IN (SELECT value FROM json_each(?1))
), others AS (
  SELECT m.entity, count(*) AS both FROM mentions m JOIN own USING (chunk)
  WHERE m.entity NOT IN (SELECT value FROM json_each(?1)) GROUP BY m.entity
)
SELECT e.name, e.kind, o.both, round(1.0 * o.both / (
    (SELECT count(*) FROM own) - o.both
    + (SELECT count(*) FROM mentions m JOIN there USING (chunk) WHERE m.entity = o.entity)), 6)
FROM others o JOIN entities e ON e.id = o.entity
WHERE e.origin = 0 OR EXISTS (
  SELECT 1 FROM mentions m JOIN there USING (chunk)
  WHERE m.entity = o.entity AND m.introduces IS NOT NULL)
ORDER BY o.both DESC, 4 DESC, e.name LIMIT ?4
"""


class SqliteLinks:
    """Introductions, mentions and stated edges."""

    def __init__(self, engine: Engine, entities: SqliteEntities) -> None:
        self._engine = engine
        self._entities = entities

    # Names

    def introduce(
        self, write: Write, space: int, name: str, kind: str, origin: int, chunks: Sequence[int]
    ) -> int:
        """A text brings in a name: its entity, made when there is none, lives in these chunks."""
        entity = self.entity(write, space, name, kind, origin)
        for chunk in chunks:
            self._engine.run(
                "INSERT INTO mentions VALUES (?, ?, ?, NULL, ?) ON CONFLICT DO UPDATE SET "
                "introduces = min(coalesce(introduces, 99), excluded.introduces), "
                "change = excluded.change",
                *(chunk, entity, origin, write.change),
            )
        return entity

    def entity(self, write: Write, space: int, name: str, kind: str, origin: int) -> int:
        """The entity of a name; its best spelling does not depend on who came first."""
        key = name_key(name)
        row = self._engine.row(
            "SELECT id, name, origin FROM entities WHERE space = ? AND key = ?", space, key
        )
        if row is None:
            return self._entities.new(write, space, name, kind, origin)
        entity, known, known_origin = row
        if (origin, name) < (known_origin, known):
            self._engine.run(
                "UPDATE entities SET name = ?, kind = ?, origin = ?, change = ? WHERE id = ?",
                *(name, kind, origin, write.change, entity),
            )
        return int(entity)

    def add_alias(
        self, write: Write, space: int, entity: int, alias: str, origin: int, chunk: int
    ) -> None:
        """A text says that an entity has another name."""
        del space
        self._entities.add_name(write, entity, name_key(alias), alias)
        self._engine.run(
            "INSERT INTO mentions VALUES (?, ?, ?, NULL, ?) ON CONFLICT DO NOTHING",
            *(chunk, entity, origin, write.change),
        )

    def names(self, space: int, after: int = 0) -> list[tuple[int, int, str]]:
        """The names of a space: (id, entity, key), by id."""
        return self._engine.rows(
            "SELECT n.id, n.entity, n.key FROM names n JOIN entities e ON e.id = n.entity "
            "WHERE e.space = ? AND n.id > ? AND n.retired_at IS NULL ORDER BY n.id",
            *(space, after),
        )

    def mentioned(self, space: int, keys: Sequence[str]) -> list[tuple[int, int]]:
        """(entity, chunk) of every mention of an entity that goes by one of these keys."""
        return self._engine.rows(
            "SELECT DISTINCT m.entity, m.chunk FROM json_each(?2) k "
            "CROSS JOIN names n ON n.key = k.value "
            "CROSS JOIN entities e ON e.id = n.entity AND e.space = ?1 "
            "CROSS JOIN mentions m ON m.entity = e.id WHERE n.retired_at IS NULL",
            *(space, json.dumps(list(keys))),
        )

    def named(self, space: int, keys: Sequence[str], known: int) -> list[tuple[str, int]]:
        """(key, entity) of every entity that went by one of these keys then."""
        return self._engine.rows(
            # CROSS JOIN keeps this order: keys, their names, their entities.
            "SELECT DISTINCT n.key, n.entity FROM json_each(?2) k "
            "CROSS JOIN names n ON n.key = k.value "
            "CROSS JOIN entities e ON e.id = n.entity AND e.space = ?1 "
            "WHERE n.recorded_at <= ?3 AND (n.retired_at IS NULL OR n.retired_at > ?3)",
            *(space, json.dumps(list(keys)), known),
        )

    def together(
        self, entities: Sequence[int], valid: int, known: int, limit: int
    ) -> list[tuple[str, str, int, float]]:
        """(name, kind, count, strength) of what is mentioned together with these entities."""
        return self._engine.rows(_TOGETHER, json.dumps(list(entities)), valid, known, limit)

    # How far chunks and names have been matched

    def matched(self, space: int) -> tuple[int, int]:
        """All chunks up to the first number have been matched with all names up to the second."""
        row = self._engine.row("SELECT chunk, name FROM matched WHERE space = ?", space)
        return (0, 0) if row is None else (int(row[0]), int(row[1]))

    def set_matched(self, space: int, chunk: int, name: int) -> None:
        """Note how far that is now."""
        self._engine.run("INSERT OR REPLACE INTO matched VALUES (?, ?, ?)", space, chunk, name)

    def chunks_between(self, space: int, after: int, up_to: int, limit: int) -> list[int]:
        """The chunks of a space, by id, after one and up to another."""
        rows = self._engine.rows(
            "SELECT c.id FROM chunks c JOIN topics t ON t.id = c.topic "
            "WHERE t.space = ? AND c.id > ? AND c.id <= ? ORDER BY c.id LIMIT ?",
            *(space, after, up_to, limit),
        )
        return [int(row[0]) for row in rows]

    def last_chunk(self) -> int:
        """The newest chunk there is."""
        return int(self._engine.row("SELECT coalesce(max(id), 0) FROM chunks")[0])

    # Mentions and stated edges

    def put_mentions(self, write: Write, mentions: Iterable[Mention]) -> int:
        """Write where names stand; how many."""
        count = 0
        for mention in mentions:
            self._engine.run(
                "INSERT INTO mentions VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
                "positions = excluded.positions, change = excluded.change",
                *(mention.chunk, mention.entity, mention.introduces),
                *(mention.positions, write.change),
            )
            count += 1
        return count

    def positions(self, chunks: Sequence[int]) -> dict[tuple[int, int], bytes]:
        """Where names stand in these chunks already: (chunk, entity) to positions."""
        rows = self._engine.rows(
            "SELECT chunk, entity, positions FROM mentions "
            "WHERE chunk IN (SELECT value FROM json_each(?)) AND positions IS NOT NULL",
            json.dumps(list(chunks)),
        )
        return {(chunk, entity): positions for chunk, entity, positions in rows}

    def put_link(
        self,
        write: Write,
        chunk: int,
        source: int,
        relation: str,
        target: int,
        *,
        weight: float,
        evidence: str,
        components: Mapping[str, float],
    ) -> None:
        """Write an edge a text states."""
        self._engine.run(
            "INSERT OR IGNORE INTO links "
            "(chunk, source, relation, target, weight, change, evidence, components) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            *(chunk, source, self._engine.relation_id(relation), target, weight, write.change),
            *(evidence or None, json.dumps(dict(components)) if components else None),
        )

    def topic_node(self, space: int, topic: str) -> int:
        """The node of a topic; one nothing was said of yet gets its place all the same."""
        row = self._engine.row("SELECT id FROM topics WHERE space = ? AND name = ?", space, topic)
        if row is None:
            row = (
                self._engine.insert("INSERT INTO topics (space, name) VALUES (?, ?)", space, topic),
            )
        return int(row[0]) << 3 | NodeKind.TOPIC
