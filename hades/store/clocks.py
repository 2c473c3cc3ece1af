"""Clocks: times of writes only grow, so a wrong clock carries all later writes along.

A write long after the last one is refused until somebody says that the clock is right.
`check` names a memory whose last write is later than the clock.
"""

from __future__ import annotations

from hades.domain.times import DAY_MICROSECONDS, from_micros
from hades.store.records import Problem

JUMP_AT_MOST_YEARS = 20
SET_THE_CLOCK = "set the clock right, or if it is right, run `hades check --repair`"
_SET_OR_RESTORE = "set the clock right, or restore a backup from before (`hades restore`)"
_YEAR_MICROSECONDS = 365 * DAY_MICROSECONDS


def has_jumped(now: int, last: int) -> bool:
    """Whether a write now would be too long after the last one to be believed."""
    return now - last > JUMP_AT_MOST_YEARS * _YEAR_MICROSECONDS


def jump(now: int, last: int) -> str:
    """Describe how far the clock is from the last write."""
    years = (now - last) // _YEAR_MICROSECONDS
    return f"The clock says {from_micros(now):%Y-%m-%d}, {years} years after the last write"


def clock_problems(place: str, now: int, last: int) -> list[Problem]:
    """Name a clock and a last write that are too far apart for both to be right."""
    if last > now + DAY_MICROSECONDS:
        what = f"the last write is dated {from_micros(last):%Y-%m-%d}, later than the clock"
        return [Problem(what, place, _SET_OR_RESTORE)]
    if last and has_jumped(now, last):
        return [Problem(jump(now, last), place, SET_THE_CLOCK)]
    return []
