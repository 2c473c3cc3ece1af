"""Waiting: the states that wait to be indexed, in turns by space and actor.

Each space and actor has a queue of its own. In a queue small states come before large ones,
and words and names before vectors. The versions of a topic stay in one queue in their order,
since the times of a chunk follow from the version before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hades.domain.graph import NodeKind
from hades.store.database import Database
from hades.store.records import BEFORE_NAMES, Pending, Phase, Rank

SMALL_CHUNKS = 64
"""A state of more chunks is large when its vectors are made: these take 2 s (two ARM cores)."""
LOOKED_THROUGH_AT_MOST = 10_000
"""So many states are not put in order for a question, which would take longer than 50 ms."""

_WAITING = "FROM pending p JOIN states s ON s.id = p.state JOIN topics t ON t.id = s.topic"
_RANK = f"""
CASE WHEN p.phase = {Phase.EMBEDDINGS} THEN
  CASE WHEN EXISTS (SELECT 1 FROM placements o
                    WHERE o.state = p.state AND o.ordinal >= {SMALL_CHUNKS})
  THEN {Rank.LARGE_VECTORS} ELSE {Rank.SMALL_VECTORS} END
ELSE max(CASE p.phase WHEN {Phase.LARGE} THEN {Rank.LARGE_WORDS} ELSE {Rank.SMALL_WORDS} END)
  OVER (PARTITION BY s.topic ORDER BY p.state) END
"""
"""A small version waits with a large one before it."""
_IN_TURN = f"""
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
SELECT p.chunk FROM placements p WHERE p.state = ?1 AND NOT EXISTS (
  SELECT 1 FROM embeddings v WHERE v.node = p.chunk << 3 | {NodeKind.CHUNK}
    AND v.encoder = (SELECT id FROM encoders WHERE name = ?2))
ORDER BY p.ordinal LIMIT ?3
"""


class Waiting:
    """States that wait to be indexed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def in_turn(self, space: int | None, of_each: int) -> list[Pending]:
        """The first states of each queue, by their place in it; of one space, or of all."""
        rows = self._database.rows(_IN_TURN, space, of_each)
        return [Pending(*row) for row in rows]

    def are_many(self, space: int) -> bool:
        """Whether more states of a space wait than can be ordered for each question."""
        few = self._database.column(
            f"SELECT p.state {_WAITING} WHERE t.space = ? LIMIT ?", space, LOOKED_THROUGH_AT_MOST
        )
        return len(few) == LOOKED_THROUGH_AT_MOST

    def lacking(self, encoder: str, state: int, limit: int) -> list[int]:
        """Chunks of a state without a vector of an encoder, in order."""
        return self._database.column(_LACKING, state, encoder, limit)

    def cut(self, states: Sequence[Pending]) -> list[Pending]:
        """Those of the states that are cut by now and wait for names, in their order."""
        rows = self._database.rows(
            f"SELECT state, phase, outline FROM pending WHERE phase IN ({BEFORE_NAMES}, "
            f"{Phase.EDGES}) AND state = ANY(?)",
            [pending.state for pending in states],
        )
        found = {state: (phase, outline) for state, phase, outline in rows}
        return [
            replace(pending, phase=found[pending.state][0], outline=found[pending.state][1])
            for pending in states
            if pending.state in found
        ]
