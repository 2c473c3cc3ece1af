"""Time, on two axes.

*Valid* time is when something was true in the world; *known* time is when this
memory learned of it. Times are stored as whole microseconds since 1970 in UTC and
shown as timezone-aware datetimes. A time written without a zone is UTC.

The parser is our own: it costs no import time, refuses what is ambiguous
(`03/04/2024`) instead of guessing, and takes "now" from the caller's clock.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

from hades.errors import InvalidInput

Clock = Callable[[], int]
"""Tells the time in microseconds since 1970, UTC. Tests hold their own."""

TimeLike = str | datetime | date
"""A time as people write it: `2024-03-01`, `2024-03`, `yesterday`, `3 weeks ago`, a datetime."""

FOREVER = (1 << 63) - 1
"""Later than every other time: an open end, as a number."""

DAY_MICROSECONDS = 86_400_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def system_clock() -> int:
    """Now, in microseconds since 1970, UTC."""
    return time.time_ns() // 1000


def checked_clock(clock: Clock) -> Clock:
    """The same clock, refused where it is no function or tells no microseconds."""

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
    """Microseconds since 1970 of a datetime; one without a zone is UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    """The UTC datetime of so many microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=micros)


def from_micros_or_none(micros: int | None) -> datetime | None:
    """The same for an open end, which stays open."""
    return None if micros is None else from_micros(micros)


def iso(moment: datetime) -> str:
    """A time as HADES writes it: ISO 8601, UTC, `Z`, no trailing zeros."""
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    text = moment.isoformat()[:-6]
    if "." in text:
        text = text.rstrip("0")
    return text + "Z"


@dataclass(frozen=True, slots=True)
class AsOf:
    """Which moment is asked about: `valid` in the world, `known` in the memory.

    An open axis (None) means now: current truth, as known today.
    """

    valid: datetime | None = None
    known: datetime | None = None

    @property
    def is_now(self) -> bool:
        """True when neither axis is held back."""
        return self.valid is None and self.known is None


NOW = AsOf()
_FIRST = to_micros(datetime.min)
_LAST = to_micros(datetime.max)

_UNITS = {
    **dict.fromkeys(("second", "sec"), timedelta(seconds=1)),
    **dict.fromkeys(("minute", "min"), timedelta(minutes=1)),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
    "week": timedelta(weeks=1),
    "fortnight": timedelta(weeks=2),
}
MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
_MONTH_NAMES = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
MONTHS = {name: number for number, name in enumerate(_MONTH_NAMES, start=1)}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()} | {"sept": 9}
"""English names of months, whole and short, in lower case."""
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6}
COUNTS |= {"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12}

_AGO = re.compile(r"(?:in )?(\d+|[a-z]+) ([a-z]+?)s?( ago)?")
_MONTH_WORDS = re.compile(
    r"(?:(\d{1,2})(?:st|nd|rd|th)? )?([a-z]+)(?: (\d{1,2})(?:st|nd|rd|th)?)? (\d{4})"
)
_PARTIAL = re.compile(r"(\d{4})(?:-(\d{1,2})|-?q([1-4]))?")
_QUARTER_FIRST = re.compile(r"q([1-4])[ -]?(\d{4})")
_LOOSE_DAY = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_SLASHES = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4})")


def parse_time(when: TimeLike, now: int) -> datetime:
    """The moment somebody meant; a period (`2024-03`) means its first instant.

    >>> parse_time("2024-03", now=0).isoformat()
    '2024-03-01T00:00:00+00:00'
    """
    if isinstance(when, datetime):
        try:
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC)
        except OverflowError as error:
            raise InvalidInput(f"There is no such time as {when} in UTC.") from error
    if isinstance(when, date):
        return datetime(when.year, when.month, when.day, tzinfo=UTC)
    if not isinstance(when, str):
        raise InvalidInput(f"A time is a string, date or datetime, not {type(when).__name__}.")
    text = " ".join(when.strip().lower().replace(",", " ").split())
    try:
        moment = _iso(text) or _partial(text) or _month_words(text) or _relative(text, now)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"There is no such time as {when!r} ({error}).") from error
    if moment is not None:
        return moment
    if slashes := _SLASHES.fullmatch(text):
        raise _refused_slashes(when, *map(int, slashes.groups()))
    raise InvalidInput(
        f"Cannot read the time {when!r}: write 2024-03-31, 2024-03, "
        "2024-03-31T14:00+02:00, yesterday or 3 weeks ago."
    )


def _refused_slashes(when: str, one: int, other: int, year: int) -> InvalidInput:
    """Why a date with slashes is not read: day and month have no agreed order there."""
    year = year if year > 99 else 2000 + year
    meant = set()
    for month, day in ((one, other), (other, one)):
        with suppress(ValueError):
            meant.add(date(year, month, day))
    if not meant:
        return InvalidInput(f"There is no such date as {when!r}: write it as 2024-03-31.")
    if len(meant) == 1:
        return InvalidInput(f"Cannot read the date {when!r}: write it as {meant.pop()}.")
    return InvalidInput(f"{when!r} is ambiguous: write the date as 2024-03-31.")


def _iso(text: str) -> datetime | None:
    if re.fullmatch(r"\d{4}", text) or not re.match(r"\d{4}", text):
        return None
    if not re.fullmatch(r"[\dtwz:.+ -]+", text):
        return None
    if re.fullmatch(r"\d{4}-\d{1,2}", text) or re.fullmatch(r"\d{6}", text):
        return None
    if loose := _LOOSE_DAY.fullmatch(text):
        return datetime(int(loose[1]), int(loose[2]), int(loose[3]), tzinfo=UTC)
    moment = datetime.fromisoformat(text.upper().replace(" +", "+"))
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def _partial(text: str) -> datetime | None:
    if quarter_first := _QUARTER_FIRST.fullmatch(text):
        text = f"{quarter_first[2]}q{quarter_first[1]}"
    match = _PARTIAL.fullmatch(text.replace(" ", ""))
    if match is None:
        return None
    year, month, quarter = match.groups()
    first_month = int(month) if month else 3 * int(quarter) - 2 if quarter else 1
    return datetime(int(year), first_month, 1, tzinfo=UTC)


def _month_words(text: str) -> datetime | None:
    match = _MONTH_WORDS.fullmatch(text)
    if match is None or match[2] not in MONTHS or (match[1] and match[3]):
        return None
    return datetime(int(match[4]), MONTHS[match[2]], int(match[1] or match[3] or 1), tzinfo=UTC)


def _relative(text: str, now: int) -> datetime | None:
    present = from_micros(now)
    today = present.replace(hour=0, minute=0, second=0, microsecond=0)
    named = {
        "now": present,
        "today": today,
        "yesterday": today - timedelta(days=1),
        "tomorrow": today + timedelta(days=1),
    }
    if text in named:
        return named[text]
    if text.startswith("last "):
        return _last(text.removeprefix("last "), present, today)
    match = _AGO.fullmatch(text)
    if match is None or (text.startswith("in ") == bool(match[3])):
        return None
    count = int(match[1]) if match[1].isdigit() else COUNTS.get(match[1])
    if count is None:
        return None
    return _shifted(present, -count if match[3] else count, match[2])


def _last(word: str, present: datetime, today: datetime) -> datetime | None:
    if word in WEEKDAYS:
        days_back = (today.weekday() - WEEKDAYS.index(word)) % 7 or 7
        return today - timedelta(days=days_back)
    return _shifted(present, -1, word)


def _shifted(moment: datetime, count: int, unit: str) -> datetime | None:
    return shift(moment, count, unit) if unit in _UNITS or unit in MONTHS_IN else None


def shift(moment: datetime, count: int, unit: str) -> datetime:
    """So many seconds, days, weeks, months … later; the last day of a month that is shorter."""
    if unit in _UNITS:
        return moment + count * _UNITS[unit]
    months = moment.year * 12 + moment.month - 1 + count * MONTHS_IN[unit]
    first = moment.replace(year=months // 12, month=months % 12 + 1, day=1)
    following = (first + timedelta(days=32)).replace(day=1)
    return first.replace(day=min(moment.day, (following - first).days))
