"""Times as other programs and people wrote them down.

A reader has no clock, so a time that needs one ("yesterday") is not read, and neither
is one that could be two days (`03/04/2024`): what is not read is kept as text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from hades.domain.times import from_micros
from hades.errors import InvalidInput
from hades.language.english.moments import parse_time
from hades.language.patterns import lazy_pattern

EPOCH_SECONDS_AT_LEAST = 10**8
"""Smaller numbers (before March 1973) are counters, years or room numbers."""
_MICROS_A_UNIT = ((10**11, 10**6), (10**14, 10**3), (10**17, 1))
"""Numbers below the first are of this many microseconds: seconds, milli-, microseconds."""

YEAR, MONTH, DAY, MINUTE = 4, 7, 10, 16
"""Precisions, in characters of the ISO form."""

_ISO = lazy_pattern(r"\d{4}-\d{2}-\d{2}[t ]\d{2}:\d{2}[\d:.]*(?:z| ?[+-]\d{2}:?\d{2})?")
_NUMBER = lazy_pattern(r"\d{9,17}(?:\.\d{1,9})?")
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


@dataclass(frozen=True, slots=True)
class WrittenTime:
    """A time that was read, and how much of it was written: a year, a day, a minute."""

    at: datetime
    precision: int
    """How many characters of `2023-05-08 13:56` are known."""

    @property
    def shown(self) -> str:
        """`2023-05-08 13:56`, or only the part that is known."""
        return self.at.isoformat(sep=" ")[: self.precision]

    @property
    def day(self) -> str:
        """`2023-05-08`, or only the part that is known."""
        return self.shown[:DAY]


def read_written_time(written: object) -> WrittenTime | None:
    """The time that is meant, in UTC; None when it is none or cannot be told.

    >>> read_written_time("1:56 pm on 8 May, 2023").shown
    '2023-05-08 13:56'
    """
    if isinstance(written, bool):
        return None
    if isinstance(written, int | float):
        return _epoch(written)
    if not isinstance(written, str) or not 4 <= len(written) < 100:
        return None
    text = " ".join(written.replace("\u200e", " ").lower().split())
    try:
        if _NUMBER.fullmatch(text):
            return _epoch(float(text))
        if _ISO.fullmatch(text):
            return WrittenTime(parse_time(text, now=0), MINUTE)
        return _spelled(text)
    except (ValueError, OverflowError, InvalidInput):
        return None


def _epoch(number: float) -> WrittenTime | None:
    if not number >= EPOCH_SECONDS_AT_LEAST:
        return None
    for below, micros in _MICROS_A_UNIT:
        if number < below:
            return WrittenTime(from_micros(round(number * micros)), MINUTE)
    return None


def _spelled(text: str) -> WrittenTime | None:
    """A day with or without an hour, in either order, in digits or words."""
    text, zone = _without_zone(_WEEKDAY.sub(" ", text).strip())
    day_text, clock = _without_clock(text)
    day_text = " ".join(_NOISE.sub(" ", day_text).split()).strip(" -")
    if not _HAS_YEAR.search(day_text) or " ago" in day_text or day_text.startswith("in "):
        return None
    midnight = parse_time(_day_in_order(day_text), now=0)
    if clock is None:
        return WrittenTime(midnight, _precision(day_text))
    return WrittenTime(midnight + clock - zone, MINUTE)


def _precision(day_text: str) -> int:
    numbers = re.findall(r"\d+", day_text)
    if len(numbers) == 1 and not re.search(r"[a-z]", day_text):
        return YEAR
    words = bool(re.search(r"[a-z]{3}", day_text))
    return MONTH if len(numbers) == (1 if words else 2) else DAY


def _without_zone(text: str) -> tuple[str, timedelta]:
    match = _ZONE.search(text)
    # `2023-05-08` ends like a zone; one only follows an hour.
    if match is None or (match[1] and ":" not in text[: match.start()]):
        return text, timedelta()
    offset = timedelta()
    if match[1]:
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        offset = -offset if match[1] == "-" else offset
        timezone(offset)  # Refuses what is more than a day.
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
    """Digits as year-month-day where only one reading is possible."""
    if match := _YEAR_FIRST.fullmatch(text):
        return f"{match[1]}-{match[2]:0>2}-{match[3]:0>2}"
    if match := _YEAR_LAST.fullmatch(text):
        first, second = int(match[1]), int(match[2])
        if first > 12 >= second or first == second or "." in text:
            return f"{match[3]}-{second:02}-{first:02}"
        if second > 12 >= first:
            return f"{match[3]}-{first:02}-{second:02}"
    return text
