"""Succession: which later versions of a note say anew what an earlier one says of the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from hades.graph.arrays import Floats, Floats32
from hades.index.vectors import product
from hades.index.words import stems
from hades.language.english.intent import is_past_tense
from hades.recall.find.results import SearchQuery
from hades.recall.rank.note_candidates import NoteCandidates, topic_name

SAID_AGAIN = 0.7
"""Two sentences of one note this near say the same, or one says the other anew: a judgement."""
LONG_FROM_VERSIONS = 4
"""From so many versions on, what each of them says is told from what all of them say."""


class _AnewWeights(NamedTuple):
    """Weights of the signs that a later version says anew what an earlier one says."""

    nearer: float
    alike: float
    says: float
    lacks: float
    newest: float
    timed: float
    constant: float


ANEW = _AnewWeights(8.1, 3.1, 2.2, -1.2, 0.8, 1.5, -1.2)
"""Learnt on 1,155 pairs of versions of four sets of notes; on each set, learnt on the others, 82
to 86 % of the pairs are told right. `timed` is a judgement: a question with a time in it wants
the version of that time."""
ANEW_PAST = -0.6
SAME_CLUSTER = 0.05
"""In a note of many versions, groups of sentences whose vectors, less what all of them share, are
nearer than this on average are about the same thing. Chosen on a generated world of 740 versions
of 40 notes, where `ask` then told 86 % of what holds; comparing two at a time told 75 %."""
SURE = 3.0
"""Of a note of many versions: how surely a later sentence on the same thing says it anew."""
COMPARED_AT_MOST = 128
"""Sentences of a note of many versions: the nearest to the question."""


class VersionSentences:
    """The sentences of one version of a note, as a question sees them."""

    def __init__(self, notes: NoteCandidates, row: int, vector: Floats32, terms: set[str]) -> None:
        self.vectors = notes.vectors[row]
        self.near = product(self.vectors, vector)
        """How near each sentence is to the question."""
        self._notes, self._row = notes, row
        self._terms = terms - topic_name(notes.placed[row].chunk.topic).terms
        """The question's stems, except those of the topic's name."""

    def said_anew(self, later: VersionSentences, *, newest: bool) -> float:
        """How surely a later version says something else, or again, of what is asked."""
        if not len(self.near) or not len(later.near):  # without vectors, its words must tell
            own = self._has(None)
            return SURE if own and own <= later._has(None) else -SURE
        best = int(self.near.argmax())
        alike = product(later.vectors, self.vectors[best])
        other = int((alike + later.near).argmax())
        before, after = self._has(best), later._has(other)
        share = max(1, len(self._terms))
        return (
            ANEW.nearer * float(later.near[other] - self.near[best])
            + ANEW.alike * float(alike[other])
            + ANEW.says * len(after) / share
            + ANEW.lacks * len(before - after) / share
            + ANEW.newest * newest
            + ANEW.constant
        )

    def alone_says(self, later: VersionSentences) -> bool:
        """Whether it says words of the question, and a later version none and nothing like it."""
        if not len(self.near) or not len(later.near) or self.near.max() <= later.near.max():
            return False
        best = int(self.near.argmax())
        alike = float(product(later.vectors, self.vectors[best]).max())
        heard = any(later._has(at) for at in range(len(later.near)))
        return alike < SAID_AGAIN and bool(self._has(best)) and not heard

    def _has(self, at: int | None) -> set[str]:
        """Return the question's stems in one sentence; with None, in the whole version."""
        sentences, text = self._notes.sentences(self._row), self._notes.placed[self._row].chunk.text
        if at is not None and at < len(sentences):
            text = sentences[at]
        return self._terms & set(stems(text))


@dataclass(frozen=True, slots=True)
class Succession:
    """How surely versions of notes are said anew by later ones."""

    said: Sequence[VersionSentences]
    """By row, what it says; empty where that is not known, or not asked for."""
    logits: Floats
    """By row and row of a later version: above 0 the later one likely says it anew."""
    clusters: Mapping[int, Sequence[int]]
    """By row of a note of many versions: what each of its sentences is about, a number."""


def find_succession(notes: NoteCandidates, search: SearchQuery) -> Succession:
    """Compare each candidate with the later versions of its note."""
    count = len(notes.numbers)
    logits, clusters = np.full((count, count), -np.inf), dict[int, list[int]]()
    if search.vector is None or search.time.wants_happenings:
        return Succession((), logits, clusters)
    terms = set(search.terms)
    said = [VersionSentences(notes, row, search.vector, terms) for row in range(count)]
    topics: dict[str, list[int]] = {}
    for row, placed in enumerate(notes.placed):
        topics.setdefault(placed.chunk.topic, []).append(row)
    bias = ANEW_PAST * is_past_tense(search.text) + ANEW.timed * search.time.is_timed
    for rows in topics.values():
        if len(rows) >= LONG_FROM_VERSIONS:
            clusters |= _clusters({row: said[row] for row in rows})
        for row in rows:
            for other in notes.later_rows(row):
                if row in clusters and len(said[row].near) and len(said[other].near):
                    same = clusters[row][int(said[row].near.argmax())] in clusters[other]
                    logits[row, other] = SURE if same else -SURE
                else:
                    newest = not len(notes.later[other])
                    logits[row, other] = bias + said[row].said_anew(said[other], newest=newest)
    return Succession(said, logits, clusters)


def _clusters(said: Mapping[int, VersionSentences]) -> dict[int, list[int]]:
    """Tell what the sentences of a note's versions are about: by row and sentence, a number.

    Groups grow by joining the two that are nearest on average, until none are near enough.
    """
    vectors = np.concatenate([version.vectors for version in said.values()])
    vectors = vectors - vectors.sum(0) / max(1, len(vectors))
    vectors /= np.maximum(1e-6, np.linalg.norm(vectors, axis=1, keepdims=True))
    near = np.concatenate([version.near for version in said.values()])
    kept = np.argsort(-near, kind="stable")[:COMPARED_AT_MOST]
    group, sizes = np.arange(len(kept)), np.ones(len(kept))
    average = product(vectors[kept], vectors[kept])
    np.fill_diagonal(average, -np.inf)
    while len(kept):
        first, second = divmod(int(average.argmax()), len(kept))
        if average[first, second] <= SAME_CLUSTER:
            break
        group[group == second] = first
        pair = [first, second]
        sizes[first], both = sizes[pair].sum(), sizes[pair] @ average[pair]
        average[first] = average[:, first] = both / sizes[first]
        average[second] = average[:, second] = -np.inf
    numbers = -1 - np.arange(len(vectors))  # of those not compared: each is about another thing
    numbers[kept] = group
    numbered = iter(numbers.tolist())
    return {row: list(islice(numbered, len(one.near))) for row, one in said.items()}
