"""Notes: what the ranker knows of a short text that somebody noted down.

A note has a name, a few sentences and earlier versions. A later version seldom repeats all of
an earlier one: what it does not say again still holds. So every version is a candidate, and
one that a later version says in other words counts for less.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import numpy as np

from hades.domain.answer import TimeKind
from hades.domain.graph import SUPERSEDES, NodeKind
from hades.domain.times import DAY_MICROSECONDS
from hades.graph.arrays import Flags, Floats, Floats32, Ints
from hades.index.vectors import product
from hades.index.words import is_said, name_words, stems
from hades.language.english.intent import is_past_tense
from hades.language.english.terms import terms_of
from hades.language.names import DATE, DIGITS, numberless
from hades.language.sentences import note_sentences
from hades.recall.find.signals import Signals, minmax
from hades.recall.query_context import QueryContext
from hades.recall.question.time_asked import TimeAsked
from hades.store.records import PlacedChunk

NOTE_FEATURES: tuple[str, ...] = (
    *("cosine", "sentence", "cue", "second_hop", "coverage", "words", "numbers"),
    *("name_coverage", "name_said", "holds", "repeated", "past_repeated", "first"),
    *("near", "missing"),
)
"""The last two only tell how sure we are."""
SAID_AGAIN = 0.7
"""Two sentences of one note this near say the same, or one says the other anew: a judgement."""
LONG_FROM_VERSIONS = 4
"""From so many versions on, what each of them says is told from what all of them say."""
SUPERSEDING_AT_MOST = 256
"""Edges `supersedes` that a question looks at: the newest."""
LATER_AT_MOST = 32
"""Of the chunks of later versions, the newest that are compared."""
_ABOVE = 1e-3
SURELY = 30.0


class _AnewWeights(NamedTuple):
    """Of the signs that a later version says anew what an earlier one says of the question."""

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
SAME_CLUSTER = 0.05
"""In a note of many versions, groups of sentences whose vectors, less what all of them share, are
nearer than this on average are about the same thing. Chosen on a generated world of 740 versions
of 40 notes, where `ask` then told 86 % of what holds; comparing two at a time told 75 %."""
SURE = 3.0
"""Of a note of many versions: how surely a later sentence on the same thing says it anew."""
COMPARED_AT_MOST = 128
"""Sentences of a note of many versions: the nearest to the question."""
ANEW_PAST = -0.6


@dataclass(frozen=True, slots=True)
class Notes:
    """The candidates of a question about notes."""

    numbers: Ints
    placed: Sequence[PlacedChunk]
    sentences: Sequence[Floats32]
    """The vectors of each one's sentences; of a note of one sentence, its own."""
    starts: Ints
    ends: Ints
    """From when until when each was there."""
    later: Sequence[Ints]
    """By candidate, the numbers of chunks of later versions of its topic."""
    first: Flags
    """Whether nothing of its topic is older."""


class Family(NamedTuple):
    """All versions of the notes among the candidates, with the start and end of each."""

    numbers: Ints
    starts: Ints
    ends: Ints


def find_family(query: QueryContext, candidates: Ints) -> Family:
    """Return all versions of the notes among the candidates, as of the time asked about."""
    topic = query.indexes.chunks["topic"]
    own = topic[candidates[query.notes[candidates]]]
    numbers = np.flatnonzero(query.mask & query.notes & np.isin(topic, own))
    return Family(numbers, *query.indexes.spans(numbers, query.as_of))


def find_current(query: QueryContext, family: Family, prior: Floats) -> dict[int, int]:
    """Map each version of a changed note to the version that holds.

    Versions are chunk numbers. A chunk that holds maps to itself, an earlier chunk to the chunk
    with the highest `prior` among those that hold.
    """
    topic = query.indexes.chunks["topic"][family.numbers]
    order = np.lexsort((prior[family.numbers], family.ends, topic))
    last = {int(topic[at]): int(at) for at in order}
    at = np.array([last[one] for one in topic.tolist()], np.int64)
    holds = family.ends == family.ends[at]
    changed = np.isin(topic, topic[~holds])
    current = np.where(holds, family.numbers, family.numbers[at])
    return dict(zip(family.numbers[changed].tolist(), current[changed].tolist(), strict=True))


