"""Retrieval for one question: seeds, walks, candidates, ranking.

Each step is a stage of the run: it has its own time, can be switched off by the plan, and
degrades with a reason. What is left is still an answer, by what is known so far.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from hades.domain.answer import Intent
from hades.domain.graph import Reason
from hades.domain.strength import strength_of
from hades.domain.times import from_micros
from hades.domain.topics import DEFAULT_IMPORTANCE
from hades.errors import HadesError
from hades.graph.arrays import Floats, Floats32, Ints
from hades.graph.beam import BeamPath
from hades.models.encoder import Encoder
from hades.recall.find import candidates
from hades.recall.find.signals import PRIOR_SEEDS, Signals, best, prior_of, walks
from hades.recall.plan import Reranker
from hades.recall.query_context import QueryContext
from hades.recall.question.names import names_in
from hades.recall.question.time_asked import TimeAsked
from hades.recall.rank.code_signs import code_signs
from hades.recall.rank.notes import (
    NOTE_FEATURES,
    Notes,
    below_superseding,
    find_current,
    find_family,
    find_succession,
    in_topic_order,
    note_features,
    numbers_apart,
    read_notes,
    still_holds,
)
from hades.recall.rank.ranker import Ranked, Ranker
from hades.recall.run import Run, Stage
from hades.store.records import PlacedChunk

RANKED_FROM_CANDIDATES = 20
"""The ranker compares candidates by their deviations, and learned with about 120 of them; with
four, one word more or less turns its order around."""
RECENT_WEIGHT = 1.0
"""What the newest candidate gains over the oldest when a question asks for what is recent, in
points of the ranker, whose scores lie some three apart; without it, as much as all the rest
together. A judgement: no set of questions asks for that."""
DAY_MICROSECONDS = 86_400_000_000
FOUND_BY_RETRIEVER = 50
"""A retriever found a passage that is among so many of its best."""


CONFIDENCE_LEAST = 0.05
"""A confidence below this counts like it."""
NOTES_SENT = 40
"""Of the notes so many are candidates, whatever stands before them among other texts."""
NEAR_LEAST = 1e-6
WALK_ROOT = 0.25
"""A few passages hold most of a walk: by its fourth root the others count beside the prior (R@5
of the fusion on half 0: 2Wiki 65 → 71, MuSiQue 55 → 56, HotpotQA 81 → 84, LoCoMo 59 → 60)."""
FusionWeights = tuple[float, float, float]
_JOINED = ("numbers", "scores", "belief")
SAME_TITLE = 2.0
"""What a passage loses for each better one under its own title, where the graph speaks: five
passages then hold 1 to 1.5 points more of the gold of four sets (2Wiki 97.4 → 98.1)."""


@dataclass(slots=True)
class Retrieved:
    """What was found for a question."""

    question: str
    query: QueryContext
    signals: Signals
    vector: Floats32 | None
    terms: list[str]
    strong: Ints
    numbers: Ints
    """The candidates, best first."""
    scores: Floats
    belief: Floats
    asks: TimeAsked
    """The time that is asked about."""
    linked: bool = False
    features: Floats32 | None = None
    """Of the candidates, in their order; None when the ranker was off."""
    recency: Floats | None = None
    """Of the candidates, 0 to 1; None when the question does not ask for what is recent."""
    following: Floats = field(default_factory=lambda: np.zeros(0))
    """How near each chunk is to what comes next, as the hop encoder reads it; else nothing."""
    least: dict[str, float] = field(default_factory=dict)
    """By retriever: what a passage must score to be among its best."""
    naming: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """The passages that say a name of the question."""
    are_notes: bool = False
    """Whether the best candidate is a note."""
    superseded: set[int] = field(default_factory=set)
    """The versions of notes that a later one says anew, by number."""
    current: dict[int, int] = field(default_factory=dict)
    """Maps versions of changed notes to the version that holds then, both by chunk number."""
    held: dict[int, str] = field(default_factory=dict)
    """Of earlier versions of notes: what of them no later one says again."""
    beam: tuple[BeamPath, ...] = ()
    beamed: list[int] = field(default_factory=list)
    """What the beam came to."""


Encoded = tuple[Floats32 | None, str]
"""A question as a vector, or why there is none."""


Encoding = Callable[[float], Encoded]
"""Waits at most so many seconds for a question's vector."""


