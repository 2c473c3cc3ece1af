"""The tokeniser: the words of a text, and their places in it.

A word is a run of letters and digits, without accents. In a script without spaces between words
(Chinese, Japanese), every character is a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from hades.language.patterns import lazy_pattern

_NO_SPACES = "\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# signs that are part of a word but not letters, such as vowel signs
_SIGNS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670"
    "\u0900-\u0963\u0966-\u0dff\u0e31-\u0e4e\u0eb1-\u0ecd\u0f71-\u0fbc\u102b-\u103e"
    "\u17b4-\u17d3\u3099\u309a"
)
# C++, C# and F# are names of their own; the plus of a+b is not part of a.
_WORDS = lazy_pattern(
    rf"[{_NO_SPACES}]|(?:[^\W_{_NO_SPACES}]|[{_SIGNS}])+(?:(?:\+{{1,2}}|#)(?!\w))?"
)
_ASCII_WORDS = lazy_pattern(r"[A-Za-z0-9]+(?:(?:\+{1,2}|#)(?![A-Za-z0-9_]))?")
"""The same pattern for plain ASCII, which takes a third of the time."""
_ACCENTS_BELOW = 0x0530
"""Marks on Latin, Greek and Cyrillic letters, which are below this code point, are accents. In
other scripts they are part of the letter."""
ID = lazy_pattern(
    r"(?<![\w.])(?!\d{1,2}\.\d{1,2}\.(?:19|20)\d\d(?!\w))(?![a-z]{1,20}-(?:19|20)\d\d(?!\w|-\d))"
    r"(?:v?\d{1,9}(?:\.\d{1,9}){2,9}(?:[a-z]{1,9}\d{0,9})?|[a-z]{1,20}-\d{1,20}(?:-\d{1,20}){0,9})"
    r"(?!\w|\.\w|-\d)",
    re.IGNORECASE,
)
"""A version (8.2.0, v8.2.0rc1) or an id (OPS-4711), but not a date (3.5.2024, mid-2024)."""
# A character with the marks that are written after it.
_CLUSTER = lazy_pattern(rf"(?s).[{_SIGNS}]*")


def words(text: str) -> list[str]:
    """Return the words of a text, in their own case, without accents."""
    return _ASCII_WORDS.findall(text) if text.isascii() else _WORDS.findall(_without_accents(text))


def ids(text: str) -> list[str]:
    """Return the versions and ids of a text, each as its words in lower case.

    >>> ids("v8.2.0 fixes OPS-4711, not 8.20.1.")
    ['8 2 0', 'ops 4711', '8 20 1']
    """
    return [plain_id(match.group()) for match in ID.finditer(text)]


def plain_id(written: str) -> str:
    """Return a version or id as its words in lower case, without the v of a version."""
    plain = " ".join(words(written.lower()))
    return plain[1:] if "." in written and plain[0] == "v" else plain


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


def word_places(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each word that `words` returns."""
    if text.isascii():
        return [match.span() for match in _WORDS.finditer(text)]
    plain: list[str] = []
    starts: list[int] = []
    for cluster in _CLUSTER.finditer(text):
        kept = _without_accents(cluster.group())
        plain.append(kept)
        starts += [cluster.start()] * len(kept)
    starts.append(len(text))
    return [
        (starts[match.start()], starts[match.end()]) for match in _WORDS.finditer("".join(plain))
    ]


def written_words(text: str) -> list[str]:
    """Return the words that `words` returns as they are written, with accents, for messages."""
    plain = words(text)
    written = [text[start:end] for start, end in word_places(text)]
    return written if len(written) == len(plain) else plain  # rare marks split a word


PLACE_BITS_BELOW = 5
"""A place is packed into one number: its first word, its length in words (4 bits), and whether it
begins with a capital."""


def characters_at(text: str, packed: bytes) -> list[int]:
    """Return the character positions at which packed mentions begin, each once, sorted."""
    return starts_at(word_places(text), packed) if packed else []


def starts_at(places: Sequence[tuple[int, int]], packed: bytes) -> list[int]:
    """Return the same as `characters_at` for a text whose `word_places` are known."""
    firsts = {place >> PLACE_BITS_BELOW for place in memoryview(packed).cast("I")}
    return [places[first][0] for first in sorted(firsts) if first < len(places)]
