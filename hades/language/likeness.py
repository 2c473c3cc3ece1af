"""Likeness: when two names are so nearly spelled alike that they must mean one thing.

Candidates are names that are the same once a character of each, or of one, is left out, so
the work grows with the letters of all names and not with their pairs. A candidate is scored by
the share of trigrams both have (Jaccard), but that alone decides nothing: `Christina` and
`Christiana` share most of theirs. What decides is whether the difference is one that writers
make in one and the same name: a doubled letter, a silent h, an umlaut written out, a slip
inside a long word.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from hades.language.patterns import lazy_pattern

LETTERS_AT_LEAST = 8
"""Of a name, to be compared at all; a name of one word needs LONG_WORD_LETTERS."""
WORDS_AT_LEAST = 2
"""A single word is never taken for another: Elisabeth is not Elizabeth."""
LONG_WORD_LETTERS = 9
SLIP_FROM_END_LETTERS = 3
"""Endings tell names apart (Frederic, Frederick; Alexandra, Alexandria): slips are looked for
before them only."""

_NUMERAL = lazy_pattern(r"[ivx]{1,5}|[^\W\d]*+\d\w*")
"""Philip II is not Philipp II: numbers say that there are several."""
_OF_IZE = lazy_pattern(r"i[sz](?:e|ed|er|ers|es|ing|ation|ations)$")
_CONSONANTS = frozenset("bcdfgjklmnpqrstvwxz")


def trigrams(key: str) -> frozenset[str]:
    """The runs of three characters of a key, its ends marked by spaces."""
    padded = f" {key} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def jaccard(one: str, other: str) -> float:
    """The share of trigrams that two keys have in common."""
    first, second = trigrams(one), trigrams(other)
    return len(first & second) / len(first | second)


def is_comparable(key: str) -> bool:
    """Whether a key is long enough to be recognised in another spelling."""
    words = key.split(" ")
    letters = sum(map(len, words))
    return letters >= (LETTERS_AT_LEAST if len(words) > 1 else LONG_WORD_LETTERS)


def numbers(key: str) -> list[str]:
    """The words of a key that count: `ii`, `1980`, `4o`."""
    return [word for word in key.split(" ") if _NUMERAL.fullmatch(word)]


def candidates(keys: Sequence[str]) -> list[tuple[int, int]]:
    """Pairs of places in sorted keys that differ in one letter or space, or in two swapped."""
    met: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        if not numbers(key):
            for one in {key, *(key[:at] + key[at + 1 :] for at in range(len(key)))}:
                met.setdefault(one, []).append(place)
    return sorted({pair for places in met.values() for pair in combinations(places, 2)})


def same_spelling(one: str, other: str) -> str | None:
    """Why two keys are one name in two spellings; None when that is not nearly sure.

    >>> same_spelling("jon smith", "john smith"), same_spelling("jean smith", "joan smith")
    ('a silent h', None)
    """
    if one == other or abs(len(one) - len(other)) > 1:
        return None
    why = _why_same(one.split(" "), other.split(" "))
    if why is not None and numbers(f"{one} {other}"):
        return None
    return why


def _why_same(first: list[str], second: list[str]) -> str | None:
    if "".join(first) == "".join(second):
        # Two words and one are often two things: George Town, Georgetown.
        return "written apart" if min(len(first), len(second)) >= WORDS_AT_LEAST else None
    if len(first) != len(second) or len(first) < WORDS_AT_LEAST:
        return None
    unlike = [(a, b) for a, b in zip(first, second, strict=True) if a != b]
    if len(unlike) != 1:
        return None
    short, long = sorted(unlike[0], key=lambda word: (len(word), word))
    if not short.isalpha() or not long.isalpha():
        return None
    if len(short) == len(long):
        return _exchanged(short, long)
    return _inserted(short, long) if len(long) == len(short) + 1 else None


def _inserted(short: str, long: str) -> str | None:
    """What kind of letter the longer word has more."""
    at = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if short[at:] != long[at + 1 :] or at == 0:
        return None
    letter, before, after = long[at], long[at - 1], long[at + 1 : at + 2]
    if letter == before and len(short) >= 5:
        return "a doubled letter"
    # Inside a word only: Sara and Sarah are two.
    if letter == "h" and after and (before in _CONSONANTS or after in _CONSONANTS):
        return "a silent h"
    if letter == "e" and before in "aou" and after in _CONSONANTS and len(long) >= 6:
        return "an umlaut written out"
    if len(long) > LONG_WORD_LETTERS and 2 <= at <= len(short) - SLIP_FROM_END_LETTERS:
        return "a letter left out of a long word"
    return None


def _exchanged(one: str, other: str) -> str | None:
    """What kind of change makes one word of another as long."""
    unlike = [n for n, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]
    at = unlike[0]
    swapped = (
        len(unlike) == 2
        and unlike[1] == at + 1
        and one[at] == other[at + 1]
        and one[at + 1] == other[at]
    )
    if swapped and len(one) >= LONG_WORD_LETTERS and 0 < at <= len(one) - SLIP_FROM_END_LETTERS - 1:
        return "two letters swapped in a long word"
    if len(unlike) == 1 and {one[at], other[at]} == {"s", "z"}:
        return "s for z" if _OF_IZE.search(one) and _OF_IZE.search(other) else None
    return None
