"""Succession: which later versions of a note restate what an earlier one says on the question.

To restate is to say the same thing again, or with another value. A rule compares the words of
sentences that differ in values only; learnt signs and the reader compare other sentences.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

import numpy as np

from hades.domain.question import Sign
from hades.graph.arrays import Floats, Floats32
from hades.index.vectors import product
from hades.index.words import stems
from hades.language.words import words
from hades.recall.find.results import SearchQuery
from hades.recall.rank.note_candidates import NoteCandidates, topic_name
from hades.recall.rank.reading import COMPARED, SPOKEN, WORDS_LEAST, NoteReading, Restatement

SAID_AGAIN = 0.7
"""The cosine from which one sentence of a note restates another. Chosen by hand."""
LONG_FROM_VERSIONS = 4
"""From this many versions on, sentences are compared by clusters over all versions."""
OTHER_WORDS_AT_MOST = 0.25
"""The share of words, values apart, in which two sentences on the same thing may differ."""
NAME_WORDS_AT_MOST = 2
"""A note may consist of a name ("Dana Moss."), which need not share a word; longer sentences
must."""
NEARER = 8.1
ALIKE = 3.1
SAYS = 2.2
LACKS = -1.2
NEWEST = 0.8
TIMED = 1.5
CONSTANT = -1.2
"""Weights of the signs that a later version restates an earlier one. Learnt on four sets of notes;
on a set left out, 82 to 86 % of the pairs are right. `TIMED` is chosen by hand: a question with a
time wants the version of that time."""
PAST = -0.6
SAME_CLUSTER = 0.05
"""In a note of many versions, groups of sentences with a higher mean cosine, after subtracting the
mean vector, are about the same thing (docs/lab/details.md)."""
BESIDE_READER = 0.4
"""The weight of the logit from cosines and words, which is added to the reader's logit. Learnt."""
NEWER = 1.5
SPEAKS_TOO = 3.0
"""The bonus on the reader's logit that a later sentence replaces an earlier one: SPEAKS_TOO if the
later one is about the question, else NEWER. It favours the later one, because an outdated answer
does more harm (docs/lab/details.md)."""
JOINED = 2.0
"""The threshold above which the reader overrules the clusters of a note of many versions. It is
compared with the logit that the later sentence replaces the earlier one, plus the difference of
their logits of answering. Chosen on generated notes."""
SURE = 3.0
"""The logit that a later sentence on the same thing restates an earlier one."""
COMPARED_AT_MOST = 128
"""The sentences of a note of many versions, nearest to the question, that are compared."""


