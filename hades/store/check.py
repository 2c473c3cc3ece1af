"""Integrity: is everything in the file as it was written, and if not, what to do.

Pointers and heads are derived and can be repaired in place; a damaged content cannot,
and is named together with the way out.
"""

from __future__ import annotations

from hades.domain.times import NOW
from hades.errors import Corrupt
from hades.store.records import Problem, Progress
from hades.store.sqlite import Database
from hades.store.topics import Topics

_FILE_PROBLEMS_SHOWN = 20
_RESTORE = "restore a backup (`hades restore`)"
_MEND = "run `hades check --repair`"

_LATEST_STATE = (
    "(SELECT id FROM states s WHERE s.topic = t.id AND s.retired_at IS NULL "
    "ORDER BY valid_from DESC, version DESC LIMIT 1)"
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
    "it is said to be superseded by an edge that is gone": "SELECT e.id FROM edges e "
    "WHERE superseded_by IS NOT NULL "
    "AND NOT EXISTS (SELECT 1 FROM edges o WHERE o.id = e.superseded_by)",
    "it is believed twice": "SELECT id FROM edges WHERE retired_at IS NULL "
    "GROUP BY id HAVING count(*) > 1",
    "it ends before it begins": "SELECT id FROM edges WHERE valid_to < valid_from",
}
_NO_SPACE = "NOT EXISTS (SELECT 1 FROM spaces s WHERE s.id = p.space)"
_PROPOSAL_FAULTS = {
    "what it proposes cannot be read": "NOT json_valid(p.fields) "
    "OR p.kind NOT IN ('relate', 'remember', 'alias', 'kind')",
    "it neither waits nor was decided": "p.status NOT IN ('waiting', 'applied', 'rejected') "
    "OR (p.status = 'waiting') != (p.decided_at IS NULL)",
    "its space is gone": _NO_SPACE,
}


def find_problems(
    database: Database, topics: Topics, on_progress: Progress | None
) -> list[Problem]:
    """Everything that is not as it should be."""
    found = [
        Problem(f"the file itself: {row[0]}", str(database.path), _RESTORE)
        for row in database.rows(f"PRAGMA integrity_check({_FILE_PROBLEMS_SHOWN})")
        if row[0] != "ok"
    ]
    if found:
        return found
    return [
        *_damaged_states(database, topics, on_progress),
        *_stray_pointers(database),
        *_stray_heads(database, topics),
        *faulty_edges(database),
        *stray_merges(database),
        *faulty_proposals(database),
    ]


def repair_pointers(database: Database) -> None:
    """Point every topic at its latest state again, and note whether that one is planned."""
    database.run(
        f"UPDATE topics AS t SET latest = {_LATEST_STATE}, "
        "versions = (SELECT max(version) FROM states s WHERE s.topic = t.id)"
    )
    database.run(
        "UPDATE topics SET planned = "
        "(SELECT valid_from > recorded_at FROM states s WHERE s.id = latest)"
    )


def repair_heads(database: Database, topics: Topics) -> None:
    """Write the whole content of every latest state that is stored as a delta."""
    database.run("DELETE FROM heads")
    for topic, space, name, version in _delta_tops(database):
        try:
            content = topics.version(space, name, version, NOW).content
        except Corrupt:
            continue
        database.run("INSERT INTO heads VALUES (?, ?)", topic, content.encode())


