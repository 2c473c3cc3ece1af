"""The matcher: finds every known name in texts.

Each word that begins some name is looked up, then joined with the words after it, up to the longest
such name. Each step is one look-up in a dict, so the work grows with the texts and not with the
number of names. A trie in numba is faster, but loading it takes longer than it saves.

Matches inside longer ones are returned too. Which matches count depends on the moment, so it is
decided when the graph is built.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hades.language.words import words


class Match(NamedTuple):
    """An occurrence of a name (number `name`) in a text (number `text`)."""

    text: int
    name: int
    start: int
    """The number of its first word."""
    length: int
    """The number of words."""
    capital: bool
    """Whether the first word begins with a capital."""


class Matcher:
    """A finder of names in texts; the names are given by their keys."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._names = {key: number for number, key in enumerate(keys)}
        self._longest: dict[str, int] = {}
        """For each first word, the number of words of the longest name that begins with it."""
        for key in keys:
            parts = key.split(" ")
            self._longest[parts[0]] = max(self._longest.get(parts[0], 0), len(parts))

    def match(self, texts: Sequence[str]) -> Iterator[Match]:
        """Yield every match in every text, overlapping ones too, in the order of their start."""
        longest = self._longest.get
        name_of = self._names.get
        for number, text in enumerate(texts):
            own = words(text)
            row = [word.casefold() for word in own]
            for first, key in enumerate(row):
                most = longest(key)
                if most is None:
                    continue
                for end in range(first + 1, min(len(row), first + most) + 1):
                    name = name_of(key)
                    if name is not None:
                        capital = not own[first][0].islower()
                        yield Match(number, name, first, end - first, capital)
                    if end < len(row):
                        key += " " + row[end]