def encoding(run: Run, encoder: Encoder, question: str) -> Encoding | None:
    """Begin to encode a question: it takes as long as all that is looked up meanwhile."""
    if "meaning" not in run.plan.retriever.retrievers:
        return None

    def encode() -> Encoded:
        try:
            return encoder.encode([question])[0], ""
        except HadesError as error:
            return None, str(error)

    return run.in_background(encode, left_behind=True)


def find_seeds(
    run: Run,
    query: QueryContext,
    encoded: Encoding | None,
    question: str,
    asks: TimeAsked,
) -> Retrieved:
    """Ask the retrievers (meaning, words, names) and make the prior of what they say."""
    plan = run.plan.retriever
    nothing = np.zeros(len(query.mask))
    with run.stage("seeds", plan.timeout_ms) as stage:
        words = query.words(question) if "words" in plan.retrievers else nothing
        named = np.zeros(0, np.int64)
        if "names" in plan.retrievers and not _late(stage, "names"):
            named = names_in(question, query.graph, query.lookup)
        vector = None
        if encoded is not None and not _late(stage, "meaning"):
            vector = _vector(stage, query, encoded)
        cosine = nothing if vector is None else query.cosine(vector, words)
        signals = Signals(
            query.mask, cosine, words, nothing, named, nothing, nothing, nothing, nothing
        )
        signals.prior = prior_of(query.graph, signals)
        signals.top = best(signals.prior, query.mask, PRIOR_SEEDS)
        if "names" in plan.retrievers and not len(named):
            stage.note(Reason.NOTHING_NAMED)
        empty, none = np.zeros(0), np.zeros(0, np.int64)
        terms = query.indexes.words.terms(question)
        retrieved = Retrieved(
            *(question, query, signals, vector, terms, none, none, empty, empty), asks=asks
        )
        retrieved.following = nothing
        retrieved.least = {"meaning": nth_best(cosine), "words": nth_best(words)}
        stage.found = _found_by_retrievers(retrieved)
        run.look_at(signals.top[: plan.k].tolist(), stage)  # its entry points are read
    return retrieved


def nth_best(scores: Floats) -> float:
    """What a passage must score to be among a retriever's best."""
    found = scores[scores > 0]
    if len(found) < FOUND_BY_RETRIEVER:
        return 0.0
    return float(np.partition(found, -FOUND_BY_RETRIEVER)[-FOUND_BY_RETRIEVER])


def _found_by_retrievers(retrieved: Retrieved) -> int:
    """How many passages the retrievers found together."""
    signals, graph = retrieved.signals, retrieved.query.graph
    found = np.zeros(len(signals.mask), np.bool_)
    for scores, least in ((signals.cosine, "meaning"), (signals.words, "words")):
        found |= (scores > 0) & (scores >= retrieved.least[least])
    _, mentioning, _ = graph.adjacency.of(graph.first_entity + signals.named)
    retrieved.naming = np.unique(mentioning[mentioning < graph.first_entity])
    found[retrieved.naming] = True
    return int((found & signals.mask).sum())


def _late(stage: Stage, retriever: str) -> bool:
    if stage.is_over():
        stage.stop(Reason.TIMEOUT, f"without {retriever}")
        return True
    return False


def _vector(stage: Stage, query: QueryContext, encoded: Encoding) -> Floats32 | None:
    if missing := query.indexes.without_vector(query.mask):
        of = f"{missing:,} of {query.mask.sum():,} passages"
        stage.note(Reason.NO_EMBEDDINGS, f"{of} have no vector yet")
    if not query.has_vectors:
        return None
    try:
        vector, why = encoded(stage.seconds_left)
    except TimeoutError:
        stage.stop(Reason.TIMEOUT, "without meaning: the encoder takes longer")
        return None
    if vector is None:
        stage.note(Reason.ENCODER_FAILED, why)
    return vector


