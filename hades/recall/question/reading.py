"""Reading a question, once: its kind, what it wants, its time, its names and its terms.

The learned head judges what a question asks for. Rules extract times, names, relations of code and
pairs of names. Rules also recognise questions for a connection, for recent events and for what
happened in a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product

from hades.domain.question import (
    BriefPart,
    Intent,
    Question,
    QuestionName,
    RelationMeant,
    Sign,
    TimeKind,
    TimeWords,
    Wants,
)
from hades.domain.times import from_micros
from hades.language.english.code_questions import SIGNS, relations_asked
from hades.language.english.connections import connection_asked, spellings
from hades.language.english.detect import is_english
from hades.language.english.intent import (
    RECENT,
    SUMMARY_ASKED,
    TALK_ASKED,
    choose_mode,
    is_past_tense,
)
from hades.language.english.question_terms import subject_of, terms_of, topical_stems
from hades.language.english.time_words import (
    asks_for_everything,
    asks_for_next,
    asks_for_notes,
    asks_for_plans,
    happens_in,
    read_bare_time,
    read_time,
)
from hades.language.english.version_questions import CHANGE_COUNTED, END_ASKED
from hades.language.languages import language_of
from hades.language.words import words
from hades.models.encoder import load_encoder
from hades.recall.question.head import QuestionReading, shipped_head

QUESTION_CHARACTERS_AT_MOST = 4_000
"""A longer question is cut: the encoder reads no more than that anyway."""
KIND_FROM = 0.5
"""A question is a look-up unless another kind has at least this probability."""
BRIEF_FROM = 0.6
"""The brief answers a question without names if the kind `brief` has at least this probability."""
FORMER_FROM = 0.5
"""A question without words for a time asks for a former or first state if the likeliest label of
time says so with at least this probability."""
STEPS_FROM = 0.25
"""A question takes two steps if the head gives that at least this probability. Measured: 77 % of
the two-step questions of left-out domains reach it, and 10 % of all questions of notes."""
_VERSIONS = {
    "history": Wants.CHANGES,
    "ever": Wants.EVER,
    "still": Wants.STILL,
    "count": Wants.COUNT,
}
_THINGS = {
    "person": Wants.PERSON,
    "place": Wants.PLACE,
    "number": Wants.NUMBER,
    "duration": Wants.DURATION,
    "reason": Wants.REASON,
    "yesno": Wants.YES_OR_NO,
    "date": Wants.DATE,
}
_TIMES = {
    "past": TimeKind.PAST,
    "before_event": TimeKind.PAST,
    "origin": TimeKind.ORIGIN,
}
_PARTS = {part.name.lower(): part for part in BriefPart}
_INTENTS = {"overview": Intent.OVERVIEW, "compare": Intent.COMPARE, "status": Intent.STATUS}
_UNREAD = QuestionReading({"lookup": 1.0}, {"text": 1.0}, {"now": 1.0}, 0.0, 0.0, {})
"""The reading of a question that is not in English, which the head does not know."""


def read_question(text: str, now: int) -> Question:
    """Return how a question is understood if it is asked at `now`, in microseconds."""
    text = text[:QUESTION_CHARACTERS_AT_MOST]
    judged = _judged(text) if is_english(text) else _UNREAD
    begun = SUMMARY_ASKED.match(text) or TALK_ASKED.match(text)
    time = _time(text, now, judged)
    untimed = text.replace(time.said, " ") if time and time.said else text
    terms = terms_of(untimed)
    about = untimed[begun.end() :] if begun else untimed
    wants = _wants(text, time, judged)
    pairs = tuple(
        pair
        for first, second in connection_asked(text)
        for pair in product(spellings(first), spellings(second))
    )
    kind, chance = _likeliest(judged.kind)
    kind = kind if chance >= KIND_FROM else "lookup"
    two_steps = judged.steps >= STEPS_FROM
    intent = Intent.CONNECTION if pairs else _intent(text, wants, kind, two_steps=two_steps)
    return Question(
        text=text,
        language=language_of(text),
        intent=intent,
        mode=choose_mode(text),
        wants=wants,
        time=time,
        terms=terms,
        topical=topical_stems(about),
        many=judged.many >= 0.5 or _likeliest(judged.wants)[0] == "list",
        two_steps=two_steps,
        signs=frozenset(_signs(text, time)),
        part=_part(text, time, judged),
        subject=subject_of(about) if intent is Intent.OVERVIEW and not terms.names else None,
        relations=tuple(
            RelationMeant(rule.relation, rule.direction, tuple(names))
            for rule, names in relations_asked(text)
        ),
        pairs=pairs,
    )


def names_of(text: str, language: str = "") -> tuple[QuestionName, ...]:
    """Return the names in a question; `language` is used if its words do not show their own."""
    return terms_of(text, language).names


@lru_cache(maxsize=256)
def _judged(text: str) -> QuestionReading:
    """Return the judgement of the head, which reads the vector of the built-in encoder."""
    return shipped_head().read(text, load_encoder().encode([text])[0])


def _likeliest(chances: Mapping[str, float]) -> tuple[str, float]:
    return max(chances.items(), key=lambda row: row[1])


def _time(text: str, now: int, judged: QuestionReading) -> TimeWords | None:
    """Return the time in the words of a question, or else the former state it asks for, if any."""
    moment = from_micros(now)
    time = read_time(text, moment)
    summary = SUMMARY_ASKED.match(text)
    if time is None and summary:
        time = read_bare_time(text[summary.end() :], moment)
    label, chance = _likeliest(judged.time)
    if time is None and label in _TIMES and chance >= FORMER_FROM and not _asks_of_former(judged):
        return TimeWords(_TIMES[label], "")
    return time


def _asks_of_former(judged: QuestionReading) -> bool:
    """Return whether a date or a reason is wanted. The date of a former state is not a former
    state."""
    return _likeliest(judged.wants)[0] in ("date", "reason")


def _wants(text: str, time: TimeWords | None, judged: QuestionReading) -> Wants:
    wants = _THINGS.get(_likeliest(judged.wants)[0], Wants.STATE)
    kind, chance = _likeliest(judged.kind)
    if chance >= KIND_FROM:
        wants = _VERSIONS.get(kind, wants)
    told = TALK_ASKED.match(text) or (time and SUMMARY_ASKED.match(text))
    return Wants.HAPPENINGS if told or happens_in(text, time, wants) else wants


def _intent(text: str, wants: Wants, kind: str, *, two_steps: bool) -> Intent:
    if kind in _INTENTS:
        return _INTENTS[kind]
    if wants is Wants.REASON:
        return Intent.WHY
    if wants is Wants.DATE:
        return Intent.WHEN
    if RECENT.search(text):
        return Intent.RECENT
    return Intent.BRIDGE if two_steps else Intent.LOOKUP


def _part(text: str, time: TimeWords | None, judged: QuestionReading) -> BriefPart | None:
    """Return the part of the brief that a question asks for, if any."""
    is_brief = judged.kind.get("brief", 0.0) >= BRIEF_FROM
    if not is_brief or names_of(text) or (time and asks_for_plans(text, time)):
        return None
    part = _PARTS[_likeliest(judged.part)[0]]
    # without a time, "what did we do" asks for everything ever done, which is not in a brief
    return None if part is BriefPart.DONE and time is None else part


def _signs(text: str, time: TimeWords | None) -> Iterator[Sign]:
    yield from (sign for sign, pattern in SIGNS.items() if pattern.search(text))
    if SUMMARY_ASKED.match(text):
        yield Sign.SUMMARY
    if TALK_ASKED.match(text):
        yield Sign.TALK
    if END_ASKED.search(text):
        yield Sign.END
    if CHANGE_COUNTED.search(text):
        yield Sign.CHANGES
    if {"times", "often"} & {word.casefold() for word in words(text)}:
        yield Sign.TIMES
    if is_past_tense(text):
        yield Sign.PAST_TENSE
    if asks_for_notes(text):
        yield Sign.NOTED
    to_come = asks_for_next(text)
    if to_come is not None:
        yield Sign.NEXT if to_come else Sign.TO_COME
    if time is not None and asks_for_plans(text, time):
        yield Sign.PLANS
    if time is not None and asks_for_everything(text, time):
        yield Sign.EVERYTHING
