"""Names: how two spellings are recognised as one thing, and where names stand in a text.

A text is a row of words: runs of letters and digits, without accents. A script that puts
no spaces between words (Chinese, Japanese) counts every character as one. A name's key is
its words in lower case; a leading article does not count.
"""

from __future__ import annotations

import re
import unicodedata

_NO_SPACES = "\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# Signs that belong to a word though they are no letters: vowel signs and the like.
_SIGNS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670"
    "\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u0eb1-\u0ecd\u0f71-\u0fbc\u102b-\u103e"
    "\u17b4-\u17d3\u3099\u309a"
)
# C++, C# and F# are names of their own; the plus of a+b is not part of a.
_WORDS = re.compile(rf"[{_NO_SPACES}]|(?:[^\W_{_NO_SPACES}]|[{_SIGNS}])+(?:(?:\+{{1,2}}|#)(?!\w))?")
_ACCENTS_BELOW = 0x0530
"""Marks on Latin, Greek and Cyrillic letters are accents; on others they make the letter."""
_ARTICLES = ("the", "a", "an")
_TRAILING_PARENTHESIS = re.compile(r"\s*\([^()]*\)\s*$")


def words(text: str) -> list[str]:
    """The words of a text, in their own case, without accents."""
    return _WORDS.findall(text if text.isascii() else _without_accents(text))


def _without_accents(text: str) -> str:
    kept = []
    accented = False
    for character in unicodedata.normalize("NFKD", text):
        if unicodedata.combining(character):
            if not accented:
                kept.append(character)
        else:
            accented = ord(character) < _ACCENTS_BELOW
            kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def name_key(name: str) -> str:
    """The key under which a name is looked up.

    >>> name_key("The Café-Racer (Film)")
    'cafe racer film'

    A name without a single word (an emoji, `+++`) is its own key.
    """
    found = [word.casefold() for word in words(name)]
    while len(found) > 1 and found[0] in _ARTICLES:
        found = found[1:]
    # Casefolding can bring accents and letters apart anew: İ, ŉ.
    again = words(" ".join(found))
    return " ".join(again) or name.strip()


def without_parenthesis(title: str) -> str:
    """A title as it is mentioned: "Ed Wood (film)" is written "Ed Wood"."""
    return _TRAILING_PARENTHESIS.sub("", title) or title
