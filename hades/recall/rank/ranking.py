"""Rankings: candidates in order, the result type of passages and notes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from hades.domain.answer import ReadUnit
from hades.domain.times import DAY_MICROSECONDS
from hades.graph.arrays import Floats, Floats32, Ints
from hades.recall.find.results import Seeds
from hades.recall.query_context import QueryContext

RECENT_WEIGHT = 1.0
"""The gain of the newest candidate over the oldest when a question asks for recent things, in
points of the ranker, whose scores spread over about three. In a fusion it outweighs everything
else. Not measured: no question set has such questions."""
NEAR_LEAST = 1e-6


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates in order, best first."""

    numbers: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    """Chunk numbers."""
    scores: Floats = field(default_factory=lambda: np.zeros(0))
    belief: Floats = field(default_factory=lambda: np.zeros(0))
    """The probability of each candidate that it answers the question."""
    near: Floats = field(default_factory=lambda: np.zeros(0))
    """The cosine of each with the question."""
    features: Floats32 | None = None
    """A row for each candidate; None when the ranker was off, or two rankings were merged."""
    recency: Floats | None = None
    """0 to 1; None when the question does not ask for recent things."""
    are_notes: bool = False
    """Whether the best candidate is a note."""
    superseded: frozenset[int] = frozenset()
    """The chunk numbers of versions of notes that a later version restates."""
    held: Mapping[int, str] = field(default_factory=dict)
    """Maps chunk numbers of earlier versions to their sentences that no later version restates."""
    current: Mapping[int, int] = field(default_factory=dict)
    """Maps versions of changed notes to the version that holds; both are chunk numbers."""
    answered: float | None = None
    """The probability, by the reader, that a text of the best candidate's kind (notes or documents)
    answers; None if it read none."""
    best: Mapping[int, str] = field(default_factory=dict)
    """Maps chunk numbers of notes to the sentence that the reader scored highest."""
    units: Mapping[int, tuple[ReadUnit, ...]] = field(default_factory=dict)
    """Maps chunk numbers of documents to the units that the reader read, the likeliest first."""

    def at(self, places: Ints) -> Ranking:
        """Return the candidates at these positions of the ranking, in the order given."""
        return replace(
            self,
            numbers=self.numbers[places],
            scores=self.scores[places],
            belief=self.belief[places],
            near=self.near[places],
            features=None if self.features is None else self.features[places],
            recency=None if self.recency is None else self.recency[places],
        )

    def in_order(self) -> Ranking:
        """Return the same candidates by score, best first; ties go to the older."""
        return self.at(np.lexsort((self.numbers, -self.scores)))


def merge(passages: Ranking, notes: Ranking) -> Ranking:
    """Merge notes and other texts by their belief and by how near they are to the question.

    The belief of each kind was learnt from questions that this kind answers. So a candidate that is
    far from the question is lowered, and a note is lowered if the reader doubts all notes. In the
    belief of other texts, the reader's judgement is already included.
    """
    near = np.concatenate([notes.near, passages.near])
    answered = 1.0 if notes.answered is None else notes.answered
    worth = np.concatenate([notes.belief * answered, passages.belief])
    worth = worth * np.clip(near / max(NEAR_LEAST, float(near.max())), 0.0, 1.0) ** 2
    kinds = worth[: len(notes.near)], worth[len(notes.near) :]
    merged = Ranking(
        numbers=np.concatenate([notes.numbers, passages.numbers]),
        scores=np.concatenate([never_rising(kind) for kind in kinds]),
        belief=worth,
        near=near,
        superseded=notes.superseded,
        held=notes.held,
        best=notes.best,
        units=passages.units,
    )
    # Ties keep the order of their kind: raised values are equal.
    merged = merged.at(np.argsort(-merged.scores, kind="stable"))
    first = notes if merged.numbers[0] in notes.numbers else passages
    return replace(merged, answered=first.answered)


def with_turns(seeds: Seeds, numbers: Ints, scores: Floats) -> Floats:
    """Return the scores of candidates with what they gain by the turns before the question."""
    return scores if seeds.turned is None else scores + scores.std() * seeds.turned[numbers]


def never_rising(values: Floats) -> Floats:
    """Raise values so that no candidate has a lower value than one that is ranked below it."""
    return np.maximum.accumulate(values[::-1])[::-1]


def best_of(
    query: QueryContext, ranking: Ranking, limit: int, current: Mapping[int, int]
) -> Ranking:
    """Keep at most `limit` candidates: the best, and the current versions of notes among them.

    A current version that ranks below the limit replaces the last of the best. At most half of
    the candidates are replaced.
    """
    numbers = ranking.numbers
    held = [current[number] for number in numbers[:limit].tolist() if number in current]
    behind = limit + np.flatnonzero(np.isin(numbers[limit:], held))[: limit // 2]
    kept = np.concatenate([np.arange(min(len(numbers), limit - len(behind))), behind])
    are_notes = bool(query.notes[numbers[0]])
    return replace(ranking.at(kept), current=current, are_notes=are_notes)


def recency_of(query: QueryContext, numbers: Ints) -> Floats:
    """Return 1 for candidates of the newest day, 0 for the oldest, and between by order of days."""
    days = query.indexes.spans(numbers, query.as_of)[0] // DAY_MICROSECONDS
    known, place = np.unique(days, return_inverse=True)
    return place / max(1, len(known) - 1)
