"""Periods: the span of the calendar that some words mean, seen from a moment.

`yesterday`, `last week`, `three weeks ago`, `May 22nd`, `the first half of June`, `Q2 last
year`. Small rules over words, each tried where a period may begin. Weeks begin on Monday,
seasons are whole months of the northern year, all times are UTC.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from hades.domain.times import COUNTS, MONTHS, WEEKDAYS

Span = tuple[datetime, datetime]
"""From the first, up to and without the second."""


class Period(NamedTuple):
    """A span, and where the words that mean it end."""

    since: datetime
    until: datetime
    end: int
    """The first word after it."""
    clear: bool = True
    """A time even where no preposition stands before it."""
    closing: bool = False
    """Its words name an end: `the end of June`."""


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The words of a question in lower case, and the moment it is asked."""

    words: tuple[str, ...]
    now: datetime
    ahead: bool = False
    """An open year is the next one instead of the latest that has begun."""

    def __getitem__(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def unit(self, at: int) -> str:
        """The unit of time that stands there, as `week` for `weeks` and `week's`."""
        unit = self[at].removesuffix("'s").removesuffix("s")
        return unit if unit in UNITS else ""


_TOKEN = re.compile(
    r"(?:mid|early|late|year|month|quarter)(?=-[^\W\d_])"
    r"|[^\W_]+(?:[.'’/_-][^\W_]+)*|[,;:?!.()]",
    re.IGNORECASE,
)
_ISO = re.compile(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?|-?w([0-9]{1,2})|-?(q[1-4]))")
_YEAR = re.compile(r"(?:19|20|21)[0-9]{2}")
_NUMBER = re.compile(r"[0-9]{1,4}")
_DAY = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
_DAYS = re.compile(r"([0-9]{1,2})-([0-9]{1,2})")

_MONTH_NAMES = tuple(MONTHS)[:12]
_MONTHS_IN = {"month": 1, "quarter": 3, "year": 12}
UNITS = frozenset(("hour", "day", "week", "weekend", *_MONTHS_IN))
"""The units of time that are counted."""
_HOURS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 24)}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_ORDINALS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
_AMOUNTS = COUNTS | {"couple": 2, "few": 3}
_DAY_STEPS = {"yesterday": -1, "yesterday's": -1, "today": 0, "tonight": 0, "tomorrow": 1}
_STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_PARTS = {"early": 0, "start": 0, "beginning": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_TO = ("to", "and", "until", "till", "through")
_SMALL_WORDS = frozenset(
    """who what which where when how why whose whom did does do was were is are had has have will
    would could can should may must and or but the a an of in on at by for from to with about
    before after since until during there i we you he she it they our my his her their this that
    these those any anything everything not then as if so""".split()  # noqa: SIM905
)
"""Words that do not make one thing of a period before them, as `party` does of `the summer`."""

_ONE_DAY = timedelta(days=1)
_ONE_WEEK = timedelta(weeks=1)
_YEARS_TRIED = range(-8, 9)
"""A 29 February may be eight years away."""
_DEEPEST = 3
"""As in the end of the first week of June."""


def split_words(question: str) -> list[tuple[str, int, int]]:
    """The words and stops of a question in lower case, each with where it begins and ends.

    A date such as 2025-05-22 comes as its parts: 22, may, 2025.
    """
    found = []
    for token in _TOKEN.finditer(question):
        word = token[0].lower().replace("’", "'")
        parts = [word]
        if iso := _ISO.fullmatch(word):
            year, month, day, week, quarter = iso.groups()
            if week or quarter:
                parts = [*(("week", week) if week else (quarter,)), year]
            elif 1 <= int(month) <= 12:
                parts = [*((day,) if day else ()), _MONTH_NAMES[int(month) - 1], year]
        found += [(part, token.start(), token.end()) for part in parts]
    return found


def read_period(words: QuestionWords, at: int, depth: int = _DEEPEST) -> Period | None:
    """The period that begins at that word, an article before it included."""
    at += words[at] == "the"
    found = _near_day(words, at) or _ago(words, at)
    if not found and depth:
        found = _part(words, at, depth - 1) or _beside(words, at, depth - 1)
    return found or _relative(words, at) or _calendar(words, at)


def _month(number: int) -> datetime:
    """The first day of a month, with months counted from the year 0."""
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)


