"""Checksums of rows, which reveal a flipped bit in the file.

Tables have a column that SQLite fills with a checksum of the row. (PostgreSQL has checksums of
its pages.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from zlib import crc32

from hades.errors import HadesError
from hades.store.catalogue import TABLES, quoted
from hades.store.database import Database
from hades.store.records import Problem
from hades.store.schema import columns_of

SCHEMA = "schema"
"""The key in `meta` of the checksum of the tables' definitions."""
_PROBLEMS_SHOWN = 20
_RESTORE = "restore a backup (`hades restore`)"
_UNGUARDED = {name for table in TABLES.values() for name in table.having("derived")}
"""Derived columns, which `check` compares with the rows they are derived from."""
GUARD = re.compile(r"row_guard\([^()]*+\)")


def row_guard(*values: object) -> int:
    """Return the checksum of a row's values. Files contain it, so it must never change."""
    plain = [crc32(value) if type(value) is bytes else value for value in values]
    return crc32(ascii(plain).encode()) - 2**31


def guarded(statement: str) -> str:
    """Return the definition of a table with a column that SQLite fills with a row's checksum.

    Other statements are returned as they are. `heads` gets no such column: it is a copy, and
    `check` compares it with its original.
    """
    table, columns = columns_of(statement)
    if table in ("", "heads"):
        return statement
    names = quoted(name for name in columns if name not in _UNGUARDED)
    constraint = re.search(r",\s*(PRIMARY KEY|UNIQUE) \(", statement)
    place = constraint.start() if constraint else statement.rindex(")")
    guard = f", guard INTEGER GENERATED ALWAYS AS (row_guard({names})) STORED"
    return f"{statement[:place]}{guard}{statement[place:]}"


DEFINITIONS = "SELECT name, sql FROM sqlite_master ORDER BY name"


def schema_guard(rows: Iterable[tuple[str, str | None]]) -> str:
    """Return the checksum of the `DEFINITIONS` of all tables and indexes."""
    return str(row_guard(*(value for row in rows for value in row)))


def file_damage(database: Database) -> list[Problem]:
    """Return the damage that SQLite finds. If there is none, return damaged rows."""
    return [
        Problem(f"the file itself: {what}", database.place, _RESTORE)
        for what in database.column(f"PRAGMA integrity_check({_PROBLEMS_SHOWN})")
        if what != "ok"
    ] or damaged_rows(database)


def damaged_rows(database: Database) -> list[Problem]:
    """Return a problem per row that differs from its checksum, or one if the tables differ."""
    if database.meta(SCHEMA) != schema_guard(database.rows(DEFINITIONS)):
        return [Problem("its tables differ from their definitions", database.place, _RESTORE)]
    problems = []
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
        problems += [
            Problem("a row differs from what was written", f"{table} {row}", _RESTORE)
            for row in damaged
        ]
    return problems
