"""Moments: parse a time in a command, a note or a document.

A text is tried as a fixed time (`2024-03`, `8 May 2023`), a time with an hour, a time relative to
now (`3 weeks ago`) and a period as in questions (`last March`). The parser is our own: it costs no
import time, refuses ambiguous dates (`03/04/2024`) instead of guessing, and takes "now" from the
caller's clock.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, timezone
from typing import NamedTuple

from hades.domain.times import MONTHS_IN, UNITS, TimeLike, from_micros, shift, to_micros
from hades.errors import InvalidInput
from hades.language.english.lexicon import COUNTS, MONTHS, WEEKDAYS
from hades.language.english.periods import QuestionWords, read_period, split_words
from hades.language.patterns import lazy_pattern

_AGO = lazy_pattern(r"(?:in )?(\d+|[a-z]+) ([a-z]+?)s?( ago)?")
_MONTH_WORDS = lazy_pattern(
    r"(?:(\d{1,2})(?:st|nd|rd|th)? )?([a-z]+)(?: (\d{1,2})(?:st|nd|rd|th)?)? (\d{4})"
)
_PARTIAL = lazy_pattern(r"(\d{4})(?:-(\d{1,2})|-?q([1-4]))?")
_QUARTER_FIRST = lazy_pattern(r"q([1-4])[ -]?(\d{4})")
_LOOSE_DAY = lazy_pattern(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_SLASHES = lazy_pattern(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4})")
_CLOCK = lazy_pattern(
    r"(?<![\d:.])(\d{1,2})"
    r"(?::(\d{2})(?::(\d{2})(?:[.,]\d{1,9})?)?(?:\s*([ap])\.?m\b\.?)?|\s*([ap])\.?m\b\.?)"
    r"(?![\d:])"
)
_ZONE = lazy_pattern(
    r"(?:\b(?:utc|gmt|z)\b)?(?:(?<!\s)\s++)?([+-])(\d{2}):?(\d{2})$|\b(?:utc|gmt)$|(?<=\d)z$"
)
_WEEKDAY = lazy_pattern(r"\(?\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\b\)?,?")
_NOISE = lazy_pattern(r"\b(?:on|at|of)\b|[,\[\]()]")
_YEAR_FIRST = lazy_pattern(r"(\d{4})[/.-](\d{1,2})[/.-](\d{1,2})")
_YEAR_LAST = lazy_pattern(r"(\d{1,2})[/.-](\d{1,2})[/.-](\d{4})")
_HAS_YEAR = lazy_pattern(r"(?<!\d)\d{4}(?!\d)")


def parse_time(when: TimeLike, now: int, *, ahead: bool = False) -> datetime:
    """Return the moment that a time means; for a period (`2024-03`, `last March`), its start.

    A weekday or a month without a year is the latest that has begun; with `ahead`, the next. A text
    that is not a time, or is ambiguous, raises InvalidInput.

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
    if slashes := _SLASHES.fullmatch(text):
        raise _refused_slashes(when, *map(int, slashes.groups()))
    try:
        spelled = None if (fixed := _fixed(text)) else spelled_time(text)
        moment = fixed or (spelled and spelled.at) or _relative(text, now)
        moment = moment or _first_instant(text, now, ahead=ahead)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(f"There is no such time as {when!r} ({error}).") from error
    if moment is not None:
        return moment
    raise InvalidInput(
        f"Cannot read the time {when!r}: times are written like 2024-03-31, 2024-03, "
        "2024-03-31T14:00+02:00, yesterday or 3 weeks ago."
    )


def _refused_slashes(when: str, one: int, other: int, year: int) -> InvalidInput:
    """Return the error for a date with slashes, whose order of day and month is not agreed."""
    year = year if year > 99 else 2000 + year
    meant = set[date]()
    for month, day in ((one, other), (other, one)):
        with suppress(ValueError):
            meant.add(date(year, month, day))
    ways = " or ".join(map(str, sorted(meant))) or "it as year-month-day"
    return InvalidInput(f"{when!r} is read differently in different countries: write {ways}.")


def said_moment(words: str | None, at: datetime) -> datetime | None:
    """Return the time that words of a note mean, seen from the time of the note, or None.

    `from Monday` means the next Monday, `Monday` the last one.
    """
    if words is None:
        return None
    moment_words = words.removeprefix("from ")
    with suppress(InvalidInput):
        return parse_time(moment_words, to_micros(at), ahead=moment_words != words)
    return None


class SpelledTime(NamedTuple):
    """A day, with or without a time of day."""

    at: datetime
    day: str
    """The words for the day."""
    has_hour: bool


def spelled_time(text: str) -> SpelledTime | None:
    """Parse, in lower case, a day of a year with or without a time of day; None if it is not one.

    >>> spelled_time("1:56 pm on 8 may 2023").at.isoformat()
    '2023-05-08T13:56:00+00:00'
    """
    text, zone = _without_zone(_WEEKDAY.sub(" ", text).strip())
    day, clock = _without_clock(text)
    day = " ".join(_NOISE.sub(" ", day).split()).strip(" -")
    midnight = _fixed(_day_in_order(day)) if _HAS_YEAR.search(day) else None
    if midnight is None:
        return None
    at = midnight if clock is None else midnight + clock - zone
    return SpelledTime(at, day, clock is not None)


def _fixed(text: str) -> datetime | None:
    """Parse a time that does not depend on now; return None if it is not one."""
    return _iso(text) or _partial(text) or _month_words(text)


def _first_instant(text: str, now: int, *, ahead: bool) -> datetime | None:
    """Return the start of a period as in questions (`last March`); None if it is not one."""
    words = tuple(word for word, _, _ in split_words(text))
    period = read_period(QuestionWords(words, from_micros(now), ahead), 0)
    return period.since if period and period.end == len(words) else None


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
    return shift(moment, count, unit) if unit in UNITS or unit in MONTHS_IN else None


def _without_zone(text: str) -> tuple[str, timedelta]:
    match = _ZONE.search(text)
    # The end of `2023-05-08` looks like a zone; a zone only follows a time of day.
    if match is None or (match[1] and ":" not in text[: match.start()]):
        return text, timedelta()
    offset = timedelta()
    if match[1]:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        offset = -offset if match[1] == "-" else offset
        timezone(offset)  # raises ValueError from 24 hours on
    return text[: match.start()], offset


def _without_clock(text: str) -> tuple[str, timedelta | None]:
    match = _CLOCK.search(text)
    if match is None:
        return text, None
    hour, minute, second = (int(part or 0) for part in match.group(1, 2, 3))
    half = match[4] or match[5]
    if half and not 1 <= hour <= 12:
        raise ValueError(f"no hour {hour} {half}m")
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError(f"no hour {match[0]}")
    rest = text[: match.start()] + " " + text[match.end() :]
    return rest, timedelta(hours=hour, minutes=minute, seconds=second)


def _day_in_order(text: str) -> str:
    """Return a date of digits as year-month-day, or the text unchanged if it is ambiguous.

    With dots the day comes first: 3.4.2024.
    """
    if match := _YEAR_FIRST.fullmatch(text):
        return f"{match[1]}-{match[2]:0>2}-{match[3]:0>2}"
    if match := _YEAR_LAST.fullmatch(text):
        first = int(match[1])
        second = int(match[2])
        if first > 12 >= second or first == second or "." in text:
            return f"{match[3]}-{second:02}-{first:02}"
        if second > 12 >= first:
            return f"{match[3]}-{first:02}-{second:02}"
    return text
