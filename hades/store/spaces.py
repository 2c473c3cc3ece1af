"""Spaces, the change log, and counts of what a memory holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hades.domain.graph import NodeKind
from hades.domain.times import from_micros, from_micros_or_none, to_micros
from hades.domain.topics import Change, Growth, Lifetime, Space
from hades.errors import Conflict, InvalidInput, NotFound
from hades.store.database import Database, intact
from hades.store.entities import Entities
from hades.store.purge import erase_space
from hades.store.records import Write
from hades.store.topics import Topics

UPKEEP = ("cut", "embed", "link", "match", "archive")
"""Actions of indexing and archiving, which change nothing that a user wrote."""
_OF_CHUNKS = "JOIN chunks c ON c.id = r.chunk JOIN topics t ON t.id = c.topic WHERE t.space = ?"
_OF_STATES = "JOIN topics t ON t.id = s.topic WHERE t.space = ?"
_COUNTS = {
    "states": f"SELECT count(*) FROM states s {_OF_STATES}",
    "chunks": "SELECT count(*) FROM chunks c JOIN topics t ON t.id = c.topic WHERE t.space = ?",
    "mentions": f"SELECT count(*) FROM mentions r {_OF_CHUNKS}",
    "derived_edges": f"SELECT count(*) FROM derived_edges r {_OF_CHUNKS}",
    "pending": f"SELECT count(*) FROM pending p JOIN states s ON s.id = p.state {_OF_STATES}",
    "vectors": f"SELECT count(*) FROM embeddings v JOIN chunks c "
    f"ON v.node = c.id << 3 | {NodeKind.CHUNK} JOIN topics t ON t.id = c.topic WHERE t.space = ?",
    "entities": "SELECT count(*) FROM entities WHERE space = ?",
    "edges": "SELECT count(*) FROM edges WHERE space = ? AND retired_at IS NULL",
    "open_edges": "SELECT count(*) FROM edges "
    "WHERE space = ? AND retired_at IS NULL AND valid_to IS NULL",
    "proposals": "SELECT count(*) FROM proposals WHERE space = ? AND status = 'waiting'",
    "stored_bytes": f"SELECT coalesce(sum(length(s.body)), 0) FROM states s {_OF_STATES}",
}

_FIRST_RECORDED = f"SELECT min(s.recorded_at) FROM states s {_OF_STATES}"
_GROWTH = """
  SELECT (s.recorded_at - :first) / :step, sum(CASE WHEN s.version = 1 THEN 1 ELSE 0 END), count(*)
  FROM states s JOIN topics t ON t.id = s.topic WHERE t.space = :space GROUP BY 1
"""
_LIFETIME = """
  SELECT min(held), min(recorded) FROM (
    SELECT s.valid_from AS held, s.recorded_at AS recorded
    FROM states s JOIN topics t ON t.id = s.topic WHERE t.space = :space
    UNION ALL
    SELECT valid_from, recorded_at FROM edges WHERE space = :space AND valid_from > :unknown
  ) AS written
"""


class Spaces:
    """Named, isolated memories in one file."""

    def __init__(self, database: Database, topics: Topics, entities: Entities) -> None:
        self._database = database
        self._topics = topics
        self._entities = entities

    def list(self) -> list[Space]:
        """Return all spaces, by name."""
        rows = self._database.rows("SELECT id, name, created_at FROM spaces ORDER BY name")
        topics = self._topics.counts()
        with intact("A space"):
            return [Space(name, from_micros(at), topics.get(id_, 0)) for id_, name, at in rows]

    def id(self, name: str) -> int:
        """Return the number of a space, or raise NotFound."""
        row = self._database.once("SELECT id FROM spaces WHERE name = ?", name)
        if row is None:
            raise NotFound(f"There is no space {name!r}: create it with `hades spaces create`.")
        return int(row[0])

    def name(self, space: int) -> str:
        """Return the name of a space."""
        return str(self._database.value("SELECT name FROM spaces WHERE id = ?", space))

    def create(self, write: Write, name: str) -> Space:
        """Create an empty space. Raise Conflict if the name is taken."""
        if self._database.row("SELECT 1 FROM spaces WHERE name = ?", name):
            raise Conflict(f"The space {name!r} exists already.")
        write.space = self._database.insert("spaces", name=name, created_at=write.at)
        return Space(name, from_micros(write.at))

    def drop(self, write: Write, name: str) -> None:
        """Erase a space with everything in it. The default space is refused."""
        space = self.id(name)
        if name == "default":
            raise InvalidInput("The default space cannot be dropped: purge its topics instead.")
        erase_space(self._database, write, space)
        self._database.look_again()

    def log(self, space: int, limit: int, before: int, *, upkeep: bool) -> Sequence[Change]:
        """Return the last `limit` changes of a space with numbers below `before`, newest first.

        Changes of the whole memory are included, UPKEEP actions only with `upkeep`.
        """
        without = "" if upkeep else f"AND c.action NOT IN {UPKEEP} "
        rows = self._database.rows(
            "SELECT c.number, c.at, a.name, c.action, s.name, c.subject FROM changes c "
            "JOIN actors a ON a.id = c.actor LEFT JOIN spaces s ON s.id = c.space "
            "WHERE (c.space = ? OR c.space IS NULL) AND c.number < ? "
            f"{without}ORDER BY c.number DESC LIMIT ?",
            space,
            before,
            limit,
        )
        with intact("The change log"):
            subjects = self._entities.described({row[5] for row in rows} - {None})
            called = {node: subject.name for node, subject in subjects.items()}
            return [
                Change(number, from_micros(at), actor, action, name, called.get(subject))
                for number, at, actor, action, name, subject in rows
            ]

    def stats(self, space: int) -> dict[str, int]:
        """Return counts of what a space holds, the last change, and the size of the memory."""
        numbers = {"topics": self._topics.counts().get(space, 0)}
        numbers |= {name: self._database.value(sql, space) for name, sql in _COUNTS.items()}
        return numbers | {"change": self._database.change(), "file_bytes": self._database.size()}

    def growth(self, space: int, steps: int, now: int) -> Sequence[Growth]:
        """Return how many topics and states there were at the ends of equal steps until now."""
        first = self._database.value(_FIRST_RECORDED, space)
        if first is None:
            return []
        step = (max(now, first) - first) // steps + 1
        rows = self._database.rows(_GROWTH, space=space, first=first, step=step)
        new = {number: (int(topics), states) for number, topics, states in rows}
        growth = []
        topics = 0
        states = 0
        for number in range(steps):
            more = new.get(number, (0, 0))
            topics = topics + more[0]
            states = states + more[1]
            growth.append(Growth(from_micros(first + (number + 1) * step), topics, states))
        return growth

    def lifetime(self, space: int) -> Lifetime:
        """Return the earliest valid time and known time of a space's states and told edges."""
        rows = self._database.rows(
            _LIFETIME, space=space, unknown=to_micros(datetime(2, 1, 1, tzinfo=UTC))
        )
        held, recorded = rows[0]
        return Lifetime(from_micros_or_none(held), from_micros_or_none(recorded))