def read_notes(query: QueryContext, numbers: Ints, family: Family) -> Notes:
    """Read the candidates. `family` has all versions of their notes."""
    ids = query.graph.chunks[numbers].tolist()
    placed = query.store.chunks.find(ids, query.as_of)
    kept = np.array([one in placed for one in ids], np.bool_)
    numbers, ids = numbers[kept], [one for one in ids if one in placed]
    nodes = [NodeKind.CHUNK.node(one) for one in ids]
    rows = query.store.chunks.vectors(query.encoder, nodes)
    dims = query.indexes.vectors.dims
    sentences = []
    for node in nodes:
        vectors = np.frombuffer(rows.get(node, b""), np.float16).astype(np.float32)
        vectors = vectors[: len(vectors) // dims * dims].reshape(-1, dims)
        sentences.append(vectors[1:] if len(vectors) > 1 else vectors)
    topic = query.indexes.chunks["topic"]
    every, begun, ended = family
    at = np.searchsorted(every, numbers)
    own = [np.flatnonzero(topic[every] == topic[one]) for one in numbers]
    return Notes(
        numbers=numbers,
        placed=[placed[one] for one in ids],
        sentences=sentences,
        starts=begun[at],
        ends=ended[at],
        later=[
            every[o[begun[o] >= ended[a]]][-LATER_AT_MOST:] for o, a in zip(own, at, strict=True)
        ],
        first=np.array([begun[o].min() >= begun[a] for o, a in zip(own, at, strict=True)]),
    )


def note_features(
    query: QueryContext,
    signals: Signals,
    notes: Notes,
    question: str,
    vector: Floats32 | None,
    terms: list[str],
    asks: TimeAsked,
    second: Floats,
    succession: Succession,
) -> Floats32:
    """One row a candidate, in the order of NOTE_FEATURES, each from 0 to 1 within a question.

    `second` tells how near each chunk is to the question and the strongest passages together,
    `succession` which versions say anew what earlier ones say.
    """
    at, asked = notes.numbers, terms_of(question)
    rarity = np.array([query.indexes.words.rarity(term) for term in terms])
    weight = rarity / max(1e-9, float(rarity.sum()))
    has_term = query.terms.having(query.graph.chunks[at], terms)
    digits = np.array([any(sign.isdigit() for sign in term) for term in terms], np.bool_)
    best, cued = signals.cosine[at], np.zeros(len(at))
    for row, (one, vectors) in enumerate(zip(notes.placed, notes.sentences, strict=True)):
        if vector is None or not len(vectors):
            continue
        near = product(vectors, vector)
        best[row] = near.max()
        texts = note_sentences(one.chunk.text) or (one.chunk.text,)
        if asked.wanted is not None and len(texts) == len(near):
            cue = np.array([asked.is_answered_in_kind(text) for text in texts])
            cued[row] = float((near * cue).max())
    names = [_name(one.chunk.topic) for one in notes.placed]
    repeated = _repeated(query, notes) * (not asks.is_any)
    columns = {
        "cosine": minmax(signals.cosine[at]),
        "sentence": minmax(best),
        "cue": minmax(cued),
        "second_hop": minmax(second[at]),
        "coverage": has_term @ weight,
        "words": minmax(signals.words[at]),
        "numbers": has_term[:, digits].mean(1) if digits.any() else np.zeros(len(at)),
        "name_coverage": np.array(
            [
                sum(w for term, w in zip(terms, weight, strict=True) if term in name.terms)
                for name in names
            ]
        ),
        "name_said": np.array([name.said(query, set(terms)) for name in names]),
        "holds": _holds(notes, asks, succession),
        "repeated": repeated,
        "past_repeated": repeated * is_past_tense(question),
        "first": notes.first,
        "near": best,
        "missing": 1 - has_term[:, digits].min(1) if digits.any() else np.zeros(len(at)),
    }
    return np.stack([columns[name] for name in NOTE_FEATURES], 1).astype(np.float32)


class _Name:
    """The words of a topic's name, each as it is written and in its parts."""

    def __init__(self, topic: str) -> None:
        self._words = name_words(topic)
        self.terms = set(self._words).union(*self._words.values())
        self.shape = numberless(topic)
        self.numbers = {term for term in self._words if DIGITS.search(term)}

    def said(self, query: QueryContext, asked: set[str]) -> float:
        """The share of it that the question says, by weight."""
        weights = {term: query.indexes.words.rarity(term) for term in self._words}
        said = sum(weight for term, weight in weights.items() if self.says(term, asked))
        return said / max(1e-9, sum(weights.values()))

    def says(self, term: str, asked: set[str]) -> bool:
        """Whether a question says a word of it, as it is written or in its parts."""
        return is_said(term, self._words[term], asked)


_name = lru_cache(maxsize=4_096)(_Name)


def numbers_apart(notes: Notes, scores: Floats, terms: list[str]) -> Floats:
    """Scores where bug 103 is not above bug 102 when 102 is asked for."""
    asked = set(terms)
    names = [_name(one.chunk.topic) for one in notes.placed]
    said = [{one for one in name.numbers if name.says(one, asked)} for name in names]
    best: dict[str, float] = {}
    for name, numbers, score in zip(names, said, scores.tolist(), strict=True):
        if numbers and numbers == name.numbers:
            best[name.shape] = max(score, best.get(name.shape, score))
    made = scores.copy()
    for row, name in enumerate(names):
        if name.shape in best and said[row] != name.numbers:
            made[row] = min(made[row], best[name.shape] - _ABOVE)
    return made


def _repeated(query: QueryContext, notes: Notes) -> Floats:
    """How much of each candidate a later version says again, in its words or in others."""
    found = np.zeros(len(notes.numbers))
    own = query.indexes.vectors_of(notes.numbers)
    for row, later in enumerate(notes.later):
        if len(later):
            found[row] = product(query.indexes.vectors_of(later), own[row]).max()
    return found


@dataclass(frozen=True, slots=True)
class Succession:
    """Which later versions of a note say anew what an earlier one says of the question."""

    said: Sequence[_Sentences]
    """What each candidate says; nothing where that cannot be told, or is not asked for."""
    logits: Floats
    """By candidate and later version: above 0 it likely says it anew."""
    clusters: Mapping[int, Sequence[int]]
    """By candidate of a note of many versions: what each of its sentences is about, a number."""


def find_succession(
    notes: Notes, question: str, vector: Floats32 | None, terms: list[str], asks: TimeAsked
) -> Succession:
    """Compare each candidate with the later versions of its note."""
    count = len(notes.numbers)
    logits, clusters = np.full((count, count), -np.inf), dict[int, list[int]]()
    if vector is None or asks.wants_happenings:
        return Succession((), logits, clusters)
    said = [_Sentences(notes, row, vector, set(terms)) for row in range(count)]
    place = {int(number): row for row, number in enumerate(notes.numbers)}
    topics: dict[str, list[int]] = {}
    for row, one in enumerate(notes.placed):
        topics.setdefault(one.chunk.topic, []).append(row)
    for rows in topics.values():
        bias = ANEW_PAST * is_past_tense(question) + ANEW.timed * asks.is_timed
        if len(rows) >= LONG_FROM_VERSIONS:
            clusters |= _clusters({row: said[row] for row in rows})
        for row in rows:
            for other in (place[one] for one in notes.later[row].tolist() if one in place):
                if row in clusters and len(said[row].near) and len(said[other].near):
                    same = clusters[row][int(said[row].near.argmax())] in clusters[other]
                    logits[row, other] = SURE if same else -SURE
                else:
                    newest = not len(notes.later[other])
                    logits[row, other] = bias + said[row].said_anew(said[other], newest=newest)
    return Succession(said, logits, clusters)


def _clusters(said: Mapping[int, _Sentences]) -> dict[int, list[int]]:
    """What the sentences of a note's versions are about: by version and sentence, a number.

    Groups grow by joining the two that are nearest on average, until none are near enough.
    """
    vectors = np.concatenate([one.vectors for one in said.values()])
    vectors = vectors - vectors.sum(0) / max(1, len(vectors))
    vectors /= np.maximum(1e-6, np.linalg.norm(vectors, axis=1, keepdims=True))
    near = np.concatenate([one.near for one in said.values()])
    kept = np.argsort(-near, kind="stable")[:COMPARED_AT_MOST]
    group, sizes = np.arange(len(kept)), np.ones(len(kept))
    average = product(vectors[kept], vectors[kept])
    np.fill_diagonal(average, -np.inf)
    while len(kept):
        one, other = divmod(int(average.argmax()), len(kept))
        if average[one, other] <= SAME_CLUSTER:
            break
        group[group == other] = one
        pair = [one, other]
        sizes[one], both = sizes[pair].sum(), sizes[pair] @ average[pair]
        average[one] = average[:, one] = both / sizes[one]
        average[other] = average[:, other] = -np.inf
    numbers = -1 - np.arange(len(vectors))  # of those not compared: each is about another thing
    numbers[kept] = group
    told = iter(numbers.tolist())
    return {row: list(islice(told, len(one.near))) for row, one in said.items()}


def _holds(notes: Notes, asks: TimeAsked, succession: Succession) -> Floats:
    """How surely each held at the time asked about.

    Of a note of many versions each holds until one says anew what it says; of others the last.
    """
    ends = notes.ends
    if asks.kind is TimeKind.DURING:  # an entry of a diary tells of its day alone
        named = (DATE.search(one.chunk.topic) for one in notes.placed)
        dated = [one is not None and one[3] is not None for one in named]
        ends = np.where(dated, np.minimum(ends, notes.starts + DAY_MICROSECONDS), ends)
    fits: Floats = asks.fits(notes.starts, ends, notes.first)
    if asks.kind not in (None, TimeKind.DURING):
        return fits
    likely = np.clip(succession.logits.max(1, initial=-SURELY), -SURELY, SURELY)
    is_long = np.array([row in succession.clusters for row in range(len(likely))], np.bool_)
    still = is_long / (1 + np.exp(likely)) * (notes.starts <= asks.until)
    held: Floats = np.maximum(fits, still)
    return held


def in_topic_order(
    notes: Notes, scores: Floats, asks: TimeAsked, succession: Succession
) -> tuple[Floats, set[int]]:
    """Scores where a later version that says it anew stands above the earlier one, and which
    earlier ones there are.

    What it says of the question is compared: the earlier version's best sentence, and the
    later one's that is nearest to it and to the question. Where the past is asked for, the
    earlier one stands above; of what happened in a window both are wanted.
    """
    anew: set[int] = set()
    if not succession.said:
        return scores, anew
    made, back, said = scores.copy(), asks.is_past, succession.said
    place = {int(number): row for row, number in enumerate(notes.numbers)}
    order = np.argsort(notes.starts, kind="stable")
    for row in order[::-1].tolist() if back else order.tolist():
        for number in notes.later[row].tolist():
            other = place.get(number)
            if other is None:
                continue
            newest = not len(notes.later[other])
            logit = succession.logits[row, other]
            if not (back or asks.is_timed) and said[row].alone_says(said[other]):
                made[row] = max(made[row], made[other] + _ABOVE)
                continue
            if logit <= 0:
                continue
            if not back:
                anew.add(int(notes.numbers[row]))
                made[other] = max(made[other], made[row] + _ABOVE)
            elif newest or asks.kind is TimeKind.ORIGIN:
                made[row] = max(made[row], made[other] + _ABOVE)
    if asks.kind is TimeKind.PAST:  # of equals, what held last
        made[order] += np.arange(len(order)) * _ABOVE / len(order) / 2
    return made, anew


def below_superseding(
    query: QueryContext, notes: Notes, scores: Floats, vector: Floats32 | None, asks: TimeAsked
) -> tuple[Floats, set[int]]:
    """Scores where a note stands above another one that it `supersedes`, and which these are.

    Only where the sentence that is said otherwise is what the other note says of the question.
    """
    found: set[int] = set()
    told = query.store.edges.relation(SUPERSEDES)
    if told is None or vector is None or asks.is_past or asks.wants_happenings:
        return scores, found
    rows, made = query.edges, scores.copy()
    known = query.indexes.moment(query.as_of)[1]
    held = asks.admits(rows["valid_from"], rows["valid_to"]) & (rows["space"] == query.space)
    held &= (rows["relation"] == told) & (rows["recorded_at"] <= known)
    held &= rows["retired_at"] > known
    ids = np.unique(rows["id"][held])[-SUPERSEDING_AT_MOST:].tolist()
    for edge in query.store.edges.read(query.space, ids, query.as_of).values():
        newer = [r for r, one in enumerate(notes.placed) if one.chunk.topic == edge.source.name]
        for row, one in enumerate(notes.placed):
            if one.chunk.topic != edge.target.name or not len(notes.sentences[row]):
                continue
            texts = note_sentences(one.chunk.text) or (one.chunk.text,)
            best = int(product(notes.sentences[row], vector).argmax())
            if best < len(texts) and texts[best].strip() == edge.metadata.get("said"):
                found.add(int(notes.numbers[row]))
                made[newer] = np.maximum(made[newer], made[row] + _ABOVE)
    return made, found


def still_holds(notes: Notes, succession: Succession) -> dict[int, str]:
    """By number of an earlier version: the sentences that no later one says again or otherwise."""
    place = {int(number): row for row, number in enumerate(notes.numbers)}
    found, clusters = {}, succession.clusters
    for row, later in enumerate(notes.later):
        after = [place[one] for one in later.tolist() if one in place]
        own, text = notes.sentences[row], notes.placed[row].chunk.text
        texts = note_sentences(text) or (text,)
        if not after or len(texts) != len(own):
            continue
        if row in clusters:
            told = {number for other in after for number in clusters[other]}
            holds = [number not in told for number in clusters[row]]
        else:
            vectors = np.concatenate([notes.sentences[other] for other in after])
            holds = (product(own, vectors).max(1, initial=0.0) < SAID_AGAIN).tolist()
        kept = [one for one, is_held in zip(texts, holds, strict=True) if is_held]
        found[int(notes.numbers[row])] = " ".join(" ".join(kept).split())
    return found


class _Sentences:
    """The sentences of a version of a note, as a question sees them."""

    def __init__(self, notes: Notes, row: int, vector: Floats32, asked: set[str]) -> None:
        self._chunk = notes.placed[row].chunk
        self.vectors, self._asked = notes.sentences[row], asked
        self.near = product(self.vectors, vector)

    def said_anew(self, later: _Sentences, *, newest: bool) -> float:
        """How surely a later version says something else, or again, of what is asked."""
        if not len(self.near) or not len(later.near):  # without vectors, its words must tell
            own = self._has(None)
            return SURE if own and own <= later._has(None) else -SURE
        best = int(self.near.argmax())
        alike = product(later.vectors, self.vectors[best])
        other = int((alike + later.near).argmax())
        before, after = self._has(best), later._has(other)
        share = max(1, len(self._asked - _name(self._chunk.topic).terms))
        return (
            ANEW.nearer * float(later.near[other] - self.near[best])
            + ANEW.alike * float(alike[other])
            + ANEW.says * len(after) / share
            + ANEW.lacks * len(before - after) / share
            + ANEW.newest * newest
            + ANEW.constant
        )

    def alone_says(self, later: _Sentences) -> bool:
        """Whether it says words of the question, and a later version none and nothing like it."""
        if not len(self.near) or not len(later.near) or self.near.max() <= later.near.max():
            return False
        best = int(self.near.argmax())
        alike = float(product(later.vectors, self.vectors[best]).max())
        heard = any(later._has(at) for at in range(len(later.near)))
        return alike < SAID_AGAIN and bool(self._has(best)) and not heard

    def _has(self, at: int | None) -> set[str]:
        """Return the question's stems in a sentence (None: the chunk), except its topic's name."""
        texts = note_sentences(self._chunk.text) or (self._chunk.text,)
        text = texts[at] if at is not None and at < len(texts) else self._chunk.text
        return (self._asked & set(stems(text))) - _name(self._chunk.topic).terms
