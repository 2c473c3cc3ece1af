"""Times, on two axes.

*Valid* time is when something was true in the world; *known* time is when this
memory learned of it. Times are stored as whole microseconds since 1970 in UTC and
shown as timezone-aware datetimes. A time written without a zone is UTC.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from hades.errors import InvalidInput

Clock = Callable[[], int]
"""A function that returns the microseconds since 1970, UTC. Tests pass their own."""

TimeLike = str | datetime | date
"""A time as people write it: `2024-03-01`, `2024-03`, `yesterday`, `3 weeks ago`, a datetime."""

TIMES_MEANT = ("written", "event")
"""The meanings of `since` and `until`: when notes were written, or the times they mention."""

FOREVER = (1 << 63) - 1
"""The number of an open end, later than every other time."""

DAY_MICROSECONDS = 86_400_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def system_clock() -> int:
    """Return now, in microseconds since 1970, UTC."""
    return time.time_ns() // 1000


def checked_clock(clock: Clock) -> Clock:
    """Wrap a clock so that it raises InvalidInput unless it returns microseconds; try it once."""

    def tell() -> int:
        micros = clock() if callable(clock) else clock
        if type(micros) is not int or not _FIRST <= micros <= _LAST:
            raise InvalidInput(
                "A clock is a function that returns the microseconds since 1970 as an int: "
                f"this one gives {micros!r}."
            )
        return micros

    tell()
    return tell


def to_micros(moment: datetime) -> int:
    """Return the microseconds since 1970 of a datetime; without a zone it is UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """Return the UTC datetime of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)


def from_micros_or_none(micros: int | None) -> datetime | None:
    """Return the UTC datetime of microseconds since 1970; None, an open end, stays None."""
    return None if micros is None else from_micros(micros)


def iso(moment: datetime) -> str:
    """Format a time as HADES writes it: ISO 8601, UTC, `Z`, no trailing zeros."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    text = moment.isoformat()[:-6]
    if "." in text:
        text = text.rstrip("0")
    return text + "Z"


@dataclass(frozen=True, slots=True)
class AsOf:
    """The moment of a view: `valid` in the world, `known` in the memory; None means now."""

    valid: datetime | None = None
    known: datetime | None = None

    @property
    def is_now(self) -> bool:
        """Whether both axes are now."""
        return self.valid is None and self.known is None


NOW = AsOf()
_FIRST = to_micros(datetime.min)
_LAST = to_micros(datetime.max)

UNITS = {
    **dict.fromkeys(("second", "sec"), timedelta(seconds=1)),
    **dict.fromkeys(("minute", "min"), timedelta(minutes=1)),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "fortnight": timedelta(weeks=2),
}
MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}


def shift(moment: datetime, count: int, unit: str) -> datetime:
    """Return a moment `count` units later; in a shorter month, on its last day."""
    if unit in UNITS:
        return moment + count * UNITS[unit]
    months = moment.year * 12 + moment.month - 1 + count * MONTHS_IN[unit]
    first = moment.replace(year=months // 12, month=months % 12 + 1, day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return first.replace(day=min(moment.day, (following - first).days))