def _number(day: datetime) -> int:
    return day.year * 12 + day.month - 1


def _unit_span(moment: datetime, unit: str, steps: int) -> Span:
    """The whole hour, day, week … so many after that of the moment."""
    if months := _MONTHS_IN.get(unit):
        first = _number(moment) // months * months + steps * months
        return _month(first), _month(first + months)
    hour = moment.replace(minute=0, second=0, microsecond=0)
    if unit == "hour":
        return hour + timedelta(hours=steps), hour + timedelta(hours=steps + 1)
    day = hour.replace(hour=0)
    if unit == "day":
        return day + steps * _ONE_DAY, day + (steps + 1) * _ONE_DAY
    monday = day + steps * _ONE_WEEK - day.weekday() * _ONE_DAY
    return monday + (unit == "weekend") * 5 * _ONE_DAY, monday + _ONE_WEEK


def _near_day(words: QuestionWords, at: int) -> Period | None:
    """Yesterday, today, tonight, yesterday morning."""
    steps = _DAY_STEPS.get(words[at])
    if steps is None:
        return None
    day = _unit_span(words.now, "day", steps)[0]
    if words[at] == "tonight":
        return Period(day + timedelta(hours=_HOURS["night"][0]), day + _ONE_DAY, at + 1)
    return _day_or_part(words, day, at + 1)


def _day_or_part(words: QuestionWords, day: datetime, at: int, clear: bool = True) -> Period:
    """The morning, afternoon or evening of a day where that is said; else the day."""
    first, last = _HOURS.get(words[at], (0, 24))
    end = at + (words[at] in _HOURS)
    return Period(day + timedelta(hours=first), day + timedelta(hours=last), end, clear)


def _amount(words: QuestionWords, at: int) -> tuple[int, int]:
    """`3`, `three`, `a couple of`: how many, and the next word; 0 where no amount stands."""
    at += words[at] == "a" and words[at + 1] in ("couple", "few")
    word = words[at]
    count = int(word) if _NUMBER.fullmatch(word) else _AMOUNTS.get(word, 0)
    return count, at + bool(count) + (word == "couple" and words[at + 1] == "of")


def _ago(words: QuestionWords, at: int) -> Period | None:
    """Three weeks ago: that whole week."""
    count, end = _amount(words, at)
    unit = words.unit(end)
    if not count or not unit or words[end + 1] != "ago":
        return None
    return Period(*_unit_span(words.now, unit, -count), end + 2)


class _Cut(NamedTuple):
    """Which part of a whole is meant, and where the whole is named."""

    of: Callable[[Span], Span | None]
    at: int
    skip: int = 0  # words after the whole
    clear: bool = True
    closing: bool = False


def _part(words: QuestionWords, at: int, depth: int) -> Period | None:
    """Early June, the end of May, the first half of it, its last two weeks, year end."""
    if not (cut := _read_cut(words, at)):
        return None
    if not cut.skip and (whole := read_period(words, cut.at, depth)):
        span, end = cut.of((whole.since, whole.until)), whole.end
    else:
        unit_at = cut.at + (words[cut.at] == "the")
        unit, end = words.unit(unit_at), unit_at + 1 + cut.skip
        if unit not in ("week", *_MONTHS_IN):
            return None
        span = cut.of(_unit_span(words.now, unit, 0))
        if span and span[0] > words.now and not words.ahead:
            span = cut.of(_unit_span(words.now, unit, -1))
    return span and Period(*span, end, cut.clear, cut.closing)


