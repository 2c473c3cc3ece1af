"""Small talk: greetings, thanks and acknowledgements."""

from __future__ import annotations

import re

from hades.language.english.lexicon import GREETINGS, MONTHS, TALK, WEEKDAYS
from hades.language.patterns import lazy_pattern
from hades.language.words import words

TALK_CHARACTERS_AT_MOST = 200
_NO_TALK = lazy_pattern(r"\b(?:not|never|no(?! (?:problem|worries)))\b|n['’]t\b", re.IGNORECASE)
_GREETED = lazy_pattern(
    rf"\b((?i:{GREETINGS})"
    rf"(?: [a-z]+){{0,3}}),? (?!Yes\b|Done\b|(?:{'|'.join((*WEEKDAYS, *MONTHS)).title()})\b)"
    r"[^\W\d_a-z][\w'’-]*(?=\W*(?:[!.,]|$))"
)
"""A greeting or thanks with the name of the person who is greeted."""
_PRAISE = r"(?:great|good|nice) (?:job|work)"
_TALK_PHRASES = lazy_pattern(rf"(?i)\b(?:see you (?:tomorrow|around|then)|{_PRAISE})\b")
_OPENING = lazy_pattern(
    r"(?:hi|hey|hello|thanks|thank you|wow|ok|okay|sure|great|cool|bye|good (?:morning|evening))\b",
    re.IGNORECASE,
)
"""The beginning of a sentence of small talk."""


def is_talk(text: str) -> bool:
    """Return whether a text has only greetings, thanks and acknowledgements."""
    if len(text) > TALK_CHARACTERS_AT_MOST or _NO_TALK.search(text):
        return False
    plain = words(_TALK_PHRASES.sub("see you", _GREETED.sub(r"\1", text)).casefold())
    return bool(plain) and all(word in TALK for word in plain)


def opens_with_talk(sentence: str, words_at_most: int) -> bool:
    """Return whether a sentence of at most `words_at_most` words begins with small talk."""
    return bool(_OPENING.match(sentence)) and len(sentence.split()) <= words_at_most
