"""Reading: the reader judges the sentences of notes that may answer a question.

It reads the sentences that are nearest to the question. In a note that changed, it also compares
the sentence that answers best with those of later versions that may replace it, unless the question
asks what happened.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from typing import NamedTuple

import numpy as np

from hades.graph.arrays import Floats, Floats32
from hades.index.vectors import product
from hades.language.languages import is_foreign
from hades.language.sentences import with_heading
from hades.models.reader import SentenceReader
from hades.recall.find.results import SearchQuery, Seeds
from hades.recall.rank.note_candidates import NoteCandidates
from hades.recall.run import Stage

WORDS_LEAST = 2
"""The reader reads no question with fewer words: a single word is a look-up."""
SENTENCES_READ = 6
BY_TURNS = 2
COSINE_BY_TURNS = 0.1
"""How many more sentences are read, from the notes nearest to the turns and the question. To rank
them, a note's gain from the turns times COSINE_BY_TURNS is added to its cosine."""
BY_WORDS = 2
"""How many of these are the nearest sentences of the notes with the highest BM25."""
PLACES_AT_MOST = 64
"""The nearest sentences considered; versions of a note often share some."""
PAIRS_READ = 3
"""The most pairs of an older and a newer sentence that one question compares."""
LOGIT_AT_MOST = 4.0
"""Logits are cut to this size, positive or negative, in the order and the belief of notes."""
COMPARED = -2.0
"""A sentence with a higher logit is compared with later ones that may replace it."""
ABOUT_AS_GOOD = 1.0
"""A sentence this close to the highest logit is compared too, however low its own logit."""
JUDGED_LEAST = 0.01
"""The floor of a judgement, above 0, because 0 means that the reader read nothing."""
SPOKEN = -3.0
"""A sentence with a higher logit counts as one about what is asked."""
REPLACED_AT_MOST = -2.0
"""The logit up to which a later sentence surely does not replace an earlier one."""
UNSURE = 1.0
WORSE = 3.0
"""Only the earlier of two sentences answers if the logit that the later one replaces it is below
UNSURE, and the later one's logit of answering is lower by more than WORSE. Not measured."""
SOFT = 2.0
TOGETHER = 3.1
CONSTANT = 0.8
"""The logit of the probability that at least one sentence answers is CONSTANT + TOGETHER · ln Σ
exp(logit / SOFT), over all sentences read. Learnt in a domain that the reader had not seen."""
FOREIGN = 1.25
"""Added for a question in another language than English, which the reader did not learn. Chosen on
49 questions in three languages."""


class Restatement(NamedTuple):
    """A sentence of a version, and the newest one that says the same thing with other values."""

    at: int
    """The position of the sentence in its version."""
    row: int
    """The row of the newest restatement; `position` is the position of the sentence in it."""
    position: int


@dataclass(frozen=True, slots=True)
class NoteReading:
    """The judgements of the reader on candidates, by row; empty if there is no reader."""

    logits: Sequence[float] = ()
    """For each sentence read, the logit that it answers, now or in the past."""
    speaks: Mapping[int, float] = field(default_factory=dict)
    """The highest of these logits by row; only of rows read."""
    best: Mapping[int, int] = field(default_factory=dict)
    """The position of that sentence in its note."""
    replaces: Mapping[tuple[int, int], float] = field(default_factory=dict)
    """By row and row of a later version: the logit that the later one replaces that sentence."""
    foreign: bool = False
    """Whether the question is in another language than English."""

    @property
    def answered(self) -> float | None:
        """The probability that a sentence answers, now or in the past; None if none was read."""
        if not self.logits:
            return None
        together = math.log(sum(math.exp(logit / SOFT) for logit in self.logits))
        constant = CONSTANT + FOREIGN * self.foreign
        return 1 / (1 + math.exp(-(TOGETHER * together + constant)))

    def judged(self, count: int) -> Floats:
        """Return the judgement of each of `count` rows, from JUDGED_LEAST to 1; 0 if none was read.

        A row that was not read gets the lowest judgement of those read.
        """
        if not self.speaks:
            return np.zeros(count)
        least = min(self.speaks.values())
        logits = np.array([self.speaks.get(row, least) for row in range(count)])
        judged: Floats = (np.clip(logits / LOGIT_AT_MOST, -1, 1) + 1) / 2
        return np.maximum(judged, JUDGED_LEAST)

    def alone_says(self, row: int, later: int) -> bool | None:
        """Return whether a row answers and a later version does not; None if not compared."""
        replaced = self.replaces.get((row, later))
        if replaced is None:
            return None
        return (
            replaced <= REPLACED_AT_MOST
            and self.speaks.get(later, SPOKEN) <= SPOKEN < self.speaks[row]
        )

    def answers_worse(self, row: int, later: int) -> bool:
        """Return whether a later version answers much worse than a row and hardly replaces it."""
        replaced = self.replaces.get((row, later), UNSURE)
        both_read = row in self.speaks and later in self.speaks
        return both_read and replaced < UNSURE and self.speaks[row] - self.speaks[later] > WORSE


def is_lookup(question: str) -> bool:
    """Return whether a question has fewer than WORDS_LEAST words."""
    return len(question.split()) < WORDS_LEAST


