"""Reading a question, once: its kind, what it wants, its time, its names and its terms.

The learned head judges what a question asks for. Rules extract times, names, relations of code and
pairs of names. Rules also recognise questions for a connection, for recent events and for what
happened in a time.
"""

from __future__ import annotations

from collections.abc import Mapping
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
from hades.language.english.code_questions import relations_asked
from hades.language.english.connections import connection_asked, spellings
from hades.language.english.detect import is_english
from hades.language.english.intent import RECENT, SUMMARY_ASKED, TALK_ASKED, choose_mode
from hades.language.english.question_terms import subject_of, terms_of, topical_stems
from hades.language.english.signs import signs_in
from hades.language.english.time_words import happens_in, time_in_question
from hades.language.languages import language_of
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
    kind, chance = _likeliest(judged.kind)
    kind = kind if chance >= KIND_FROM else "lookup"
    thing, _ = _likeliest(judged.wants)
    wants = _VERSIONS.get(kind) or _THINGS.get(thing, Wants.STATE)
    part = _brief_part(judged)
    former = _former_state(judged)
    time = time_in_question(text, from_micros(now)) or former
    summary = SUMMARY_ASKED.match(text)
    talk = TALK_ASKED.match(text)
    begun = summary or talk
    untimed = text.replace(time.said, " ") if time and time.said else text
    terms = terms_of(untimed)
    about = untimed[begun.end() :] if begun else untimed
    if talk or (time and summary) or happens_in(text, time, wants):
        wants = Wants.HAPPENINGS
    signs = frozenset(signs_in(text, time))
    # Without a time, "what did we do" asks for everything ever done, which no brief has.
    if Sign.PLANS in signs or (part is BriefPart.DONE and time is None):
        part = None
    pairs = tuple(
        pair
        for first, second in connection_asked(text)
        for pair in product(spellings(first), spellings(second))
    )
    two_steps = judged.steps >= STEPS_FROM
    is_recent = RECENT.search(text) is not None
    intent = _intent(wants, kind, is_recent=is_recent, two_steps=two_steps)
    intent = Intent.CONNECTION if pairs else intent
    return Question(
        text=text,
        language=language_of(text),
        intent=intent,
        mode=choose_mode(text),
        wants=wants,
        time=time,
        terms=terms,
        topical=topical_stems(about),
        many=judged.many >= 0.5 or thing == "list",
        two_steps=two_steps,
        signs=signs,
        part=None if part and terms_of(text).names else part,
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


def _former_state(judged: QuestionReading) -> TimeWords | None:
    """Return the former or first state that a question asks for, if any."""
    if _likeliest(judged.wants)[0] in ("date", "reason"):  # when or why it was, not how it was
        return None
    label, chance = _likeliest(judged.time)
    return TimeWords(_TIMES[label], "") if label in _TIMES and chance >= FORMER_FROM else None


def _intent(wants: Wants, kind: str, *, is_recent: bool, two_steps: bool) -> Intent:
    if kind in _INTENTS:
        return _INTENTS[kind]
    if wants is Wants.REASON:
        return Intent.WHY
    if wants is Wants.DATE:
        return Intent.WHEN
    if is_recent:
        return Intent.RECENT
    return Intent.BRIDGE if two_steps else Intent.LOOKUP


def _brief_part(judged: QuestionReading) -> BriefPart | None:
    """Return the part of the brief that a question without names asks for, if any."""
    is_brief = judged.kind.get("brief", 0.0) >= BRIEF_FROM
    return _PARTS[_likeliest(judged.part)[0]] if is_brief else None
