"""Candidates: the hundred passages worth ranking.

Each signal sends its best passages. A second hop adds passages that are near to the question and
the five strongest passages taken together: the passage with the answer often shares words only with
the passage that leads to it, not with the question. Some places are reserved for notes, and an
earlier version of a note brings along the version that holds now.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest

import numpy as np

from hades.graph.arrays import Floats, Ints
from hades.recall.find.results import Candidates, NoteVersions, Retrieved, SearchQuery, Seeds, Walks
from hades.recall.find.scores import best
from hades.recall.query_context import QueryContext
from hades.recall.run import Stage

BY_WALK = 100
BY_PRIOR = 40
BY_SECOND_HOP = 40
BY_FAR = 60
BY_RETRIEVER = 10
"""How many passages each signal sends; together about 120."""
STRONGEST = 5
NOTES_SENT = 40
"""How many notes are candidates even if other texts have a higher prior."""
ABOUT_AS_NEAR = 0.8
"""The minimum ratio of a version's prior to the highest prior of its note. The newest version above
it is a candidate, too. Chosen by hand."""


def choose_candidates(stage: Stage, retrieved: Retrieved) -> Candidates:
    """Choose the candidates among everything that was found, as many as the plan allows."""
    run = stage.run
    search = retrieved.search
    seeds = retrieved.seeds
    query = search.query
    allowed = run.look_at(strongest(seeds, retrieved.walks).tolist(), stage)
    strong = np.array(allowed, np.int64)
    second_hop = _second_hop(search, strong)
    notes = best(seeds.prior, seeds.mask & query.notes, NOTES_SENT).tolist()
    chosen = list(dict.fromkeys([*retrieved.beam.numbers, *_sent(retrieved, second_hop), *notes]))
    versions = _versions_of(query, np.array(chosen, np.int64))
    current: dict[int, int] = {}
    if search.time.wants_current:
        current = _current_versions(query, versions, seeds.prior)
        near = _near_versions(query, versions, seeds.prior)
        chosen = _with_current(chosen, _current_versions(query, near, seeds.prior))
    chosen = run.look_at(_with_current(chosen, current), stage)
    numbers = np.sort(np.array(chosen, np.int64))
    return Candidates(numbers, strong, second_hop, versions, current)


def strongest(seeds: Seeds, walks: Walks) -> Ints:
    """Return the STRONGEST passages: those with the highest sum of walk and prior, best first."""
    walked = walks.joined / max(1e-12, float(walks.joined.max(initial=0.0)))
    both = np.where(seeds.mask, walked + seeds.prior, -1.0)
    # The lowest sum of the best by prior is a lower bound, which saves sorting all passages.
    least = both[seeds.top[:STRONGEST]].min() if len(seeds.top) >= STRONGEST else 0.0
    chunks = np.flatnonzero(both >= least)
    return chunks[np.lexsort((chunks, -both[chunks]))][:STRONGEST]


def _second_hop(search: SearchQuery, strong: Ints) -> Floats:
    """Return the cosine of each passage with the question and the strongest passages together."""
    query = search.query
    vector = search.vector
    if vector is None or not len(strong):
        return np.zeros(len(query.mask))
    hop = vector + query.indexes.vectors_of(strong).mean(0)
    hop = hop / max(1e-12, float(np.linalg.norm(hop)))
    return query.cosine(hop.astype(np.float32), exact=False)


def _sent(retrieved: Retrieved, second_hop: Floats) -> list[int]:
    """Return the best chunks of all signals, one of each in turn, so that a cut keeps them all."""
    seeds = retrieved.seeds
    walks = retrieved.walks
    mask = seeds.mask
    least = seeds.least
    chosen = [
        best(walks.joined, mask, BY_WALK),
        seeds.top[:BY_PRIOR],
        best(second_hop, mask, BY_SECOND_HOP),
        best(retrieved.following, mask, BY_SECOND_HOP),
        best(walks.far, mask, BY_FAR),
        best(seeds.cosine, mask, BY_RETRIEVER, least["meaning"]),
        best(seeds.words, mask, BY_RETRIEVER, least["words"]),
    ]
    if seeds.turned is not None:
        chosen.append(best(seeds.prior + seeds.turned, mask, BY_RETRIEVER))
    rounds = zip_longest(*(numbers.tolist() for numbers in chosen))
    sent = (number for of_round in rounds for number in of_round if number is not None)
    return list(dict.fromkeys(sent))


def _versions_of(query: QueryContext, candidates: Ints) -> NoteVersions:
    """Return all versions of the notes among the candidates, as of the time asked about."""
    topic = query.indexes.chunks["topic"]
    own = topic[candidates[query.notes[candidates]]]
    numbers = np.flatnonzero(query.mask & query.notes & np.isin(topic, own))
    return NoteVersions(numbers, *query.indexes.spans(numbers, query.as_of))


def _near_versions(query: QueryContext, versions: NoteVersions, prior: Floats) -> NoteVersions:
    """Return the versions that are about as near to the question as the nearest of their note.

    Of a thousand versions that say the same thing, the newest may not be among the nearest.
    """
    _, note = np.unique(query.indexes.chunks["topic"][versions.numbers], return_inverse=True)
    own = prior[versions.numbers]
    highest = np.zeros(len(own))
    np.maximum.at(highest, note, own)
    is_near = own >= ABOUT_AS_NEAR * highest[note]
    return NoteVersions(*(column[is_near] for column in versions))


def _current_versions(query: QueryContext, versions: NoteVersions, prior: Floats) -> dict[int, int]:
    """Map each version of a changed note to the version that holds.

    Versions are chunk numbers. A chunk that holds maps to itself, an earlier chunk to the chunk
    with the highest `prior` among those that hold.
    """
    topic = query.indexes.chunks["topic"][versions.numbers]
    order = np.lexsort((prior[versions.numbers], versions.ends, topic))
    last = {int(topic[at]): int(at) for at in order}
    at = np.array([last[row] for row in topic.tolist()], np.int64)
    holds = versions.ends == versions.ends[at]
    changed = np.isin(topic, topic[~holds])
    current = np.where(holds, versions.numbers, versions.numbers[at])
    return dict(zip(versions.numbers[changed].tolist(), current[changed].tolist(), strict=True))


def _with_current(chosen: Sequence[int], current: Mapping[int, int]) -> list[int]:
    """Add the current version of a note after each earlier one; drop as many from the end."""
    kept: dict[int, None] = {}
    for number in chosen if current else ():
        both = dict.fromkeys((number, current.get(number, number)))
        if len(kept) + len(both.keys() - kept) <= len(chosen):
            kept |= both
    return list(kept) if current else list(chosen)
