"""Training the ranker: learn its weights from questions with known answers.

The features are the same as in use. The fit is logistic regression by Newton's method, shrunk
towards start weights. Reported numbers must come from other questions than those trained on
(`fold`, or other sets).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hades.errors import InvalidInput
from hades.evals.everyday import draws
from hades.evals.memories import IdOf, open_set
from hades.evals.replay import read_events, replay
from hades.evals.sets import EvalQuestion, EvalSet
from hades.graph.arrays import Flags, Floats
from hades.memory import View
from hades.recall.rank.features import FEATURES, log_ranks
from hades.recall.rank.ranker import (
    BELIEFS,
    COLUMNS,
    NOTE_MODELS,
    Ranker,
    Table,
    belief_features,
    kind_of,
    standardised,
)
from hades.store.records import Progress

NOTE_SIZES = (None, 100, 30, 10)
"""The sizes, in notes, of the memories to learn from, because the ranker must work on small
memories, too. None is the whole set."""
SHRINKAGE = {"linked": 1e-5, "plain": 1e-2, "turns": 1e-4, "notes": 1e-3, "notes_read": 1e-3}
BELIEF_SHRINKAGE = 1e-4
PRIOR_START = 1.2
"""The start weight of the prior for models that are shrunk towards the order of meaning and words.
All other start weights are 0."""
PLAIN_SIGNS = (1, 1, -1)
_NEWTON_STEPS = 100
_SMALL = 1e-6


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question to learn from: its candidates' features, and which candidates are gold."""

    features: Table
    wanted: Flags
    weight: float = 1.0
    """Its weight, lower in a set with many questions, so that all sets count alike."""

    @property
    def kind(self) -> str:
        """The model that learns from it."""
        return kind_of(self.features)


def train(
    sets: Sequence[EvalSet],
    target: Path,
    *,
    cache: Path,
    encoder: str,
    on_progress: Progress | None = None,
) -> dict[str, int]:
    """Train a ranker on sets and write it; return how many questions of each set were usable."""
    if not target.expanduser().parent.is_dir():
        raise InvalidInput(f"There is no folder {target.parent} to write {target.name} to.")
    learned: dict[str, list[TrainingQuestion]] = {one.name: [] for one in sets}
    for eval_set in sets:
        for question, view, id_of in _asked(eval_set, cache, encoder, on_progress):
            chunks, table = view.examine(question.text)
            wanted = np.array([id_of(one) in question.gold for one in chunks], np.bool_)
            if wanted.any() and not wanted.all():
                learned[eval_set.name].append(TrainingQuestion(table, wanted))
    counts = {name: len(examples) for name, examples in learned.items()}
    # Every set has the same total weight: a set left out of training then loses less.
    every = [
        replace(one, weight=1 / len(examples)) for examples in learned.values() for one in examples
    ]
    if not every:
        raise InvalidInput("No question of these sets has an answer among its candidates.")
    ranker = fit_ranker(every)
    ranker.save(target, {"questions": counts, "encoder": encoder})
    return counts


def _asked(
    eval_set: EvalSet, cache: Path, encoder: str, on_progress: Progress | None
) -> Iterator[tuple[EvalQuestion, View, IdOf]]:
    """Yield every question of a set, its view, and the function from a chunk to its gold id."""
    if eval_set.kind != "everyday":
        with open_set(eval_set, cache, encoder=encoder, on_progress=on_progress) as opened:
            for question in eval_set.each_question(f"asking {eval_set.name}", on_progress):
                yield question, opened.view(question), opened.id_of
        return
    events = read_events(eval_set.corpus)
    for size in NOTE_SIZES:
        for some, questions in draws(events, eval_set.questions, size):
            for question, view in replay(some, questions, encoder=encoder, on_progress=on_progress):
                yield question, view, lambda chunk: f"{chunk.topic}@{chunk.version}"


