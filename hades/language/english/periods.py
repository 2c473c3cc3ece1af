"""Periods: the span of the calendar that some words mean, seen from a moment.

Examples are `yesterday`, `last week`, `three weeks ago`, `May 22nd`, `the first half of June` and
`Q2 last year`. A table has the patterns, each with the function that reads its match. Weeks begin
on Monday, seasons are whole months of the northern year, all times are UTC.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from hades.domain.times import MONTHS_IN, shift
from hades.language.english.lexicon import COUNTS, MONTHS, ORDINALS, SEASONS, STOP_WORDS, WEEKDAYS
from hades.language.patterns import any_of, lazy_pattern

Span = tuple[datetime, datetime]
"""The start, and the end, which is not included."""


class Period(NamedTuple):
    """A span of time that some words of a question mean."""

    since: datetime
    until: datetime
    end: int
    """The number of the first word after it."""
    clear: bool = True
    """Whether it is a time even without a preposition before it."""
    closing: bool = False
    """Whether its words name an end: `the end of June`."""


@dataclass(frozen=True, slots=True)
class QuestionWords:
    """The words of a question in lower case, and the moment it is asked."""

    words: tuple[str, ...]
    now: datetime
    ahead: bool = False
    """Whether a time without a year is the next one, not the latest that has begun."""

    def __getitem__(self, at: int) -> str:
        return self.words[at] if 0 <= at < len(self.words) else ""

    def match(self, pattern: re.Pattern[str], at: int) -> tuple[re.Match[str], int] | None:
        """Return the match of a pattern that begins at a word, and the number of the next word."""
        match = pattern.match(" ".join(self.words[at : at + _WORDS_AT_MOST]))
        return match and (match, at + match[0].count(" ") + 1)


_WORDS_AT_MOST = 12
"""The most words of a pattern, with the words that may not follow it."""
_TOKEN = lazy_pattern(
    r"(?:mid|early|late|year|month|quarter)(?=-[^\W\d_])"
    r"|[^\W_]+(?:[.'’/_-][^\W_]+)*|[,;:?!.()]",
    re.IGNORECASE,
)
_ISO = lazy_pattern(r"([0-9]{4})(?:-([0-9]{2})(?:-([0-9]{2}))?|-?w([0-9]{1,2})|-?(q[1-4]))")

_HOURS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
_DAYS = {"day before yesterday": -2, "yesterday": -1, "yesterday's": -1, "last": -1}
_DAYS |= {"today": 0, "this": 0, "tomorrow": 1, "day after tomorrow": 2}
_STEPS = {"last": -1, "previous": -1, "past": -1, "this": 0, "current": 0, "next": 1, "coming": 1}
_AMOUNTS = COUNTS | {"a couple of": 2, "couple of": 2, "a few": 3, "few": 3}
_QUARTERS = {"q1": 1, "q2": 4, "q3": 7, "q4": 10}
_QUARTERS |= {"first quarter": 1, "second quarter": 4, "third quarter": 7, "fourth quarter": 10}
_SHORT_DAYS = {name[:3]: name for name in WEEKDAYS}
_SHORT_DAYS |= {"tues": "tuesday", "thur": "thursday", "thurs": "thursday"}
_ALSO_WORDS = frozenset(("mon", "wed", "sat", "sun"))
"""Short weekdays that are also words or names: they count as days only between certain words."""
_BEFORE_DAY = frozenset(("on", "next", "last", "this", "by", "until", "till", "from", "coming"))
_FEASTS = {"christmas": (12, 23, 26), "xmas": (12, 23, 26), "new year": (1, -1, 1)}
"""The month, and the first and last day, counted from its first day."""
_THIRDS = {"early": 0, "start": 0, "beginning": 0, "mid": 1, "middle": 1, "late": 2, "end": 2}
_LONG_UNITS = ("week", "weekend", *MONTHS_IN)
UNITS = frozenset(("hour", "day", *_LONG_UNITS))
"""The units of time that may be counted."""
_ONE_DAY = timedelta(days=1)
_YEARS_TRIED = range(-8, 9)
"""A 29 February may be eight years away."""


def split_words(question: str) -> list[tuple[str, int, int]]:
    """Return the words and stops of a question in lower case, each with its start and end.

    A date such as 2025-05-22 is split into 22, may, 2025; `tonight` into `this night`.
    """
    tokens = []
    for token in _TOKEN.finditer(question):
        word = token[0].lower().replace("’", "'")
        parts = ["this", "night"] if word == "tonight" else [word]
        if iso := _ISO.fullmatch(word):
            year, month, day, week, quarter = iso.groups()
            if week or quarter:
                parts = [*(("week", week) if week else (quarter,)), year]
            elif 1 <= int(month) <= 12:
                parts = [*((day,) if day else ()), tuple(MONTHS)[int(month) - 1], year]
        tokens += [(part, token.start(), token.end()) for part in parts]
    return [(_whole_day(tokens, at), token[1], token[2]) for at, token in enumerate(tokens)]


def _whole_day(tokens: Sequence[tuple[str, int, int]], at: int) -> str:
    """Return a word, or the whole weekday of a short one: `Thu` or `on Sat`, but not `the sun`."""
    word = tokens[at][0]
    if word not in _SHORT_DAYS or (
        word in _ALSO_WORDS
        and (at == 0 or tokens[at - 1][0] not in _BEFORE_DAY)
        and not (at + 1 < len(tokens) and tokens[at + 1][0][0].isdecimal())
    ):
        return word
    return _SHORT_DAYS[word]


def read_period(words: QuestionWords, at: int) -> Period | None:
    """Return the period that begins, with its article, at word number `at`; None without one."""
    for pattern, read, _ in RULES:
        if matched := words.match(pattern, at):
            period = read(words, *matched)
            if period and period.since < period.until:
                # The summer party is not a summer.
                named = matched[0]["the"] or words[at] in SEASONS or words[at][0].isdecimal()
                noun = words[period.end][:1].isalpha() and words[period.end] not in STOP_WORDS
                return None if noun and named and not period.clear else period
    return None


def _start(moment: datetime, unit: str) -> datetime:
    """Return the start of the hour, day, week … that contains a moment."""
    start = moment.replace(minute=0, second=0, microsecond=0)
    if unit != "hour":
        start = start.replace(hour=0)
    if months := MONTHS_IN.get(unit):
        return start.replace(month=(start.month - 1) // months * months + 1, day=1)
    return start - start.weekday() * _ONE_DAY if unit.startswith("week") else start


def _unit_span(moment: datetime, unit: str, steps: int) -> Span:
    """Return the whole hour, day, week … that is `steps` after that of a moment."""
    start = _start(moment, unit)
    length = "week" if unit == "weekend" else unit
    since = shift(start, steps, length) + (unit == "weekend") * 5 * _ONE_DAY
    return since, shift(start, steps + 1, length)


def _months(year: int, month: int, length: int) -> Span:
    since = datetime(year, month, 1, tzinfo=UTC)
    return since, shift(since, length, "month")


def _count(match: re.Match[str]) -> int:
    number = match["count"] or ""
    return int(number) if number.isdecimal() else _AMOUNTS.get(number, 0)


def _day(words: QuestionWords, match: re.Match[str], end: int) -> Period:
    """Read `yesterday`, `this morning`, `last Monday`, `Friday afternoon`."""
    days = _DAYS.get(match["near"], 0)
    weekday = match["weekday"]
    today = words.now.weekday()
    if weekday:
        this = WEEKDAYS.index(weekday) - today
        back = -this % 7
        on = this % 7
        steps = {-1: -(back or 7), 0: this, 1: on or 7, None: on if words.ahead else -back}
        days = steps[_STEPS.get(match["step"])]
    first, last = _HOURS.get(match["hours"], (0, 24))
    day = _unit_span(words.now, "day", days)[0]
    clear = not weekday or match["step"] is not None
    return Period(day + timedelta(hours=first), day + timedelta(hours=last), end, clear)


def _ago(words: QuestionWords, match: re.Match[str], end: int) -> Period:
    """Read `three weeks ago`, `the week after next`: the whole week; `a year ago`: the month."""
    unit = match["unit"]
    count = _count(match) or 2
    unit, count = ("month", 12 * count) if unit == "year" else (unit, count)
    count = count if words[end - 1] == "next" else -count
    return Period(*_unit_span(words.now, unit, count), end)


def _relative(words: QuestionWords, match: re.Match[str], end: int) -> Period | None:
    """Read `last week`, `next year`; `the past month` and `the last three days` end now."""
    word = match["step"]
    unit = match["unit"]
    count = _count(match)
    step = _STEPS[match["step"]]
    up_to_now = unit != "weekend" and (word == "past" or (word == "last" and match["the"]))
    if step < 0 and (count or up_to_now):
        until = words.now if unit == "hour" else _start(words.now, "day")
        length = "week" if unit == "weekend" else unit
        return Period(shift(until, -(count or 1), length), words.now, end)
    if count or unit not in _LONG_UNITS or (step >= 0 and match["plural"] == "s"):
        return None
    return Period(*_unit_span(words.now, unit, step), end)


def _of_whole(words: QuestionWords, match: re.Match[str], end: int) -> Period | None:
    """Read `early June`, `the first half of May`, `the week of 3 May`, `year end`."""
    unit = match["unit_end"]
    whole = None if match["unit_end"] else read_period(words, end)
    if whole:
        wholes = [(whole.since, whole.until)]
        end = whole.end
    else:
        end += 0 if unit else 1 + (words[end] == "the")
        unit = unit or words[end - 1]
        steps = (
            () if match["unit_of"] or unit not in _LONG_UNITS else (0,) if words.ahead else (0, -1)
        )
        wholes = [_unit_span(words.now, unit, step) for step in steps]
    parts = [part for span in wholes if (part := _part(span, match))]
    part = next((span for span in parts if span[0] <= words.now), parts[0] if parts else None)
    closing = match["edge"] == "end" or match["unit_end"] is not None
    clear = not (closing or match["edge"] or match["third"])
    return part and Period(*part, end, clear, closing)


def _part(whole: Span, match: re.Match[str]) -> Span | None:
    ordinal = ORDINALS.get(match["nth"], 0)
    unit = match["unit"]
    count = _count(match) or 1
    if match["unit_of"]:
        return _unit_span(whole[0], match["unit_of"], 0)
    if match["half"]:
        return _share(whole, int(ordinal != 1), 2)
    if not unit:
        third = _THIRDS[match["edge"] or match["third"] or "end"]
        in_year = third != 1 and not match["third"] and (whole[1] - whole[0]).days > 360
        return _share(whole, third and 11, 12) if in_year else _share(whole, third, 3)
    since = shift(whole[0], ordinal - 1, unit) if ordinal > 0 else shift(whole[1], -count, unit)
    part = since, shift(since, count, unit)
    return part if whole[0] <= part[0] and part[1] <= whole[1] else None


def _share(whole: Span, part: int, parts: int) -> Span:
    """Return part number `part`, from 0, of `parts` equal ones: in whole months, else in days."""
    since, until = whole
    months, rest = divmod((until.year - since.year) * 12 + until.month - since.month, parts)
    if since.day == until.day == 1 and months and not rest:
        since = shift(since, part * months, "month")
        return since, shift(since, months, "month")
    size = (until - since).days // parts * _ONE_DAY
    return since + part * size, until if part == parts - 1 else since + (part + 1) * size


def _yearly(words: QuestionWords, match: re.Match[str], end: int) -> Period | None:
    """Read `22 May 2024`, `March`, `Q2 last year`, `next spring`, `week 30`, `Christmas`."""
    step = _STEPS.get(match["step"])
    if match["year"] or match["shift"]:
        year = int(match["year"] or words.now.year + _STEPS[match["shift"]])
        return Period(*_in_year(match, year), end, clear=False)
    spans = []
    for years in _YEARS_TRIED:
        with suppress(ValueError, OverflowError):
            spans.append(_in_year(match, words.now.year + years))
    begun = sum(since <= words.now for since, _ in spans)
    over = sum(until <= words.now for _, until in spans)
    chosen = {-1: over - 1, 0: over, 1: begun, None: over if words.ahead else begun - 1}[step]
    if step == 0 and over == begun:
        chosen = next((at for at, span in enumerate(spans) if span[0].year == words.now.year), -1)
    return Period(*spans[chosen], end, step is not None) if 0 <= chosen < len(spans) else None


def _in_year(match: re.Match[str], year: int) -> Span:
    """Return the span in a year of a day, month, season, quarter, numbered week or feast."""
    if week := match["week"]:
        monday = datetime.fromisocalendar(year, int(week), 1).replace(tzinfo=UTC)
        return monday, monday + timedelta(weeks=1)
    if feast := match["feast"]:
        month, begin, end = _FEASTS[feast]
        start = datetime(year, month, 1, tzinfo=UTC)
        return start + begin * _ONE_DAY, start + end * _ONE_DAY
    if name := match["months"]:
        return _months(year, (SEASONS | _QUARTERS)[name], 3)
    month = MONTHS[match["month"]]
    written = match["before"] or match["after"] or ""
    days = [int(day) for day in re.findall("[0-9]+", written.replace("first", "1"))]
    if not days:
        return _months(year, month, 1)
    first, last = (datetime(year, month, day, tzinfo=UTC) for day in (days[0], days[-1]))
    return first, last + _ONE_DAY


def _day_of_month(words: QuestionWords, match: re.Match[str], end: int) -> Period | None:
    """Read `the 20th`: of this month or the nearest one, before or ahead, that has such a day."""
    today = _start(words.now, "day")
    for months in (0, 1, 2) if words.ahead else (0, -1, -2):
        first = shift(today.replace(day=1), months, "month")
        with suppress(ValueError):
            day = first.replace(day=int(match["day"]))
            if day >= today if words.ahead else day <= today:
                return Period(day, day + _ONE_DAY, end, clear=False)
    return None


def _weekend(words: QuestionWords, _: re.Match[str], end: int) -> Period:
    """Read `the weekend`: the latest that has begun, or the next."""
    moment = words.now if words.ahead else words.now - 5 * _ONE_DAY
    return Period(*_unit_span(moment, "weekend", 0), end, clear=False)


_N = f"(?P<count>{any_of(_AMOUNTS)}|[0-9]{{1,4}})"
_UNIT = f"(?P<unit>{any_of(UNITS)})"
_STEP = any_of(_STEPS)
_PART = any_of(_HOURS)
_MONTH = any_of(MONTHS)
_NUMBER_OF_DAY = "[0-9]{1,2}(?:st|nd|rd|th)?"
_SOME_DAYS = f"{_NUMBER_OF_DAY}(?:(?:-| (?:to|and|until|till|through) ){_NUMBER_OF_DAY})?"
_FOUR_DIGITS = "(?P<year>(?:19|20|21)[0-9]{2})"
_YEAR_OF_MONTH = "(?P<year>(?:1[0-9]|2[01])[0-9]{2})"
"""After a month, numbers that are seldom years count as years too: `March 1412`."""

RULES = tuple(
    (lazy_pattern(rf"(?P<the>the )?(?:{pattern})(?= |$)"), read, example)
    for pattern, read, example in (
        (
            rf"(?:(?P<near>{any_of(_DAYS)}(?<!last)(?<!this)|(?:last|this)(?= {_PART}))"
            rf"|(?:(?P<step>{_STEP}) |(?<!the ))(?P<weekday>{any_of(WEEKDAYS)})(?:'s)?)"
            rf"(?: (?P<hours>{_PART}))?",
            _day,
            "last Friday evening: 2025-11-14T18 2025-11-15",
        ),
        (
            rf"(?:{_N} )?{_UNIT}s? (?(count)ago|(?:before last|after next)(?! {any_of(UNITS)}))",
            _ago,
            "three weeks ago: 2025-10-20 2025-10-27",
        ),
        (
            rf"(?:this )?(?P<step>{_STEP}) (?:{_N} )?{_UNIT}(?P<plural>'?s)?(?! of)",
            _relative,
            "the last 3 days: 2025-11-13 2025-11-16T12",
        ),
        (
            r"(?P<third>early|mid|late)|(?P<edge>start|beginning|middle|end) of"
            rf"|(?P<nth>{any_of(ORDINALS)}) (?:(?P<half>half)|(?:{_N} )?(?!weekend){_UNIT}s?) of"
            rf"|(?P<unit_of>{any_of(UNITS)}) of|(?P<unit_end>{any_of(MONTHS_IN)}) end",
            _of_whole,
            "the first half of June: 2025-06-01 2025-06-16",
        ),
        (
            rf"(?!this may [a-z])(?:(?P<step>{_STEP}) )?"
            rf"(?:week (?P<week>[0-9]{{1,2}})|(?P<feast>{any_of(_FEASTS)})(?:'s(?: eve| day)?)?"
            rf"|(?P<months>{any_of((*SEASONS, *_QUARTERS))})"
            rf"|(?:(?P<before>{_SOME_DAYS}|first(?= of)) (?:of )?|(?<!the ))(?P<month>{_MONTH})"
            rf"(?: (?:the )?(?P<after>{_SOME_DAYS})(?! {_MONTH}))?)"
            rf"(?: (?:of |, )?(?:{_YEAR_OF_MONTH}(?:[/-][0-9]{{2}})?|(?P<shift>{_STEP}) year))?",
            _yearly,
            "Q2 last year: 2024-04-01 2024-07-01",
        ),
        (
            rf"(?<!the ){_FOUR_DIGITS}",
            lambda _, matched, end: Period(*_months(int(matched["year"]), 1, 12), end, False),
            "2024: 2024-01-01 2025-01-01",
        ),
        (
            r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)(?! of)",
            _day_of_month,
            "the 12th: 2025-11-12 2025-11-13",
        ),
        ("weekend", _weekend, "weekend: 2025-11-15 2025-11-17"),
    )
)
"""Patterns, the function of each, and an example as of Sunday, 16 November 2025, noon (UTC)."""
