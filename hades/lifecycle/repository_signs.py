"""Signs that a repository implements a paper, read from its `owner/name` alone.

A name and a paper share keys: trigrams and words of the name, words with capitals, initials of the
title, and names of authors that the owner holds. A key counts by its rarity among the papers. Only
a paper that shares a rare key with a repository is compared with it, so the work grows with what
they share, not with all pairs. Vectors are not used: they added too little (docs/lab/recall.md).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from hades.language.likeness import trigrams
from hades.language.names import name_parts
from hades.language.words import words

SIGNS = (
    *("letters of the title", "a rare word of the text", "a word in capitals"),
    *("initials of the title", "an author in the owner"),
)
"""The signs in words, in the order of their values and weights."""
LETTERS, AUTHOR = 0, 4
"""The signs that are not counted by their rarest key."""
WEIGHTS = (4.2, 4.59, 1.53, 2.51, 6.94)
BIAS = -8.54
"""Made by tools/train_repositories.py."""
RARE_AT_MOST = 60
"""A key that more papers have makes no candidate."""
PAPERS_AT_LEAST = 1_000
"""A smaller memory counts as one of this size, so that a name is rare in it, too."""
LETTERS_AT_LEAST, OWNER_LETTERS_AT_LEAST = 3, 4
INITIALS = range(3, 9)
NAME_CHARACTERS_AT_MOST = 140
"""The most of a name that is read; GitHub has at most 39 and 100 characters."""

Keys = tuple[Set[str], ...]
"""Keys by sign."""


class Paper(NamedTuple):
    """The parts of a paper that are compared."""

    title: str
    text: str
    authors: Sequence[str] = ()


class Candidate(NamedTuple):
    """A paper and a repository, by their positions, with the values of the signs."""

    paper: int
    repository: int
    values: tuple[float, ...]

    @property
    def chance(self) -> float:
        """The probability that the repository implements the paper."""
        return 1 / (1 + math.exp(-BIAS - sum(self._shares())))

    @property
    def reasons(self) -> list[str]:
        """The signs that the pair has, the strongest first."""
        found = [pair for pair in zip(self._shares(), SIGNS, strict=True) if pair[0] > 0]
        return [said for _, said in sorted(found, reverse=True)]

    def _shares(self) -> list[float]:
        return [weight * value for weight, value in zip(WEIGHTS, self.values, strict=True)]


class Comparison:
    """Papers and repositories that share a rare key."""

    def __init__(self, papers: Callable[[], Iterable[Paper]], repositories: Sequence[str]) -> None:
        """Read the papers once, to count the keys; `candidates` reads them again."""
        self._papers = papers
        self._named = [repository_keys(name) for name in repositories]
        self._counts = [Counter[str]() for _ in SIGNS]
        self._near: dict[int, set[int]] = defaultdict(set)
        """The repositories to compare with each paper."""
        papers_read = self._count()
        self._most = math.log(max(papers_read, PAPERS_AT_LEAST) + 1)

    def candidates(self) -> Iterator[Candidate]:
        """Yield the pairs with the values of their signs, by paper, then by repository."""
        for at, paper in enumerate(self._papers()):
            if at in self._near:
                keys = paper_keys(paper)
                for repository in sorted(self._near[at]):
                    yield Candidate(at, repository, self._values(keys, self._named[repository]))

    def _count(self) -> int:
        """Count the keys that papers share with repositories; return the number of papers."""
        having: list[dict[str, list[int]]] = []
        for sign in range(len(SIGNS)):
            having.append({key: [] for keys in self._named for key in keys[sign]})
        papers_read = 0
        for paper in self._papers():
            for counts, places, keys in zip(self._counts, having, paper_keys(paper), strict=True):
                shared = places.keys() & keys
                counts.update(shared)
                for key in shared:
                    if counts[key] <= RARE_AT_MOST:
                        places[key].append(papers_read)
            papers_read += 1
        for repository, own in enumerate(self._named):
            for counts, places, keys in zip(self._counts, having, own, strict=True):
                for key in keys:
                    for at in places[key] if counts[key] <= RARE_AT_MOST else ():
                        self._near[at].add(repository)
        return papers_read

    def _values(self, paper: Keys, repository: Keys) -> tuple[float, ...]:
        """Return the value of each sign from 0 to 1.

        Letters count by the share of the name that they are, and the owner by the longest part of
        it that is an author; otherwise the rarest shared key counts.
        """
        values = []
        for sign, (keys, own) in enumerate(zip(paper, repository, strict=True)):
            worth = {key: self._rarity(sign, key) for key in own & keys}
            if sign == LETTERS:
                whole = sum(self._rarity(sign, key) for key in own)
                values.append(sum(worth.values()) / whole if whole else 0.0)
                continue
            if sign == AUTHOR:
                longest = max(map(len, own), default=1)
                worth = {key: rarity * len(key) / longest for key, rarity in worth.items()}
            values.append(max(worth.values(), default=0.0))
        return tuple(values)

    def _rarity(self, sign: int, key: str) -> float:
        """Return 1 for a key that no paper has, 0 for one that all papers have."""
        return 1 - math.log(self._counts[sign][key] + 1) / self._most


def paper_keys(paper: Paper) -> Keys:
    """Return the keys of a paper, by sign."""
    title = [word.casefold() for word in words(paper.title)]
    said = words(f"{paper.title} {paper.text}")
    joined = {one + other for one, other in pairwise(title)}
    capitals = {word.casefold() for word in said if not word[1:].islower()}
    first = "".join(word[0] for word in title)
    runs = {first[at : at + size] for size in INITIALS for at in range(len(first) - size + 1)}
    authors = {key for author in paper.authors for key in _author_keys(author)}
    return trigrams(" ".join(title)), joined.union(map(str.casefold, said)), capitals, runs, authors


def repository_keys(name: str) -> Keys:
    """Return the keys of an `owner/name`, by sign.

    >>> sorted(repository_keys("lemire/FastPFor")[1])
    ['fast', 'fastpfor', 'pfor']
    """
    owner, _, own = name[:NAME_CHARACTERS_AT_MOST].rpartition("/")
    parts = [word.casefold() for word in words(own)]
    pieces = {*parts, *map(str.casefold, name_parts(own)), "".join(parts)}
    pieces = {piece for piece in pieces if len(piece) >= LETTERS_AT_LEAST}
    called = "".join(words(owner)).casefold()
    starts = range(len(called) - OWNER_LETTERS_AT_LEAST + 1)
    runs = {
        called[start:end]
        for start in starts
        for end in range(start + OWNER_LETTERS_AT_LEAST, len(called) + 1)
    }
    return trigrams(" ".join(parts)), pieces, pieces, pieces, runs


def _author_keys(author: str) -> Iterator[str]:
    """Yield the ways in which the name of an owner may hold an author's name."""
    named = [word.casefold() for word in words(author)] or [""]
    first, last = named[0], named[-1]
    for key in (first, last, first + last, last + first, first[:1] + last, last + first[:1]):
        if len(key) >= OWNER_LETTERS_AT_LEAST:
            yield key
