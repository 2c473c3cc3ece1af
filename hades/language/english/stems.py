"""Stems: words without their endings, so that two forms of a word are found as one.

The index stems by itself (`index/words.py`), since its stems are stored.
"""

from __future__ import annotations

from functools import lru_cache

_ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly", "ion", "ions")
_STEM_CHARACTERS_AT_LEAST = 4
_DOUBLED = ("bb", "dd", "gg", "mm", "nn", "pp", "rr", "tt")
"""Letters that are written twice before an ending: `ship`, `shipped`."""


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a word without its ending, so that `rejected` and `rejecting` are equal."""
    plain = word.casefold()
    for ending in _ENDINGS:
        if plain.endswith(ending) and len(plain) - len(ending) >= _STEM_CHARACTERS_AT_LEAST:
            plain = plain[: -len(ending)].rstrip("e")
            return plain[:-1] if plain.endswith(_DOUBLED) else plain
    return plain.rstrip("e") if len(plain) > _STEM_CHARACTERS_AT_LEAST else plain


def singular(word: str) -> str:
    """A word in lower case without the ending of its plural or third person.

    Statements are compared by it: `opened` and `opens` are two things to say.
    """
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word
