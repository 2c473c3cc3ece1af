"""Ranking versions of notes: by the ranker, by topic, and by which version restates another."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hades.domain.strength import strength_of
from hades.domain.times import from_micros
from hades.domain.topics import DEFAULT_IMPORTANCE, PlacedChunk
from hades.graph.arrays import Floats
from hades.models.reader import SentenceReader
from hades.recall.find.results import Candidates, Retrieved
from hades.recall.query_context import QueryContext
from hades.recall.rank.note_candidates import read_notes
from hades.recall.rank.note_features import NOTE_FEATURES, note_features
from hades.recall.rank.ranker import Ranker
from hades.recall.rank.ranking import (
    RECENT_WEIGHT,
    Ranking,
    never_rising,
    recency_of,
    with_turns,
)
from hades.recall.rank.reading import NoteReading, is_lookup, read_notes_with
from hades.recall.rank.succession import find_restated, find_succession
from hades.recall.rank.topic_order import (
    below_superseding,
    in_topic_order,
    still_holds,
    with_numbers_apart,
)
from hades.recall.run import Stage

CONFIDENCE_LEAST = 0.05
"""A lower confidence counts as this, because its logarithm is added to the score."""

LOOKED_UP = 2.0
"""The gain of a note that has the word of a one-word question, in points of the ranker, which
learnt from whole questions. It is about the lead of a nearest note that lacks the word. Not
measured."""


def rank_notes(
    stage: Stage,
    retrieved: Retrieved,
    candidates: Candidates,
    ranker: Ranker,
    reader: SentenceReader | None,
    *,
    recent: bool,
) -> Ranking:
    """Rank the candidates, which are versions of notes; `recent` prefers the newer ones."""
    search = retrieved.search
    plan = stage.run.plan.reranker
    recency = None
    query = search.query
    notes = read_notes(search.query, candidates)
    restated = find_restated(notes, search)
    reading = NoteReading()
    if reader is not None and not stage.is_late("the reader"):
        reading = read_notes_with(reader, stage, search, retrieved.seeds, notes, restated)
    succession = find_succession(notes, search, restated, reading)
    features = note_features(retrieved, candidates, notes, succession)
    if plan.on:
        ranked = ranker.rank(features)
    else:
        ranked = ranker.rank_by_fusion(retrieved, notes.numbers, plan.fusion)
    scores = with_turns(retrieved.seeds, notes.numbers, ranked.scores)
    if is_lookup(search.text):
        scores = scores + LOOKED_UP * features[:, NOTE_FEATURES.index("coverage")]
    scores = scores + np.array([_weight_of_state(placed) for placed in notes.placed])
    scores = scores + plan.strength * _gains_of_topics(query, notes.placed)
    scores = with_numbers_apart(notes, scores, search.terms)
    scores, anew = in_topic_order(notes, scores, search.time, succession)
    scores, below = below_superseding(notes, scores, search)
    if recent:
        recency = recency_of(query, notes.numbers)
        scores = scores + RECENT_WEIGHT * recency
    # The reader sees no dates, so it cannot judge what happened or is planned in a period.
    asks_for_period = search.time.is_timed and not search.question.topical
    by_time = search.time.wants_happenings or asks_for_period
    order = np.lexsort((notes.numbers, -scores))
    near = features[:, NOTE_FEATURES.index("near")].astype(float)
    return Ranking(
        numbers=notes.numbers[order],
        scores=scores[order],
        belief=never_rising(ranked.belief[order]),
        near=never_rising(near[order]),
        features=features[order],
        recency=None if recency is None else recency[order],
        superseded=frozenset(anew | below),
        held=still_holds(notes, succession) if search.time.wants_current else {},
        answered=None if by_time else reading.answered,
        best={
            int(notes.numbers[row]): notes.sentences(row)[at] for row, at in reading.best.items()
        },
    )


def _weight_of_state(note: PlacedChunk) -> float:
    """Return the bonus of a state's importance and confidence: 0 for the defaults."""
    sure = math.log(max(note.confidence, CONFIDENCE_LEAST))
    return sure + note.importance - DEFAULT_IMPORTANCE


def _gains_of_topics(query: QueryContext, placed: Sequence[PlacedChunk]) -> Floats:
    """Return what uses and importance add to the score of each note, the same for all its versions.

    Uses must not decide between versions, because an earlier version had more time to be used.
    """
    now = from_micros(query.valid)
    best = dict[str, float]()
    for note in placed:
        gain = strength_of(note, now).gain
        best[note.chunk.topic] = max(gain, best.get(note.chunk.topic, gain))
    return np.array([best[note.chunk.topic] for note in placed])
