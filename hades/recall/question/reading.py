"""Reading a question, once: its kind, what it wants, its time, its names and its terms."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from hades.domain.question import (
    Intent,
    Question,
    QuestionName,
    RelationMeant,
    Sign,
    TimeWords,
    Wants,
)
from hades.domain.times import from_micros
from hades.language.english.brief_questions import brief_asked
from hades.language.english.code_questions import SIGNS, relations_asked
from hades.language.english.connections import connection_asked, spellings
from hades.language.english.intent import (
    SUMMARY_ASKED,
    TALK_ASKED,
    asks_for_list,
    choose_mode,
    is_past_tense,
    may_take_steps,
    read_intent,
    theme_subject,
)
from hades.language.english.question_terms import KINDS_ASKED, refers, terms_of, topical_stems
from hades.language.english.time_words import (
    asks_for_everything,
    asks_for_next,
    asks_for_notes,
    asks_for_plans,
    read_bare_time,
    read_time,
    what_is_wanted,
)
from hades.language.english.version_questions import CHANGE_COUNTED, END_ASKED
from hades.language.languages import language_of

QUESTION_CHARACTERS_AT_MOST = 4_000
"""A longer question is cut: the encoder reads no more than that anyway."""


def read_question(text: str, now: int) -> Question:
    """Return how a question is understood at a moment, in microseconds."""
    text = text[:QUESTION_CHARACTERS_AT_MOST]
    intent, evidence = read_intent(text)
    summary = SUMMARY_ASKED.match(text)
    begun = summary or TALK_ASKED.match(text)
    moment = from_micros(now)
    time = read_time(text, moment)
    if time is None and summary:
        time = read_bare_time(text[summary.end() :], moment)
    untimed = text.replace(time.said, " ") if time and time.said else text
    return Question(
        text=text,
        language=language_of(text),
        intent=intent,
        evidence=evidence,
        mode=choose_mode(text),
        wants=_wants(text, time),
        time=time,
        terms=terms_of(untimed),
        topical=topical_stems(untimed[begun.end() :] if begun else untimed),
        many=asks_for_list(text),
        two_steps=may_take_steps(text),
        signs=frozenset(_signs(text, time)),
        part=brief_asked(text, time.said if time else ""),
        subject=theme_subject(text) if intent is Intent.OVERVIEW else None,
        relations=tuple(
            RelationMeant(rule.relation, rule.direction, tuple(names))
            for rule, names in relations_asked(text)
        ),
        pairs=tuple(
            pair
            for first, second in connection_asked(text)
            for pair in product(spellings(first), spellings(second))
        ),
    )


def names_of(text: str, language: str = "") -> tuple[QuestionName, ...]:
    """Return the names in a question; `language` is used if it does not show its own."""
    return terms_of(text, language).names


def _wants(text: str, time: TimeWords | None) -> Wants:
    if TALK_ASKED.match(text) or (time and SUMMARY_ASKED.match(text)):
        return Wants.HAPPENINGS
    wants = what_is_wanted(text, time)
    if wants is Wants.STATE:
        return next((kind for asks, kind in KINDS_ASKED if asks.search(text)), wants)
    return wants


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
    if "times" in text or "often" in text:
        yield Sign.TIMES
    if is_past_tense(text):
        yield Sign.PAST_TENSE
    if asks_for_notes(text):
        yield Sign.NOTED
    if refers(text):
        yield Sign.REFERS
    to_come = asks_for_next(text)
    if to_come is not None:
        yield Sign.NEXT if to_come else Sign.TO_COME
    if time is not None and asks_for_plans(text, time):
        yield Sign.PLANS
    if time is not None and asks_for_everything(text, time):
        yield Sign.EVERYTHING
