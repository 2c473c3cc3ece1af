"""Integrity: find what is damaged, and repair what can be derived again.

Pointers and heads are derived, so they are repaired in place. A damaged text cannot be repaired:
the problem names what the user can do instead.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from hades.domain.times import DAY_MICROSECONDS, NOW, from_micros
from hades.errors import Corrupt
from hades.store.catalogue import NODE_TABLES, TABLES
from hades.store.database import SET_THE_CLOCK, Database, jump
from hades.store.drafts import leftovers
from hades.store.owed import ARCHIVE, INDEXES, LEFTOVERS, LOG, REWRITE, owed
from hades.store.records import Problem, Progress
from hades.store.topics import Topics

_RESTORE = "restore a backup (`hades restore`)"
_REPAIR = "run `hades check --repair`"

_OWED = {
    REWRITE: "the file still has to be rewritten",
    LOG: "its log still has to be emptied, once nobody reads",
    INDEXES: "the indexes beside it still have to be removed",
}
_LATEST_STATE = (
    "(SELECT id FROM states s WHERE s.topic = t.id AND s.retired_at IS NULL "
    "ORDER BY valid_from DESC, version DESC LIMIT 1)"
)
_PLANNED = (
    "(SELECT CASE WHEN valid_from > recorded_at THEN 1 ELSE 0 END FROM states s "
    "WHERE s.id = t.latest)"
)


def _end_missing(end: str) -> str:
    """Return the statement that finds the edges whose source or target is gone."""
    gone = " OR ".join(
        f"e.{end} & 7 = {kind} "
        f"AND NOT EXISTS (SELECT 1 FROM {NODE_TABLES[kind]} WHERE id = e.{end} >> 3)"
        for kind in TABLES["edges"].columns[end].nodes
    )
    return f"SELECT e.id FROM edges e WHERE e.retired_at IS NULL AND ({gone})"


_EDGE_FAULTS = {
    "its source is gone": _end_missing("source"),
    "its target is gone": _end_missing("target"),
    "it is believed twice": "SELECT id FROM edges WHERE retired_at IS NULL "
    "GROUP BY id HAVING count(*) > 1",
    "it ends before it begins": "SELECT id FROM edges WHERE valid_to < valid_from",
}
"""Faults of edges that only the user can correct, with the statement that finds them."""

_WRONG_PROPOSALS = {
    "the change that it proposes cannot be read": "kind NOT IN "
    "('relate', 'unrelate', 'remember', 'alias', 'kind')",
    "it neither waits nor was decided": "status NOT IN "
    "('waiting', 'applied', 'rejected', 'refused') OR (status = 'waiting') != (decided_at IS NULL)",
}
"""Faults of proposals that `--repair` deletes, each with the SQL condition that finds it."""
_KEPT = ("changes", "topics", "states", "entities", "names", "edges")
"""Tables whose rows stay although a row that they refer to is missing: only a backup has that
row."""


def find_problems(
    database: Database, topics: Topics, on_progress: Progress | None
) -> list[Problem]:
    """Return what is damaged or contradictory; if the engine itself finds damage, only that."""
    return database.damage() or [
        *_damaged_states(database, topics, on_progress),
        *_stray_pointers(database),
        *_stray_heads(database, topics),
        *faulty_records(database),
        *(
            Problem(
                f"its {column} is gone",
                f"{table} {row}",
                _RESTORE if _is_kept(table, column) else _REPAIR,
            )
            for table, column, row in orphans(database)
            if table != "heads"  # _stray_heads
        ),
    ]


def orphans(
    database: Database, beyond: Mapping[str, int] = MappingProxyType({})
) -> Iterator[tuple[str, str, Any]]:
    """Yield (table, column, key) of rows that refer to a row that is gone.

    `beyond` has a number for each table; references to rows up to that number are not checked.
    """
    for table, column, condition in _orphaned():
        key = TABLES[table].key[0]
        target = TABLES[table].columns[column].target
        sql = f'SELECT DISTINCT "{key}" FROM {table} AS x WHERE "{column}" > ? AND {condition}'
        for row in database.column(sql, beyond.get(target, 0)):
            yield table, column, row


def _orphaned() -> Iterator[tuple[str, str, str]]:
    """Yield (table, column, SQL condition) for every column that refers to a row."""
    for table, about in TABLES.items():
        for name, column in about.having("owner", "link").items():
            gone = f'SELECT 1 FROM {column.target} AS o WHERE o.id = x."{name}"'
            yield table, name, f'x."{name}" IS NOT NULL AND NOT EXISTS ({gone})'


def _is_kept(table: str, column: str) -> bool:
    """Return whether a row stays although its owner is gone."""
    return table in _KEPT and column in TABLES[table].having("owner")


def find_left(database: Database) -> list[Problem]:
    """Return a problem per trace of erased text on the disk, and per file of a killed process."""
    place = database.place
    return [
        *(
            Problem(f"erased text may still be there: {_owed_in_words(work)}", place, _REPAIR)
            for work in owed(database)
            if work != LEFTOVERS
        ),
        *(
            Problem(
                "it was left by a restore, backup, export or upload that was killed",
                str(path),
                _REPAIR,
            )
            for path in leftovers(database.files)
        ),
    ]


def _owed_in_words(what: str) -> str:
    start = what.removeprefix(ARCHIVE)
    return _OWED.get(what, f"the archive's objects {start} still have to be removed")


def faulty_records(database: Database) -> list[Problem]:
    """Return a problem for each edge or proposal that is inconsistent or cannot be read."""
    return [
        *(
            Problem(what, f"edge {edge}", f"`hades unrelate {edge} --mistake`")
            for what, sql in _EDGE_FAULTS.items()
            for (edge,) in database.rows(sql)
        ),
        *(
            Problem(what, f"proposal {number}", _REPAIR)
            for what, number in _wrong_proposals(database)
        ),
    ]


def _wrong_proposals(database: Database) -> list[tuple[str, int]]:
    """Return (fault, number) of each proposal that makes no sense."""
    return [
        *(
            (what, number)
            for what, where in _WRONG_PROPOSALS.items()
            for number in database.column(f"SELECT id FROM proposals WHERE {where}")
        ),
        *(("its fields cannot be read", number) for number in _unreadable_proposals(database)),
    ]


def _unreadable_proposals(database: Database) -> list[int]:
    numbers = []
    for number, fields in database.rows("SELECT id, fields FROM proposals"):
        try:
            json.loads(fields)
        except ValueError:
            numbers.append(number)
    return numbers


def find_clock_problems(database: Database) -> list[Problem]:
    """Return a problem if the clock and the last write are too far apart for both to be right."""
    now = database.clock()
    last = _last_write(database)
    if last > now + DAY_MICROSECONDS:
        what = f"the last write is dated {from_micros(last):%Y-%m-%d}, later than the clock"
        repair = "set the clock right, or restore a backup from before (`hades restore`)"
        return [Problem(what, database.place, repair)]
    jumped = jump(now, last)
    return [Problem(jumped, database.place, SET_THE_CLOCK)] if jumped else []


def _accept_clock(database: Database) -> None:
    """If the clock is far ahead of the last write, log a change dated now, so that writes are
    accepted again."""
    now = database.clock()
    if jump(now, _last_write(database)):
        database.run(
            "INSERT INTO changes SELECT max(number) + 1, ?, ?, 'repair', NULL, NULL FROM changes",
            now,
            database.actor_id("hades"),
        )
        database.look_again()


def _last_write(database: Database) -> int:
    return database.value("SELECT at FROM changes ORDER BY number DESC LIMIT 1") or 0


def repair(database: Database, topics: Topics) -> None:
    """Derive pointers and heads again, delete stray rows, and accept a clock that is far ahead.

    Call it inside a transaction.
    """
    _accept_clock(database)
    repair_pointers(database)
    repair_heads(database, topics)
    for table, column, condition in _orphaned():
        if column in TABLES[table].having("link"):
            database.run(f"UPDATE {table} AS x SET {column} = NULL WHERE {condition}")
        elif not _is_kept(table, column):
            database.run(f"DELETE FROM {table} AS x WHERE {condition}")
    wrong = [number for _, number in _wrong_proposals(database)]
    database.run("DELETE FROM proposals WHERE id = ANY(?)", wrong)


def repair_pointers(database: Database) -> None:
    """Point every topic at its latest state, and record whether that state is planned."""
    database.run(
        f"UPDATE topics AS t SET latest = {_LATEST_STATE}, "
        "versions = coalesce((SELECT max(version) FROM states s WHERE s.topic = t.id), 0)"
    )
    database.run(f"UPDATE topics AS t SET planned = coalesce({_PLANNED}, 0)")


def repair_heads(database: Database, topics: Topics) -> None:
    """Write all heads anew: whole copies of latest states that are deltas. Skip damaged ones."""
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
    problems = []
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
            problems.append(Problem(str(error), f"{name}@{seen + 1}", way_out))
            continue
        if seen != versions:
            problems.append(
                Problem(f"it has {seen} versions, but {versions} were counted", name, _REPAIR)
            )
    if on_progress is not None:
        on_progress("checking topics", len(rows), len(rows))
    return problems


def _stray_pointers(database: Database) -> list[Problem]:
    rows = database.rows(
        f"SELECT name FROM topics t WHERE coalesce(latest, 0) <> coalesce({_LATEST_STATE}, 0) "
        f"OR planned <> {_PLANNED}"
    )
    return [Problem("it does not point at its latest state", name, _REPAIR) for (name,) in rows]


def _stray_heads(database: Database, topics: Topics) -> list[Problem]:
    problems = []
    heads = set(database.column("SELECT topic FROM heads"))
    for topic, space, name, version in _latest_deltas(database):
        if topic not in heads:
            problems.append(Problem("its latest content has no whole copy", name, _REPAIR))
            continue
        heads.remove(topic)
        body = database.value("SELECT body FROM heads WHERE topic = ?", topic)
        try:
            same = body == topics.version(space, name, version, NOW).content.encode()
        except Corrupt:
            continue
        if not same:
            problems.append(
                Problem("the copy of its latest content differs from it", name, _REPAIR)
            )
    return problems + [
        Problem("a whole copy is kept that nothing needs", f"topic {topic}", _REPAIR)
        for topic in sorted(heads)
    ]


def _latest_deltas(database: Database) -> list[tuple[int, int, str, int]]:
    """Return (topic, space, name, version) of each latest state that is stored as a delta."""
    return database.rows(
        "SELECT t.id, t.space, t.name, s.version FROM topics t JOIN states s ON s.id = t.latest "
        "WHERE s.encoding IN (2, 3)"
    )