def _read_cut(words: QuestionWords, at: int) -> _Cut | None:
    word, after = words[at], words[at + 1]
    if after == "end" and words.unit(at) in _MONTHS_IN:
        return _Cut(lambda whole: _third(whole, 2, True), at, 1, clear=False, closing=True)
    if word in ("early", "mid", "late") or (word in _PARTS and after == "of"):
        third, of = _PARTS[word], after == "of"
        return _Cut(
            lambda whole: _third(whole, third, of), at + 1 + of, clear=False, closing=word == "end"
        )
    if not (ordinal := _ORDINALS.get(word)):
        return None
    if after == "half" and words[at + 2] == "of":
        return _Cut(lambda whole: _share(whole, int(ordinal != 1), 2), at + 3)
    count, unit_at = _amount(words, at + 1)
    unit = words[unit_at] if words[unit_at] in WEEKDAYS else words.unit(unit_at)
    if not unit or words[unit_at + 1] != "of":
        return None
    return _Cut(lambda whole: _nth(whole, ordinal, count or 1, unit), unit_at + 2)


def _share(whole: Span, part: int, parts: int) -> Span:
    """One of some equal parts, in whole months where these can be shared, else in days."""
    since, until = whole
    months, rest = divmod(_number(until) - _number(since), parts)
    if since.day == until.day == 1 and months and not rest:
        first = _number(since) + part * months
        return _month(first), _month(first + months)
    size = (until - since).days // parts * _ONE_DAY
    last = part == parts - 1 or not size
    return since + part * size, until if last else since + (part + 1) * size


def _third(whole: Span, third: int, named: bool) -> Span:
    """A third; of a year whose start or end is named only a month."""
    if named and third != 1 and (whole[1] - whole[0]).days > 360:
        return _share(whole, 11 if third else 0, 12)
    return _share(whole, third, 3)


def _nth(whole: Span, ordinal: int, count: int, unit: str) -> Span | None:
    """The first two weeks, the last day, the second Monday of a whole."""
    since, until = whole
    if unit in WEEKDAYS or unit == "weekend":
        weekday = 5 if unit == "weekend" else WEEKDAYS.index(unit)
        since += (weekday - since.weekday()) % 7 * _ONE_DAY
        last = (until - since - _ONE_DAY) // _ONE_WEEK
        since += (last if ordinal < 0 else ordinal - 1) * _ONE_WEEK
        until = min(until, since + (1 + (unit == "weekend")) * _ONE_DAY)
    elif months := _MONTHS_IN.get(unit):
        first = _number(until) - count * months if ordinal < 0 else _number(since)
        first += max(ordinal - 1, 0) * months
        since, until = _month(first), _month(first + count * months)
    else:
        size = _ONE_WEEK if unit == "week" else _ONE_DAY
        since = until - count * size if ordinal < 0 else since + (ordinal - 1) * size
        until = since + count * size
    return (since, until) if whole[0] <= since < until <= whole[1] else None


def _beside(words: QuestionWords, at: int, depth: int) -> Period | None:
    """The week of 15 December, the day before yesterday, the week before last."""
    unit, how = words[at], words[at + 1]
    if unit not in UNITS or how not in ("of", "before", "after"):
        return None
    if (how, words[at + 2]) == ("before", "last") and not words.unit(at + 3):
        return Period(*_unit_span(words.now, unit, -2), at + 3)
    if not (base := read_period(words, at + 2, depth)):
        return None
    moment = base.until if how == "after" else base.since
    moment -= timedelta(microseconds=how == "before")
    return Period(*_unit_span(moment, unit, 0), base.end)


def _relative(words: QuestionWords, at: int) -> Period | None:
    """Last week, this month, next Monday, last spring; the past month up to now."""
    the = words[at - 1] == "the"
    at += words[at] == "this" and words[at + 1] in _STEPS
    step = _STEPS.get(words[at])
    if step is None:
        return None
    count, end = _amount(words, at + 1)
    if unit := words.unit(end):
        up_to_now = words[at] == "past" or (the and words[at] == "last")
        return _relative_unit(words, step, count or int(up_to_now), unit, end)
    word, today = words[at + 1], _unit_span(words.now, "day", 0)[0]
    if (words[at], word) == ("last", "night"):
        return Period(today - timedelta(hours=6), today + timedelta(hours=6), at + 2)
    if word in _HOURS and step == 0:
        return _day_or_part(words, today, at + 1)
    if word in WEEKDAYS:
        monday = _unit_span(today, "week", 0)[0]
        day = monday + WEEKDAYS.index(word) * _ONE_DAY
        if (step < 0 and day >= today) or (step > 0 and day <= today):
            day += step * _ONE_WEEK
        return _day_or_part(words, day, at + 2)
    if word == "may" and words[at + 2] and words[at + 2] not in ",;:?!.":
        return None  # this may be
    yearly = _yearly(words, at + 1)
    span = yearly and _pick(words, yearly[0], step)
    return Period(*span, yearly[1]) if yearly and span else None


