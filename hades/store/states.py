"""States: find a version of a topic by number or by time, and rebuild its content.

A state is stored as a delta from the version before it, with a whole copy at least every
`WHOLE_EVERY` versions, so rebuilding any version is bounded work. The latest content is whole in
`heads`, so reading it needs no rebuilding.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from hades.domain.distilled import SAID
from hades.domain.times import FOREVER, AsOf, from_micros, from_micros_or_none
from hades.domain.topics import DEFAULT_IMPORTANCE, State
from hades.errors import Corrupt, NotFound
from hades.store.archive import Archive, LostObject
from hades.store.database import Database, believed, intact
from hades.store.delta import DELTA, DELTA_ZIPPED, WHOLE, checked, pack, unpacked


class StateRow(NamedTuple):
    """A row of `states`, with the columns that the queries below add."""

    topic: int
    version: int
    valid_from: int
    recorded_at: int
    retired_at: int | None
    depth: int
    encoding: int | None
    level: int
    confidence: float
    importance: float | None
    tags: str | None
    metadata: str | None
    digest: bytes
    body: bytes | None
    id: int = 0
    uses: int | None = None
    last_used: int | None = None
    usefulness: float | None = None
    object: str | None = None
    valid_to: int | None = None
    planned: int = 0
    head: bytes | None = None

    @property
    def is_delta(self) -> bool:
        return self.encoding in (DELTA, DELTA_ZIPPED)


def uses_of(state: str) -> str:
    """Return SQL for the uses of a state by all actors, and the time of the last.

    `state` is the column of its id.
    """
    uses = f"FROM uses u WHERE u.state = {state}"
    return f"(SELECT CAST(sum(u.count) AS BIGINT) {uses}), (SELECT max(u.last_used) {uses})"


def usefulness_of(state: str) -> str:
    """Return SQL for the usefulness of a state, -1 to 1; `state` is the column of its id."""
    return (
        "(SELECT sum(f.useful - f.useless) / (sum(f.useful + f.useless) + 2) "
        f"FROM usefulness f WHERE f.state = {state})"
    )


_STATE = (
    ", ".join(f"s.{name}" for name in (*StateRow._fields[:14], "id"))
    + f", {uses_of('s.id')}, {usefulness_of('s.id')}, a.object"
)
_BESIDE = "LEFT JOIN archived a ON a.state = s.id"
NEXT = (
    "(SELECT min(n.valid_from) FROM states n WHERE n.topic = s.topic "
    "AND n.valid_from >= s.valid_from AND (n.valid_from > s.valid_from OR n.version > s.version) "
    f"AND {believed('n', ':known')})"
)
STATE_THEN = (
    f"(SELECT b.id FROM states b WHERE b.topic = t.id AND b.valid_from <= :valid "
    f"AND {believed('b', ':known')} ORDER BY b.valid_from DESC, b.version DESC LIMIT 1)"
)
"""The state of a topic `t` that holds at a moment."""
LATEST = f"""
SELECT {_STATE}, NULL, t.planned, h.body, t.id, t.versions
FROM topics t LEFT JOIN states s ON s.id = t.latest {_BESIDE}
LEFT JOIN heads h ON h.topic = t.id
WHERE t.space = ? AND t.name = ?
"""
AS_OF = f"""
SELECT {_STATE}, {NEXT} FROM states s {_BESIDE}
WHERE s.topic = (SELECT id FROM topics WHERE space = :space AND name = :topic)
  AND s.valid_from <= :valid AND {believed("s", ":known")}
