"""Stems: words without their endings, so that two forms of a word are equal.

The index has its own stemmer (`index/words.py`), because its stems are stored.
"""

from __future__ import annotations

from functools import lru_cache

_ENDINGS = ("ers", "er", "ings", "ing", "edly", "ed", "ies", "es", "s", "ly", "ion", "ions")
_STEM_CHARACTERS_AT_LEAST = 4
_DOER_CHARACTERS_AT_LEAST = 6
"""The shortest stem before an -er that is removed. Words with a shorter stem seldom name a person
who does something: `corner`, unlike `bookkeeper`."""
_DOUBLED = ("bb", "dd", "gg", "mm", "nn", "pp", "rr", "tt")
"""Letters that are written twice before an ending: `ship`, `shipped`."""


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return a word, in lower case, without its ending: `rejected` and `rejecting` are equal."""
    plain = word.casefold()
    for ending in _ENDINGS:
        least = _DOER_CHARACTERS_AT_LEAST if "er" in ending else _STEM_CHARACTERS_AT_LEAST
        if plain.endswith(ending) and len(plain) - len(ending) >= least:
            plain = plain[: -len(ending)].rstrip("e")
            return plain[:-1] if plain.endswith(_DOUBLED) else plain
    if len(plain) == _STEM_CHARACTERS_AT_LEAST and plain[-1] == "s" and plain[-2] not in "sui":
        return plain[:-1]  # short plurals: `bugs`, `cars`
    return plain.rstrip("e") if len(plain) > _STEM_CHARACTERS_AT_LEAST else plain


def singular(word: str) -> str:
    """Return a lower-case word without the `s` of the plural or third person.

    It is used to compare statements, in which `opened` and `opens` must stay different.
    """
    return word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word