def _relative_unit(
    words: QuestionWords, step: int, count: int, unit: str, at: int
) -> Period | None:
    """A whole unit before or after this one; counted ones end now."""
    word, end = words[at], at + 1
    if words[end] == "of" or (word.endswith("'s") and step >= 0):
        return None
    if not count or unit == "weekend" or step >= 0:
        counted = count > 1 or unit in ("hour", "day") or word.endswith(unit + "s")
        return None if counted else Period(*_unit_span(words.now, unit, step), end)
    if unit == "hour":
        return Period(words.now - timedelta(hours=count), words.now, end)
    today = _unit_span(words.now, "day", 0)[0]
    if months := _MONTHS_IN.get(unit):
        first = _number(today) - count * months
        day = _month(first) + (today.day - 1) * _ONE_DAY
        return Period(min(day, _month(first + 1) - _ONE_DAY), words.now, end)
    return Period(today - count * (_ONE_WEEK if unit == "week" else _ONE_DAY), words.now, end)


def _calendar(words: QuestionWords, at: int) -> Period | None:
    """22 May 2024, March, Q2 last year, spring, Easter, 2024, Monday, the weekend, the 22nd."""
    word, the = words[at], words[at - 1] == "the"
    if the and (word in MONTHS or word in WEEKDAYS or _YEAR.fullmatch(word)):
        return None
    today = _unit_span(words.now, "day", 0)[0]
    span: Span | None = None
    named, end = the or word in _SEASONS, at + 1
    if yearly := _yearly(words, at):
        year, end = _year_after(words, yearly[1])
        span = yearly[0](year) if year else _pick(words, yearly[0], None)
    elif _YEAR.fullmatch(word):
        span, named = (_month(int(word) * 12), _month(int(word) * 12 + 12)), True
    elif word == "weekend":
        span = _unit_span(today, word, 0 if words.ahead or today.weekday() > 4 else -1)
    elif word in WEEKDAYS:
        return _weekday(words, at, today)
    elif the and not word.isdecimal() and (day := _DAY.fullmatch(word)):
        steps = range(12) if words.ahead else range(0, -12, -1)
        spans = (_nth(_unit_span(today, "month", step), int(day[1]), 1, "day") for step in steps)
        span = next(s for s in spans if s and (s[0] >= today if words.ahead else s[0] <= today))
    if span is None or (named and words[end][:1].isalpha() and words[end] not in _SMALL_WORDS):
        return None
    return Period(*span, end, clear=False)


def _weekday(words: QuestionWords, at: int, today: datetime) -> Period:
    """The latest Monday, or that of the week that is said after it."""
    back = (today.weekday() - WEEKDAYS.index(words[at])) % 7
    day = today + (-back % 7 if words.ahead else -back) * _ONE_DAY
    week = _relative(words, at + 1 + (words[at + 1] == "of"))
    if week and week.until - week.since == _ONE_WEEK:
        return Period(*_unit_span(week.since, "day", WEEKDAYS.index(words[at])), week.end, False)
    return _day_or_part(words, day, at + 1, clear=False)


def _year_after(words: QuestionWords, at: int) -> tuple[int | None, int]:
    """The year that is said after a day or month, and the next word."""
    year_at = at + (words[at] in ("of", ","))
    if _YEAR.fullmatch(words[year_at]):
        return int(words[year_at]), year_at + 1
    if words[year_at + 1] == "year" and words[year_at] in _STEPS:
        return words.now.year + _STEPS[words[year_at]], year_at + 2
    return None, at


