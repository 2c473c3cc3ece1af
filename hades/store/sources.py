"""Sources of ingested topics."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from hades.domain.graph import NodeKind
from hades.domain.times import NOW, AsOf, from_micros
from hades.errors import Conflict
from hades.store.database import Database, believed
from hades.store.delta import digest_of
from hades.store.records import Write
from hades.store.topics import Topics

_OF_ROOT = """
SELECT t.name, o.fingerprint FROM sources o JOIN topics t ON t.id = o.topic
JOIN states s ON s.id = t.latest LEFT JOIN changes c ON c.number = s.change
WHERE t.space = ? AND o.root = ? AND {which} ORDER BY t.name
"""
_COMMITS = f"""
SELECT t.name, s.version, s.valid_from, s.recorded_at, s.metadata
FROM states s JOIN topics t ON t.id = s.topic
WHERE t.id = ANY(:topics) AND s.metadata LIKE '%"commit"%'
  AND s.valid_from <= :valid AND {believed("s", ":known")}
ORDER BY s.valid_from DESC, s.version DESC
"""


class CommitRow(NamedTuple):
    """A commit that changed a file, from the metadata of the state that was ingested for it."""

    topic: str
    version: int
    when: datetime
    recorded_at: datetime
    id: str
    author: str
    message: str


class Sources:
    """The source of each ingested topic, and the fingerprint of its content."""

    def __init__(self, database: Database, topics: Topics) -> None:
        self._database = database
        self._topics = topics

    def of_root(self, space: int, root: str) -> dict[str, bytes]:
        """Return the topics from a root that are not forgotten, with their fingerprints."""
        sql = _OF_ROOT.format(which="s.encoding IS NOT NULL")
        return dict(self._database.rows(sql, space, root))

    def forgotten(self, space: int, root: str) -> dict[str, bytes]:
        """Return the topics of a root that a user forgot, with their last fingerprints.

        Topics that were forgotten because their source was removed are left out.
        """
        sql = _OF_ROOT.format(which="s.encoding IS NULL AND c.action = 'forget'")
        return dict(self._database.rows(sql, space, root))

    def root_of(self, space: int, topic: str) -> str | None:
        """Return the root of a topic, or None if it was not ingested."""
        return self._database.text(
            "SELECT o.root FROM sources o JOIN topics t ON t.id = o.topic "
            "WHERE t.space = ? AND t.name = ?",
            space,
            topic,
        )

    def commits(self, topics: Sequence[int], as_of: AsOf) -> list[CommitRow]:
        """Return the commits of topics (given as nodes) up to a moment, newest first."""
        valid, known = self._database.moment(as_of)
        commits = []
        ids = [node >> 3 for node in topics]
        rows = self._database.rows(_COMMITS, topics=ids, valid=valid, known=known)
        for topic, version, when, recorded, text in rows:
            metadata = json.loads(text)
            values = [metadata.get(name) for name in ("commit", "author", "message")]
            if all(isinstance(value, str) for value in values):  # a note may have these keys, too
                commits.append(
                    CommitRow(topic, version, from_micros(when), from_micros(recorded), *values)
                )
        return commits

    def put(
        self, space: int, topic: str, root: str, fingerprint: bytes, kind: str, title: str
    ) -> None:
        """Record the source, kind and title of a topic."""
        topic_id = self._topics.id(space, topic)
        self._database.upsert(
            "sources", ("topic",), topic=topic_id, root=root, fingerprint=fingerprint
        )
        self._database.run(
            "UPDATE topics SET kind = ?, title = ? WHERE id = ?", kind, title or None, topic_id
        )

    def rename(self, write: Write, space: int, topic: str, new: str) -> None:
        """Rename a topic, and update its states' hashes, which contain the name."""
        if self._topics.exists(space, new):
            raise Conflict(f"The topic {new!r} exists already.")
        states = list(self._topics.history(space, topic, NOW))
        topic_id = self._topics.id(space, topic)
        self._database.run("UPDATE topics SET name = ? WHERE id = ?", new, topic_id)
        for state in states:
            if not state.forgotten:
                self._database.run(
                    "UPDATE states SET digest = ? WHERE topic = ? AND version = ?",
                    digest_of(new, state.version, state.content.encode()),
                    topic_id,
                    state.version,
                )
        write.subject = topic_id << 3 | NodeKind.TOPIC
