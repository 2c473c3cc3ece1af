"""Stems: words without their endings, so that two forms of a word are found as one."""

from __future__ import annotations

from functools import lru_cache

_ENDINGS = ("ings", "ing", "edly", "ed", "ies", "es", "s", "ly", "ion", "ions")
_STEM_CHARACTERS_AT_LEAST = 4


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """A word without its ending, so that `rejected` and `rejecting` are one."""
    plain = word.casefold()
    for ending in _ENDINGS:
        if plain.endswith(ending) and len(plain) - len(ending) >= _STEM_CHARACTERS_AT_LEAST:
            return plain[: -len(ending)].rstrip("e")
    return plain.rstrip("e") if len(plain) > _STEM_CHARACTERS_AT_LEAST else plain
