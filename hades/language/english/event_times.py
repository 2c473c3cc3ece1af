"""Event times: the times that the sentences of a note mention, seen from the time of the note.

If a note written on a Friday says `next week Tuesday`, it is about that Tuesday. A weekday or a
date without a year is in the past if its clause is in the past tense, and otherwise in the future.
`The 9th` and `two days later` follow the last time that the note named. An event that was cancelled
or moved (`from Monday to Wednesday`) no longer takes place at its old time.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from hades.domain.times import shift
from hades.language.english.detect import is_english
from hades.language.english.lexicon import (
    COUNTS,
    MONTHS,
    PAST_VERBS,
    SEASONS,
    WEEKDAYS,
    word_set,
)
from hades.language.english.periods import QuestionWords, Span, read_period, split_words
from hades.language.patterns import any_of, lazy_pattern
from hades.language.sentences import NOTE_SENTENCES_AT_MOST, sentences

TIMES_AT_MOST = 4
"""The most times of one sentence that are kept."""
WORDS_READ = 120
"""The number of words that are read from the start of a sentence."""
WORDS_TO_NEW_TIME = 4
"""The most words between `moved` and the new time: `moved to the Friday`, not `moved house …`."""
FAR = timedelta(days=240)
"""If a date without a year is farther away than this, use the next or the previous year."""
VAGUE = timedelta(days=7)
"""A longer period that contains the note's date (`this month`) adds nothing to that date."""
DISTANT = timedelta(days=3_653)
"""A time farther away than this, such as `the winter of 1911`, is not about the writer's own
days."""
ALL_TIME = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
_ONE_DAY = timedelta(days=1)

_SIGN = lazy_pattern(
    r"(?i)\b(?:to(?:day|night|morrow)|yesterday|[0-9]{4}-[0-9]{2}|[0-9]{1,2}(?:st|nd|rd|th)"
    r"|mon|tue|wed|thu|fri|sat|sun|days?|weeks?|weekend|fortnight|months?|years?|q[1-4]|this"
    r"|last|christmas|xmas|new year|(?:19|20)[0-9]{2}|cancel|called off|delayed|postponed"
    rf"|{any_of((*(name for name in MONTHS if len(name) == 3), *SEASONS))})"
)
"""Matches the beginning of a word that may be part of a time. Texts without one are not read."""
_NO_PAST = word_set(
    """need needed hundred speed shed indeed booked fixed planned scheduled announced arranged
    agreed confirmed invited expected reserved ordered wanted delayed moved
    pushed postponed rescheduled extended cancelled canceled called"""
)
"""Words in -ed that do not say that the thing itself is past: `booked for 19 July`."""
_PRESENT = word_set(
    """is are am will won't shall must can may should has have needs goes comes flies starts begins
    leaves arrives opens ends expires gets due going coming don't remember i i'll we we'll he he'll
    she she'll they they'll it it'll"""
)
_SURELY_PAST = word_set("was were had")
_PASSIVE = word_set("is are be gets")
"""A word in -ed after one of these is in the present tense: `is collected on Friday`."""
_CLAUSE_ENDS = frozenset(",;:.!?()") | {"and", "but", "then"}
_AHEAD_AFTER = word_set("for until till by due")
_LEADS = _AHEAD_AFTER | word_set("in on at from to since during over before after around about")
_HABIT = word_set("every each most other any first second third fourth")
_TO = word_set("to until till for")
_JOINS = word_set("to until till through")

_UNIT = "(?P<unit>day|week|fortnight|month|year)s?'?"
_COUNT = f"(?P<count>{any_of(COUNTS)}|[0-9]{{1,3}})"
_FROM_NOTE = lazy_pattern(
    rf"(?:(?P<in>in) )?{_COUNT} {_UNIT}(?(in)(?: time)?|(?P<ago> ago))(?= |$)"
)
_FROM_LAST = lazy_pattern(
    rf"(?:{_COUNT} |the )(?:(?P<next>next|following) )?{_UNIT}"
    r"(?(next)| (?:(?P<later>later|after)|before|earlier))"
    r"(?=$| [^a-z]| (?:at|same|the same)(?: |$))"
)
_MOVED = lazy_pattern(
    r"(?:moved|pushed|(?P<off>postponed|delayed|put off)|shifted|rescheduled|changed|extended"
    r"|brought forward|put back|(?P<now>now))(?= |$)"
)
_OPEN = lazy_pattern(
    r"(?:^|\b(?:is|are|it's|stays?)(?: also| only)? )(?:open|closed)\b"
    r"|\b(?:always|usually|normally|regularly|(?:office|opening|visiting|business) hours)\b"
)
"""Words of a clause whose weekdays are those of every week."""
_OF_RANGES = word_set("open opens closes works")
"""With these words, a range of weekdays is that of every week, even after `from`."""
_REPEATED = lazy_pattern(
    rf"(?i)\b(?:(?:{any_of(WEEKDAYS)}|weekday|weekend)s?"
    r"|daily|every (?:day|morning|evening|night))\b"
)
_PARTS_OF_DAYS = word_set("mornings afternoons evenings nights")
_OFF = lazy_pattern(
    r"(?:cancel(?:led|ed|s)?|call(?:ed|s) off|(?:is|are|it's) off|fell through"
    r"|(?:won't|not) happen(?:ing)?)(?= |$)"
)


