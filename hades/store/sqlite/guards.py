"""Checksums of rows: what a flipped bit in the file is found by.

Every table has a column that SQLite fills with a checksum of its row. (PostgreSQL keeps
checksums of its pages itself.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

from hades.errors import HadesError
from hades.store.database import Database
from hades.store.records import Problem
from hades.store.schema import columns_of

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


def guarded(statement: str) -> str:
    """Return the definition of a table with a column that SQLite fills with a row's checksum.

    Other statements are returned as they are. `heads` gets no such column: it is a copy, and
    `check` compares it with its original.
    """
    table, columns = columns_of(statement)
    if table in ("", "heads"):
        return statement
    names = ", ".join(f'"{name}"' for name in columns if name not in _UNGUARDED)
    constraint = re.search(r",\s*(PRIMARY KEY|UNIQUE) \(", statement)
    place = constraint.start() if constraint else statement.rindex(")")
    guard = f", guard INTEGER GENERATED ALWAYS AS (row_guard({names})) STORED"
    return f"{statement[:place]}{guard}{statement[place:]}"


DEFINITIONS = "SELECT name, sql FROM sqlite_master ORDER BY name"


def schema_guard(rows: Iterable[tuple[str, str | None]]) -> str:
    """A checksum of the `DEFINITIONS` of all tables and indexes."""
    return str(row_guard(*(value for row in rows for value in row)))


def file_damage(database: Database) -> list[Problem]:
    """What SQLite itself finds; where that is nothing, rows that are not what was written."""
    return [
        Problem(f"the file itself: {what}", database.place, _RESTORE)
        for what in database.column(f"PRAGMA integrity_check({_PROBLEMS_SHOWN})")
        if what != "ok"
    ] or damaged_rows(database)


def damaged_rows(database: Database) -> list[Problem]:
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
