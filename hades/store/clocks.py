"""Clocks: times of writes only grow, so one that is wrong carries all later ones along.

A write long after the one before is refused: then somebody says whether the clock is right.
A memory that has writes of the future is named by `check` and brought back by `repair`.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from hades.domain.times import DAY_MICROSECONDS, from_micros
from hades.store.records import Problem
from hades.store.schema import COLUMNS

if TYPE_CHECKING:
    from hades.store.database import Database

JUMP_AT_MOST_YEARS = 20
SET_THE_CLOCK = "set the clock right, or if it is right, run `hades check --repair`"
_YEAR_MICROSECONDS = 365 * DAY_MICROSECONDS
KNOWN_TIMES = frozenset(
    ("recorded_at", "retired_at", "at", "decided_at", "created_at", "last_used")
)
VALID_TIMES = frozenset(("valid_from", "valid_to"))
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
        return [Problem(what, database.place, SET_THE_CLOCK)]
    if last and has_jumped(now, last):
        return [Problem(jump(now, last), database.place, SET_THE_CLOCK)]
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
        database.look_again()


def _last_write(database: Database) -> int:
    return database.value("SELECT at FROM changes ORDER BY number DESC LIMIT 1") or 0


def _redate(database: Database, now: int) -> None:
    """Date the writes of the future to just before now, in their order, with all they stamped.

    What its writer planned stays planned: its time is not that of a write.
    """
    old = database.column("SELECT at FROM changes WHERE at > ? ORDER BY number", now)
    before = database.value("SELECT max(at) FROM changes WHERE at <= ?", now) or 0
    first = max(now - len(old), before) + 1
    database.run("CREATE TEMP TABLE redated (old BIGINT PRIMARY KEY, new BIGINT NOT NULL)")
    database.run_many(
        "INSERT INTO redated VALUES (?, ?)", [(at, first + place) for place, at in enumerate(old)]
    )
    for table, columns in COLUMNS.items():
        for column in columns.keys() & KNOWN_TIMES:
            database.run(
                f"UPDATE {table} SET {column} = coalesce((SELECT new FROM redated "
                f"WHERE old <= {column} ORDER BY old DESC LIMIT 1), ?1) WHERE {column} > ?1",
                now,
            )
        for column in columns.keys() & VALID_TIMES:
            database.run(
                f"UPDATE {table} SET {column} = (SELECT new FROM redated WHERE old = {column}) "
                f"WHERE {column} IN (SELECT old FROM redated)"
            )
    database.run("DROP TABLE redated")
    database.set_meta("generation", secrets.token_hex(8))  # indexes hold these times