ORDER BY s.valid_from DESC, s.version DESC LIMIT 1
"""
_VERSIONS = f"""
SELECT {_STATE}, {NEXT} FROM states s {_BESIDE}
WHERE s.topic = :topic AND s.version BETWEEN :first AND :last AND s.recorded_at <= :known
ORDER BY s.version
"""
_BY_ID = f"""
SELECT t.name, {_STATE}, NULL, 0, h.body FROM states s JOIN topics t ON t.id = s.topic
{_BESIDE} LEFT JOIN heads h ON h.topic = t.id AND t.latest = s.id WHERE s.id = ANY(?)
"""
PARENT = f"""
SELECT {_STATE}, NULL, 0, h.body FROM states s {_BESIDE}
LEFT JOIN topics t ON t.latest = s.id AND t.id = s.topic LEFT JOIN heads h ON h.topic = t.id
WHERE s.topic = ? AND s.version = ?
"""


class States:
    """The states of topics, each topic an append-only list."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.archive = Archive(database)

    def state(self, space: int, topic: str, as_of: AsOf) -> State:
        """Return the state of a topic as of a moment. Raise NotFound if missing or forgotten."""
        row = self._latest(space, topic)[0] if as_of.is_now else None
        if not as_of.is_now or (row is not None and row.planned):
            moment = self._database.named_moment(as_of)
            row = self._row(AS_OF, space=space, topic=topic, **moment)
        if row is None:
            raise self._missing(space, topic)
        if row.encoding is None:
            raise NotFound(
                f"The topic {topic!r} was forgotten on {from_micros(row.valid_from):%Y-%m-%d}; "
                "its history is kept."
            )
        return to_state(topic, row, self._content(topic, row), self._originals(row))

    def version(self, space: int, topic: str, version: int, as_of: AsOf) -> State:
        """Return a version known at a moment, or raise NotFound. A forgotten one has no content."""
        known = self._database.moment(as_of)[1]
        topic_id = self.id(space, topic)
        row = self._row(_VERSIONS, topic=topic_id, first=version, last=version, known=known)
        if row is None:
            raise NotFound(f"The topic {topic!r} has no version {version}.")
        content = b"" if row.encoding is None else self._content(topic, row)
        return to_state(topic, row, content, self._originals(row))

    def history(
        self, space: int, topic: str, as_of: AsOf, *, archived: bool = True
    ) -> Iterator[State]:
        """Yield the states of a topic known at a moment, in the order they were recorded.

        Without `archived`, the archive is not read: states in it have an empty content.
        """
        known = self._database.moment(as_of)[1]
        topic_id = self.id(space, topic)
        content: bytes | None = None
        for values in self._database.rows(
            _VERSIONS, topic=topic_id, first=1, last=FOREVER, known=known
        ):
            row = StateRow(*values)
            if row.encoding is None or (row.object is not None and not archived):
                content = None
            else:
                content = self._checked(topic, row, content)
            yield to_state(topic, row, content or b"", self._originals(row))

    def whole(self, space: int, states: Iterable[State], as_of: AsOf) -> Iterator[State]:
        """Yield states that `history` read without `archived`; archived ones now have contents."""
        for state in states:
            is_archived = state.tier == "archive"
            yield self.version(space, state.topic, state.version, as_of) if is_archived else state

    def contents(self, states: Iterable[int], *, lost_ok: bool = False) -> dict[int, str]:
        """Return the contents of states by id. Raise NotFound if a state does not exist.

        With `lost_ok`, lost or damaged texts are left out and logged once. Indexes need this: they
        read all spaces, and a bad text in one space must not stop the others.
        """
        contents = {}
        wanted = set(states)
        for topic, *values in self._database.rows(_BY_ID, sorted(wanted)):
            row = StateRow(*values)
            wanted.remove(row.id)
            try:
                content = b"" if row.encoding is None else self._content(topic, row)
                with intact(f"The state {topic}@{row.version}"):
                    contents[row.id] = content.decode()
            except (LostObject, Corrupt) as error:
                if not lost_ok:
                    raise
                self.archive.log_lost(error)
        if wanted:
            raise NotFound(f"There is no state {min(wanted)}.")
        return contents

    def id(self, space: int, topic: str) -> int:
        """Return the number of a topic, or raise NotFound."""
        if (topic_id := self._find(space, topic)) is None:
            raise self._missing(space, topic)
        return topic_id

    def make_whole(self, topic: int, version: int) -> None:
        """Store a version whole instead of as a delta. Call it inside a write."""
        row = self._row(PARENT, topic, version)
        if row is None or not row.is_delta:
            return
        name = self._database.value("SELECT name FROM topics WHERE id = ?", topic)
        encoding, _, body = pack(self._content(name, row))
        self._database.run(
            "UPDATE states SET encoding = ?, depth = 0, body = ? WHERE id = ?",
            encoding,
            body,
            row.id,
        )
        self._database.run(
            "UPDATE states SET depth = version - ?2 WHERE topic = ?1 AND version > ?2 "
            f"AND version - depth < ?2 AND encoding IN ({DELTA}, {DELTA_ZIPPED})",
            topic,
            version,
        )
        if row.head is not None:
            self._database.run("DELETE FROM heads WHERE topic = ?", topic)

    # Rows

    def _row(self, sql: str, *values: Any, **named: Any) -> StateRow | None:
        row = self._database.row(sql, *values, **named)
        return None if row is None else StateRow(*row)

    def _latest(self, space: int, topic: str) -> tuple[StateRow | None, int, int]:
        """Return the latest state of a topic, the topic's number and its number of versions."""
        *row, topic_id, versions = self._database.row(LATEST, space, topic) or (None, 0, 0)
        return None if row[0] is None else StateRow(*row), topic_id, versions

    def _content(self, topic: str, row: StateRow) -> bytes:
        """Return the content of a state: the head, or rebuilt from the last whole copy."""
        if row.head is not None or not row.is_delta:
            return self._checked(topic, row, None)
        content: bytes | None = None
        chain = self._database.rows(
            "SELECT encoding, body FROM states WHERE topic = ? AND version BETWEEN ? AND ? "
            "ORDER BY version",
            row.topic,
            row.version - row.depth,
            row.version - 1,
        )
        for encoding, body in chain:
            content = unpacked(topic, row.version, encoding, body, content)
        return self._checked(topic, row, content)

    def _checked(self, topic: str, row: StateRow, old: bytes | None) -> bytes:
        encoding = row.encoding
        body = row.body
        if row.head is not None:
            encoding = WHOLE
            body = row.head
        elif row.object is not None:
            body = self.archive.content(row.object, row.version)
        content = unpacked(topic, row.version, encoding, body, old)
        return checked(topic, row.version, content, row.digest)

    def _originals(self, row: StateRow) -> tuple[str, ...]:
        """Return the citations of the states that a summary or a statement was made from."""
        if not row.level and f'"{SAID}"' not in (row.metadata or ""):
            return ()
        rows = self._database.rows(
            "SELECT t.name, s.version FROM originals o JOIN states s ON s.id = o.state "
            "JOIN topics t ON t.id = s.topic WHERE o.summary = ? ORDER BY s.valid_from, s.id",
            row.id,
        )
        return tuple(f"{name}@{version}" for name, version in rows)

    def _find(self, space: int, topic: str) -> int | None:
        return self._database.number(
            "SELECT id FROM topics WHERE space = ? AND name = ?", space, topic
        )

    def _missing(self, space: int, topic: str) -> NotFound:
        name = self._database.value("SELECT name FROM spaces WHERE id = ?", space)
        if name is None:
            return NotFound("This space was dropped.")
        when = "" if self._find(space, topic) is None else " at that time"
        return NotFound(f"There is no topic {topic!r} in the space {name!r}{when}.")


def to_state(topic: str, row: StateRow, content: bytes, originals: tuple[str, ...] = ()) -> State:
    """Return a row of `states` as a State."""
    with intact(f"The state {topic}@{row.version}"):
        return State(
            topic,
            row.version,
            content.decode(),
            from_micros(row.valid_from),
            from_micros_or_none(row.valid_to),
            from_micros(row.recorded_at),
            row.confidence,
            DEFAULT_IMPORTANCE if row.importance is None else row.importance,
            read_tags(row.tags),
            {} if row.metadata is None else json.loads(row.metadata),
            row.level,
            row.encoding is None,
            row.uses or 0,
            from_micros_or_none(row.last_used),
            "store" if row.object is None else "archive",
            originals,
            row.usefulness or 0.0,
        )


def read_tags(text: str | None) -> tuple[str, ...]:
    """Return the tags in a column of `states`."""
    return () if text is None else tuple(json.loads(text))