@dataclass(frozen=True, slots=True)
class DatedSentence:
    """A sentence of a note with the times it speaks of."""

    text: str
    times: tuple[Span, ...] = ()
    replaced: Span | None = None
    """When something no longer takes place; all time if the sentence does not say when."""


class _Place(NamedTuple):
    """The words of a time, and the time."""

    first: int
    end: int
    span: Span


@lru_cache(maxsize=1024)
def dated_sentences(text: str, at: datetime) -> tuple[DatedSentence, ...]:
    """Return the first sentences of a note written `at` a time; () if it speaks of no time."""
    if not _SIGN.search(text) or not is_english(text):
        return ()
    reader = _Reader(at)
    read = [reader.read(sentence) for sentence in sentences(text, NOTE_SENTENCES_AT_MOST)]
    return tuple(read) if any(row.times or row.replaced for row in read) else ()


def tells_habit(text: str, at: datetime) -> bool:
    """Return whether a note has times that recur every week or day, and no other time."""
    return _REPEATED.search(text) is not None and not dated_sentences(text, at)


class _Reader:
    """Reads the sentences of a note, in order."""

    def __init__(self, at: datetime) -> None:
        self._at = at
        self._last: Span | None = None
        """The last time that was named."""
        self._past = False
        """Whether the last sentence with a verb was in the past tense."""
        self._words = QuestionWords((), at)
        self._week: datetime | None = None
        """The start of the week that the sentence names, if it also names a day."""

    def read(self, text: str) -> DatedSentence:
        """Return a sentence with its times."""
        words = tuple(word for word, _, _ in split_words(text)[:WORDS_READ])
        self._words = QuestionWords(words, self._at)
        moves = ((at, self._words.match(_MOVED, at)) for at in range(len(words)))
        moved, verb = next(((at, verb[0]) for at, verb in moves if verb), (len(words), None))
        off = any(self._words.match(_OFF, at) for at in range(len(words)))
        times = list[Span]()
        replaced = ALL_TIME if off or (verb and verb["off"]) else None
        for place in self._places(joined=verb is None):
            from_here = words[place.first - 1] == "from" and self._words[place.end] in _JOINS
            to_come = place.span[1] > self._at
            old = verb and not verb["now"] and (from_here or place.first < moved)
            if off or (old and to_come):
                replaced = place.span
                continue
            times.append(place.span)
            new = words[place.first - 1] in _TO or (verb and verb["now"])
            if new and moved < place.first <= moved + WORDS_TO_NEW_TIME:
                replaced = replaced or ALL_TIME
        past = _is_past(words)
        self._past = self._past if past is None else past
        return DatedSentence(text, tuple(times[:TIMES_AT_MOST]), replaced)

    def _places(self, *, joined: bool) -> list[_Place]:
        """Return the times of the sentence; with `joined`, `3 May to 5 June` is one time."""
        places = list[_Place]()
        at = 0
        words = self._words
        self._week = None
        if not frozenset(WEEKDAYS).isdisjoint(words.words):
            weeks = (self._week_at(at) for at in range(len(words.words)))
            self._week = next(filter(None, weeks), None)
        while at < len(words.words):
            place = None
            with suppress(ValueError, OverflowError):
                place = self._time_at(at)
            if place is None:
                at += 1
                continue
            at = place.end
            before = places[-1] if places else None
            joins = joined and words[place.first - 1] in _JOINS
            joins = joins and before is not None and before.end == place.first - 1
            if joins and before:
                week = self._is_range(place.first - 2) and before.span[0] >= place.span[1]
                until = place.span[1] + 7 * _ONE_DAY * week  # Tuesday to Monday
                if before.span[0] < until:
                    places.pop()
                    place = _Place(before.first, place.end, (before.span[0], until))
            self._last = place.span
            places.append(place)
        return places

    def _week_at(self, at: int) -> datetime | None:
        is_week = self._words[at + 1] in ("week", "week's")
        period = read_period(self._words, at) if is_week else None
        return period and period.since

    def _time_at(self, at: int) -> _Place | None:
        words = self._words
        if step := words.match(_FROM_NOTE, at):
            return _Place(
                at, step[1], self._stepped(step[0], self._at, -1 if step[0]["ago"] else 1)
            )
        if self._last and (step := words.match(_FROM_LAST, at)):
            sign = 1 if step[0]["next"] or step[0]["later"] else -1
            return _Place(at, step[1], self._stepped(step[0], self._last[0], sign))
        if words[at - 1] in _HABIT or self._is_habit(at):
            return None
        first = at + (words[at] == "the")
        ahead = self._is_ahead(at)
        now = self._at
        is_day_of_month = words[first][:1].isdecimal() and words[first][-2:].isalpha()
        if words[at] in WEEKDAYS and self._week:
            ahead = True
            now = self._week
        elif is_day_of_month and self._last:
            ahead = True
            now = self._last[0]
        period = read_period(replace(words, now=now, ahead=ahead), at)
        if period is None or (self._week and self._week_at(first)):
            return None
        if abs(period.since - self._at) > FAR and not is_day_of_month:
            other = read_period(replace(words, now=now, ahead=not ahead), at)
            period = min(period, other or period, key=lambda one: abs(one.since - self._at))
        since = period.since
        until = period.until
        if period.closing and words[at - 1] in _AHEAD_AFTER:
            since = until - _ONE_DAY  # by the end of June
        elif until - since <= _ONE_DAY:  # Monday night is part of Monday
            since = since.replace(hour=0)
            until = since + _ONE_DAY
        if since <= self._at < until and until - since > VAGUE:
            return None
        if abs(since - self._at) > DISTANT:
            return None
        if not (period.clear or self._is_time(at, first, period.end)):
            return None
        return _Place(at, period.end, (since, until))

    def _is_time(self, at: int, first: int, end: int) -> bool:
        """Return whether an ambiguous word such as `may` is a time here, not a name or a verb."""
        words = self._words
        own = self._words.words[first:end]
        if own[0].removesuffix("'s") in WEEKDAYS:
            after = end + (words[end] == ",")
            dated = words[after] == "the" or words[after][:1].isdecimal()
            return not (dated and read_period(words, after))  # Thursday 20 March: the date counts
        if any(word in MONTHS for word in own) and any(word[0].isdecimal() for word in own):
            return True
        vague = own[0] in ("early", "mid", "late", "start", "beginning", "middle", "end")
        vague = vague or own[-1] in ("eve", "day")
        in_list = own[0][0].isdecimal() and words[at - 1] in (*WEEKDAYS, ",", "and", "of")
        return vague or in_list or words[at - 1] in _LEADS

    def _is_habit(self, at: int) -> bool:
        """Return whether a weekday recurs every week: `open Tuesday to Friday`, `Monday evenings`.

        A weekday of a named week does not recur, nor a weekday in a clause with `was`, `were` or
        `had`. A range of weekdays in the present tense recurs. After `from`, or if the tense is
        past or unknown, a range recurs only with a word such as `opens`.
        """
        words = self._words
        if words[at] not in WEEKDAYS or self._week:
            return False
        begin, end = self._clause(at)
        clause = words.words[begin:end]
        if words[at + 1] in _PARTS_OF_DAYS or _OPEN.search(" ".join(clause)):
            return _SURELY_PAST.isdisjoint(clause)
        first = at - 2 if self._is_range(at - 2) else at
        if not self._is_range(first):
            return False
        is_plan = words[first - 1] == "from" or _is_past(words.words) is not False
        return not (is_plan and _OF_RANGES.isdisjoint(clause))

    def _is_range(self, first: int) -> bool:
        """Return whether a range of weekdays begins at a word: `Tuesday to Friday`."""
        words = self._words
        is_joined = words[first + 1] in _JOINS
        return is_joined and words[first] in WEEKDAYS and words[first + 2] in WEEKDAYS

    def _clause(self, at: int) -> tuple[int, int]:
        """Return the clause around a word: the place of its first word, and that after its last."""
        words = self._words.words
        begin = end = at
        while begin and words[begin - 1] not in _CLAUSE_ENDS:
            begin -= 1
        while end < len(words) and words[end] not in _CLAUSE_ENDS:
            end += 1
        return begin, end

    def _is_ahead(self, at: int) -> bool:
        """Return whether a time without a year or week is in the future, by its clause's tense."""
        words = self._words.words
        begin, end = self._clause(at)
        clause = words[begin:end]
        lead = self._words[at - 1]
        if lead in _AHEAD_AFTER and _SURELY_PAST.isdisjoint(clause):
            return True
        if lead in ("to", "from") and any(self._words.match(_MOVED, n) for n in range(at)):
            return True
        past = lead == "since" or _is_past(clause)
        if past is None:  # a verbless clause with a time of day is an appointment
            has_hour = self._words[end] == ":" and self._words[end + 1].isdecimal()
            past = not has_hour and _is_past(words)
        if past is None:
            past = self._past and self._words[at].removesuffix("'s") in WEEKDAYS
        return not past

    def _stepped(self, step: re.Match[str], start: datetime, sign: int) -> Span:
        number = step["count"] or "a"
        unit = step["unit"]
        day = start.replace(hour=0, minute=0, second=0, microsecond=0)
        since = shift(day, sign * (COUNTS.get(number) or int(number)), unit)
        if unit in ("month", "year"):
            since = since.replace(day=1)
            return since, shift(since, 1, "month")
        return since, since + _ONE_DAY


def _is_past(words: tuple[str, ...]) -> bool | None:
    """Return whether a clause is in the past tense; None without a sign of its tense."""
    ended = (
        word.endswith("ed") and len(word) > 4 and word not in _NO_PAST and before not in _PASSIVE
        for before, word in pairwise(("", *words))
    )
    if any(ended) or not PAST_VERBS.isdisjoint(words):
        return True
    return None if (_PRESENT | _NO_PAST).isdisjoint(words) else False
