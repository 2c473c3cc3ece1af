"""Detect whether a text is English, since the rules of this package apply to English only."""

from __future__ import annotations

from hades.language.english.lexicon import STOP_WORDS, word_set
from hades.language.patterns import lazy_pattern

CHARACTERS_READ = 1_000
"""The beginning of a text is enough to tell its language."""
_QUESTION_WORDS = word_set(
    """the of and is are was were what what's whats which who who's whose whom why how when where
    did does do has have had can could should would with between to for from about compare describe
    summarize summarise summary brainstorm plan list explain give show tell current currently
    recent recently latest versus vs or my our we i it this that in on at by both
    same not"""
)
"""Words that are frequent in English questions."""
_OTHERS = word_set(
    """der die das ist und wie wer wo wann warum nicht ein eine le la les est et que qui pourquoi
    quand comment el los las es y por como cuando quien il lo che perche chi e o os um uma het een
    waarom wat"""
)
"""Small words of languages that share `was`, `in` or `status` with English."""
_SHARE = 0.2
"""The share of a question's words, without names, that must be English."""
_WORD = lazy_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def is_english_question(question: str) -> bool:
    """Return whether enough words of a question are frequent in English questions."""
    plain = _plain_words(question)
    known = sum(word in _QUESTION_WORDS for word in plain)
    others = sum(word in _OTHERS for word in plain)
    return known > others and known / len(plain) >= _SHARE


def is_english(text: str) -> bool:
    """Return whether nothing shows that a text is in another language.

    Notes are short and leave words out, so a text without small words counts as English if it is
    written in Latin letters. One foreign word may be part of a name.

    >>> is_english("Maya joined Acme"), is_english("Maya ist nicht bei Acme")
    (True, False)
    """
    plain = _plain_words(text[:CHARACTERS_READ])
    known = sum(word in STOP_WORDS or word in _QUESTION_WORDS for word in plain)
    others = sum(word in _OTHERS and word not in STOP_WORDS for word in plain)
    latin = sum(word.isascii() for word in plain)
    return others <= max(1, known) and latin * 2 >= len(plain)


def _plain_words(text: str) -> list[str]:
    """Return, in lower case, a text's first word and those without a capital; others are names."""
    found = _WORD.findall(text.replace("’", "'"))
    return [word.casefold() for at, word in enumerate(found) if not at or word[0].islower()]