@contextmanager
def walking(run: Run, retrieved: Retrieved) -> Iterator[None]:
    """Run the walks through the graph, in the background of what is done inside."""
    plan, graph = run.plan.graph, retrieved.query.graph
    with run.stage("walk", plan.timeout_ms) as stage:
        walked = None
        if not plan.walk:
            stage.note(Reason.SWITCHED_OFF)
        elif not graph.adjacency.has_arcs:
            stage.note(Reason.EMPTY_GRAPH)
        elif not _late(stage, "the walk"):
            walked = walks(graph, retrieved.signals, plan.damping, stage.is_over, run.in_background)
        yield
        if walked is not None:
            walked()
            for reason in dict.fromkeys(retrieved.signals.capped):
                stage.stop(reason, "the walk is not complete")
            stage.found = int((retrieved.signals.walked > 0).sum())
            stage.added = int(
                ((retrieved.signals.walked > 0) & (retrieved.signals.prior <= 0)).sum()
            )


def rank(
    run: Run, retrieved: Retrieved, ranker: Ranker, limit: int, intent: Intent = Intent.LOOKUP
) -> None:
    """Candidates from all signals, ranked; `limit` are kept."""
    plan, recent = run.plan.reranker, intent is Intent.RECENT
    with run.stage("rank", plan.timeout_ms) as stage:
        signals = retrieved.signals
        retrieved.strong = np.array(
            run.look_at(candidates.strongest(signals).tolist(), stage), np.int64
        )
        second = candidates.second_hop(retrieved.query, retrieved.vector, retrieved.strong)
        chosen = list(
            dict.fromkeys(
                [
                    *retrieved.beamed,
                    *candidates.gathered(signals, second, retrieved.following, retrieved.least),
                    *best(signals.prior, signals.mask & retrieved.query.notes, NOTES_SENT).tolist(),
                ]
            )
        )
        family = find_family(retrieved.query, np.array(chosen, np.int64))
        if not retrieved.asks.is_past and not retrieved.asks.wants_happenings:
            retrieved.current = find_current(retrieved.query, family, signals.prior)
        chosen = _with_current(chosen, retrieved.current)
        numbers = np.sort(np.array(run.look_at(chosen, stage), np.int64))
        stage.found = len(numbers)
        if not len(numbers):
            stage.note(Reason.NOTHING_FOUND)
            return
        note = retrieved.query.notes[numbers]
        groups: list[_Group] = []
        if note.any() and not _late(stage, "earlier versions"):
            notes = read_notes(retrieved.query, numbers[note], family)
            groups.append(_rank_notes(retrieved, ranker, plan, notes, second, recent))
            numbers = numbers[~note]
        # Earlier versions are candidates among notes only.
        numbers = numbers[retrieved.query.graph.visible[numbers]]
        if len(numbers):
            groups.append(_rank_passages(retrieved, stage, ranker, plan, numbers, second, recent))
        if not plan.on:
            stage.note(Reason.SWITCHED_OFF)
        if groups:
            _merge(retrieved, groups, limit)
        else:  # the one read allowed was an earlier version, and the time is over
            stage.note(Reason.NOTHING_FOUND)
        stage.cut += stage.found - len(retrieved.numbers)


def _with_current(chosen: Sequence[int], current: Mapping[int, int]) -> list[int]:
    """Put the current version of a note behind each earlier one, and drop the last candidates."""
    kept: dict[int, None] = {}
    for one in chosen:
        both = dict.fromkeys((one, current.get(one, one)))
        if len(kept | both) <= len(chosen):
            kept |= both
    return list(kept)


@dataclass(frozen=True, slots=True)
class _Group:
    """Candidates of one kind, notes or passages of other texts, ranked: best first."""

    numbers: Ints
    scores: Floats
    belief: Floats
    near: Floats
    """How near each is in meaning."""
    features: Floats32 | None
    recency: Floats | None


