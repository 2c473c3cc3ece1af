"""Written times: the times in files of other programs and people.

A reader has no clock, so it cannot parse `yesterday`, and it does not guess at an ambiguous date
(`03/04/2024`). A time that is not parsed is kept as text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime

from hades.domain.times import from_micros
from hades.errors import InvalidInput
from hades.language.english.moments import parse_time, spelled_time
from hades.language.patterns import lazy_pattern

EPOCH_SECONDS_AT_LEAST = 10**8
"""Smaller numbers (before March 1973) are counters, years or room numbers."""
_MICROS_A_UNIT = ((10**11, 10**6), (10**14, 10**3), (10**17, 1))
"""Upper bounds of seconds, milliseconds and microseconds, and the microseconds of each unit."""

YEAR = 4
MONTH = 7
DAY = 10
MINUTE = 16
"""The precision of a time, as the number of characters of its ISO form."""

_ISO = lazy_pattern(r"\d{4}-\d{2}-\d{2}[t ]\d{2}:\d{2}[\d:.]*(?:z| ?[+-]\d{2}:?\d{2})?")
_NUMBER = lazy_pattern(r"\d{9,17}(?:\.\d{1,9})?")


@dataclass(frozen=True, slots=True)
class WrittenTime:
    """A time that was read, and its precision: a year, a month, a day or a minute."""

    at: datetime
    precision: int
    """How many characters of a form such as `2023-05-08 13:56` are known."""

    @property
    def shown(self) -> str:
        """`2023-05-08 13:56`, or only the part that is known."""
        return self.at.isoformat(sep=" ")[: self.precision]

    @property
    def day(self) -> str:
        """`2023-05-08`, or only the part that is known."""
        return self.shown[:DAY]


def read_written_time(written: object) -> WrittenTime | None:
    """Return the time that a value means, in UTC; None if it is no time or ambiguous.

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
        spelled = spelled_time(text)
    except (ValueError, OverflowError, InvalidInput):
        return None
    if spelled is None:
        return None
    return WrittenTime(spelled.at, MINUTE if spelled.has_hour else _precision(spelled.day))


def _epoch(number: float) -> WrittenTime | None:
    if not number >= EPOCH_SECONDS_AT_LEAST:
        return None
    for below, micros in _MICROS_A_UNIT:
        if number < below:
            return WrittenTime(from_micros(round(number * micros)), MINUTE)
    return None


def _precision(day_text: str) -> int:
    numbers = re.findall(r"\d+", day_text)
    if len(numbers) == 1 and not re.search(r"[a-z]", day_text):
        return YEAR
    words = bool(re.search(r"[a-z]{3}", day_text))
    return MONTH if len(numbers) == (1 if words else 2) else DAY
