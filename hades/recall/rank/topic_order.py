"""The order of versions of one note, of notes that supersede others, and of numbered names."""

from __future__ import annotations

import numpy as np

from hades.domain.graph import SUPERSEDES
from hades.domain.question import TimeKind
from hades.graph.arrays import Floats
from hades.index.vectors import product
from hades.recall.find.results import SearchQuery
from hades.recall.question.time_asked import TimeAsked
from hades.recall.rank.note_candidates import NoteCandidates, topic_name
from hades.recall.rank.succession import SAID_AGAIN, Succession

SUPERSEDING_AT_MOST = 256
"""The most edges `supersedes`, the newest, that a question reads."""
LITTLE = 1e-3
"""The difference of scores by which one note is put above another."""
RESTATED = 2.0
"""The penalty of a version if a later one says the same thing with other values. Scores spread over
about three, so old versions make room for other notes. Not measured."""


def with_numbers_apart(notes: NoteCandidates, scores: Floats, terms: list[str]) -> Floats:
    """Rank notes with another number lower: bug 103 comes below bug 102 if the question names
    102."""
    asked = set(terms)
    names = [topic_name(placed.chunk.topic) for placed in notes.placed]
    is_named = [name.is_named_by_number(asked) for name in names]
    best: dict[str, float] = {}
    for row, name in enumerate(names):
        if is_named[row]:
            score = float(scores[row])
            best[name.shape] = max(score, best.get(name.shape, score))
    apart = scores.copy()
    for row, name in enumerate(names):
        if name.numbers and name.shape in best and not is_named[row]:
            apart[row] = min(apart[row], best[name.shape] - LITTLE)
    return apart


def in_topic_order(
    notes: NoteCandidates, scores: Floats, time: TimeAsked, succession: Succession
) -> tuple[Floats, set[int]]:
    """Put a later version above the earlier one that it restates.

    Return the new scores, and the chunk numbers of these earlier versions, except those whose later
    version does not answer the question, as the reader found. If the question asks for the past,
    the earlier version is put above. If it asks what happened in a window, both are wanted and
    nothing changes.
    """
    anew: set[int] = set()
    if not succession.versions and not succession.restated:
        return scores, anew
    ordered = scores.copy()
    back = time.is_past
    oldest_first = np.argsort(notes.starts, kind="stable")
    for row in oldest_first[::-1].tolist() if back else oldest_first.tolist():
        for later in notes.later_rows(row):
            newest = not len(notes.later[later])
            if not (back or time.is_timed) and succession.alone_says(row, later):
                ordered[row] = max(ordered[row], ordered[later] + LITTLE)
                continue
            if succession.logits[row, later] <= 0:
                continue
            if not back:
                if row in succession.restated or not succession.is_silent(later):
                    anew.add(int(notes.numbers[row]))
                ordered[later] = max(ordered[later], ordered[row] + LITTLE)
            elif newest or time.kind is TimeKind.ORIGIN:
                ordered[row] = max(ordered[row], ordered[later] + LITTLE)
    if not back:
        ordered[list(succession.restated)] -= RESTATED
    if time.kind is TimeKind.PAST:  # if equal, the version that held last comes first
        count = len(oldest_first)
        ordered[oldest_first] += np.arange(count) * LITTLE / count / 2
    return ordered, anew


def below_superseding(
    notes: NoteCandidates, scores: Floats, search: SearchQuery
) -> tuple[Floats, set[int]]:
    """Put a note above another one that it `supersedes`.

    Returns the new scores, and the chunk numbers of the notes below. Only an edge whose superseded
    sentence is the one nearest to the question counts.
    """
    below: set[int] = set()
    query = search.query
    time = search.time
    relation = query.store.edges.relation(SUPERSEDES)
    if relation is None or search.vector is None or not time.wants_current:
        return scores, below
    rows = query.edges
    ordered = scores.copy()
    known = query.indexes.moment(query.as_of)[1]
    holds = time.admits(rows["valid_from"], rows["valid_to"]) & (rows["space"] == query.space)
    holds &= (rows["relation"] == relation) & (rows["recorded_at"] <= known)
    holds &= rows["retired_at"] > known
    topics = [placed.chunk.topic for placed in notes.placed]
    ids = np.unique(rows["id"][holds])[-SUPERSEDING_AT_MOST:].tolist()
    for edge in query.store.edges.read(query.space, ids, query.as_of).values():
        newer = [row for row, topic in enumerate(topics) if topic == edge.source.name]
        for row, topic in enumerate(topics):
            if topic != edge.target.name or not len(notes.vectors[row]):
                continue
            sentences = notes.sentences(row)
            best = int(product(notes.vectors[row], search.vector).argmax())
            if best < len(sentences) and sentences[best].strip() == edge.metadata.get("said"):
                below.add(int(notes.numbers[row]))
                ordered[newer] = np.maximum(ordered[newer], ordered[row] + LITTLE)
    return ordered, below


def still_holds(notes: NoteCandidates, succession: Succession) -> dict[int, str]:
    """Map chunk numbers of earlier versions to their sentences that no later version restates."""
    held = {}
    clusters = succession.clusters
    read = succession.reading
    for row, own in enumerate(notes.vectors):
        after = notes.later_rows(row)
        sentences = notes.sentences(row)
        if not after or len(sentences) != len(own):
            continue
        if row in clusters:
            restated = {number for other in after for number in clusters[other]}
            holds = [number not in restated for number in clusters[row]]
        else:
            vectors = np.concatenate([notes.vectors[other] for other in after])
            holds = (product(own, vectors).max(1, initial=0.0) < SAID_AGAIN).tolist()
        replaced = [
            read.replaces[row, other] > 0 and not succession.is_silent(other)
            for other in after
            if (row, other) in read.replaces
        ]
        if replaced and row not in clusters:
            holds[read.best[row]] = not any(replaced)
        if row in succession.restated:
            holds[succession.restated[row].at] = False
        kept = [text for text, is_held in zip(sentences, holds, strict=True) if is_held]
        held[int(notes.numbers[row])] = " ".join(" ".join(kept).split())
    return held