def read_notes_with(
    reader: SentenceReader,
    stage: Stage,
    search: SearchQuery,
    seeds: Seeds,
    notes: NoteCandidates,
    restated: Mapping[int, Restatement],
) -> NoteReading:
    """Let the reader judge the best sentences of the candidates, if there is time.

    Among versions that say the same thing with other values (`restated`), the newest is read.
    """
    if search.vector is None or is_lookup(search.text):
        return NoteReading()
    near = [
        product(vectors[: len(notes.sentences(row))], search.vector)
        for row, vectors in enumerate(notes.vectors)
    ]
    words = seeds.words[notes.numbers]
    turned = None if seeds.turned is None else COSINE_BY_TURNS * seeds.turned[notes.numbers]

    def read() -> NoteReading:
        return _judged(reader, search, notes, restated, near, words, turned)

    return stage.waited(read, "without the reader", local=True) or NoteReading()


def _judged(
    reader: SentenceReader,
    search: SearchQuery,
    notes: NoteCandidates,
    restated: Mapping[int, Restatement],
    near: Sequence[Floats32],
    words: Floats,
    turned: Floats | None,
) -> NoteReading:
    texts = _nearest(notes, restated, near, words, turned, search.terms)
    judged: list[float] = []
    speaks = dict[int, float]()
    best = dict[int, int]()
    for places, logit in zip(
        texts.values(), reader.speaks(search.text, list(texts)).tolist(), strict=True
    ):
        judged += [logit] * len({_text(notes, row, at) for row, at in places})
        for row, at in places:
            if logit > speaks.get(row, -math.inf):
                speaks[row] = logit
                best[row] = at
    pairs = {} if search.time.wants_happenings else _pairs(notes, restated, near, speaks, best)
    read = {rows: texts for rows, texts in pairs.items() if texts[0] != texts[1]}
    logits = reader.replaces(search.text, list(read.values()))
    replaces = dict.fromkeys(pairs, LOGIT_AT_MOST)  # the same sentence again
    replaces |= dict(zip(read, logits.tolist(), strict=True))
    return NoteReading(judged[: len(texts)], speaks, best, replaces, is_foreign(search.text))


def _nearest(
    notes: NoteCandidates,
    restated: Mapping[int, Restatement],
    near: Sequence[Floats32],
    words: Floats,
    turned: Floats | None,
    terms: Sequence[str],
) -> dict[str, list[tuple[int, int]]]:
    """Map the texts to read to their places: rows, and positions in the note.

    They are the nearest sentences and those of the best notes by words. A sentence that several
    versions share is read once. Of sentences that differ in values only, the newest is read.
    """
    nearest = [
        int(own.argmax()) if len(own) else notes.sentence_with_most(row, terms)
        for row, own in enumerate(near)
    ]
    places = [
        (float(near[row][at]), row, at) for row in range(len(near)) for at in range(len(near[row]))
    ]
    places.sort(key=lambda place: -place[0])
    by_words = np.argsort(-words, kind="stable")[:BY_WORDS].tolist()
    chosen = [(row, nearest[row]) for row in by_words if words[row]]
    chosen += [(row, at) for _, row, at in places[:PLACES_AT_MOST]]
    texts: dict[str, list[tuple[int, int]]] = {}

    def add(places: Iterable[tuple[int, int]], at_most: int) -> None:
        """Add the texts at these places until there are `at_most`."""
        for row, at in dict.fromkeys(places):
            newest = restated.get(row)
            read = (newest.row, newest.position) if newest and newest.at == at else (row, at)
            text = _text(notes, *read)
            if text in texts or len(texts) < at_most:
                own = texts.setdefault(text, [])
                own += [place for place in dict.fromkeys((read, (row, at))) if place not in own]

    add(chosen, SENTENCES_READ)
    if turned is not None:
        places.sort(key=lambda place: -place[0] - turned[place[1]])
        add([place[1:] for place in places[:PLACES_AT_MOST]], len(texts) + BY_TURNS)
    return texts


def _pairs(
    notes: NoteCandidates,
    restated: Mapping[int, Restatement],
    near: Sequence[Floats32],
    speaks: Mapping[int, float],
    best: Mapping[int, int],
) -> dict[tuple[int, int], tuple[str, str]]:
    """Map pairs of a row and a later row to the two sentences to compare.

    First each row is paired with its newest later version that is about what is asked, then with
    the next one, and so on. Rows that answer better come first.
    """
    least = min(COMPARED, max(speaks.values(), default=COMPARED) - ABOUT_AS_GOOD)
    rows = [row for row in sorted(speaks, key=lambda row: -speaks[row]) if speaks[row] > least]
    compared = [
        sorted(
            ((row, later) for later in reversed(notes.later_rows(row)) if later not in restated),
            key=lambda pair: speaks.get(pair[1], SPOKEN) <= SPOKEN,
        )
        for row in rows
        if row not in restated
    ]
    pairs: dict[tuple[int, int], tuple[str, str]] = {}
    for row, later in filter(None, chain.from_iterable(zip_longest(*compared))):
        if len(pairs) >= PAIRS_READ:
            break
        if not len(near[row]) or not len(near[later]):
            continue
        vectors = notes.vectors[later][: len(near[later])]
        alike = product(vectors, notes.vectors[row][best[row]])
        other = int((alike + near[later]).argmax())
        pairs[row, later] = _text(notes, row, best[row]), _text(notes, later, other)
    return pairs


def _text(notes: NoteCandidates, row: int, at: int) -> str:
    """Return a sentence of a note with its heading, as the reader was trained."""
    return with_heading(notes.placed[row].chunk.heading, notes.sentences(row)[at])
