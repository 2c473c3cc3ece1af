"""The matcher: every known name in every text, through one trie of word numbers.

Our own, in numba: a dictionary of names changes with every document, libraries for many
patterns (Aho–Corasick) match characters, not words, and cannot say where a name begins
with a capital. All matches are given, also those inside longer ones: which of them counts
depends on the time asked about and is decided when the graph is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from hades.domain.names import words

Ints = npt.NDArray[np.int64]

WORDS_AT_MOST = 8
_EMPTY = np.int64(-1)
_SPREAD = np.int64(-7046029254386353131)
"""Fibonacci hashing: spreads consecutive keys over the table."""


class Match(NamedTuple):
    """Where names stand: one entry a match."""

    text: Ints
    name: Ints
    start: Ints
    """The number of the first word."""
    length: Ints
    """How many words."""
    capital: npt.NDArray[np.bool_]
    """Whether the first word begins with a capital."""


@njit(cache=True)
def _slot(key: Any, keys: Any) -> Any:
    mask = len(keys) - 1
    at = (key * _SPREAD) >> 20 & mask
    while keys[at] != _EMPTY and keys[at] != key:
        at = (at + 1) & mask
    return at


@njit(cache=True)
def _build(flat: Any, starts: Any, vocabulary: Any, keys: Any, children: Any, ends: Any) -> None:
    nodes = 1
    for name in range(len(starts) - 1):
        node = 0
        for position in range(starts[name], starts[name + 1]):
            key = node * vocabulary + flat[position]
            at = _slot(key, keys)
            if keys[at] == _EMPTY:
                keys[at] = key
                children[at] = nodes
                nodes += 1
            node = children[at]
        ends[node] = name


@njit(cache=True)
def _match(flat: Any, starts: Any, vocabulary: Any, keys: Any, children: Any, ends: Any) -> Any:
    texts = []
    names = []
    begins = []
    lengths = []
    for text in range(len(starts) - 1):
        for first in range(starts[text], starts[text + 1]):
            node = 0
            for end in range(first, min(starts[text + 1], first + WORDS_AT_MOST)):
                if flat[end] < 0:
                    break
                at = _slot(node * vocabulary + flat[end], keys)
                if keys[at] == _EMPTY:
                    break
                node = children[at]
                if ends[node] >= 0:
                    texts.append(text)
                    names.append(ends[node])
                    begins.append(first - starts[text])
                    lengths.append(end - first + 1)
    return texts, names, begins, lengths


class Matcher:
    """A dictionary of names, by key, that reads texts."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._numbers: dict[str, int] = {}
        numbers = self._numbers
        split = [key.split(" ") for key in keys]
        flat = np.array(
            [numbers.setdefault(word, len(numbers)) for parts in split for word in parts], np.int64
        )
        starts = np.zeros(len(split) + 1, np.int64)
        np.cumsum([len(parts) for parts in split], out=starts[1:])
        size = 1 << max(4, int(2 * len(flat) + 2).bit_length())
        self._keys = np.full(size, _EMPTY, np.int64)
        self._children = np.zeros(size, np.int64)
        self._ends = np.full(len(flat) + 1, -1, np.int64)
        self._vocabulary = max(1, len(numbers))
        if len(flat):
            _build(flat, starts, self._vocabulary, self._keys, self._children, self._ends)

    def match(self, texts: Sequence[str]) -> Match:
        """Every match in every text."""
        return self.match_words([words(text) for text in texts])

    def match_words(self, rows: Sequence[Sequence[str]]) -> Match:
        """The same over texts that are words already."""
        number = self._numbers.get
        flat = np.array([number(word.casefold(), -1) for row in rows for word in row], np.int64)
        starts = np.zeros(len(rows) + 1, np.int64)
        if len(rows):
            np.cumsum([len(row) for row in rows], out=starts[1:])
        if not len(flat):
            none = np.zeros(0, np.int64)
            return Match(none, none, none, none, none.astype(np.bool_))
        found = _match(flat, starts, self._vocabulary, self._keys, self._children, self._ends)
        text, name, start, length = (np.array(part, np.int64) for part in found)
        capital = np.array([not word[0].islower() for row in rows for word in row], np.bool_)
        return Match(text, name, start, length, capital[starts[text] + start])
