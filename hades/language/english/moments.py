"""Moments: the time that somebody wrote, as commands and callers give it.

The parser is our own: it costs no import time, refuses what is ambiguous
(`03/04/2024`) instead of guessing, and takes "now" from the caller's clock.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta

from hades.domain.times import MONTHS_IN, UNITS, TimeLike, from_micros, shift
from hades.errors import InvalidInput
from hades.language.english.lexicon import COUNTS, MONTHS, WEEKDAYS
from hades.language.patterns import lazy_pattern

_AGO = lazy_pattern(r"(?:in )?(\d+|[a-z]+) ([a-z]+?)s?( ago)?")
_MONTH_WORDS = lazy_pattern(
    r"(?:(\d{1,2})(?:st|nd|rd|th)? )?([a-z]+)(?: (\d{1,2})(?:st|nd|rd|th)?)? (\d{4})"
)
_PARTIAL = lazy_pattern(r"(\d{4})(?:-(\d{1,2})|-?q([1-4]))?")
_QUARTER_FIRST = lazy_pattern(r"q([1-4])[ -]?(\d{4})")
_LOOSE_DAY = lazy_pattern(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_SLASHES = lazy_pattern(r"(\d{1,2})/(\d{1,2})/(\d{2}|\d{4})")


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
    return shift(moment, count, unit) if unit in UNITS or unit in MONTHS_IN else None
