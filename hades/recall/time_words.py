"""Time words: the time that stands in the words of a question, and what is wanted of it.

At every word, from left to right, a rule tries to read an adverbial: a preposition with a
period (`in the last week of September`) or with an event that the caller has to look up
(`before the migration`), or a period that is clear by itself (`last week`). Of several the
first is taken that is in no relative clause, because it usually governs the verb; `used
to`, `previous` and `first` are vague and count only where nothing else does.

A date that merely stands beside a noun (`meeting 2025-07-17`, `the March release`, `rota
week 30`) names a thing and is no time. Where the year is left open, the latest one that
has begun is meant; in a question about what is to come, the next one.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from hades.domain.answer import TimeKind, TimeWords, Wants
from hades.domain.times import WEEKDAYS
from hades.recall.intent import CHARACTERS_READ
from hades.recall.periods import UNITS, Period, QuestionWords, read_period, split_words


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_LEADS = {
    lead: (kind, takes_event)
    for kind, takes_event, leads in (
        (TimeKind.DURING, False, "in|on|at|over|within|throughout|as of"),
        (TimeKind.DURING, True, "during|while|at the time of"),
        (TimeKind.BEFORE, True, "before|prior to|until|till"),
        (TimeKind.BEFORE, False, "by|up to"),
        (TimeKind.SINCE, True, "since|after"),
    )
    for lead in leads.split("|")
}
"""Words that lead to a time, and whether that may be an event."""
_PHRASES = {
    phrase: kind
    for kind, phrases in (
        (
            TimeKind.ORIGIN,
            "originally|initially|at first|in the beginning|at the beginning|at the start|"
            "at the very beginning|"
            "at the outset|to begin with|to start with|when it was founded|when it was created|"
            "when it started",
        ),
        (
            TimeKind.PAST,
            "formerly|previously|back then|in the past|in those days|in the old days|at the time|"
            "at that time",
        ),
    )
    for phrase in phrases.split("|")
}
_LONGEST_PHRASE = 4
_NOT_AFTER_PHRASE = _set("of glance sight")

_STOPS = frozenset(",;:?!.()")
_PAST_TENSE = _set("did didn't was wasn't were weren't had hadn't happened went used")
_PRESENT_TENSE = _set("is are am do does can may must should need needs what's whats who's isn't")
_FUTURE_TENSE = _set("will won't shall due expire expires upcoming")
_AUXILIARIES = _set("did was were is are has had have does do will can could should must may")
_RELATIVE = _set("who that which whose")
_NO_NOUN = _STOPS | _set(
    "in on at by for from to of with know me us tell say said remember see you and or but is was"
)
"""After these `who` and `which` begin no relative clause."""
_JOINS = _set("to and until till through")

_CLAUSE_BEGINS = _set("who what which where how why whose whom did does do")
_NO_EVENT = _set(
    "when that this then it now all each every long further noon midnight lunch hours what which"
)
_NO_EVENT_AFTER = _set("look looks looked looking named a days weeks long")
"""Look after, named after, for a while, how long until."""
_HABITS = UNITS | _set("night morning afternoon evening")
_CLOCK = re.compile(r"[0-9]{1,2}(?:am|pm|h)?")
_EVENT_WORDS = 12
_ONE_DAY = timedelta(days=1)
_ON_AT_MOST = timedelta(days=4)
"""`On` goes with a day, a weekend or Easter, not with a month."""

_VERSIONED = _set(
    """version plan date idea choice estimate draft name price value budget target deadline guess
    proposal offer quote design schedule setting limit number owner lead leader manager address
    rate host password rule supplier theory figure amount cause reason title colour color"""
)
"""What changes from one version to the next: `the first plan`, `the old price`."""
_NO_ADVERB = _set("at the a an my our his her its their your which very came come comes go goes")
_USED_FOR = _PRESENT_TENSE | _set("was were be been get got")
"""Before `used to` these tell what something is for."""

_HAPPENED = _set(
    """happened happen happens happening changed change changes news summarise summarize summary
    recap events update updates decide decided touched went going noted logged booked came new"""
)
_DONE = _set(
    """died joined left moved arrived started ended failed broke fixed released shipped added
    removed opened closed reported merged ordered discussed agreed hired launched cancelled
    finished replaced deployed bought sold signed delivered resolved introduced"""
)
_KEPT = _set(
    """have use keep count believe think want charge owe own need know pay call like expect plan
    run live get weigh cost first still"""
)
"""What we did in June that was a state, not something that happened."""


def read_time(question: str, now: datetime) -> TimeWords | None:
    """The time in a question, seen from the moment it is asked; None where there is none."""
    question = question[:CHARACTERS_READ]
    tokens = split_words(question)
    with suppress(OverflowError):
        now = now.astimezone(UTC) if now.tzinfo else now.replace(tzinfo=UTC)
        words = QuestionWords(tuple(word for word, _, _ in tokens), now)
        if found := _find(words, _tense(words.words)):
            said, *event = (question[tokens[a][1] : tokens[b - 1][2]] for a, b in found.places)
            return TimeWords(found.kind, said, found.since, found.until, *event)
    return None


def what_is_wanted(question: str, time: TimeWords | None) -> Wants:
    """What a question asks for, given the time that was read in it."""
    if time:
        question = question.replace(time.said, " ", 1)
    words = tuple(word for word, _, _ in split_words(question[:CHARACTERS_READ]))
    habit = ("use", "to") in pairwise(words)
    if _asks_for_date(words) and not habit and not (time and time.kind is TimeKind.PAST):
        return Wants.DATE
    window = time is not None and time.kind in (TimeKind.DURING, TimeKind.SINCE)
    return Wants.HAPPENINGS if window and _asks_what_happened(words) else Wants.STATE


class _Tense(NamedTuple):
    past: bool
    timeless: bool  # what is or should be done, not what was
    future: bool
    happened: bool


class _Found(NamedTuple):
    kind: TimeKind
    places: tuple[tuple[int, int], ...]  # of the time's words, then of its event's
    since: datetime | None = None
    until: datetime | None = None


def _tense(words: tuple[str, ...]) -> _Tense:
    past = not _PAST_TENSE.isdisjoint(words)
    present = not _PRESENT_TENSE.isdisjoint(words) or words[:2] in (("how", "to"), ("what", "to"))
    future = not _FUTURE_TENSE.isdisjoint(words)
    return _Tense(past, present and not past, future and not past, _asks_what_happened(words))


def _find(words: QuestionWords, tense: _Tense) -> _Found | None:
    """The first time in the main clause, else in a relative clause, else a vague one."""
    in_clause = None
    clause = 0  # where the relative clause begins; 0: the main clause
    for at, word in enumerate(words.words):
        if not clause or in_clause is None:
            found = None
            with suppress(ValueError, OverflowError):
                found = _adverbial(words, at, tense)
            if found and not clause:
                return found
            # What does the man charge who called in May? That is asked about now.
            about_now = clause and not _PRESENT_TENSE.isdisjoint(words.words[:clause])
            in_clause = in_clause or (found if tense.happened or not about_now else None)
        if word in _STOPS:
            clause = 0
        elif word in _RELATIVE and at > 1:
            clause = 0 if words[at - 1] in _NO_NOUN else at
    if in_clause or words[0] == "why":
        return in_clause
    return next(filter(None, (_vague(words, at, tense) for at in range(len(words.words)))), None)


def _adverbial(words: QuestionWords, at: int, tense: _Tense) -> _Found | None:
    if phrase := _phrase(words, at, TimeKind.ORIGIN):
        return phrase
    words = replace(words, ahead=tense.future)
    if words[at] in ("between", "from"):
        return _range(words, at)
    for size in (4, 2, 1):
        lead = " ".join(words.words[at : at + size])
        if lead in _LEADS:
            return _led(words, at, lead, tense)
    period = read_period(words, at)
    if period and (period.clear or (tense.happened and _stands_alone(words, at, period))):
        return _Found(TimeKind.DURING, ((at, period.end),), period.since, period.until)
    return None


def _led(words: QuestionWords, at: int, lead: str, tense: _Tense) -> _Found | None:
    """A preposition with its period or event."""
    kind, takes_event = _LEADS[lead]
    begin = at + lead.count(" ") + 1
    if kind is TimeKind.BEFORE and (tense.timeless or (lead == "by" and not tense.past)):
        words = replace(words, ahead=True)
    if period := read_period(words, begin):
        if kind is TimeKind.DURING:
            habit = words[begin] in WEEKDAYS and not (tense.past or tense.future)
            amount = lead in ("at", "over") and words[begin].isdecimal()
            if habit or amount or (lead == "on" and period.until - period.since > _ON_AT_MOST):
                return None
        return _Found(kind, ((at, period.end),), *_ends(lead, kind, period, words.now))
    if not takes_event or words[at - 1] in _NO_EVENT_AFTER or (tense.timeless and lead != "since"):
        return None
    end = _event_end(words, begin)
    return _Found(kind, ((at, end), (begin, end))) if end else None


def _ends(
    lead: str, kind: TimeKind, period: Period, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """`By Friday` and `until the end of June` include what they name, `before June` does not."""
    if kind is TimeKind.DURING:
        return period.since, period.until
    if kind is TimeKind.SINCE:
        since = period.until if lead == "after" else period.since
        return since, now if since < now else None
    whole = period.closing or (lead == "by" and period.until - period.since <= _ONE_DAY)
    return None, period.until if whole else period.since


def _range(words: QuestionWords, at: int) -> _Found | None:
    """Between March and May, from 3 to 9 June, from June on."""
    if not (first := read_period(words, at + 1)):
        return None
    between, join = words[at] == "between", words[first.end]
    if join in _JOINS and between == (join == "and"):
        if not (second := read_period(words, first.end + 1)):
            return None
        years = [words[period.end - 1].isdecimal() for period in (first, second)]
        if first.since > second.since or years == [False, True]:
            earlier = replace(words, now=second.since, ahead=False)
            first = read_period(earlier, at + 1) or first
        elif years == [True, False]:
            later = replace(words, now=first.since, ahead=True)
            second = read_period(later, first.end + 1) or second
        in_order = first.since < second.until
        place = ((at, second.end),)
        return _Found(TimeKind.DURING, place, first.since, second.until) if in_order else None
    if not between and join in ("on", "onwards"):
        since = _ends("since", TimeKind.SINCE, first, words.now)
        return _Found(TimeKind.SINCE, ((at, first.end + 1),), *since)
    if any(word in _JOINS or "-" in word for word in words.words[at + 1 : first.end]):
        return _Found(TimeKind.DURING, ((at, first.end),), first.since, first.until)
    return None


def _stands_alone(words: QuestionWords, at: int, period: Period) -> bool:
    """A bare date is a time where no noun stands before it: `what happened 22 May`."""
    before = words[at - 1]
    dated = any(word[:1].isdecimal() for word in words.words[at : period.end])
    return dated and (not before or before in _STOPS | _HAPPENED | {"do", "done", "me"})


def _event_end(words: QuestionWords, at: int) -> int:
    """Where the event that begins there ends, with the clause; 0: it is none."""
    end = at
    while end < len(words.words) and end - at < _EVENT_WORDS and words[end] not in _STOPS:
        if end > at and words[end] in _CLAUSE_BEGINS:
            break
        end += 1
    while end > at and words[end - 1] in ("and", "or", "but", "then"):
        end -= 1
    clock = _CLOCK.fullmatch(words[at]) and (words[at][-1].isalpha() or words.unit(at + 1))
    habit = words[end - 1] in _HABITS and end - at <= 2
    action = words[at].endswith("ing") and end - at == 1  # before leaving: whose is not said
    return 0 if end == at or words[at] in _NO_EVENT or clock or habit or action else end


def _phrase(words: QuestionWords, at: int, kind: TimeKind) -> _Found | None:
    for size in range(1, _LONGEST_PHRASE + 1):
        phrase = " ".join(words.words[at : at + size])
        if _PHRASES.get(phrase) is kind and words[at + size] not in _NOT_AFTER_PHRASE:
            return _Found(kind, ((at, at + size),))
    return None


def _vague(words: QuestionWords, at: int, tense: _Tense) -> _Found | None:
    """An earlier version or the first one, where no time is said."""
    if phrase := _phrase(words, at, TimeKind.PAST):
        return phrase
    word, before, after = words[at], words[at - 1], words[at + 1]
    kind, size, found = TimeKind.PAST, 1, False
    if word in ("used", "use") and after == "to":
        earlier, size = words.words[:at], 2
        found = "did" in earlier if word == "use" else _USED_FOR.isdisjoint(earlier)
        found = found and earlier[:2] != ("what", "did")  # what did we use to clean it
    elif word == "before":
        found = tense.past and (not after or after in _STOPS)
    elif word in ("first", "initial", "original"):
        adverb = before not in _NO_ADVERB and not before.endswith("'s") and after[:1].isalpha()
        said = adverb and not _PAST_TENSE.isdisjoint(words.words[:at])
        noun = after in _VERSIONED and (word != "first" or before in ("the", "very", "our"))
        kind, found = TimeKind.ORIGIN, noun or (said and word == "first")
    elif word in ("old", "earlier", "previous", "former"):
        found = after in _VERSIONED
    return _Found(kind, ((at, at + size),)) if found else None


def _asks_for_date(words: tuple[str, ...]) -> bool:
    """When did …, since when, on which day was …, how long ago."""
    for before, word, after in zip(("", *words), words, (*words[1:], ""), strict=False):
        starts = before in _STOPS | {"", "and", "so", "but"} and after in _AUXILIARIES
        if word == "when" and (starts or before in ("since", "until", "till", "by", "from")):
            return True
        if word in ("day", "date", "month", "year") and before in ("what", "which"):
            return after in _AUXILIARIES
        if (before, word, after) == ("how", "long", "ago"):
            return True
    return False


def _asks_what_happened(words: tuple[str, ...]) -> bool:
    asked = frozenset(words)
    if asked & {"why", "where"}:
        return False
    if asked & _HAPPENED or words[:1] in (("any",), ("anything",)) or words[:2] == ("give", "me"):
        return True
    if "how" in asked:
        return False
    return bool(asked & _DONE and asked & {"what", "who", "which"}) or any(
        did == "did" and we in ("i", "we", "you", "they") and verb not in _KEPT
        for what, did, we, verb in zip(words, words[1:], words[2:], words[3:], strict=False)
        if what == "what" or what.endswith("s")
    )
