"""The changefeed: the rows written since a change number, for derived indexes.

Rows are plain tuples. An open end is FOREVER, so that it can be compared as a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hades.domain.times import FOREVER
from hades.store.database import Glob, StorePart
from hades.store.states import STATE_THEN

SINCE = {
    "chunks": "SELECT c.id, c.topic, t.space, t.kind = 'note' FROM chunks c {by} "
    "JOIN topics t ON t.id = c.topic "
    "WHERE {which} ORDER BY c.id",
    "presences": "SELECT id, chunk, valid_from, coalesce(valid_to, {end}), recorded_at, "
    "coalesce(retired_at, {end}) FROM presences {by} WHERE {which} ORDER BY id",
    "entities": "SELECT id, space, origin, recorded_at FROM entities {by} "
    "WHERE {which} ORDER BY id",
    "derived_edges": "SELECT id, chunk, source, relation, target, weight FROM derived_edges {by} "
    "WHERE {which} ORDER BY id",
    "edges": "SELECT row, id, space, source, relation, target, weight, valid_from, "
    "coalesce(valid_to, {end}), recorded_at, coalesce(retired_at, {end}) FROM edges {by} "
    "WHERE {which} ORDER BY row",
    "merges": "SELECT id, space, entity, target, recorded_at, coalesce(retired_at, {end}) "
    "FROM merges WHERE {which} ORDER BY id",
    "subjects": "SELECT id, entity FROM topics WHERE entity IS NOT NULL AND ? >= 0 ORDER BY id",
    # For a topic with a planned state, return all its states: the index chooses by the presences.
    "order": "WITH changed AS (SELECT topic FROM chunks WHERE change > ?1 UNION "
    "SELECT c.topic FROM presences q JOIN chunks c ON c.id = q.chunk WHERE q.change > ?1), "
    "chosen AS (SELECT id AS topic, latest AS state FROM topics "
    "WHERE id IN (SELECT topic FROM changed) UNION "
    "SELECT s.topic, s.id FROM topics t JOIN states s ON s.topic = t.id "
    "WHERE t.planned = 1 AND t.id IN (SELECT topic FROM changed) AND s.retired_at IS NULL) "
    "SELECT p.chunk, h.topic, min(p.ordinal), t.kind = 'conversation' FROM chosen h "
    "JOIN placements p ON p.state = h.state JOIN topics t ON t.id = h.topic "
    "GROUP BY p.chunk, h.topic, t.kind",
    "purged": "SELECT node FROM purged WHERE change > ?",
}
_STAND = (
    "SELECT (SELECT value FROM meta WHERE key = 'generation'), "
    "(SELECT number FROM changes ORDER BY number DESC LIMIT 1)"
)


class Changefeed(StorePart):
    """The rows that derived indexes are built from."""

    def revision(self) -> tuple[str, int]:
        """Return the generation of the memory and the number of its last change."""
        generation, change = self._database.row(_STAND)
        return generation or "", change or 0

    def since(self, what: str, change: int) -> list[tuple[Any, ...]]:
        """Return the rows of a kind (see `SINCE`) written after a change; of subjects, all rows."""
        # Without the hint an engine may read all rows in order instead of sorting the new ones.
        by = f"INDEXED BY {what}_change" if change else ""
        return self._database.rows(
            SINCE[what].format(end=FOREVER, by=by, which="change > ?"), change
        )

    def frequency(self, entities: Sequence[int]) -> tuple[dict[int, int], int] | None:
        """Return the mentions of each entity in the whole memory, and the number of its chunks.

        This feed has the whole memory, so callers can count, and it returns None; the feed of an
        excerpt returns both.
        """
        return None

    def said(self, space: int, change: int, at_once: int) -> Iterator[list[tuple[Any, ...]]]:
        """Yield batches of presences after a change: id, chunk, topic, whether a note, and four
        times."""
        by = "INDEXED BY presences_change" if change else ""
        return self._database.batches(
            at_once,
            "SELECT p.id, p.chunk, t.id, t.kind = 'note', p.valid_from, "
            f"coalesce(p.valid_to, {FOREVER}), p.recorded_at, coalesce(p.retired_at, {FOREVER}) "
            f"FROM presences p {by} JOIN chunks c ON c.id = p.chunk JOIN topics t "
            "ON t.id = c.topic WHERE p.change > ?1 AND t.space = ?2 ORDER BY p.id",
            change,
            space,
        )

    def mentions(
        self, change: int, after: tuple[int, int], limit: int
    ) -> list[tuple[int, int, int | None, bytes | None]]:
        """Return a page of (chunk, entity, introduces, positions) written after a change.

        It begins after the key (chunk, entity) `after` and has `limit` rows at most.
        """
        by = "INDEXED BY mentions_change" if change else ""
        return self._database.rows(
            f"SELECT chunk, entity, introduces, positions FROM mentions {by} "
            "WHERE change > ?1 AND (chunk, entity) > (?2, ?3) ORDER BY chunk, entity LIMIT ?4",
            change,
            *after,
            limit,
        )

    def order(self, space: int, valid: int, known: int) -> list[tuple[int, int, int, int]]:
        """Return (chunk, topic, ordinal, is it a turn) for the states that hold at a moment."""
        return self._database.rows(
            "SELECT p.chunk, t.id, min(p.ordinal), t.kind = 'conversation' "
            f"FROM topics t JOIN placements p ON p.state = {STATE_THEN} "
            "WHERE t.space = :space GROUP BY p.chunk, t.id, t.kind",
            valid=valid,
            known=known,
            space=space,
        )

    def vectors(self, encoder: str, change: int, at_once: int) -> Iterator[list[tuple[int, bytes]]]:
        """Yield batches of (node, vector) of an encoder that were written after a change."""
        return self._database.batches(
            at_once,
            "SELECT v.node, v.vector FROM embeddings v JOIN encoders e ON e.id = v.encoder "
            "WHERE e.name = ? AND v.change > ?",
            encoder,
            change,
        )

    def tagged(self, space: int, tag: str, valid: int, known: int) -> list[int]:
        """Return the topics whose state at a moment has a tag."""
        return self._database.column(
            f"SELECT t.id FROM topics t JOIN states s ON s.id = {STATE_THEN} "
            "WHERE t.space = :space "
            "AND json_has(s.tags, :tag)",
            valid=valid,
            known=known,
            space=space,
            tag=tag,
        )

    def topics_like(self, space: int, glob: str | None, kind: str | None) -> list[int]:
        """Return the topics whose name matches a glob and whose kind is this; None allows any."""
        return self._database.column(
            "SELECT id FROM topics WHERE space = ?1 AND (name GLOB ?2 OR ?2 IS NULL) "
            "AND (kind = ?3 OR ?3 IS NULL)",
            space,
            None if glob is None else Glob(glob),
            kind,
        )
