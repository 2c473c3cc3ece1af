"""Signs: what the words of a question show beside its kind, found by rules."""

from __future__ import annotations

from collections.abc import Iterator

from hades.domain.question import Sign, TimeWords
from hades.language.english.code_questions import SIGNS
from hades.language.english.intent import SUMMARY_ASKED, TALK_ASKED, is_past_tense
from hades.language.english.time_words import (
    asks_for_everything,
    asks_for_next,
    asks_for_notes,
    asks_for_plans,
)
from hades.language.english.version_questions import CHANGE_COUNTED, END_ASKED
from hades.language.words import words


def signs_in(text: str, time: TimeWords | None) -> Iterator[Sign]:
    """Yield the signs of a question with this time."""
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
