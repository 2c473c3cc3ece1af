"""Detect whether a text is English, since the rules of this package apply to English only."""

from __future__ import annotations

from hades.language.english.lexicon import word_set
from hades.language.languages import is_foreign
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
_SHARE = 0.2
"""The share of a question's words, without names, that must be English."""
_WORD = lazy_pattern(r"[^\W\d_]+(?:['’][^\W\d_]+)?")


def is_english_question(question: str) -> bool:
    """Return whether enough words of a question are frequent in English questions."""
    plain = _plain_words(question)
    known = sum(word in _QUESTION_WORDS for word in plain)
    return known > 0 and known / len(plain) >= _SHARE and not is_foreign(question)


def is_english(text: str) -> bool:
    """Return whether a text shows no sign of another language.

    Notes are short and leave words out, so a text without small words counts as English if it is
    written in Latin letters.

    >>> is_english("Maya joined Acme"), is_english("Maya ist nicht bei Acme")
    (True, False)
    """
    plain = _plain_words(text[:CHARACTERS_READ])
    latin = sum(word.isascii() for word in plain)
    return not is_foreign(text) and latin * 2 >= len(plain)


def _plain_words(text: str) -> list[str]:
    """Return, in lower case, a text's first word and those without a capital; others are names."""
    written = _WORD.findall(text.replace("’", "'"))
    return [word.casefold() for at, word in enumerate(written) if not at or word[0].islower()]