def _yearly(words: QuestionWords, at: int) -> tuple[Callable[[int], Span], int] | None:
    """What comes once a year: a day, month, season, quarter, numbered week or feast."""
    word, after = words[at], words[at + 1]
    if dated := _days_of_month(words, at):
        month, first, last, end = dated
        return lambda year: (_date(year, month, first), _date(year, month, last) + _ONE_DAY), end
    if word in MONTHS or word in _SEASONS:
        start, length = (MONTHS[word], 1) if word in MONTHS else (_SEASONS[word], 3)
        return lambda year: _months(year, start, length), at + 1
    if word in ("q1", "q2", "q3", "q4") or (after == "quarter" and _ORDINALS.get(word, -1) > 0):
        quarter = _ORDINALS.get(word) or int(word[1])
        return lambda year: _months(year, 3 * quarter - 2, 3), at + 1 + (after == "quarter")
    if word == "easter":
        return lambda year: (_easter(year) - 2 * _ONE_DAY, _easter(year) + 2 * _ONE_DAY), at + 1
    if word in ("christmas", "xmas"):
        return lambda year: (_date(year, 12, 24), _date(year, 12, 27)), at + 1
    if word == "week" and _NUMBER.fullmatch(after):
        return lambda year: _iso_week(year, int(after)), at + 2
    return None


def _days_of_month(words: QuestionWords, at: int) -> tuple[int, int, int, int] | None:
    """`22 May`, `May 22nd`, `10 to 16 February`: month, first day, last day, next word."""
    if words[at] in MONTHS:
        days = _days(words, at + 1 + (words[at + 1] == "the"))
        return (MONTHS[words[at]], *days) if days else None
    if days := _days(words, at):
        month_at = days[2] + (words[days[2]] == "of")
        if words[month_at] in MONTHS:
            return MONTHS[words[month_at]], days[0], days[1], month_at + 1
    return None


def _days(words: QuestionWords, at: int) -> tuple[int, int, int] | None:
    """`22nd`, `10 to 16`, `10-16`, the `first` of: first day, last day, next word."""
    if both := _DAYS.fullmatch(words[at]):
        return int(both[1]), int(both[2]), at + 1
    if words[at + 1] == "of" and _ORDINALS.get(words[at], -1) > 0:
        return _ORDINALS[words[at]], _ORDINALS[words[at]], at + 1
    if not (first := _DAY.fullmatch(words[at])):
        return None
    if words[at + 1] in _TO and (last := _DAY.fullmatch(words[at + 2])):
        return int(first[1]), int(last[1]), at + 3
    return int(first[1]), int(first[1]), at + 1


def _pick(words: QuestionWords, make: Callable[[int], Span], step: int | None) -> Span | None:
    """The last, this or the next of what comes once a year, or the one meant by default."""
    spans = []
    for years in _YEARS_TRIED:
        with suppress(ValueError, OverflowError):
            spans.append(make(words.now.year + years))
    begun = sum(since <= words.now for since, _ in spans)
    over = sum(until <= words.now for _, until in spans)
    if step == 0 and over == begun:
        return next((span for span in spans if span[0].year == words.now.year), None)
    chosen = {-1: over - 1, 0: over, 1: begun, None: over if words.ahead else begun - 1}[step]
    return spans[chosen] if 0 <= chosen < len(spans) else None


def _date(year: int, month: int, day: int) -> datetime:
    return datetime(year, month, day, tzinfo=UTC)


def _months(year: int, month: int, length: int) -> Span:
    first = year * 12 + month - 1
    return _month(first), _month(first + length)


def _iso_week(year: int, week: int) -> Span:
    monday = datetime.fromisocalendar(year, week, 1).replace(tzinfo=UTC)
    return monday, monday + _ONE_WEEK


def _easter(year: int) -> datetime:
    """Easter Sunday (the anonymous Gregorian algorithm)."""
    century, rest = divmod(year, 100)
    golden = year % 19
    moon = (century - (century + 8) // 25 + 1) // 3
    moon = (19 * golden + century - century // 4 - moon + 15) % 30
    sunday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    month, day = divmod(moon + sunday - 7 * ((golden + 11 * moon + 22 * sunday) // 451) + 114, 31)
    return _date(year, month, day + 1)
