"""Likeness: decide whether two nearly equal spellings are one name.

Candidates are names that are equal after one character of either or both is left out, so the work
grows with the letters of all names, not with their pairs. The share of common trigrams (Jaccard) is
shown but does not decide. The decision depends on the difference, which must be one that writers
make within a single name: a doubled letter, a silent h, an umlaut written out, a slip inside a long
word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher
from itertools import combinations, islice

from hades.language.english.stems import stem
from hades.language.names import name_key
from hades.language.patterns import lazy_pattern

LETTERS_AT_LEAST = 8
"""A name needs this many letters to be compared; a name of one word needs LONG_WORD_LETTERS."""
WORDS_AT_LEAST = 2
"""A name needs this many words to be compared: Elisabeth is not Elizabeth."""
LONG_WORD_LETTERS = 9
SLIP_FROM_END_LETTERS = 3
"""In this many letters at the end a difference is not a slip, because endings distinguish names
(Frederic, Frederick; Alexandra, Alexandria)."""

NEAR_AT_LEAST = 0.4
"""From this share of common trigrams on, a known name is suggested for an unknown one."""
SLIP_AT_LEAST = 0.8
"""From this ratio of difflib on, two words may be one word with a slip: one letter of five differs,
or two of ten."""
SLIP_LETTERS_AT_MOST = 200
"""The most letters of two words together; comparing longer ones takes too long."""
NAMED_AT_MOST = 3
_NUMERAL = lazy_pattern(r"[ivx]{1,5}|[^\W\d]*+\d\w*")
"""A number means that several things have that name: Philip II is not Philipp II."""
_OF_IZE = lazy_pattern(r"i[sz](?:e|ed|er|ers|es|ing|ation|ations)$")
_CONSONANTS = frozenset("bcdfgjklmnpqrstvwxz")


def trigrams(key: str) -> frozenset[str]:
    """Return the runs of three characters of a key that is padded with a space at each end."""
    padded = f" {key} "
    return frozenset(padded[at : at + 3] for at in range(len(padded) - 2))


def jaccard(one: str, other: str) -> float:
    """Return the share of all trigrams of two keys that both have."""
    first = trigrams(one)
    second = trigrams(other)
    return len(first & second) / len(first | second)


def spelled_like(name: str, others: Iterable[str]) -> list[str]:
    """Return the names that share many trigrams with a name, or whose last parts do; nearest
    first."""
    near = dict[str, float]()
    for other in others:
        ends = (other, other.rpartition("/")[2], other.rpartition(".")[2])
        near[other] = max(jaccard(name_key(name), name_key(end)) for end in ends)
    best = sorted((-share, other) for other, share in near.items() if share >= NEAR_AT_LEAST)
    return [other for _, other in best]


def did_you_mean(names: Iterable[str]) -> str:
    """Return a question that offers names in place of an unknown one; "" without names."""
    offered = " or ".join(map(repr, islice(names, NAMED_AT_MOST)))
    return f" Did you mean {offered}?" if offered else ""


def is_slip(name: str, other: str) -> bool:
    """Return whether two names differ only in a letter or two of one word.

    >>> is_slip("playz", "plays"), is_slip("design/aproach_x", "design/approach_x")
    (True, True)
    >>> is_slip("server/db07", "server/db08"), is_slip("approach_x", "approach_y")
    (False, False)
    """
    one, two = (name_key(each).split(" ") for each in (name, other))
    unlike = [pair for pair in zip(one, two, strict=False) if pair[0] != pair[1]]
    if len(one) != len(two) or len(unlike) > 1:
        return False
    return all(
        "".join(pair).isalpha()
        and len("".join(pair)) <= SLIP_LETTERS_AT_MOST
        and SequenceMatcher(None, *pair).ratio() >= SLIP_AT_LEAST
        for pair in unlike
    )


def are_forms(name: str, other: str) -> bool:
    """Return whether two names have the same words in other forms, such as those of a verb.

    >>> are_forms("affects", "affected"), are_forms("playz", "plays")
    (True, False)
    """
    one, two = (list(map(stem, name_key(each).split(" "))) for each in (name, other))
    return one == two


def is_comparable(key: str) -> bool:
    """Return whether a key is long enough to be recognised in another spelling."""
    words = key.split(" ")
    letters = sum(map(len, words))
    return letters >= (LETTERS_AT_LEAST if len(words) > 1 else LONG_WORD_LETTERS)


def numbers(key: str) -> list[str]:
    """Return the words of a key that are numbers: `ii`, `1980`, `4o`."""
    return [word for word in key.split(" ") if _NUMERAL.fullmatch(word)]


def candidates(keys: Sequence[str]) -> list[tuple[int, int]]:
    """Return pairs of positions of keys that differ in one character, or in the position of one.
    Keys with numbers in them are left out."""
    met: dict[str, list[int]] = {}
    for place, key in enumerate(keys):
        if not numbers(key):
            for shorter in {key, *(key[:at] + key[at + 1 :] for at in range(len(key)))}:
                met.setdefault(shorter, []).append(place)
    return sorted({pair for places in met.values() for pair in combinations(places, 2)})


def same_spelling(one: str, other: str) -> str | None:
    """Return why two keys are one name in two spellings; None unless that is nearly sure.

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
    """Return the kind of the letter that only the longer word has; None if it is not typical."""
    at = next((n for n, (a, b) in enumerate(zip(short, long, strict=False)) if a != b), len(short))
    if short[at:] != long[at + 1 :] or at == 0:
        return None
    letter = long[at]
    before = long[at - 1]
    after = long[at + 1 : at + 2]
    if letter == before and len(short) >= 5:
        return "a doubled letter"
    # Inside a word only: Sara and Sarah are two names.
    if letter == "h" and after and (before in _CONSONANTS or after in _CONSONANTS):
        return "a silent h"
    if letter == "e" and before in "aou" and after in _CONSONANTS and len(long) >= 6:
        return "an umlaut written out"
    if len(long) > LONG_WORD_LETTERS and 2 <= at <= len(short) - SLIP_FROM_END_LETTERS:
        return "a letter left out of a long word"
    return None


def _exchanged(one: str, other: str) -> str | None:
    """Return the kind of change between two words of the same length; None if not typical."""
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