def fit_ranker(questions: Sequence[TrainingQuestion]) -> Ranker:
    """Return a ranker with weights and beliefs learned from these questions.

    `notes` also learns from the questions of `notes_read`, without the reader's judgement.
    """
    of = {kind: [one for one in questions if one.kind == kind] for kind in COLUMNS}
    of["notes"] += of["notes_read"]
    ranker = Ranker({kind: _fit_ranking(of[kind], kind) for kind in COLUMNS}, {})

    def read(one: TrainingQuestion, kind: str) -> Floats:
        return belief_features(one.features, ranker.scores(one.features, kind), kind)

    others = [one for one in questions if one.kind not in NOTE_MODELS]
    beliefs = {
        "belief": _fit_belief("belief", others, lambda one: read(one, one.kind)),
        "notes_belief": _fit_belief("notes_belief", of["notes"], lambda one: read(one, "notes")),
        "notes_read_belief": _fit_belief(
            "notes_read_belief", of["notes_read"], lambda one: read(one, "notes_read")
        ),
        "prior_belief": _fit_belief("prior_belief", others, _prior_features),
    }
    return Ranker(ranker.weights, beliefs)


def _fit_ranking(questions: Sequence[TrainingQuestion], kind: str) -> Floats:
    columns = COLUMNS[kind]
    start = np.zeros(len(columns))
    if kind in ("plain", "turns"):
        start[0] = PRIOR_START
    if not questions:
        return start
    tables = [standardised(one.features[:, columns]) for one in questions]
    signs = PLAIN_SIGNS if kind == "plain" else ()
    return _fit(questions, tables, SHRINKAGE[kind], start, signs)[:-1]


def _fit_belief(
    belief: str,
    questions: Sequence[TrainingQuestion],
    read: Callable[[TrainingQuestion], Floats],
) -> Floats:
    count = len(BELIEFS[belief])
    if not questions:
        return np.zeros(count + 1)
    tables = [read(one) for one in questions]
    return _fit(questions, tables, BELIEF_SHRINKAGE, np.zeros(count))


def _prior_features(one: TrainingQuestion) -> Floats:
    cosine, prior = (
        one.features[:, FEATURES.index(name)].astype(float) for name in ("cosine", "prior")
    )
    return np.stack([cosine, log_ranks(prior)], 1)


def _fit(
    questions: Sequence[TrainingQuestion],
    tables: Sequence[Any],
    shrinkage: float,
    start: Floats,
    signs: Sequence[int] = (),
) -> Floats:
    """Fit a weight for each column, and last a constant, all shrunk towards `start`.

    A weight of the wrong sign is fixed at 0 and the rest is fitted again: with three weights, a
    bounded method would do the same.
    """
    x = np.concatenate(tables).astype(float)
    x = np.concatenate([x, np.ones((len(x), 1))], 1)
    y = np.concatenate([one.wanted for one in questions]).astype(float)
    share = np.concatenate([np.full(len(one.wanted), one.weight) for one in questions])
    share = share / max(1e-12, float(share.sum()))
    aim = np.append(start, -4.0)
    strength = np.append(np.full(len(start), shrinkage), 0.0)
    free = np.ones(len(aim), bool)
    weights = aim.copy()
    while True:
        weights[free] = _newton(x[:, free], y, share, strength[free], aim[free], weights[free])
        wrong = [at for at, sign in enumerate(signs) if free[at] and weights[at] * sign < 0]
        if not wrong:
            return weights
        free[wrong] = False
        weights[wrong] = 0.0


def _newton(
    x: Floats, y: Floats, share: Floats, strength: Floats, aim: Floats, start: Floats
) -> Floats:
    def loss(at: Floats) -> float:
        scores = x @ at
        bent = float((strength * (at - aim) ** 2).sum()) / 2
        return float((share * (np.logaddexp(0, scores) - y * scores)).sum()) + bent

    at = start.copy()
    best = loss(start)
    for _ in range(_NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(x @ at, -30, 30)))
        slope = x.T @ (share * (chance - y)) + strength * (at - aim)
        bend = (x * (share * chance * (1 - chance))[:, None]).T @ x + np.diag(strength + 1e-9)
        step = np.linalg.solve(bend, slope)
        while (lower := loss(at - step)) > best and np.abs(step).max() > _SMALL:
            step = step / 2
        if np.abs(step).max() <= _SMALL:
            break
        at = at - step
        best = lower
    return at