@lru_cache(maxsize=16_384)
def _stated(sentence: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the stems of a sentence, and those that are values: numbers and capitalised words."""
    written = words(sentence)
    stemmed = [(stem, word) for word in written for stem in stems(word)]
    is_value = {stem for stem, word in stemmed if word[0].isupper() or not word.isalpha()}
    return frozenset(stem for stem, _ in stemmed), frozenset(is_value)


def differ_in_values_only(earlier: str, later: str, terms: set[str]) -> bool:
    """Return whether two sentences say the same thing, perhaps with other values.

    Both must have the same words, apart from values and a few others. The later one must have all
    terms of the question that the earlier one has, so that it speaks of the same thing.
    """
    before, values_before = _stated(earlier)
    after, values_after = _stated(later)
    if terms & before - after:
        return False
    if not before & after and len(before) > NAME_WORDS_AT_MOST:
        return False
    plain_before = before - values_before
    plain_after = after - values_after
    differing = max(len(plain_before - after), len(plain_after - before))
    return differing <= OTHER_WORDS_AT_MOST * max(len(plain_before), len(plain_after))


def find_restated(notes: NoteCandidates, search: SearchQuery) -> dict[int, Restatement]:
    """Map rows to the newest sentence of the same note that says the same with other values.

    For each row, only the sentence nearest to the question is compared. Rows that no later row
    restates are left out. The result is empty if a version of any time may answer the question.
    """
    restated: dict[int, Restatement] = {}
    if search.time.wants_happenings or not _wants_newest(search):
        return restated
    terms = set(search.terms)
    for row in range(len(notes.numbers)):
        later_rows = notes.later_rows(row)
        if not later_rows:
            continue
        at = notes.nearest_sentence(row, search.vector)
        own = notes.sentences(row)[at]
        places = (
            (later, position)
            for later in reversed(later_rows)
            for position, text in enumerate(notes.sentences(later))
            if differ_in_values_only(own, text, terms)
        )
        newest = next(places, None)
        if newest is not None:
            restated[row] = Restatement(at, *newest)
    return restated


def _wants_newest(search: SearchQuery) -> bool:
    """Return whether the newest version on the thing asked about answers best.

    A version of any time may answer "When did we sign?", but only the newest answers "When is
    standup?". A single word asks for everything that is known.
    """
    is_question = len(search.text.split()) >= WORDS_LEAST
    return is_question and not (search.time.is_any and Sign.PAST_TENSE in search.question.signs)


class VersionSentences:
    """The sentences of one version of a note, compared with a question."""

    def __init__(self, notes: NoteCandidates, row: int, vector: Floats32, terms: set[str]) -> None:
        self.vectors = notes.vectors[row]
        self.near = product(self.vectors, vector)
        """The cosine of each sentence with the question."""
        self._notes = notes
        self._row = row
        self._terms = terms - topic_name(notes.placed[row].chunk.topic).terms
        """The question's stems, except those of the topic's name."""
        self._terms_of: dict[int | None, set[str]] = {}
        """The terms in each sentence, cached because a sentence is compared with many others."""

    def said_anew(self, later: VersionSentences, *, newest: bool) -> float:
        """Return the logit that a later version restates this version's answer to the question."""
        if not len(self.near) or not len(later.near):  # without vectors, compare the words
            own = self._has(None)
            return SURE if own and own <= later._has(None) else -SURE
        best = int(self.near.argmax())
        alike = product(later.vectors, self.vectors[best])
        other = int((alike + later.near).argmax())
        before = self._has(best)
        after = later._has(other)
        share = max(1, len(self._terms))
        return (
            NEARER * float(later.near[other] - self.near[best])
            + ALIKE * float(alike[other])
            + SAYS * len(after) / share
            + LACKS * len(before - after) / share
            + NEWEST * newest
            + CONSTANT
        )

    def says_more(self, later: VersionSentences) -> bool:
        """Return whether this version has a stem of the question that the later one lacks."""
        return bool(self._has(None) - later._has(None))

    def alone_says(self, later: VersionSentences) -> bool:
        """Return whether this version has a sentence on the question and the later one has none."""
        if not len(self.near) or not len(later.near) or self.near.max() <= later.near.max():
            return False
        best = int(self.near.argmax())
        alike = float(product(later.vectors, self.vectors[best]).max())
        heard = any(later._has(at) for at in range(len(later.near)))
        return alike < SAID_AGAIN and bool(self._has(best)) and not heard

    def _has(self, at: int | None) -> set[str]:
        """Return the question's stems in one sentence; with None, in the whole version."""
        if at not in self._terms_of:
            sentences = self._notes.sentences(self._row)
            is_one = at is not None and at < len(sentences)
            text = sentences[at or 0] if is_one else self._notes.placed[self._row].chunk.text
            self._terms_of[at] = self._terms & set(stems(text))
        return self._terms_of[at]


@dataclass(frozen=True, slots=True)
class Succession:
    """The logits that later versions of notes restate earlier ones."""

    versions: Sequence[VersionSentences]
    """The sentences of each row; empty without vectors, or if the question asks what happened."""
    logits: Floats
    """[row, row of a later version]: above 0, the later one likely restates the earlier one."""
    clusters: Mapping[int, Sequence[int]]
    """For each row of a note with many versions, the cluster of each of its sentences."""
    restated: Mapping[int, Restatement]
    """Rows that a later one restates with other values (`find_restated`)."""
    reading: NoteReading
    """The judgements of the reader. They outweigh the other signs of what replaces what."""

    def alone_says(self, row: int, later: int) -> bool:
        """Return whether a row has a sentence on the question and a later version has none."""
        if not self.versions or row in self.restated:
            return False
        if row in self.clusters and self.logits[row, later] > 0:
            return False
        own = self.versions[row]
        after = self.versions[later]
        if self.reading.answers_worse(row, later) and own.says_more(after):
            return True
        read = self.reading.alone_says(row, later)
        return own.alone_says(after) if read is None else read

    def is_silent(self, row: int) -> bool:
        """Return whether the reader read a row and put its best sentence below COMPARED."""
        return self.reading.speaks.get(row, COMPARED) < COMPARED


def find_succession(
    notes: NoteCandidates,
    search: SearchQuery,
    restated: Mapping[int, Restatement],
    reading: NoteReading,
) -> Succession:
    """Compare each candidate with the later versions of its note.

    A row that a later one restates with other values is compared with its restatements only. The
    newest of them represents them all.
    """
    count = len(notes.numbers)
    logits = np.full((count, count), -np.inf)
    clusters: dict[int, list[int]] = {}
    for row, newest in restated.items():
        for other in notes.later_rows(row):
            if other == newest.row or (other in restated and restated[other].row == newest.row):
                logits[row, other] = SURE
    if search.vector is None or search.time.wants_happenings:
        return Succession((), logits, clusters, restated, reading)
    terms = set(search.terms)
    compared = [VersionSentences(notes, row, search.vector, terms) for row in range(count)]
    topics: dict[str, list[int]] = {}
    for row, placed in enumerate(notes.placed):
        topics.setdefault(placed.chunk.topic, []).append(row)
    bias = PAST * (Sign.PAST_TENSE in search.question.signs) + TIMED * search.time.is_timed

    def by_signs(row: int, other: int) -> float:
        is_newest = not len(notes.later[other])
        return bias + compared[row].said_anew(compared[other], newest=is_newest)

    for versions in topics.values():
        if len(versions) >= LONG_FROM_VERSIONS:
            clusters |= _clusters({row: compared[row] for row in versions})
        for row in versions:
            if row in restated:
                continue
            for other in notes.later_rows(row):
                if other in restated:
                    continue
                if row in clusters and len(compared[row].near) and len(compared[other].near):
                    same = clusters[row][int(compared[row].near.argmax())] in clusters[other]
                    logits[row, other] = SURE if same else -SURE
                else:
                    logits[row, other] = by_signs(row, other)
    for pair, logit in reading.replaces.items():
        earlier, later = (reading.speaks.get(row, SPOKEN) for row in pair)
        logit += BESIDE_READER * min(SURE, max(-SURE, by_signs(*pair)))
        if pair[0] not in clusters:
            bonus = SPEAKS_TOO if later > SPOKEN else NEWER
            worse = reading.answers_worse(*pair) and compared[pair[0]].says_more(compared[pair[1]])
            logits[pair] = -SURE if worse else logit + bonus
        elif _wants_newest(search):  # the reader decides where it is sure
            judged = logit + later - earlier
            if judged < -JOINED:
                logits[pair] = min(logits[pair], judged)
            logits[pair] = max(logits[pair], judged - JOINED)
    return Succession(compared, logits, clusters, restated, reading)


def _clusters(versions: Mapping[int, VersionSentences]) -> dict[int, list[int]]:
    """Cluster the sentences of a note's versions; return the cluster of each sentence, by row.

    The two clusters with the highest mean cosine are joined until none are near enough.
    """
    vectors = np.concatenate([version.vectors for version in versions.values()])
    vectors = vectors - vectors.sum(0) / max(1, len(vectors))
    vectors /= np.maximum(1e-6, np.linalg.norm(vectors, axis=1, keepdims=True))
    near = np.concatenate([version.near for version in versions.values()])
    kept = np.argsort(-near, kind="stable")[:COMPARED_AT_MOST]
    group = np.arange(len(kept))
    sizes = np.ones(len(kept))
    average = product(vectors[kept], vectors[kept])
    np.fill_diagonal(average, -np.inf)
    while len(kept):
        first, second = divmod(int(average.argmax()), len(kept))
        if average[first, second] <= SAME_CLUSTER:
            break
        group[group == second] = first
        pair = [first, second]
        sizes[first] = sizes[pair].sum()
        both = sizes[pair] @ average[pair]
        average[first] = average[:, first] = both / sizes[first]
        average[second] = average[:, second] = -np.inf
    numbers = -1 - np.arange(len(vectors))  # a sentence not compared is a cluster of its own
    numbers[kept] = group
    numbered = iter(numbers.tolist())
    return {row: list(islice(numbered, len(sentences.near))) for row, sentences in versions.items()}