def _rank_passages(
    retrieved: Retrieved,
    stage: Stage,
    ranker: Ranker,
    plan: Reranker,
    numbers: Ints,
    second: Floats,
    recent: bool,
) -> _Group:
    """Passages of documents, code and conversations, ranked."""
    signals, features, recency, signs = retrieved.signals, None, None, None
    few = len(numbers) < RANKED_FROM_CANDIDATES
    if plan.on and not few and not _late(stage, "the ranker"):
        features = candidates.read(
            *(retrieved.query, signals, numbers, retrieved.strong, second),
            *(retrieved.following, retrieved.terms),
        )
        ranked = ranker.rank(features)
        signs = code_signs(retrieved.query, retrieved.question, numbers)
    else:
        if plan.on and few:
            stage.note(Reason.FALLBACK, f"{len(numbers)} candidates are too few to compare")
        ranked = _unranked(ranker, signals, numbers, plan.fusion)
    scores = ranked.scores if signs is None else ranked.scores + signs
    scores = _with_gains(retrieved.query, plan, numbers, scores)
    if recent:
        recency = _recency(retrieved.query, numbers)
        scores = scores + RECENT_WEIGHT * recency
    if ranked.linked:
        scores = scores - SAME_TITLE * _better_of_title(retrieved.query, numbers, scores)
    retrieved.linked = ranked.linked
    order = np.lexsort((numbers, -scores))
    return _Group(
        *(numbers[order], scores[order], ranked.belief[order], signals.cosine[numbers][order]),
        None if features is None else features[order],
        None if recency is None else recency[order],
    )


def _rank_notes(
    retrieved: Retrieved,
    ranker: Ranker,
    plan: Reranker,
    notes: Notes,
    second: Floats,
    recent: bool,
) -> _Group:
    """Rank versions of notes."""
    query, recency = retrieved.query, None
    asked = retrieved.question, retrieved.vector, retrieved.terms, retrieved.asks
    succession = find_succession(notes, *asked)
    found = note_features(query, retrieved.signals, notes, *asked, second, succession)
    unranked = ranker, retrieved.signals, notes.numbers, plan.fusion
    ranked = ranker.rank(found) if plan.on else _unranked(*unranked)
    scores = ranked.scores + np.array([_weight_of_state(one) for one in notes.placed])
    scores = scores + plan.strength * _gains_of_topics(query, notes.placed)
    scores = numbers_apart(notes, scores, retrieved.terms)
    scores, retrieved.superseded = in_topic_order(notes, scores, retrieved.asks, succession)
    scores, below = below_superseding(query, notes, scores, retrieved.vector, retrieved.asks)
    retrieved.superseded |= below
    if recent:
        recency = _recency(query, notes.numbers)
        scores = scores + RECENT_WEIGHT * recency
    if not retrieved.asks.is_past and not retrieved.asks.wants_happenings:
        retrieved.held = still_holds(notes, succession)
    order = np.lexsort((notes.numbers, -scores))
    # What stands above another for what both say is believed, and is, no less near.
    belief, near = (
        np.maximum.accumulate(one[order][::-1])[::-1]
        for one in (ranked.belief, found[:, NOTE_FEATURES.index("near")].astype(float))
    )
    return _Group(
        *(notes.numbers[order], scores[order], belief, near, found[order]),
        None if recency is None else recency[order],
    )


