"""Reading: the reader judges the sentences of notes that may answer a question.

It reads the sentences that are nearest to the question. In a note that changed, it also compares
the sentence that answers best with the one of each later version that may replace it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from hades.domain.graph import Reason
from hades.graph.arrays import Floats, Floats32
from hades.index.vectors import product
from hades.language.sentences import with_heading
from hades.models.reader import SentenceReader
from hades.recall.find.results import SearchQuery, Seeds
from hades.recall.rank.note_candidates import NoteCandidates
from hades.recall.run import Stage

SENTENCES_READ = 8
BY_WORDS = 2
"""How many of these are of the notes that share most words with the question."""
PLACES_AT_MOST = 64
"""The sentences among which those to read are; versions of a note often share some."""
PAIRS_READ = 6
WEIGHT = 0.8
"""The gain of a note for each unit of its logit."""
LOGIT_AT_MOST = 5.0
SPOKEN = -2.0
"""The logit from which a sentence counts as one on what is asked."""
SLOPE, OFFSET = 1.0, 2.1
"""The probability that a question is answered, from the logit of the best sentence."""


@dataclass(frozen=True, slots=True)
class NoteReading:
    """The judgements of the reader on candidates, by row; empty if there is no reader."""

    speaks: Mapping[int, float] = field(default_factory=dict)
    """The logit that the best sentence of a row says what is asked; only of rows that were read."""
    best: Mapping[int, int] = field(default_factory=dict)
    """The position of that sentence in its note."""
    replaces: Mapping[tuple[int, int], float] = field(default_factory=dict)
    """By row and row of a later version: the logit that the later one replaces that sentence."""

    @property
    def answered(self) -> float | None:
        """The probability that a sentence answers the question; None if none was read."""
        if not self.speaks:
            return None
        return 1 / (1 + math.exp(-(SLOPE * max(self.speaks.values()) + OFFSET)))

    def gains(self, count: int) -> Floats:
        """Return what each of `count` rows gains; one that was not read gains the least of all."""
        least = min(self.speaks.values(), default=0.0)
        logits = np.array([self.speaks.get(row, least) for row in range(count)])
        gains: Floats = WEIGHT * np.clip(logits, -LOGIT_AT_MOST, LOGIT_AT_MOST)
        return gains

    def alone_says(self, row: int, later: int) -> bool | None:
        """Return whether a row answers and a later version does not; None if that was not read."""
        replaced = self.replaces.get((row, later))
        if replaced is None:
            return None
        return replaced <= 0 and self.speaks.get(later, SPOKEN) <= SPOKEN < self.speaks[row]


def read_notes_with(
    reader: SentenceReader, stage: Stage, search: SearchQuery, seeds: Seeds, notes: NoteCandidates
) -> NoteReading:
    """Let the reader judge the best sentences of the candidates, if the time allows it."""
    if search.vector is None:
        return NoteReading()
    near = [
        product(vectors[: len(notes.sentences(row))], search.vector)
        for row, vectors in enumerate(notes.vectors)
    ]
    words = seeds.words[notes.numbers]

    def read() -> NoteReading:
        return _read(reader, search, notes, near, words)

    try:
        return stage.run.in_background(read, left_behind=True)(stage.seconds_left)
    except TimeoutError:
        stage.stop(Reason.TIMEOUT, "without the reader")
        return NoteReading()


def _read(
    reader: SentenceReader,
    search: SearchQuery,
    notes: NoteCandidates,
    near: Sequence[Floats32],
    words: Floats,
) -> NoteReading:
    texts = _nearest(notes, near, words)
    logits = reader.speaks(search.text, list(texts))
    speaks, best = dict[int, float](), dict[int, int]()
    for places, logit in zip(texts.values(), logits.tolist(), strict=True):
        for row, at in places:
            if logit > speaks.get(row, -math.inf):
                speaks[row], best[row] = logit, at
    pairs = {} if search.time.wants_happenings else _pairs(notes, near, speaks, best)
    replaced = reader.replaces(search.text, list(pairs.values()))
    return NoteReading(speaks, best, dict(zip(pairs, replaced.tolist(), strict=True)))


def _nearest(
    notes: NoteCandidates, near: Sequence[Floats32], words: Floats
) -> dict[str, list[tuple[int, int]]]:
    """Map the texts to read to their places: rows, and positions in the note.

    Versions of a note often share a sentence, which is read once.
    """
    places = [
        (float(near[row][at]), row, at) for row in range(len(near)) for at in range(len(near[row]))
    ]
    places.sort(key=lambda place: -place[0])
    by_words = np.argsort(-words, kind="stable")[:BY_WORDS].tolist()
    chosen = [(row, int(near[row].argmax())) for row in by_words if words[row] and len(near[row])]
    chosen += [(row, at) for _, row, at in places[:PLACES_AT_MOST]]
    texts: dict[str, list[tuple[int, int]]] = {}
    for row, at in dict.fromkeys(chosen):
        text = _text(notes, row, at)
        if text in texts or len(texts) < SENTENCES_READ:
            texts.setdefault(text, []).append((row, at))
    return texts


def _pairs(
    notes: NoteCandidates,
    near: Sequence[Floats32],
    speaks: Mapping[int, float],
    best: Mapping[int, int],
) -> dict[tuple[int, int], tuple[str, str]]:
    """Map rows and rows of later versions to the two sentences to compare, best answers first."""
    pairs: dict[tuple[int, int], tuple[str, str]] = {}
    for row in sorted(speaks, key=lambda row: -speaks[row]):
        if speaks[row] <= SPOKEN:
            break
        for later in notes.later_rows(row):
            if not len(near[later]) or len(pairs) >= PAIRS_READ:
                continue
            vectors = notes.vectors[later][: len(near[later])]
            alike = product(vectors, notes.vectors[row][best[row]])
            texts = (
                _text(notes, row, best[row]),
                _text(notes, later, int((alike + near[later]).argmax())),
            )
            if texts[0] != texts[1]:
                pairs[row, later] = texts
    return pairs


def _text(notes: NoteCandidates, row: int, at: int) -> str:
    """Return a sentence of a note with its heading, as the reader was trained."""
    return with_heading(notes.placed[row].chunk.heading, notes.sentences(row)[at])
