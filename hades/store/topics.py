"""Topics: list them, and append states to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from hades.domain.graph import NodeKind
from hades.domain.times import FOREVER, AsOf, from_micros, from_micros_or_none, to_micros
from hades.domain.topics import DEFAULT_IMPORTANCE, PROMOTION, State, Topic
from hades.errors import Conflict
from hades.language.names import exact_key, name_key
from hades.store.database import NO_LIMIT, Glob, intact
from hades.store.delta import digest_of, pack
from hades.store.records import Draft, Phase, TopicFilter, Write
from hades.store.states import (
    AS_OF,
    PARENT,
    STATE_THEN,
    StateRow,
    States,
    read_tags,
    to_state,
    uses_of,
)

SMALL_CHARACTERS = 40_000
"""The most characters of a small text. No question waits for a longer one, because cutting it and
finding its names takes seconds."""
PREVIEW_CHARACTERS = 200

OWN_NAME = """
SELECT id FROM entities WHERE space = ?1 AND key = ?2
UNION ALL SELECT id FROM entities WHERE space = ?1 AND key = ?3"""
"""Finds the entities with a name: by its exact letters, then by its key."""


class Topics(States):
    """Topics and their states. Reading a state is in States."""

    # Reading

    def changed(
        self, space: int, after: int, topic: str | None, glob: str | None
    ) -> Iterator[tuple[str, int, int]]:
        """Yield (topic, version, change) of states of prose written after a change, oldest first.

        Of a note, every version since it was last forgotten is returned; of other topics, only the
        latest.
        """
        rows = self._database.rows(
            "SELECT t.name, s.version, s.change FROM topics t JOIN states s ON s.topic = t.id "
            "WHERE t.space = :space AND s.change > :after AND s.encoding IS NOT NULL "
            "AND t.kind <> 'code' AND (t.kind = 'note' OR s.id = t.latest) "
            "AND NOT EXISTS (SELECT 1 FROM states f WHERE f.topic = t.id AND f.id > s.id "
            "AND f.encoding IS NULL) AND (t.name = :topic OR :topic IS NULL) "
            "AND (t.name GLOB :glob OR :glob IS NULL) ORDER BY s.change, t.name",
            space=space,
            after=after,
            topic=topic,
            glob=None if glob is None else Glob(glob),
        )
        yield from rows

    def list(self, space: int, wanted: TopicFilter, as_of: AsOf) -> list[Topic]:
        """Return the topics that pass a filter, as of a moment, in the order of the filter."""
        place: dict[str, Any] = {"after": wanted.after or ""}
        later = "t.name > :after"
        order = "t.name"
        if wanted.latest:
            last = self.state(space, wanted.after, as_of).valid_from if wanted.after else None
            place["then"] = to_micros(last) if last else FOREVER
            later = "(s.valid_from < :then OR (s.valid_from = :then AND t.name > :after))"
            order = "s.valid_from DESC, t.name"
        sql = f"""
            SELECT t.name, s.version,
                   (SELECT count(*) FROM states c WHERE c.topic = t.id AND c.recorded_at <= :known),
                   s.valid_from, s.recorded_at, s.tags, s.importance, {uses_of("s.id")},
                   s.id
            FROM topics t JOIN states s
              ON s.id = CASE WHEN t.planned = 1 OR :past THEN {STATE_THEN} ELSE t.latest END
            WHERE t.space = :space AND s.encoding IS NOT NULL
              AND (t.name GLOB :glob OR :glob IS NULL) AND {later}
              AND (json_has(s.tags, :tag) OR :tag IS NULL)
              AND (t.kind = :kind OR :kind IS NULL)
              AND s.valid_from >= :since AND s.valid_from < :until
            ORDER BY {order} LIMIT :limit
        """
        selected = self._database.rows(
            sql,
            space=space,
            **self._database.named_moment(as_of),
            past=not as_of.is_now,
            glob=None if wanted.glob is None else Glob(wanted.glob),
            tag=wanted.tag,
            kind=wanted.kind,
            **place,
            since=to_micros(wanted.since) if wanted.since else -FOREVER,
            until=to_micros(wanted.until) if wanted.until else FOREVER,
            limit=NO_LIMIT if wanted.limit is None else wanted.limit,
        )
        rows = [*selected]
        texts = self.contents((row[-1] for row in rows), lost_ok=True) if wanted.preview else {}
        with intact("A topic of this space"):
            return [
                Topic(
                    name=name,
                    version=version,
                    versions=versions,
                    valid_from=from_micros(valid_from),
                    recorded_at=from_micros(recorded_at),
                    tags=read_tags(tags),
                    importance=DEFAULT_IMPORTANCE if importance is None else importance,
                    access_count=use[0] or 0,
                    last_used=from_micros_or_none(use[1]),
                    preview=texts.get(use[-1], "")[:PREVIEW_CHARACTERS],
                )
                for name, version, versions, valid_from, recorded_at, tags, importance, *use in rows
            ]

    def counts(self) -> dict[int, int]:
        """Return the number of topics that hold now, by space."""
        rows = self._database.rows(
            f"SELECT t.space, count(*) FROM topics t JOIN states s "
            f"ON s.id = CASE WHEN t.planned = 1 THEN {STATE_THEN} ELSE t.latest END "
            "WHERE s.encoding IS NOT NULL GROUP BY t.space",
            valid=self._database.now(),
            known=FOREVER,
        )
        return dict(rows)

    def current_notes(
        self, space: int, chunks: Sequence[int], since: int, recent: int
    ) -> dict[int, tuple[str, int, int, float, str | None]]:
        """Map states of current notes to (topic, version, start, confidence, author).

        These are notes with one of the chunks, and notes among the newest `recent` states that were
        written after the change `since`.
        """
        matching = self._database.rows(
            "SELECT state FROM placements WHERE chunk = ANY(?1) UNION SELECT id FROM "
            "(SELECT id, change FROM states ORDER BY id DESC LIMIT ?2) l WHERE l.change > ?3",
            chunks,
            recent,
            since,
        )
        rows = self._database.rows(
            "SELECT s.id, t.name, s.version, s.valid_from, s.confidence, a.name "
            "FROM states s JOIN topics t ON t.id = s.topic "
            "LEFT JOIN changes c ON c.number = s.change LEFT JOIN actors a ON a.id = c.actor "
            "WHERE s.id = ANY(?1) AND t.latest = s.id AND +t.space = ?2 AND t.kind = 'note' "
            "AND t.planned = 0 AND s.level = 0 AND s.encoding IS NOT NULL ORDER BY s.id",
            [state for (state,) in matching],
            space,
        )
        return {state: row for state, *row in rows}

    def named(self, space: int, part: str, limit: int) -> Sequence[str]:
        """Return names of topics that hold now and contain a text in any case, the last first."""
        return self._database.column(
            "SELECT t.name FROM topics t JOIN states s ON s.id = t.latest "
            "WHERE t.space = ?1 AND lower(t.name) LIKE ?2 AND s.encoding IS NOT NULL "
            "ORDER BY t.id DESC LIMIT ?3",
            space,
            f"%{part}%",
            limit,
        )

    def written(self, space: int, changes: Iterable[int]) -> dict[int, tuple[str, int]]:
        """Return topic and version of the state that each change wrote, if it wrote one."""
        rows = self._database.rows(
            "SELECT c.number, t.name, s.version FROM changes c "
            f"JOIN topics t ON c.subject = t.id << 3 | {NodeKind.TOPIC} AND t.space = ?1 "
            "JOIN states s ON s.topic = t.id AND s.change = c.number WHERE c.number = ANY(?2)",
            space,
            sorted(changes),
        )
        return {change: (topic, version) for change, topic, version in rows}

    def with_versions(self, space: int) -> Sequence[str]:
        """Return the names of all topics that were written, even if they are forgotten."""
        sql = "SELECT name FROM topics WHERE space = ? AND versions > 0"
        return self._database.column(sql, space)

    def stamps(self, space: int, topics: Iterable[str]) -> dict[str, tuple[int, ...]]:
        """Return, by topic, numbers that change with each new state; the last is 1 if planned."""
        rows = self._database.rows(
            "SELECT name, id, versions, latest, planned FROM topics "
            "WHERE space = ? AND name = ANY(?)",
            space,
            [*topics],
        )
        return {name: tuple(stamp) for name, *stamp in rows}

    def planned(self, after: int) -> Sequence[int]:
        """Return the times after `after` at which planned states begin to hold."""
        return self._database.column(
            "SELECT DISTINCT s.valid_from FROM topics t JOIN states s ON s.topic = t.id "
            "WHERE t.planned = 1 AND s.valid_from > ?",
            after,
        )

    def kind(self, space: int, topic: str) -> str | None:
        """Return the kind of a topic (note, document, code …), or None without such a topic."""
        return self._database.text(
            "SELECT kind FROM topics WHERE space = ? AND name = ?", space, topic
        )

    def author(self, space: int, topic: str, version: int) -> str | None:
        """Return the actor who wrote a version of a topic, or None if unknown."""
        return self._database.text(
            "SELECT a.name FROM topics t JOIN states s ON s.topic = t.id "
            "JOIN changes c ON c.number = s.change JOIN actors a ON a.id = c.actor "
            "WHERE t.space = ? AND t.name = ? AND s.version = ?",
            space,
            topic,
            version,
        )

    def exists(self, space: int, topic: str) -> bool:
        """Return whether there is such a topic, even one that is forgotten or has no state yet."""
        return self._find(space, topic) is not None

    # Writing

    def add(self, write: Write, space: int, topic: str, draft: Draft) -> tuple[State, bool]:
        """Append a state, unless it repeats the current one. Return it, and whether it is new.

        A new state waits to be cut into chunks, embedded and linked, unless it is a summary. Raise
        Conflict if `expect_version` is not the number of versions, or for a summary among others.
        """
        latest, topic_id, versions = self._latest(space, topic)
        _check(topic, draft, latest, versions)
        valid_from = write.at if draft.valid_from is None else to_micros(draft.valid_from)
        current = latest
        if latest is not None and latest.valid_from > valid_from:
            current = self._row(AS_OF, space=space, topic=topic, valid=valid_from, known=FOREVER)
        if current is not None and current.encoding is None:
            current = None  # forgotten
        content = None if draft.content is None else draft.content.encode()
        is_latest = latest is None or valid_from >= latest.valid_from
        if content is None:
            # Forgetting now also withdraws planned states. Forgetting as of a past day does not
            # change the states after that day.
            plans = 0
            if draft.valid_from is None:
                plans = self._withdraw_plans(write, topic_id, valid_from)
                is_latest = True
            if current is None and not plans:
                raise self._missing(space, topic)
        elif current is not None and current.digest == digest_of(topic, current.version, content):
            state = to_state(topic, current, content)
            if _says_nothing_new(state, draft):
                return state, False
        topic_id = topic_id or self._new_topic(space, topic)
        parent = latest
        if latest is not None and latest.version != versions:
            parent = self._row(PARENT, topic_id, versions)
        before = None
        if content is not None and parent is not None and parent.encoding is not None:
            # A chain of deltas must not lead through the archive.
            before = None if parent.object is not None else self._content(topic, parent)
        encoding, depth, body = pack(content, before, parent.depth if parent else 0)
        row = StateRow(
            topic=topic_id,
            version=versions + 1,
            valid_from=valid_from,
            recorded_at=write.at,
            retired_at=None,
            depth=depth,
            encoding=encoding,
            level=draft.level,
            confidence=1.0 if draft.confidence is None else draft.confidence,
            importance=None if draft.importance == DEFAULT_IMPORTANCE else draft.importance,
            tags=json_or_none(draft.tags),
            metadata=json_or_none(draft.metadata),
            digest=b"" if content is None else digest_of(topic, versions + 1, content),
            body=body,
        )
        if content is not None and current is not None:
            row = _inherit(row, draft, current)
        state_id = self._insert(write, row, draft)
        write.subject = NodeKind.TOPIC.node(topic_id)
        if is_latest:
            had_head = latest is not None and latest.head is not None
            self._point(write, state_id, row, content, had_head=had_head)
        else:
            row = row._replace(valid_to=self._put_before(row))
        return to_state(topic, row, content or b""), True

    def set_kind(self, write: Write, space: int, topic: str, kind: str) -> bool:
        """Set the kind of a topic and mark its chunks as changed. Return whether it had another."""
        done = self._database.run(
            "UPDATE topics SET kind = ?1 WHERE space = ?2 AND name = ?3 AND kind <> ?1",
            kind,
            space,
            topic,
        )
        if done:
            self._database.run(
                "UPDATE chunks SET change = ? WHERE topic = ?", write.change, self.id(space, topic)
            )
        return bool(done)

    def _withdraw_plans(self, write: Write, topic_id: int, after: int) -> int:
        """Retire the planned states of a topic. Return their number."""
        return self._database.run(
            "UPDATE states SET retired_at = ? "
            "WHERE topic = ? AND valid_from > ? AND retired_at IS NULL",
            write.at,
            topic_id,
            after,
        )

    def _new_topic(self, space: int, topic: str) -> int:
        """Make a topic. An entity that already has its name becomes its subject."""
        entity = self._database.value(OWN_NAME, space, exact_key(topic), name_key(topic))
        return self._database.insert("topics", space=space, name=topic, entity=entity)

    def _insert(self, write: Write, row: StateRow, draft: Draft) -> int:
        """Insert a state, and note that it waits to be indexed; return its id."""
        values = dict(zip(StateRow._fields[:14], row, strict=False))
        state_id = self._database.insert("states", **values, change=write.change)
        if not draft.level:  # summaries are found by their time and are not indexed
            large = draft.content is not None and len(draft.content) > SMALL_CHARACTERS
            phase = Phase.LARGE if large else Phase.CHUNKS
            self._database.run("INSERT INTO pending VALUES (?, ?, NULL)", state_id, int(phase))
        return state_id

    def _point(
        self, write: Write, state_id: int, row: StateRow, content: bytes | None, *, had_head: bool
    ) -> None:
        """Make a new state the latest one of its topic."""
        self._database.run(
            "UPDATE topics SET versions = ?, planned = ?, latest = ? WHERE id = ?",
            row.version,
            int(row.valid_from > write.at),
            state_id,
            row.topic,
        )
        if row.is_delta:
            self._database.upsert("heads", ("topic",), topic=row.topic, body=content)
        elif had_head:
            self._database.run("DELETE FROM heads WHERE topic = ?", row.topic)

    def _put_before(self, row: StateRow) -> int | None:
        """Count a new state that begins before the latest state. Return when the state after it
        begins."""
        self._database.run("UPDATE topics SET versions = ? WHERE id = ?", row.version, row.topic)
        return self._database.number(
            "SELECT min(valid_from) FROM states "
            "WHERE topic = ? AND valid_from > ? AND retired_at IS NULL",
            row.topic,
            row.valid_from,
        )


def _check(topic: str, draft: Draft, latest: StateRow | None, versions: int) -> None:
    """Raise Conflict for another version than expected, or a summary among other states."""
    if draft.expect_version is not None and draft.expect_version != versions:
        raise Conflict(
            f"The topic {topic!r} is at version {versions}, not {draft.expect_version}: "
            "read it again, then write."
        )
    if draft.content is None or latest is None or latest.encoding is None:
        return
    if bool(latest.level) != bool(draft.level):
        what = "is a summary, as `consolidate` writes" if latest.level else "is not a summary"
        raise Conflict(f"The topic {topic!r} {what}: take another name.")


def _says_nothing_new(current: State, draft: Draft) -> bool:
    return (
        current.content == draft.content
        and draft.tags in (None, current.tags)
        and (draft.metadata is None or dict(draft.metadata) == dict(current.metadata))
        and draft.importance in (None, current.importance)
        and (draft.confidence is None or draft.confidence == current.confidence)
        and draft.level == current.level
    )


def _inherit(row: StateRow, draft: Draft, current: StateRow) -> StateRow:
    """Carry tags, metadata and importance over unless the draft sets them."""
    return row._replace(
        tags=current.tags if draft.tags is None else row.tags,
        metadata=_inherited(current.metadata) if draft.metadata is None else row.metadata,
        importance=current.importance if draft.importance is None else row.importance,
    )


def _inherited(metadata: str | None) -> str | None:
    """Return metadata without its record of a promotion, which describes one state only."""
    if metadata is None or f'"{PROMOTION}"' not in metadata:
        return metadata
    return json_or_none({k: v for k, v in json.loads(metadata).items() if k != PROMOTION})


def json_or_none(value: Any) -> str | None:
    """Return a value as JSON for a column, or None if it is empty."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True) if value else None
