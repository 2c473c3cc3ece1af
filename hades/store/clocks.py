"""Detect a wrong clock. Times of writes only grow, so one wrong time shifts all later writes.

A write long after the last one is refused until `hades check --repair` confirms the clock.
`hades check` reports a memory whose last write is later than the clock.
"""

from __future__ import annotations

from hades.domain.times import DAY_MICROSECONDS, from_micros
from hades.store.records import Problem

JUMP_AT_MOST_YEARS = 20
SET_THE_CLOCK = "set the clock right, or if it is right, run `hades check --repair`"
_SET_OR_RESTORE = "set the clock right, or restore a backup from before (`hades restore`)"
_YEAR_MICROSECONDS = 365 * DAY_MICROSECONDS


def has_jumped(now: int, last: int) -> bool:
    """Return whether a write now would be too long after the last one to be plausible."""
    return now - last > JUMP_AT_MOST_YEARS * _YEAR_MICROSECONDS


def jump(now: int, last: int) -> str:
    """Describe how far the clock is from the last write."""
    years = (now - last) // _YEAR_MICROSECONDS
    return f"The clock says {from_micros(now):%Y-%m-%d}, {years} years after the last write"


def clock_problems(place: str, now: int, last: int) -> list[Problem]:
    """Return a problem if the clock and the last write are too far apart for both to be right."""
    if last > now + DAY_MICROSECONDS:
        what = f"the last write is dated {from_micros(last):%Y-%m-%d}, later than the clock"
        return [Problem(what, place, _SET_OR_RESTORE)]
    if last and has_jumped(now, last):
        return [Problem(jump(now, last), place, SET_THE_CLOCK)]
    return []
