"""The ranking stage: candidates from all signals, notes and other texts ranked and merged.

Notes have a ranking of their own (`notes`); passages of documents, code and conversations are
ranked here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from hades.domain.graph import Reason
from hades.domain.question import Intent
from hades.domain.strength import strength_of
from hades.domain.times import from_micros
from hades.graph.arrays import Flags, Floats, Ints
from hades.models.reader import SentenceReader
from hades.recall.find.candidates import choose_candidates
from hades.recall.find.results import Candidates, Retrieved, Seeds
from hades.recall.plan import Reranker
from hades.recall.query_context import QueryContext
from hades.recall.rank.code_signs import FUSED, code_signs
from hades.recall.rank.features import passage_features
from hades.recall.rank.notes import rank_notes
from hades.recall.rank.ranker import Ranker
from hades.recall.rank.ranking import (
    RECENT_WEIGHT,
    Ranking,
    best_of,
    merge,
    recency_of,
    with_turns,
)
from hades.recall.rank.unit_reading import read_units
from hades.recall.run import Run, Stage

RANKED_FROM_CANDIDATES = 20
"""The models need at least this many candidates: they use deviations among candidates, and among
four of them one word more or less would reverse the order."""
SAME_TITLE = 2.0
"""The loss of a passage for each better one of another topic under the same title, in linked
questions. Parts of one document lose nothing (docs/lab/details.md)."""

READ_FROM = 0.5
"""The reader reads notes, or documents, only if the best of them has at least this share of the
highest cosine, or of the highest BM25, of all candidates."""


def rank_candidates(
    run: Run,
    retrieved: Retrieved,
    ranker: Ranker,
    reader: SentenceReader | None,
    limit: int,
) -> Ranking:
    """Choose candidates from all that was found, rank them, and return the `limit` best.

    A reader judges the best notes and documents, unless the plan has switched it off.
    """
    plan = run.plan.reranker
    query = retrieved.search.query
    recent = retrieved.search.question.intent is Intent.RECENT
    with run.stage("rank", plan.timeout_ms) as stage:
        candidates = choose_candidates(stage, retrieved)
        numbers = candidates.numbers
        notes = None
        reader = reader if plan.reader else None
        stage.found = len(numbers)
        if not len(numbers):
            stage.note(Reason.NOTHING_FOUND)
            return Ranking()
        is_note = query.notes[numbers]
        if is_note.any() and not stage.is_late("earlier versions"):
            own = replace(candidates, numbers=numbers[is_note])
            judge = reader if _may_answer(retrieved.seeds, numbers, is_note) else None
            notes = rank_notes(stage, retrieved, own, ranker, judge, recent=recent)
            numbers = numbers[~is_note]
        # Earlier versions are candidates among notes only.
        numbers = numbers[query.graph.visible[numbers]]
        ranking = notes
        if len(numbers):
            others = replace(candidates, numbers=numbers)
            judge = reader if _may_answer(retrieved.seeds, candidates.numbers, ~is_note) else None
            passages = _rank_passages(stage, retrieved, others, ranker, judge, recent=recent)
            ranking = passages if notes is None else merge(passages, notes)
        if not plan.on:
            stage.note(Reason.SWITCHED_OFF)
        if ranking is None:  # the only chunk read was an earlier version, and the time is up
            stage.note(Reason.NOTHING_FOUND)
            ranking = Ranking()
        else:
            ranking = best_of(query, ranking, limit, candidates.current)
        stage.cut += stage.found - len(ranking.numbers)
        return ranking


def _may_answer(seeds: Seeds, numbers: Ints, of_kind: Flags) -> bool:
    """Return whether a candidate of a kind comes close to the best, by meaning or by words."""
    # A follow-up question may not name its subject at all.
    if seeds.turned is not None or of_kind.all():
        return True
    signals = seeds.cosine[numbers], seeds.words[numbers]
    return any(signal[of_kind].max(initial=0) > READ_FROM * signal.max() for signal in signals)


def _rank_passages(
    stage: Stage,
    retrieved: Retrieved,
    candidates: Candidates,
    ranker: Ranker,
    reader: SentenceReader | None,
    *,
    recent: bool,
) -> Ranking:
    """Rank passages by the models, or by fusion if they are few, late or switched off.

    The reader then judges units of the best ones, unless the question asks for recent ones or leads
    from one passage to another.
    """
    plan = stage.run.plan.reranker
    query = retrieved.search.query
    seeds = retrieved.seeds
    numbers = candidates.numbers
    features = None
    recency = None
    few = len(numbers) < RANKED_FROM_CANDIDATES
    signs = code_signs(query, retrieved.search.question, numbers) if plan.on else 0.0
    if plan.on and not few and not stage.is_late("the ranker"):
        features = passage_features(retrieved, candidates)
        ranked = ranker.rank(features)
        scores = ranked.scores + signs
    else:
        if plan.on and few:
            stage.note(Reason.FALLBACK, f"{len(numbers)} candidates are too few to compare")
        ranked = ranker.rank_by_fusion(retrieved, numbers, plan.fusion)
        scores = ranked.scores + FUSED * signs
    scores = with_turns(seeds, numbers, scores)
    if recent:
        recency = recency_of(query, numbers)
        scores = scores + RECENT_WEIGHT * recency
    if ranked.linked:
        scores = scores - SAME_TITLE * _better_of_title(query, numbers, scores)
    near = seeds.cosine[numbers]
    ranking = Ranking(numbers, scores, ranked.belief, near, features, recency).in_order()
    in_steps = ranked.linked and retrieved.search.question.two_steps
    reads = plan.on and not recent and not in_steps
    if reader is not None and reads and not stage.is_late("the reader"):
        ranking = read_units(reader, stage, retrieved.search, ranking)
    gained = _with_gains(query, plan, ranking.numbers, ranking.scores)
    return replace(ranking, scores=gained).in_order()


def _with_gains(query: QueryContext, plan: Reranker, numbers: Ints, scores: Floats) -> Floats:
    """Return the scores, those of the best passages with their gain from uses and importance."""
    if not plan.strength:
        return scores
    gained = scores.copy()
    now = from_micros(query.valid)
    best = np.argsort(-scores, kind="stable")[: plan.m]
    ids = query.graph.chunks[numbers[best]].tolist()
    placed = query.store.chunks.without_text(ids, query.as_of)
    for at, chunk in zip(best.tolist(), ids, strict=True):
        if chunk in placed:
            gained[at] += plan.strength * strength_of(placed[chunk], now).gain
    return gained


def _better_of_title(query: QueryContext, numbers: Ints, scores: Floats) -> Floats:
    """Count, for each candidate, the better ones of other topics with the same title."""
    title = query.graph.title_of[numbers]
    topic = query.indexes.chunks["topic"][numbers]
    _, both = np.unique(np.stack([title, topic]), axis=1, return_inverse=True)
    better = _better_of(title, numbers, scores) - _better_of(both, numbers, scores)
    return np.where(title >= 0, better, 0)


def _better_of(group: Ints, numbers: Ints, scores: Floats) -> Ints:
    """Count, for each candidate, the better ones of its group."""
    order = np.lexsort((numbers, -scores, group))
    head = np.concatenate([[True], group[order][1:] != group[order][:-1]])
    better = np.empty(len(order), np.int64)
    better[order] = np.arange(len(order)) - np.flatnonzero(head)[np.cumsum(head) - 1]
    return better
