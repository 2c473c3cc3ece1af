"""Names in texts: which chunks introduce and mention which entities.

A mention has no times of its own: it counts while its chunk holds, so nothing must be undone when a
text is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from hades.domain.graph import NodeKind
from hades.domain.times import AsOf
from hades.language.names import entity_key, name_key
from hades.store.database import Database, believed
from hades.store.entities import USERS_WORD, Entities
from hades.store.identity import PRESENT
from hades.store.records import NamedEntity, Write

TOLD_KINDS = ("person", "place", "organisation", "work", "event", "method", "product")
"""Kinds that texts show by words around a name, the surest first."""
_THERE = f"WITH there AS (SELECT DISTINCT p.chunk FROM presences p WHERE {PRESENT})"
"""The chunks that hold at a moment."""
_TOGETHER = f"""
{_THERE}, own AS (
  SELECT DISTINCT m.chunk FROM mentions m JOIN there USING (chunk)
  WHERE m.entity = ANY(?1)
), others AS (
  SELECT m.entity, count(*) AS shared FROM mentions m JOIN own USING (chunk)
  WHERE m.entity <> ALL(?1) GROUP BY m.entity
)
SELECT e.name, e.kind, o.shared, round(1.0 * o.shared / (
    (SELECT count(*) FROM own) - o.shared
    + (SELECT count(*) FROM mentions m JOIN there USING (chunk) WHERE m.entity = o.entity)), 6)
FROM others o JOIN entities e ON e.id = o.entity
WHERE e.origin = 0 OR EXISTS (
  SELECT 1 FROM mentions m JOIN there USING (chunk)
  WHERE m.entity = o.entity AND m.introduces IS NOT NULL)
ORDER BY o.shared DESC, 4 DESC, e.name LIMIT ?4
"""

_LIVING = f"""
{_THERE}, said AS (
  SELECT m.entity, min(m.introduces) AS origin, count(*) AS frequency
  FROM mentions m JOIN there USING (chunk) GROUP BY m.entity
)
SELECT e.id, e.name, e.key, e.kind, CASE WHEN s.origin = 1 THEN 1 ELSE 0 END,
  coalesce(s.frequency, 0)
FROM entities e LEFT JOIN said s ON s.entity = e.id
WHERE e.space = ?1 AND (e.origin = 0 OR s.origin IS NOT NULL) ORDER BY e.name, e.key
"""
_MENTIONS = f"""
WITH there AS (
  SELECT DISTINCT m.chunk FROM mentions m JOIN presences p ON p.chunk = m.chunk
  WHERE m.entity = ANY(?1)
    AND {PRESENT}
  ORDER BY m.chunk LIMIT ?4)
