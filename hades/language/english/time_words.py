"""Time words: the time in the words of a question, and what the question asks about that time.

At every word, from left to right, a rule tries to read an adverbial: a preposition with a period
(`in the last week of September`) or with an event that the caller has to look up (`before the
migration`), or a period that is clear by itself (`last week`). The first adverbial outside relative
clauses is taken, because it usually governs the verb.

A date beside a noun (`meeting 2025-07-17`, `the March release`, `rota week 30`) is part of a name,
not a time. Without a year, the latest one that has begun is meant, or the next one in a question
about the future.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from hades.domain.question import TimeKind, TimeWords, Wants
from hades.language.english.detect import is_english
from hades.language.english.intent import CHARACTERS_READ, SUMMARY_ASKED
from hades.language.english.lexicon import MONTHS, WEEKDAYS, changes, word_set
from hades.language.english.periods import Period, QuestionWords, read_period, split_words
from hades.language.patterns import lazy_pattern


def _whole(words: str) -> re.Pattern[str]:
    """Return a pattern of whole words, given with `|` between them."""
    return lazy_pattern(f"(?:{words})(?= |$)")


_LEADS = {
    lead: (kind, takes_event)
    for kind, takes_event, leads in (
        (TimeKind.DURING, True, "at the time of|during|while"),
        (TimeKind.DURING, False, "in|on|at|over|within|throughout|as of|for"),
        (TimeKind.BEFORE, True, "before|prior to|until|till"),
        (TimeKind.BEFORE, False, "by|up to"),
        (TimeKind.SINCE, True, "since|after"),
    )
    for lead in leads.split("|")
}
"""Words before a time: how they narrow it, and whether an event may follow."""
_LEAD = _whole("|".join(_LEADS))
_ORIGIN = _whole(
    "originally|initially|at first(?! glance| sight)|in the beginning(?! of)|at the outset"
    "|at the (?:very )?(?:beginning|start)(?! of)|to (?:begin|start) with"
    "|when it (?:was (?:founded|created)|started)"
)
_STOPS = frozenset(",;:?!.()")
_PAST_TENSE = word_set("did didn't was wasn't were weren't had hadn't happened went used")
_PRESENT_TENSE = word_set(
    "is are am do does can may must should need needs what's whats who's isn't"
)
_FUTURE_TENSE = word_set("will won't shall due expire expires upcoming")
_RELATIVE = word_set("who that which whose")
_NO_NOUN = _STOPS | word_set(
    "in on at by for from to of with know me us tell say said remember see you and or but is was"
)
"""After these words, `who` and `which` do not begin a relative clause."""
_JOINS = word_set("to and until till through")

_NO_EVENT_AFTER = word_set("look looks looked looking named a days weeks long")
"""Words after which no event begins: look after, named after, for a while, days until."""
_CLAUSE_ENDS = r" (?:[,;:?!.()]|(?:who|what|which|where|how|why|whose|whom|did|does|do)(?: |$))"
_EVENT = _whole(
    r"(?!(?:when|that|this|then|it|now|all|each|every|long|further|noon|midnight|lunch|night|hours"
    r"|what|which|[0-9]{1,2}(?:am|pm|h)|[,;:?!.()])(?: |$)|[0-9]{1,2} (?:hour|day|week|month|year)"
    rf"|[a-z]+ing(?:$|{_CLAUSE_ENDS}))[^ ]+"  # before leaving: by whom is unknown
    rf"(?:(?! (?:and|or|but|then)(?:$|{_CLAUSE_ENDS})|{_CLAUSE_ENDS}) [^ ]+){{0,11}}"
)
"""An event, up to the end of its clause."""
_ONE_DAY = timedelta(days=1)
_ON_AT_MOST = timedelta(days=4)
"""The longest period that may follow `on`: a day, a weekend or Christmas, but not a month."""
_CHANGES_FROM = timedelta(days=180)
"""In a shorter window, a question for changes wants a list of things done, not of versions."""
_NEXT_DATE = lazy_pattern(r"^(?:and |so )?when (?:is|are|am|do|does|will)\b(?:.*(\bnext\b))?")
_NOTED = lazy_pattern(r"\b(?:noted?|wrote|written|logged|recorded)\b")
_WHY = lazy_pattern(r"\b(?:why|where)\b")
_HAPPENED = lazy_pattern(
    r"^(?:any|anything|give me)\b|\b(?:happen(?:ed|s|ing)?|changed?|changes|news|summari[sz]e"
    r"|summary|recap|events|updates?|decided?|touched|went|going|noted|logged|booked|came|new)\b"
)
_NO_NOUN_BEFORE = lazy_pattern(rf"[,;:?!.()]?|do|done|me|have|got|{_HAPPENED.pattern}")
_DONE = lazy_pattern(
    rf"\b(?:what|who|which)\b.*\b(?:{changes('asked')})\b|\bwhat (?:was|got|has been) done\b"
    r"|(?:\bwhat|s) did (?:i|we|you|they) (?!(?:have|use|keep|count|believe|think|want|charge"
    r"|owe|own|need|know|pay|call|like|expect|plan|run|live|get|weigh|cost|first|still)\b)"
)
"""A question for something done, except for verbs of states (`what did we charge in June`)."""
_PLAIN_WORDS = word_set(
    """what what's whats which anything something is are am do does have has had got get i we me us
    my our the a any there on up in for to of at be planned plans plan scheduled schedule coming
    calendar diary agenda due appointment appointments else so and all happens look looks looking
    like need done weekend week"""
)
"""Words of a question that asks for everything in a future time: `what do I have`."""
_PLANS = lazy_pattern(
    r"^(?:which|what|any) \w+(?: \w+)? (?:are there|do (?:i|we) have|are (?:we|i)\b)"
    r"|\b(?:planned|scheduled|coming up|appointments?|calendar|diary|agenda|deadlines?)\b"
    r"|^(?:what|where|who) (?:do|does|is|are|am) (?:\w+ ){0,2}(?:have|do|doing|go|going|got|coming"
    r"|visiting|away)(?: on)?(?=$| (?:on|in|at|for|over|next|this|today|tomorrow)\b)"
    r"|^(?:am|are|is) (?:\w+ ){1,2}(?:free|busy|away)\b"
)
_OF_A_TIME = lazy_pattern(
    r"^$|\bwhat did (?:\w+ ){1,2}do$|^whom? (?:was|were) (?:\w+ed|met)$|^what(?: all)? happened$"
    r"|^what (?:was|were|have|has|had) (?:\w+ ){1,2}(?:doing|done|up to)$|^what was on$"
    r"|^who (?:visited|came|called|rang|stayed)(?: \w+){0,2}$"
)
"""The rest of a question, without its time, that asks what was done then."""


@lru_cache(maxsize=64)
def read_time(question: str, now: datetime) -> TimeWords | None:
    """Return the time in a question, seen from the moment it is asked; None without a time."""
    question = question[:CHARACTERS_READ]
    tokens = split_words(question) if is_english(question) else []
    with suppress(OverflowError):
        now = now.astimezone(UTC) if now.tzinfo else now.replace(tzinfo=UTC)
        words = QuestionWords(tuple(word for word, _, _ in tokens), now)
        if adverbial := _find(words, _tense(words.words)):
            time_words, *event = (
                question[tokens[a][1] : tokens[b - 1][2]] for a, b in adverbial.places
            )
            return TimeWords(adverbial.kind, time_words, adverbial.since, adverbial.until, *event)
    return None


def read_bare_time(text: str, now: datetime) -> TimeWords | None:
    """Return the period with which a text begins: the `March` of `summarise March`."""
    tokens = split_words(text[:CHARACTERS_READ])
    with suppress(OverflowError, ValueError):
        words = QuestionWords(tuple(word for word, _, _ in tokens), now)
        start = 1 if words[0] in ("of", "for") else 0
        if period := read_period(words, start):
            words_of_time = text[tokens[start][1] : tokens[period.end - 1][2]]
            return TimeWords(TimeKind.DURING, words_of_time, period.since, period.until)
    return None


def time_in_question(question: str, now: datetime) -> TimeWords | None:
    """Return the time in a question, or the period of which it asks a summary; None without."""
    time = read_time(question, now)
    summary = SUMMARY_ASKED.match(question)
    return read_bare_time(question[summary.end() :], now) if summary and time is None else time


def happens_in(question: str, time: TimeWords | None, wants: Wants) -> bool:
    """Return whether a question asks for what happened in a window of time.

    `wants` is what the question wants apart from its time. In a window of less than half a year, a
    question for changes asks for what happened.
    """
    if time is None or time.kind not in (TimeKind.DURING, TimeKind.SINCE):
        return False
    asked = _words_asked(question, time)
    done = _asks_what_happened(asked) or (not time.event and bool(_OF_A_TIME.search(asked)))
    if wants is Wants.CHANGES and not _is_short(time):
        return done and not asked.startswith("how ")
    return done and wants is not Wants.DATE and (wants is Wants.CHANGES or wants.is_state)


def _is_short(time: TimeWords) -> bool:
    """Return whether a time is too short for changes: before an event, or less than half a year."""
    if time.kind is not TimeKind.DURING:
        return time.kind is not TimeKind.SINCE
    return not (time.since and time.until) or time.until - time.since < _CHANGES_FROM


def asks_for_plans(question: str, time: TimeWords) -> bool:
    """Return whether a question asks for plans at a time: `what do I have next week`."""
    asked = _words_asked(question, time)
    return _is_plain(asked.split()) or _PLANS.search(asked) is not None


def asks_for_notes(question: str) -> bool:
    """Return whether a question asks for what was written at a time: `what did I note in May`."""
    return _NOTED.search(_words_asked(question, None)) is not None


def asks_for_everything(question: str, time: TimeWords) -> bool:
    """Return whether a question has no words but a time: `what do I have`, `what did we do`."""
    asked = _words_asked(question, time)
    return _is_plain(asked.split()) or _OF_A_TIME.search(asked) is not None


def asks_for_next(question: str) -> bool | None:
    """Return whether a question for a future date says `next`; None if it asks for no future
    date."""
    match = _NEXT_DATE.match(_words_asked(question, None))
    return match and match[1] is not None


def _is_plain(words: Iterable[str]) -> bool:
    return _PLAIN_WORDS.issuperset(words)


def _words_asked(question: str, time: TimeWords | None) -> str:
    """Return the words of a question in lower case, without its time."""
    if time:
        question = question.replace(time.said, " ", 1)
    words = (word for word, _, _ in split_words(question[:CHARACTERS_READ]))
    return " ".join(words).rstrip(" ?.!")


def _asks_what_happened(asked: str) -> bool:
    if _WHY.search(asked):
        return False
    is_how = re.search(r"\bhow\b", asked)
    return bool(_HAPPENED.search(asked) or (not is_how and _DONE.search(asked)))


class _Tense(NamedTuple):
    past: bool
    timeless: bool  # what is or should be done, not what was
    future: bool
    happened: bool
    plans: bool


class _Adverbial(NamedTuple):
    kind: TimeKind
    places: tuple[tuple[int, int], ...]  # of the words of the time, then of those of its event
    since: datetime | None = None
    until: datetime | None = None


def _tense(words: tuple[str, ...]) -> _Tense:
    past = not _PAST_TENSE.isdisjoint(words)
    present = not _PRESENT_TENSE.isdisjoint(words) or words[:2] in (("how", "to"), ("what", "to"))
    future = not _FUTURE_TENSE.isdisjoint(words)
    happened = _asks_what_happened(" ".join(words))
    dates = {word for word in words if word[0].isdecimal()}.union(_STOPS, WEEKDAYS, MONTHS)
    plans = _is_plain({*words} - dates) or _PLANS.search(" ".join(words)) is not None
    return _Tense(past, present and not past, (future or plans) and not past, happened, plans)


def _find(words: QuestionWords, tense: _Tense) -> _Adverbial | None:
    """Return the first time in the main clause, else the first in a relative clause."""
    # where the relative clause begins; 0 in the main clause
    in_clause = None
    clause = 0
    for at, word in enumerate(words.words):
        with suppress(ValueError, OverflowError):
            if adverbial := _adverbial(words, at, tense):
                if not clause:
                    return adverbial
                # `What does the man charge who called in May?` is about now.
                if tense.happened or _PRESENT_TENSE.isdisjoint(words.words[:clause]):
                    in_clause = in_clause or adverbial
        if word in _STOPS:
            clause = 0
        elif word in _RELATIVE and at > 1:
            clause = 0 if words[at - 1] in _NO_NOUN else at
    return in_clause


def _adverbial(words: QuestionWords, at: int, tense: _Tense) -> _Adverbial | None:
    if origin := words.match(_ORIGIN, at):
        return _Adverbial(TimeKind.ORIGIN, ((at, origin[1]),))
    words = replace(words, ahead=tense.future)
    if words[at] in ("between", "from"):
        return _range(words, at)
    if lead := words.match(_LEAD, at):
        return _led(words, at, lead[0][0], tense)
    period = read_period(words, at)
    alone = tense.happened or tense.plans
    if period and (period.clear or (alone and _stands_alone(words, at, period))):
        return _Adverbial(TimeKind.DURING, ((at, period.end),), period.since, period.until)
    return None


def _led(words: QuestionWords, at: int, lead: str, tense: _Tense) -> _Adverbial | None:
    """Read a preposition with its period or event."""
    (kind, takes_event), begin = _LEADS[lead], at + lead.count(" ") + 1
    if kind is TimeKind.BEFORE and (tense.timeless or (lead == "by" and not tense.past)):
        words = replace(words, ahead=True)
    if period := read_period(words, begin):
        habit = words[begin] in WEEKDAYS and not (tense.past or tense.future)
        topic = lead == "on" and period.until - period.since > _ON_AT_MOST
        topic = topic or (lead == "for" and not tense.plans)  # the budget for March
        if kind is TimeKind.DURING and (habit or topic):
            return None
        return _Adverbial(kind, ((at, period.end),), *_ends(lead, kind, period, words.now))
    if not takes_event or words[at - 1] in _NO_EVENT_AFTER or (tense.timeless and lead != "since"):
        return None
    event = words.match(_EVENT, begin)
    return event and _Adverbial(kind, ((at, event[1]), (begin, event[1])))


def _ends(
    lead: str, kind: TimeKind, period: Period, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """Return start and end. `By Friday` and `until the end of June` include the period itself."""
    if kind is TimeKind.DURING:
        return period.since, period.until
    if kind is TimeKind.SINCE:
        since = period.until if lead == "after" else period.since
        return since, now if since < now else None
    whole = period.closing or (lead == "by" and period.until - period.since <= _ONE_DAY)
    return None, period.until if whole else period.since


def _range(words: QuestionWords, at: int) -> _Adverbial | None:
    """Read `between March and May`, `from 3 to 9 June`, `from June on`."""
    if not (first := read_period(words, at + 1)):
        return None
    between = words[at] == "between"
    join = words[first.end]
    if join in _JOINS and between == (join == "and"):
        later = replace(words, now=first.since, ahead=True)
        dated = words[first.end - 1].isdecimal()
        if not (second := read_period(later if dated else words, first.end + 1)):
            return None
        if not first.clear:  # between November and January 2024
            first = read_period(replace(words, now=second.since, ahead=False), at + 1) or first
        in_order = first.since < second.until
        place = ((at, second.end),)
        return _Adverbial(TimeKind.DURING, place, first.since, second.until) if in_order else None
    if not between and join in ("on", "onwards"):
        since = _ends("since", TimeKind.SINCE, first, words.now)
        return _Adverbial(TimeKind.SINCE, ((at, first.end + 1),), *since)
    if any(word in _JOINS or "-" in word for word in words.words[at + 1 : first.end]):
        return _Adverbial(TimeKind.DURING, ((at, first.end),), first.since, first.until)
    return None


def _stands_alone(words: QuestionWords, at: int, period: Period) -> bool:
    """Return whether a bare date is a time, not part of a name: `what happened 22 May`."""
    dated = any(word[:1].isdecimal() for word in words.words[at : period.end])
    dated = dated or words[at] in WEEKDAYS
    return dated and _NO_NOUN_BEFORE.fullmatch(words[at - 1]) is not None
