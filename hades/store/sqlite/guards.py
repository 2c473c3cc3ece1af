"""Checksums of rows: what a flipped bit in the file is found by.

Every table has a column that SQLite fills with a checksum of its row. (PostgreSQL keeps
checksums of its pages itself.)
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable
from typing import TYPE_CHECKING
from zlib import crc32

from hades.errors import HadesError
from hades.store.records import Problem

if TYPE_CHECKING:
    from hades.store.sqlite.database import SqliteDatabase

SCHEMA = "schema"
"""The key under which a checksum of the tables' definitions is noted."""
_PROBLEMS_SHOWN = 20
_RESTORE = "restore a backup (`hades restore`)"
_UNGUARDED = {"latest", "versions", "planned"}
"""Columns that are derived from others: `check` compares them with what they stand for."""
GUARD = re.compile(r"row_guard\([^()]*+\)")


def row_guard(*values: object) -> int:
    """A checksum of a row's values. Being part of the file, it must never change."""
    plain = [crc32(one) if type(one) is bytes else one for one in values]
    return crc32(ascii(plain).encode()) - 2**31


def add_guards(connection: sqlite3.Connection) -> None:
    """Give every table that has none a column that SQLite fills with a checksum of the row.

    `heads` has none: it is a copy, and compared with what it is a copy of.
    """
    run = connection.execute
    tables = run(
        "SELECT name, sql FROM sqlite_master WHERE type = 'table' "
        "AND name NOT IN ('heads', 'sqlite_sequence') AND instr(sql, 'row_guard(') = 0"
    ).fetchall()
    for name, sql in tables:
        indexes = run(
            "SELECT sql FROM sqlite_master WHERE tbl_name = ? AND type = 'index' AND sql > ''",
            (name,),
        ).fetchall()
        columns = [f'"{row[1]}"' for row in run(f"PRAGMA table_info({name})")]
        guarded = ", ".join(one for one in columns if one.strip('"') not in _UNGUARDED)
        constraint = re.search(r",\s*(PRIMARY KEY|UNIQUE) \(", sql)
        place = constraint.start() if constraint else sql.rindex(")")
        column = f", guard INTEGER GENERATED ALWAYS AS (row_guard({guarded})) STORED"
        made = f"{sql[:place]}{column}{sql[place:]}"
        last = run("SELECT * FROM sqlite_sequence WHERE name = ?", (name,)).fetchall()
        if run(f"SELECT 1 FROM {name} LIMIT 1").fetchone():
            run(made.replace(f" {name} ", f" new_{name} ", 1))
            run(f"INSERT INTO new_{name} SELECT * FROM {name}")
            run(f"DROP TABLE {name}")
            run(f"ALTER TABLE new_{name} RENAME TO {name}")
        else:  # nothing to take over: much faster
            run(f"DROP TABLE {name}")
            run(made)
        # Numbers that were given out once are not given out again.
        run("DELETE FROM sqlite_sequence WHERE name = ?", (name,))
        connection.executemany("INSERT INTO sqlite_sequence VALUES (?, ?)", last)
        for (index,) in indexes:
            run(index)
    if "topics" in dict(tables):
        run("INSERT OR IGNORE INTO owed SELECT 'file', '' WHERE EXISTS (SELECT 1 FROM topics)")


DEFINITIONS = "SELECT name, sql FROM sqlite_master ORDER BY name"


def schema_guard(rows: Iterable[tuple[str, str | None]]) -> str:
    """A checksum of the `DEFINITIONS` of all tables and indexes."""
    return str(row_guard(*(value for row in rows for value in row)))


def file_damage(database: SqliteDatabase) -> list[Problem]:
    """What SQLite itself finds; where that is nothing, rows that are not what was written."""
    return [
        Problem(f"the file itself: {what}", database.place, _RESTORE)
        for what in database.column(f"PRAGMA integrity_check({_PROBLEMS_SHOWN})")
        if what != "ok"
    ] or damaged_rows(database)


def damaged_rows(database: SqliteDatabase) -> list[Problem]:
    """Rows that are not what was written, by their checksums."""
    if database.meta(SCHEMA) != schema_guard(database.rows(DEFINITIONS)):
        return [Problem("its tables differ from their definitions", database.place, _RESTORE)]
    found = []
    for table, sql in database.rows(DEFINITIONS):
        guard = GUARD.search(sql or "")
        if guard is None:
            continue
        keys = database.column(
            f"SELECT name FROM pragma_table_info('{table}') WHERE pk ORDER BY pk"
        )
        shown = " || ' ' || ".join(f'"{key}"' for key in keys) or "rowid"
        try:
            damaged = database.column(
                f"SELECT {shown} FROM {table} WHERE guard IS NOT {guard[0]} LIMIT ?",
                _PROBLEMS_SHOWN,
            )
        except HadesError:
            damaged = ["with a text that cannot be read"]
        found += [
            Problem("a row differs from what was written", f"{table} {row}", _RESTORE)
            for row in damaged
        ]
    return found