SELECT m.chunk, m.positions FROM there JOIN mentions m USING (chunk)
WHERE m.entity = ANY(?1) ORDER BY m.chunk, m.entity
"""


# CROSS JOIN makes SQLite read the names first, then their entities.
_BY_KEYS = "FROM names n CROSS JOIN entities e ON e.id = n.entity AND e.space = ?1"
_OF_KEYS = "WHERE n.key = ANY(?2)"


class Mentions:
    """Introductions and mentions of entities in chunks."""

    def __init__(self, database: Database, entities: Entities) -> None:
        self._database = database
        self._entities = entities

    # Names

    def introduce(
        self,
        write: Write,
        space: int,
        name: str,
        kind: str,
        origin: int,
        chunks: Sequence[int],
        *,
        symbol: bool = False,
    ) -> int:
        """Record that chunks introduce a name. Return its entity, made if there is none."""
        entity = self.entity(write, space, name, kind, origin, symbol=symbol)
        self._database.run_many(
            "INSERT INTO mentions VALUES (?, ?, ?, NULL, ?) "
            "ON CONFLICT (chunk, entity) DO UPDATE SET change = excluded.change, introduces = "
            "CASE WHEN mentions.introduces < excluded.introduces "
            "THEN mentions.introduces ELSE excluded.introduces END",
            [(chunk, entity, origin, write.change) for chunk in chunks],
        )
        return entity

    def entity(
        self,
        write: Write,
        space: int,
        name: str,
        kind: str,
        origin: int,
        *,
        symbol: bool = False,
    ) -> int:
        """Return the entity of a name, made if there is none.

        Its spelling and kind are the best of all given, in whichever order they come; a kind that a
        user set stays. A `symbol` of code is identified by the exact letters of its full name.
        """
        key = entity_key(name, symbol=symbol)
        row = self._database.row(
            "SELECT id, name, origin, kind FROM entities WHERE space = ? AND key = ?", space, key
        )
        if row is None and key != (plain := name_key(name)):
            row = self._adopted(write, space, name, plain, key)
        if row is None:
            return self._entities.new(write, space, name, kind, origin, key)
        entity, *described = row
        best = _best(_Described(*described), _Described(name, origin, kind))
        if [*best] != described:
            if best.kind != described[2] and self._is_kind_of_user(entity):
                best = best._replace(kind=described[2])
            self._database.run(
                "UPDATE entities SET name = ?, origin = ?, kind = ?, change = ? WHERE id = ?",
                *best,
                write.change,
                entity,
            )
        return int(entity)

    def _is_kind_of_user(self, entity: int) -> bool:
        return None is not self._database.row(
            "SELECT 1 FROM changes WHERE action = 'set_kind' AND subject = ? LIMIT 1",
            NodeKind.ENTITY.node(entity),
        )

    def _adopted(self, write: Write, space: int, name: str, plain: str, key: str) -> Any:
        """Give `key` to the entity to which a user gave exactly this name. Return its row, or
        None."""
        row = self._database.row(
            "SELECT id, name, origin, kind FROM entities "
            "WHERE space = ? AND key = ? AND name = ? AND origin = ?",
            space,
            plain,
            name,
            USERS_WORD,
        )
        if row is not None:
            self._database.run(
                "UPDATE entities SET key = ?, change = ? WHERE id = ?", key, write.change, row[0]
            )
        return row

    def add_alias(self, write: Write, entity: int, alias: str, origin: int, chunk: int) -> None:
        """Record that a chunk gives an entity another name."""
        self._entities.add_name(write, entity, name_key(alias), alias)
        self._database.run(
            "INSERT INTO mentions VALUES (?, ?, ?, NULL, ?) ON CONFLICT DO NOTHING",
            chunk,
            entity,
            origin,
            write.change,
        )

    def names(self, space: int, after: int = 0) -> list[tuple[int, int, str]]:
        """Return (id, entity, key) of the names in use in a space with ids above `after`, by id."""
        return self._database.rows(
            "SELECT n.id, n.entity, n.key FROM names n CROSS JOIN entities e ON e.id = n.entity "
            "WHERE e.space = ? AND n.id > ? AND n.retired_at IS NULL ORDER BY n.id",
            space,
            after,
        )

    def ever_named(self, space: int) -> tuple[list[str], list[str]]:
        """Return the names of all topics of a space, and the keys of all names of its entities."""
        topics = self._database.column("SELECT name FROM topics WHERE space = ?", space)
        keys = "SELECT n.key FROM names n JOIN entities e ON e.id = n.entity WHERE e.space = ?"
        return topics, self._database.column(keys, space)

    def going_by(self, space: int, keys: Sequence[str]) -> list[tuple[int, int, str]]:
        """Return (id, entity, key) of the names in use in a space with one of these keys, by id."""
        return self._database.rows(
            f"SELECT n.id, n.entity, n.key {_BY_KEYS} {_OF_KEYS} AND n.retired_at IS NULL "
            "ORDER BY n.id",
            space,
            list(keys),
        )

    def mentioned(self, space: int, keys: Sequence[str], known: int) -> list[tuple[int, int]]:
        """Return (entity, chunk) of mentions of entities that had one of the keys at `known`."""
        return self._database.rows(
            f"SELECT DISTINCT m.entity, m.chunk {_BY_KEYS} "
            f"CROSS JOIN mentions m ON m.entity = e.id {_OF_KEYS} AND {believed('n', '?3')}",
            space,
            list(keys),
            known,
        )

    def find(
        self, entities: Sequence[int], valid: int, known: int, limit: int
    ) -> list[tuple[int, bytes]]:
        """Return (chunk, joined positions) of chunks at a moment that mention these entities."""
        rows = self._database.rows(_MENTIONS, list(entities), valid, known, limit)
        of_chunk: dict[int, bytes] = {}
        for chunk, positions in rows:
            of_chunk[chunk] = of_chunk.get(chunk, b"") + (positions or b"")
        return list(of_chunk.items())

    def named(self, space: int, keys: Sequence[str], known: int) -> list[tuple[str, int]]:
        """Return (key, entity) of every entity that had one of the keys at the time `known`."""
        return self._database.rows(
            f"SELECT DISTINCT n.key, n.entity {_BY_KEYS} {_OF_KEYS} AND {believed('n', '?3')}",
            space,
            list(keys),
            known,
        )

    def together(
        self, entities: Sequence[int], valid: int, known: int, limit: int
    ) -> list[tuple[str, str, int, float]]:
        """Return (name, kind, count, strength) of the entities mentioned together with these.

        `count` is the number of shared chunks, `strength` their share of all chunks of either.
        """
        rows = self._database.rows(_TOGETHER, list(entities), valid, known, limit)
        return [(name, kind, count, float(strength)) for name, kind, count, strength in rows]

    def entities(self, space: int, as_of: AsOf) -> list[NamedEntity]:
        """Return the entities at a moment, by name, without those that stand for another one."""
        identity = self._entities.identity(space, as_of)
        others = {**self._entities.roots(space, as_of), **identity.explained(space)}
        rows = self._database.rows(_LIVING, space, *self._database.moment(as_of))
        return [
            NamedEntity(entity, name, key, kind, bool(is_title), frequency)
            for entity, name, key, kind, is_title, frequency in rows
            if entity not in others
        ]

    def are_distinct(self, entity: int, other: int, as_of: AsOf) -> bool:
        """Return whether some chunk at a moment mentions both, and neither is its title.

        A text may spell its own title in two ways.
        """
        row = self._database.row(
            "SELECT 1 FROM mentions a JOIN mentions b USING (chunk) JOIN presences p USING (chunk) "
            "WHERE a.entity = ?1 AND b.entity = ?4 AND coalesce(a.introduces, 0) <> 1 "
            f"AND coalesce(b.introduces, 0) <> 1 AND {PRESENT} LIMIT 1",
            entity,
            *self._database.moment(as_of),
            other,
        )
        return row is not None

    # Progress of matching chunks with names

    def matched(self, space: int) -> tuple[int, int]:
        """Return (chunk id, name id): all chunks up to the first were matched with all names up to
        the second."""
        row = self._database.row("SELECT chunk, name FROM matched WHERE space = ?", space)
        return row or (0, 0)

    def set_matched(self, space: int, chunk: int, name: int) -> None:
        """Record that all chunks up to an id were matched with all names up to an id."""
        self._database.upsert("matched", ("space",), space=space, chunk=chunk, name=name)

    def chunks_between(self, space: int, after: int, up_to: int, limit: int) -> list[int]:
        """Return the chunks of a space with `after` < id <= `up_to`, by id."""
        return self._database.column(
            # CROSS JOIN: read chunks first, or SQLite sorts those of the whole space.
            "SELECT c.id FROM chunks c CROSS JOIN topics t ON t.id = c.topic "
            "WHERE t.space = ? AND c.id > ? AND c.id <= ? ORDER BY c.id LIMIT ?",
            space,
            after,
            up_to,
            limit,
        )

    def last_chunk(self) -> int:
        """Return the id of the newest chunk, or 0."""
        return self._database.value("SELECT max(id) FROM chunks") or 0

    # Mentions

    def put_mentions(self, write: Write, mentions: Iterable[tuple[int, int, bytes]]) -> int:
        """Write (chunk, entity, positions) of mentions and return how many were given.

        Those whose chunk or entity was purged since are skipped, but counted.
        """
        rows = [(*mention, write.change) for mention in mentions]
        self._database.run_many(
            "INSERT INTO mentions SELECT ?1, ?2, NULL, ?3, ?4 "
            "WHERE EXISTS (SELECT 1 FROM chunks WHERE id = ?1) "
            "AND EXISTS (SELECT 1 FROM entities WHERE id = ?2) "
            "ON CONFLICT (chunk, entity) DO UPDATE SET "
            "positions = excluded.positions, change = excluded.change",
            rows,
        )
        return len(rows)

    def positions(self, chunks: Sequence[int]) -> dict[tuple[int, int], bytes]:
        """Return the stored positions of names in chunks, by (chunk, entity)."""
        rows = self._database.rows(
            "SELECT chunk, entity, positions FROM mentions "
            "WHERE chunk = ANY(?) AND positions IS NOT NULL",
            list(chunks),
        )
        return {(chunk, entity): positions for chunk, entity, positions in rows}

    def topic_node(self, space: int, topic: str) -> int:
        """Return the node of a topic. Make the topic, without a state, if there is none."""
        sql = "SELECT id FROM topics WHERE space = ? AND name = ?"
        known = self._database.number(sql, space, topic)
        topic_id = known or self._database.insert("topics", space=space, name=topic)
        return topic_id << 3 | NodeKind.TOPIC


class _Described(NamedTuple):
    """The spelling of a name, its origin and its kind, as one text gives them."""

    name: str
    origin: int
    kind: str

    @property
    def rank(self) -> tuple[int, str, bool, bool, str]:
        """The order of descriptions: the lowest is used. "concept" says least."""
        is_told = self.kind in TOLD_KINDS
        return self.origin, self.name, self.kind == "concept", is_told, self.kind


def _best(known: _Described, new: _Described) -> _Described:
    """Return the better description; where it has no kind, the kind that the other one tells.

    The result does not depend on the order. If texts tell several kinds, the first of
    TOLD_KINDS is used. An entity that a user named keeps its kind.
    """
    best, other = sorted((known, new), key=lambda described: described.rank)
    if best.origin == USERS_WORD or best.kind not in ("concept", *TOLD_KINDS):
        return best
    told = [kind for kind in TOLD_KINDS if kind in (best.kind, other.kind)]
    return best._replace(kind=told[0]) if told else best
