"""Queues of the states that wait to be indexed.

Each pair of space and actor has a queue. In a queue, small states come before large ones; among
states of one size, words and names come before vectors. All versions of a topic stay in one queue
in order, because the times of a chunk depend on the version before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hades.domain.graph import NodeKind
from hades.store.chunks import VECTOR_CHARACTERS
from hades.store.database import StorePart
from hades.store.records import Pending, Phase, Rank

SMALL_CHUNKS = 64
"""The most chunks of a small state in the vector phase: 64 vectors take 2 s on two ARM cores."""
LOOKED_THROUGH_AT_MOST = 10_000
"""With this many waiting states in a space, a question does not sort them, because that would take
longer than 50 ms."""

_WAITING = "FROM pending p JOIN states s ON s.id = p.state JOIN topics t ON t.id = s.topic"
_RANK = f"""
CASE WHEN p.phase = {Phase.EMBEDDINGS} THEN
  CASE WHEN EXISTS (SELECT 1 FROM placements o
                    WHERE o.state = p.state AND o.ordinal >= {SMALL_CHUNKS})
  THEN {Rank.LARGE_VECTORS} ELSE {Rank.SMALL_VECTORS} END
ELSE max(CASE p.phase WHEN {Phase.LARGE} THEN {Rank.LARGE_WORDS} ELSE {Rank.SMALL_WORDS} END)
  OVER (PARTITION BY s.topic ORDER BY p.state) END
"""
"""The `Rank` of a state. A small version behind a large one of its topic has the rank of the large
one, so that versions stay in order."""
_FAIR_ORDER = f"""
SELECT state, space, name, version, phase, outline, actor, rank FROM (
  SELECT w.*, row_number() OVER (PARTITION BY space, actor ORDER BY rank, state) AS place FROM (
    SELECT p.state, t.space, t.name, s.version, p.phase, p.outline,
      coalesce(first_value(c.actor) OVER (PARTITION BY s.topic ORDER BY p.state), 0) AS actor,
      {_RANK} AS rank
    {_WAITING} LEFT JOIN changes c ON c.number = s.change
    WHERE t.space = ?1 OR ?1 IS NULL) AS w) AS q
WHERE place <= ?2 ORDER BY place, rank, state
"""
_LACKING = f"""
SELECT p.chunk FROM placements p JOIN chunks c ON c.id = p.chunk JOIN topics t ON t.id = c.topic
WHERE p.state = ?1 AND (t.kind <> 'note' OR p.start < {VECTOR_CHARACTERS}) AND NOT EXISTS (
  SELECT 1 FROM embeddings v WHERE v.node = p.chunk << 3 | {NodeKind.CHUNK}
    AND v.encoder = (SELECT id FROM encoders WHERE name = ?2))
ORDER BY p.ordinal LIMIT ?3
"""


class Waiting(StorePart):
    """The states that wait to be indexed."""

    def fair_order(self, space: int | None, of_each: int) -> list[Pending]:
        """Return the first `of_each` states of every queue of a space (None: of all spaces).

        The first states of all queues come first, then the second ones, and so on.
        """
        rows = self._database.rows(_FAIR_ORDER, space, of_each)
        return [Pending(*row) for row in rows]

    def are_many(self, space: int) -> bool:
        """Return whether too many states of a space wait to sort them for a question."""
        few = self._database.column(
            f"SELECT p.state {_WAITING} WHERE t.space = ? LIMIT ?", space, LOOKED_THROUGH_AT_MOST
        )
        return len(few) == LOOKED_THROUGH_AT_MOST

    def lacking(self, encoder: str, state: int, limit: int) -> list[int]:
        """Return the first chunks of a state that have no vector of this encoder."""
        return self._database.column(_LACKING, state, encoder, limit)

    def already_cut(self, states: Sequence[Pending]) -> list[Pending]:
        """Return those of the states that are cut by now and wait to be linked, with that phase."""
        rows = self._database.rows(
            f"SELECT state, outline FROM pending WHERE phase = {Phase.EDGES} AND state = ANY(?)",
            [pending.state for pending in states],
        )
        outlines = dict(rows)
        return [
            replace(pending, phase=Phase.EDGES, outline=outlines[pending.state])
            for pending in states
            if pending.state in outlines
        ]
