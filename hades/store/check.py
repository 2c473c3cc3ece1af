"""Integrity: is everything in the file as it was written, and if not, what to do.

Pointers and heads are derived and can be repaired in place; a damaged content cannot,
and is named together with the way out.
"""

from __future__ import annotations

import json

from hades.domain.times import NOW
from hades.errors import Corrupt
from hades.store.clocks import clock_problems, has_jumped
from hades.store.database import Database
from hades.store.drafts import leftovers
from hades.store.owed import ARCHIVE, INDEXES, LEFTOVERS, LOG, REWRITE, owed
from hades.store.records import Problem, Progress
from hades.store.topics import Topics

_RESTORE = "restore a backup (`hades restore`)"
_REPAIR = "run `hades check --repair`"

_OWED = {
    REWRITE: "the file is still to be written anew",
    LOG: "its log is still to be emptied, when nobody reads",
    INDEXES: "the indexes beside it are still to be removed",
}
_LATEST_STATE = (
    "(SELECT id FROM states s WHERE s.topic = t.id AND s.retired_at IS NULL "
    "ORDER BY valid_from DESC, version DESC LIMIT 1)"
)
_PLANNED = (
    "(SELECT CASE WHEN valid_from > recorded_at THEN 1 ELSE 0 END FROM states s "
    "WHERE s.id = t.latest)"
)
_END_MISSING = """
SELECT e.id FROM edges e WHERE e.retired_at IS NULL AND (
  (e.{end} & 7 = 0 AND NOT EXISTS (SELECT 1 FROM topics WHERE id = e.{end} >> 3)) OR
  (e.{end} & 7 = 1 AND NOT EXISTS (SELECT 1 FROM entities WHERE id = e.{end} >> 3)) OR
  (e.{end} & 7 = 2 AND NOT EXISTS (SELECT 1 FROM chunks WHERE id = e.{end} >> 3)))
"""
_EDGE_FAULTS = {
    "its source is gone": _END_MISSING.format(end="source"),
    "its target is gone": _END_MISSING.format(end="target"),
    "it is believed twice": "SELECT id FROM edges WHERE retired_at IS NULL "
    "GROUP BY id HAVING count(*) > 1",
    "it ends before it begins": "SELECT id FROM edges WHERE valid_to < valid_from",
}
"""What only somebody who knows the edge can put right."""

_SPACE_GONE = "NOT EXISTS (SELECT 1 FROM spaces s WHERE s.id = p.space)"
_STRAY = (
    (
        "merge",
        "it merges an entity that is gone",
        "merges AS m",
        "NOT EXISTS (SELECT 1 FROM entities WHERE id = m.entity) "
        "OR NOT EXISTS (SELECT 1 FROM entities WHERE id = m.target)",
    ),
    (
        "proposal",
        "what it proposes cannot be read",
        "proposals AS p",
        "p.kind NOT IN ('relate', 'unrelate', 'remember', 'alias', 'kind')",
    ),
    (
        "proposal",
        "it neither waits nor was decided",
        "proposals AS p",
        "p.status NOT IN ('waiting', 'applied', 'rejected', 'refused') "
        "OR (p.status = 'waiting') != (p.decided_at IS NULL)",
    ),
    ("proposal", "its space is gone", "proposals AS p", _SPACE_GONE),
    ("space", "an answer is kept for it though it is gone", "idempotency AS p", _SPACE_GONE),
)
"""Rows that say nothing any more, and that `--repair` deletes."""

_SUPERSEDED_BY_NOTHING = (
    "superseded_by IS NOT NULL AND NOT EXISTS (SELECT 1 FROM edges o WHERE o.id = e.superseded_by)"
)


def find_problems(
    database: Database, topics: Topics, on_progress: Progress | None
) -> list[Problem]:
    """Everything that is not as it should be."""
    return database.damage() or [
        *_damaged_states(database, topics, on_progress),
        *_stray_pointers(database),
        *_stray_heads(database, topics),
        *faulty_records(database),
    ]


def find_left(database: Database) -> list[Problem]:
    """Erased text that may still be on the disk, and what killed processes left beside it."""
    path = database.place
    return [
        *(
            Problem(f"erased text may still be there: {_owed_in_words(one)}", path, _REPAIR)
            for one in owed(database)
            if one != LEFTOVERS
        ),
        *(
            Problem(
                "it was left by a restore, backup, export or upload that was killed",
                str(one),
                _REPAIR,
            )
            for one in leftovers(database.files)
        ),
    ]


def _owed_in_words(what: str) -> str:
    start = what.removeprefix(ARCHIVE)
    return _OWED.get(what, f"the archive's objects {start} are still to be removed")


def faulty_records(database: Database) -> list[Problem]:
    """Edges, merges and proposals that lead nowhere or contradict themselves."""
    return [
        *(
            Problem(what, f"edge {edge}", f"`hades unrelate {edge} --mistake`")
            for what, sql in _EDGE_FAULTS.items()
            for (edge,) in database.rows(sql)
        ),
        *(
            Problem("it is superseded by an edge that does not exist", f"edge {edge}", _REPAIR)
            for (edge,) in database.rows(f"SELECT id FROM edges e WHERE {_SUPERSEDED_BY_NOTHING}")
        ),
        *(
            Problem("what it proposes cannot be read", f"proposal {number}", _REPAIR)
            for number in _unreadable_proposals(database)
        ),
        *(
            Problem(what, f"{kind} {number}", _REPAIR)
            for kind, what, table, where in _STRAY
            for (number,) in database.rows(
                f"SELECT DISTINCT {'space' if kind == 'space' else 'id'} FROM {table} WHERE {where}"
            )
        ),
    ]