def repair_edges(database: Database) -> None:
    """Drop references to edges and entities that are gone."""
    database.run(
        "DELETE FROM merges WHERE NOT EXISTS (SELECT 1 FROM entities WHERE id = merges.entity) "
        "OR NOT EXISTS (SELECT 1 FROM entities WHERE id = merges.target)"
    )
    database.run(
        "UPDATE edges SET superseded_by = NULL WHERE superseded_by IS NOT NULL "
        "AND NOT EXISTS (SELECT 1 FROM edges o WHERE o.id = edges.superseded_by)"
    )


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
            for state in topics.trace(space, name, NOW):
                seen += 1
                if state.version != seen:
                    raise Corrupt(f"The version {name}@{seen} is missing.")
        except Corrupt as error:
            way_out = f"{_RESTORE}, or `hades purge` the topic"
            found.append(Problem(str(error), f"{name}@{seen + 1}", way_out))
            continue
        if seen != versions:
            found.append(
                Problem(f"it has {seen} versions where {versions} were counted", name, _MEND)
            )
    if on_progress is not None:
        on_progress("checking topics", len(rows), len(rows))
    return found


def _stray_pointers(database: Database) -> list[Problem]:
    rows = database.rows(
        f"SELECT name FROM topics t WHERE latest IS NOT {_LATEST_STATE} "
        "OR planned != (SELECT valid_from > recorded_at FROM states s WHERE s.id = t.latest)"
    )
    return [Problem("its pointer is not at its latest state", name, _MEND) for (name,) in rows]


def _stray_heads(database: Database, topics: Topics) -> list[Problem]:
    found = []
    heads = {row[0] for row in database.rows("SELECT topic FROM heads")}
    for topic, space, name, version in _delta_tops(database):
        if topic not in heads:
            found.append(Problem("its latest content has no whole copy", name, _MEND))
            continue
        heads.remove(topic)
        body = database.row("SELECT body FROM heads WHERE topic = ?", topic)[0]
        try:
            same = body == topics.version(space, name, version, NOW).content.encode()
        except Corrupt:
            continue
        if not same:
            found.append(Problem("the copy of its latest content differs from it", name, _MEND))
    return found + [
        Problem("a whole copy is kept that nothing needs", f"topic {topic}", _MEND)
        for topic in sorted(heads)
    ]


def faulty_edges(database: Database) -> list[Problem]:
    """Edges that lead nowhere or contradict themselves."""
    repair = {"it is said to be superseded by an edge that is gone": _MEND}
    return [
        Problem(what, f"edge {row[0]}", repair.get(what, f"`hades unrelate {row[0]} --mistake`"))
        for what, sql in _EDGE_FAULTS.items()
        for row in database.rows(sql)
    ]


def stray_merges(database: Database) -> list[Problem]:
    """Merges of entities that are not there."""
    rows = database.rows(
        "SELECT m.id FROM merges m WHERE m.retired_at IS NULL AND ("
        "NOT EXISTS (SELECT 1 FROM entities WHERE id = m.entity) OR "
        "NOT EXISTS (SELECT 1 FROM entities WHERE id = m.target))"
    )
    return [Problem("it merges an entity that is gone", f"merge {row[0]}", _MEND) for row in rows]


def faulty_proposals(database: Database) -> list[Problem]:
    """Proposals that say nothing, and answers kept for a space that is gone."""
    return [
        *(
            Problem(what, f"proposal {row[0]}", _MEND)
            for what, where in _PROPOSAL_FAULTS.items()
            for row in database.rows(f"SELECT id FROM proposals p WHERE {where}")
        ),
        *(
            Problem("an answer is kept for it though it is gone", f"space {row[0]}", _MEND)
            for row in database.rows(f"SELECT DISTINCT space FROM answers p WHERE {_NO_SPACE}")
        ),
    ]


def repair_proposals(database: Database) -> None:
    """Drop proposals nobody can read, and what belongs to no space."""
    for where in _PROPOSAL_FAULTS.values():
        database.run(f"DELETE FROM proposals AS p WHERE {where}")
    database.run(f"DELETE FROM answers AS p WHERE {_NO_SPACE}")


def _delta_tops(database: Database) -> list[tuple[int, int, str, int]]:
    return database.rows(
        "SELECT t.id, t.space, t.name, s.version FROM topics t JOIN states s ON s.id = t.latest "
        "WHERE s.encoding IN (2, 3)"
    )
