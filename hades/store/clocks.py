"""Clocks: times of writes only grow, so one that is wrong carries all later ones along.

A write long after the one before is refused: then somebody says whether the clock is right.
A memory that has writes of the future is named by `check` and brought back by `repair`.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from hades.domain.times import DAY_MICROSECONDS, from_micros
from hades.store.records import Problem

if TYPE_CHECKING:
    from hades.store.sqlite import Database

JUMP_AT_MOST_YEARS = 20
SET_THE_CLOCK = "set the clock right, or if it is right, run `hades check --repair`"
_YEAR_MICROSECONDS = 365 * DAY_MICROSECONDS
KNOWN_TIMES = ("recorded_at", "retired_at", "at", "decided_at", "created_at")
VALID_TIMES = ("valid_from", "valid_to")
"""The columns of times, on each axis."""


def has_jumped(now: int, last: int) -> bool:
    """Whether a write now would be too long after the last one to be believed."""
    return now - last > JUMP_AT_MOST_YEARS * _YEAR_MICROSECONDS


def jump(now: int, last: int) -> str:
    """What the clock says of itself."""
    years = (now - last) // _YEAR_MICROSECONDS
    return f"The clock says {from_micros(now):%Y-%m-%d}, {years} years after the last write"


def clock_problems(database: Database) -> list[Problem]:
    """Where clock and last write are too far apart for both to be right."""
    now, last = database.clock(), _last_write(database)
    if last > now + DAY_MICROSECONDS:
        what = f"the last write is dated {from_micros(last):%Y-%m-%d}, later than the clock"
        return [Problem(what, str(database.path), SET_THE_CLOCK)]
    if last and has_jumped(now, last):
        return [Problem(jump(now, last), str(database.path), SET_THE_CLOCK)]
    return []


def follow_clock(database: Database) -> None:
    """Believe the clock where it and the last write are too far apart; inside a transaction."""
    if clock_problems(database):
        now = database.clock()
        if _last_write(database) > now:
            _redate(database, now)
        else:
            database.run(
                "INSERT INTO changes "
                "SELECT max(number) + 1, ?, ?, 'repair', NULL, NULL FROM changes",
                *(now, database.actor_id("hades")),
            )


def _last_write(database: Database) -> int:
    return database.value("SELECT at FROM changes ORDER BY number DESC LIMIT 1") or 0


def _redate(database: Database, now: int) -> None:
    """Date the writes of the future to just before now, in their order, with all they stamped.

    What its writer planned stays planned: its time is not that of a write.
    """
    database.run("CREATE TEMP TABLE redated (old INTEGER PRIMARY KEY, new INTEGER NOT NULL)")
    database.run(
        "INSERT INTO redated SELECT at, max(?1 - count(*) OVER (), "
        "(SELECT coalesce(max(at), 0) FROM changes WHERE at <= ?1)) "
        "+ row_number() OVER (ORDER BY number) FROM changes WHERE at > ?1",
        now,
    )
    for table, column in database.rows(
        "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c "
        "WHERE m.type = 'table'"
    ):
        if column in KNOWN_TIMES:
            database.run(
                f"UPDATE {table} SET {column} = coalesce((SELECT new FROM redated "
                f"WHERE old <= {column} ORDER BY old DESC LIMIT 1), ?1) WHERE {column} > ?1",
                now,
            )
        elif column in VALID_TIMES:
            database.run(
                f"UPDATE {table} SET {column} = (SELECT new FROM redated WHERE old = {column}) "
                f"WHERE {column} IN (SELECT old FROM redated)"
            )
    database.run("DROP TABLE redated")
    database.set_meta("generation", secrets.token_hex(8))  # indexes hold these times