def _unreadable_proposals(database: Database) -> list[int]:
    found = []
    for number, fields in database.rows("SELECT id, fields FROM proposals"):
        try:
            json.loads(fields)
        except ValueError:
            found.append(number)
    return found


def find_clock_problems(database: Database) -> list[Problem]:
    """Name a clock and a last write that are too far apart for both to be right."""
    return clock_problems(database.place, database.clock(), _last_write(database))


def _accept_clock(database: Database) -> None:
    """Log a change dated now when the clock is long after the last write, so that writes go on."""
    now, last = database.clock(), _last_write(database)
    if last and has_jumped(now, last):
        database.run(
            "INSERT INTO changes SELECT max(number) + 1, ?, ?, 'repair', NULL, NULL FROM changes",
            *(now, database.actor_id("hades")),
        )
        database.look_again()


def _last_write(database: Database) -> int:
    return database.value("SELECT at FROM changes ORDER BY number DESC LIMIT 1") or 0


def repair(database: Database, topics: Topics) -> None:
    """Derive again what is derived, and drop what refers to nothing; inside a transaction."""
    _accept_clock(database)
    repair_pointers(database)
    repair_heads(database, topics)
    for _, _, table, where in _STRAY:
        database.run(f"DELETE FROM {table} WHERE {where}")
    database.run("DELETE FROM proposals WHERE id = ANY(?)", _unreadable_proposals(database))
    database.run(f"UPDATE edges AS e SET superseded_by = NULL WHERE {_SUPERSEDED_BY_NOTHING}")


def repair_pointers(database: Database) -> None:
    """Point every topic at its latest state again, and note whether that one is planned."""
    database.run(
        f"UPDATE topics AS t SET latest = {_LATEST_STATE}, "
        "versions = coalesce((SELECT max(version) FROM states s WHERE s.topic = t.id), 0)"
    )
    database.run(f"UPDATE topics AS t SET planned = coalesce({_PLANNED}, 0)")


def repair_heads(database: Database, topics: Topics) -> None:
    """Write the whole content of every latest state that is stored as a delta."""
    database.run("DELETE FROM heads")
    for topic, space, name, version in _latest_deltas(database):
        try:
            content = topics.version(space, name, version, NOW).content
        except Corrupt:
            continue
        database.run("INSERT INTO heads VALUES (?, ?)", topic, content.encode())


def _damaged_states(
    database: Database, topics: Topics, on_progress: Progress | None
) -> list[Problem]:
    found = []
    rows = database.rows("SELECT space, name, versions FROM topics ORDER BY id")
    for done, (space, name, versions) in enumerate(rows):
        if on_progress is not None and done % 100 == 0:
            on_progress("checking topics", done, len(rows))
        seen = 0
        try:
            for state in topics.history(space, name, NOW, archived=False):
                seen += 1
                if state.version != seen:
                    raise Corrupt(f"The version {name}@{seen} is missing.")
        except Corrupt as error:
            way_out = f"{_RESTORE}, or `hades purge` the topic"
            found.append(Problem(str(error), f"{name}@{seen + 1}", way_out))
            continue
        if seen != versions:
            found.append(
                Problem(f"it has {seen} versions where {versions} were counted", name, _REPAIR)
            )
    if on_progress is not None:
        on_progress("checking topics", len(rows), len(rows))
    return found


def _stray_pointers(database: Database) -> list[Problem]:
    rows = database.rows(
        f"SELECT name FROM topics t WHERE coalesce(latest, 0) <> coalesce({_LATEST_STATE}, 0) "
        f"OR planned <> {_PLANNED}"
    )
    return [Problem("its pointer is not at its latest state", name, _REPAIR) for (name,) in rows]


def _stray_heads(database: Database, topics: Topics) -> list[Problem]:
    found = []
    heads = set(database.column("SELECT topic FROM heads"))
    for topic, space, name, version in _latest_deltas(database):
        if topic not in heads:
            found.append(Problem("its latest content has no whole copy", name, _REPAIR))
            continue
        heads.remove(topic)
        body = database.value("SELECT body FROM heads WHERE topic = ?", topic)
        try:
            same = body == topics.version(space, name, version, NOW).content.encode()
        except Corrupt:
            continue
        if not same:
            found.append(Problem("the copy of its latest content differs from it", name, _REPAIR))
    return found + [
        Problem("a whole copy is kept that nothing needs", f"topic {topic}", _REPAIR)
        for topic in sorted(heads)
    ]


def _latest_deltas(database: Database) -> list[tuple[int, int, str, int]]:
    """(topic, space, name, version) of the latest states that are stored as deltas."""
    return database.rows(
        "SELECT t.id, t.space, t.name, s.version FROM topics t JOIN states s ON s.id = t.latest "
        "WHERE s.encoding IN (2, 3)"
    )
