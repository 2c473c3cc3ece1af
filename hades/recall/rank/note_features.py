"""Features of candidate notes, for the ranker."""

from __future__ import annotations

import numpy as np

from hades.domain.question import Sign, TimeKind
from hades.domain.times import DAY_MICROSECONDS
from hades.graph.arrays import Floats, Floats32
from hades.index.vectors import product
from hades.language.english.terms import has_kind
from hades.language.names import DATE
from hades.recall.find.results import Candidates, Retrieved, SearchQuery
from hades.recall.find.scores import minmax
from hades.recall.query_context import QueryContext
from hades.recall.question.time_asked import TimeAsked
from hades.recall.rank.note_candidates import NoteCandidates, topic_name
from hades.recall.rank.succession import Succession

NOTE_FEATURES: tuple[str, ...] = (
    *("cosine", "sentence", "cue", "second_hop", "coverage", "words", "numbers"),
    *("name_coverage", "name_said", "holds", "repeated", "past_repeated", "first"),
    *("speaks", "near", "missing"),
)
"""`speaks` is the reader's judgement of the note. The last two are only used for beliefs."""
SURELY = 30.0
"""The bound of logits, against overflow."""


def note_features(
    retrieved: Retrieved, candidates: Candidates, notes: NoteCandidates, succession: Succession
) -> Floats32:
    """Compute a row of features for each note, with the columns in the order of NOTE_FEATURES.

    Each is from 0 to 1 within a question.
    """
    search = retrieved.search
    seeds = retrieved.seeds
    at = notes.numbers
    query = search.query
    time = search.time
    terms = search.terms
    has_term, weight = search.term_table(at)
    digits = np.array([any(sign.isdigit() for sign in term) for term in terms], np.bool_)
    best, cued = _sentence_features(search, notes, seeds.cosine[at])
    names = [topic_name(placed.chunk.topic) for placed in notes.placed]
    repeated = _repeated(query, notes) * (not time.is_any)
    columns = {
        "cosine": minmax(seeds.cosine[at]),
        "sentence": minmax(best),
        "cue": minmax(cued),
        "second_hop": minmax(candidates.second_hop[at]),
        "coverage": has_term @ weight,
        "words": minmax(seeds.words[at]),
        "numbers": has_term[:, digits].mean(1) if digits.any() else np.zeros(len(at)),
        "name_coverage": np.array(
            [
                sum(w for term, w in zip(terms, weight, strict=True) if term in name.terms)
                for name in names
            ]
        ),
        "name_said": np.array([name.share_said(query, set(terms)) for name in names]),
        "holds": _holds(notes, time, succession),
        "repeated": repeated,
        "past_repeated": repeated * (Sign.PAST_TENSE in search.question.signs),
        "first": notes.first,
        "speaks": succession.reading.judged(len(at)),
        "near": best,
        "missing": 1 - has_term[:, digits].min(1) if digits.any() else np.zeros(len(at)),
    }
    return np.stack([columns[name] for name in NOTE_FEATURES], 1).astype(np.float32)


def _sentence_features(
    search: SearchQuery, notes: NoteCandidates, cosine: Floats
) -> tuple[Floats, Floats]:
    """Return the cosine of each note's best sentence, and of the best sentence of the wanted kind.

    A note without vectors of sentences gets its own `cosine`.
    """
    best = cosine.copy()
    cued = np.zeros(len(cosine))
    asked = search.question
    for row, vectors in enumerate(notes.vectors):
        if search.vector is None or not len(vectors):
            continue
        near = product(vectors, search.vector)
        best[row] = near.max()
        sentences = notes.sentences(row)
        if len(sentences) == len(near):
            cue = np.array([has_kind(asked.wants, text, asked.terms.said) for text in sentences])
            cued[row] = float((near * cue).max())
    return best, cued


def _repeated(query: QueryContext, notes: NoteCandidates) -> Floats:
    """Return the cosine of each candidate with the most similar chunk of a later version."""
    repeated = np.zeros(len(notes.numbers))
    own = query.indexes.vectors_of(notes.numbers)
    for row, later in enumerate(notes.later):
        if len(later):
            repeated[row] = product(query.indexes.vectors_of(later), own[row]).max()
    return repeated


def _holds(notes: NoteCandidates, time: TimeAsked, succession: Succession) -> Floats:
    """Return the probability that each version held at the time asked about.

    In a note of many versions, a version holds until a later one restates it. In other notes only
    the last version holds.
    """
    ends = notes.ends
    if time.kind is TimeKind.DURING:  # a diary entry is about its day only
        named = (DATE.search(placed.chunk.topic) for placed in notes.placed)
        dated = [date is not None and date[3] is not None for date in named]
        ends = np.where(dated, np.minimum(ends, notes.starts + DAY_MICROSECONDS), ends)
    fits: Floats = time.fits(notes.starts, ends, notes.first)
    if time.kind not in (None, TimeKind.DURING):
        return fits
    likely = np.clip(succession.logits.max(1, initial=-SURELY), -SURELY, SURELY)
    is_long = np.array([row in succession.clusters for row in range(len(likely))], np.bool_)
    still = is_long / (1 + np.exp(likely)) * (notes.starts <= time.until)
    held: Floats = np.maximum(fits, still)
    return held
