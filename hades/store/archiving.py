"""Choose the versions that go into the archive, and group them into objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hades.domain.times import FOREVER, NOW
from hades.store.archive import BYTES_AT_MOST, VERSIONS_AT_MOST, VersionRun
from hades.store.database import Database
from hades.store.states import STATE_THEN
from hades.store.topics import Topics

_OLD = f"""
SELECT t.name, s.version, length(s.body) FROM states s JOIN topics t ON t.id = s.topic
WHERE t.space = :space AND s.encoding IS NOT NULL
  AND s.recorded_at < :before AND s.valid_from < :before AND s.version <= t.versions - :keep
  AND s.id <> t.latest AND (t.planned = 0 OR s.id <> {STATE_THEN})
  AND NOT EXISTS (SELECT 1 FROM archived a WHERE a.state = s.id)
  AND NOT EXISTS (SELECT 1 FROM pending p WHERE p.state = s.id)
ORDER BY t.name, s.version
"""


def old_versions(
    database: Database, space: int, before: int, keep: int
) -> dict[str, dict[int, int]]:
    """Return the versions to archive, by topic, each with the length of its stored body.

    A state stays in the store if it was recorded or became valid at `before` or later, is the
    latest, holds now, is among the last `keep` versions, or waits to be indexed.
    """
    versions: dict[str, dict[int, int]] = {}
    for topic, version, length in database.rows(
        _OLD,
        space=space,
        before=before,
        keep=keep,
        valid=database.now(),
        known=FOREVER,
    ):
        versions.setdefault(topic, {})[version] = length
    return versions


def runs(topics: Topics, space: int, topic: str, versions: Iterable[int]) -> Iterator[VersionRun]:
    """Yield runs of consecutive versions with their contents, one run per object."""
    wanted = set(versions)
    number = topics.id(space, topic)
    run = VersionRun(number, {})
    for state in topics.history(space, topic, NOW, archived=False):
        size = sum(map(len, run.contents.values()))
        is_full = len(run.contents) == VERSIONS_AT_MOST or size >= BYTES_AT_MOST
        if run.contents and (is_full or state.version not in wanted):
            yield run
            run = VersionRun(number, {})
        if state.version in wanted:
            run.contents[state.version] = state.content.encode()
    if run.contents:
        yield run


def objects_of(database: Database, space: int) -> dict[str, int]:
    """Return the archive objects of a space, each with the number of its states."""
    rows = database.rows(
        "SELECT a.object, count(*) FROM archived a JOIN states s ON s.id = a.state "
        "JOIN topics t ON t.id = s.topic WHERE t.space = ? GROUP BY a.object ORDER BY a.object",
        space,
    )
    return dict(rows)