def _merge(retrieved: Retrieved, groups: Sequence[_Group], limit: int) -> None:
    """Notes among other texts: by belief, and by how near they are to the nearest of all.

    Each kind's belief was learnt where that kind holds the answer, so what is far from the
    question counts for less.
    """
    if len(groups) == 2:
        nearest = max(NEAR_LEAST, *(float(one.near.max()) for one in groups))
        groups = [
            replace(
                one,
                scores=np.maximum.accumulate(worth[::-1])[::-1],
                belief=worth,
                features=None,
            )
            for one in groups
            for worth in [one.belief * np.clip(one.near / nearest, 0.0, 1.0) ** 2]
        ]
    joined = [np.concatenate([getattr(g, name) for g in groups]) for name in _JOINED]
    order = np.lexsort((joined[0], -joined[1]))
    ranked, current = joined[0][order], retrieved.current
    held = [current[one] for one in ranked[:limit].tolist() if one in current]
    order = order[(np.arange(len(order)) < limit) | np.isin(ranked, held)]
    retrieved.numbers, retrieved.scores, retrieved.belief = (one[order] for one in joined)
    if len(groups) == 1:
        features, recency = groups[0].features, groups[0].recency
        retrieved.features = None if features is None else features[order]
        retrieved.recency = None if recency is None else recency[order]
    retrieved.are_notes = bool(retrieved.query.notes[retrieved.numbers[0]])


def _weight_of_state(note: PlacedChunk) -> float:
    """What a state's own importance and confidence add to its score; by default nothing."""
    sure = math.log(max(note.confidence, CONFIDENCE_LEAST))
    return sure + note.importance - DEFAULT_IMPORTANCE


def _gains_of_topics(query: QueryContext, placed: Sequence[PlacedChunk]) -> Floats:
    """What uses and importance add to notes: the versions of a topic gain alike.

    Which version is wanted is a matter of time: an earlier one was asked for more often.
    """
    now, best = from_micros(query.valid), dict[str, float]()
    for one in placed:
        gain = strength_of(one, now).gain
        best[one.chunk.topic] = max(gain, best.get(one.chunk.topic, gain))
    return np.array([best[one.chunk.topic] for one in placed])


def _with_gains(query: QueryContext, plan: Reranker, numbers: Ints, scores: Floats) -> Floats:
    """Scores of passages with what uses and importance add to the best of them."""
    if not plan.strength:
        return scores
    made, now = scores.copy(), from_micros(query.valid)
    best = np.argsort(-scores, kind="stable")[: plan.m]
    ids = query.graph.chunks[numbers[best]].tolist()
    placed = query.store.chunks.without_text(ids, query.as_of)
    for at, one in zip(best.tolist(), ids, strict=True):
        if one in placed:
            made[at] += plan.strength * strength_of(placed[one], now).gain
    return made


def _better_of_title(query: QueryContext, numbers: Ints, scores: Floats) -> Floats:
    """How many better candidates each has under its own title."""
    title = query.graph.title_of[numbers]
    order = np.lexsort((numbers, -scores, title))
    head = np.concatenate([[True], title[order][1:] != title[order][:-1]])
    place = np.arange(len(order)) - np.flatnonzero(head)[np.cumsum(head) - 1]
    better = np.zeros(len(numbers))
    better[order] = np.where(title[order] >= 0, place, 0)
    return better


def _recency(query: QueryContext, numbers: Ints) -> Floats:
    """What changed on the newest day is 1, on the oldest 0, in between by the order of days."""
    days = query.indexes.spans(numbers, query.as_of)[0] // DAY_MICROSECONDS
    known, place = np.unique(days, return_inverse=True)
    return place / max(1, len(known) - 1)


def _unranked(ranker: Ranker, signals: Signals, numbers: Ints, weights: FusionWeights) -> Ranked:
    """The order without the ranker: by the fusion of source document 004."""
    prior, cosine = signals.prior[numbers], signals.cosine[numbers]
    believed = ranker.unranked(prior, cosine).belief
    return ranker.unranked(fused(prior, signals.walked[numbers], believed, weights), cosine)


def fused(prior: Floats, walked: Floats, belief: Floats, weights: FusionWeights) -> Floats:
    """Meaning and words, the walk, and belief, weighed; where no walk came, the first decides."""
    walked = (walked / max(1e-12, float(walked.max(initial=0.0)))) ** WALK_ROOT
    joined: Floats = weights[0] * prior + weights[1] * walked + weights[2] * belief
    return joined + NEAR_LEAST * prior
