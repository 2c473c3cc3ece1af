"""The ranker: four small logistic models, chosen by what the candidates are.

`notes`: notes, which have features of their own. `turns`: most candidates are turns
of conversations. `linked`: the question names a title, or candidates mention each other's
titles: all features count. `plain`: neither: the order of meaning and words, corrected by a
second hop. `turns` and `plain` are shrunk towards the order of meaning and words. Features are
standardised within the candidates of one question, so a model learned on one corpus reads
another. The weights are a readable file (`ranker.json`); `hades train-ranker` makes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hades.errors import Corrupt
from hades.graph.arrays import Flags, Floats, Floats32
from hades.recall.rank.features import FEATURES, log_ranks
from hades.recall.rank.notes import NOTE_FEATURES

Table = Floats32

PLAIN: tuple[str, ...] = ("prior", "second_hop", "second_hop_rank")
TURNS: tuple[str, ...] = (
    *("prior", "prior_rank", "log_walk", "walk_rank", "log_walk_prior", "log_far"),
    *("words", "meaning", "coverage", "named_weight"),
)
BELIEF: tuple[str, ...] = ("score", "cosine", "coverage", "rank", "linked")
"""What a passage's probability is read from: not standardised, so that questions compare."""
NOTE_BELIEF: tuple[str, ...] = ("score", "near", "coverage", "name_said", "missing", "rank")
"""The same of a note; `missing`: a number or id of the question that it lacks."""
SHIPPED = Path(__file__).with_name("ranker.json")

SPREAD = 0.05
"""Added to the deviation: a feature that hardly varies says little."""
LINKED_SHARE = 0.02
"""Of the candidates whose title another candidate mentions, for a question to be linked."""
TURNS_SHARE = 0.5
"""Of the candidates that are turns, for a question to be about conversations."""
LINKED_SHRINKAGE, PLAIN_SHRINKAGE, TURNS_SHRINKAGE, BELIEF_SHRINKAGE = 1e-5, 1e-2, 1e-4, 1e-4
NOTES_SHRINKAGE = 1e-3
PLAIN_START = (1.2, 0.0, 0.0)
"""The plain model is shrunk towards the hybrid order, not towards nothing."""
PLAIN_SIGNS = (1, 1, -1)
_NEWTON_STEPS, _SMALL = 100, 1e-6

_TITLE_NAMED, _BRIDGE_IN = FEATURES.index("title_named"), FEATURES.index("bridge_in")
_COSINE, _COVERAGE = FEATURES.index("cosine"), FEATURES.index("coverage")
_PRIOR = FEATURES.index("prior")
_TURN = FEATURES.index("turn")
PRIOR_BELIEF: tuple[str, ...] = ("cosine", "rank")
"""The same where nothing was ranked: too few candidates, switched off, or too late."""
LINKED, NOTES = FEATURES[:-1], NOTE_FEATURES[:-2]
_NAMES = {"linked": LINKED, "plain": PLAIN, "turns": TURNS, "notes": NOTES}
_COLUMNS = {
    kind: [(NOTE_FEATURES if kind == "notes" else FEATURES).index(name) for name in names]
    for kind, names in _NAMES.items()
}
_BELIEFS = {"belief": BELIEF, "notes_belief": NOTE_BELIEF, "prior_belief": PRIOR_BELIEF}
_NOTE_BELIEF_COLUMNS = [NOTE_FEATURES.index(name) for name in NOTE_BELIEF[1:-1]]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates' scores and the probability that each is wanted."""

    scores: Floats
    belief: Floats
    linked: bool


@dataclass(frozen=True, slots=True)
class TrainingQuestion:
    """A question to learn from: its candidates' features and which are wanted."""

    features: Table
    wanted: Flags
    weight: float = 1.0
    """How much it counts: less where a set has many, so that every set is heard."""

    @property
    def kind(self) -> str:
        """Which model learns from it."""
        return kind_of(self.features)


class Ranker:
    """Weights, and what they make of features."""

    def __init__(self, weights: Mapping[str, Any], beliefs: Mapping[str, Any]) -> None:
        self.weights = {kind: np.asarray(one, float) for kind, one in weights.items()}
        """By kind of question (`linked`, `plain`, `turns`, `notes`), one for each feature."""
        self.beliefs = {name: np.asarray(one, float) for name, one in beliefs.items()}
        """One weight for each of BELIEF, and last a constant; those of notes by themselves."""

    def rank(self, features: Table) -> Ranked:
        """Scores of one question's candidates."""
        kind = kind_of(features)
        scores = self._scores(features, kind)
        belief = "notes_belief" if kind == "notes" else "belief"
        chance = self._chance(belief, belief_features(features, scores, kind))
        return Ranked(scores, chance, kind == "linked")

    def unranked(self, scores: Floats, cosine: Floats) -> Ranked:
        """Scores that somebody else gave, with beliefs on the same scale."""
        x = np.stack([cosine, log_ranks(scores)], 1)
        return Ranked(scores, self._chance("prior_belief", x), linked=False)

    def _chance(self, belief: str, x: Floats) -> Floats:
        weights = self.beliefs[belief]
        return np.asarray(1 / (1 + np.exp(-(x @ weights[:-1] + weights[-1]))), float)

    def _scores(self, features: Table, kind: str) -> Floats:
        columns = features[:, _COLUMNS[kind]]
        return np.asarray(standardised(columns) @ self.weights[kind], float)

    @classmethod
    def train(cls, questions: Sequence[TrainingQuestion]) -> Ranker:
        """Learn from questions whose answers are known."""
        by_kind: dict[str, list[TrainingQuestion]] = {kind: [] for kind in _COLUMNS}
        for one in questions:
            by_kind[one.kind].append(one)
        prior_first = np.append(PLAIN_START[0], np.zeros(len(TURNS) - 1))
        how: dict[str, tuple[float, Floats, Sequence[int] | None]] = {
            "linked": (LINKED_SHRINKAGE, np.zeros(len(LINKED)), None),
            "plain": (PLAIN_SHRINKAGE, np.array(PLAIN_START), PLAIN_SIGNS),
            "turns": (TURNS_SHRINKAGE, prior_first, None),
            "notes": (NOTES_SHRINKAGE, np.zeros(len(NOTES)), None),
        }
        weights = {
            kind: _fit_ranking(by_kind[kind], _COLUMNS[kind], *how[kind]) for kind in _COLUMNS
        }
        model = cls(weights, {})
        notes = by_kind["notes"]
        others = [one for one in questions if one.kind != "notes"]
        model.beliefs = {
            "belief": _fit_belief(others, len(BELIEF), model._belief_features),
            "notes_belief": _fit_belief(notes, len(NOTE_BELIEF), model._belief_features),
            "prior_belief": _fit_belief(others, len(PRIOR_BELIEF), _prior_features),
        }
        return model

    def _belief_features(self, one: TrainingQuestion) -> Floats:
        return belief_features(one.features, self._scores(one.features, one.kind), one.kind)

    def save(self, path: Path, trained: Mapping[str, Any]) -> None:
        """Write the weights by name, with how they were made."""
        data = {
            "trained": dict(trained),
            **{kind: _by_name(names, self.weights[kind]) for kind, names in _NAMES.items()},
            **{
                name: _by_name((*of, "constant"), self.beliefs[name])
                for name, of in _BELIEFS.items()
            },
        }
        path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Ranker:
        """Read what `save` wrote."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                {kind: [float(data[kind][one]) for one in names] for kind, names in _NAMES.items()},
                {
                    name: [float(data[name][one]) for one in (*of, "constant")]
                    for name, of in _BELIEFS.items()
                },
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Corrupt(f"{path} is not a usable ranker: train a new one.") from error


@cache
def shipped_ranker() -> Ranker:
    """The ranker in the package."""
    return Ranker.load(SHIPPED)


def kind_of(features: Table) -> str:
    """Which model ranks these candidates."""
    if features.shape[1] == len(NOTE_FEATURES):
        return "notes"
    if len(features) and float(features[:, _TURN].mean()) >= TURNS_SHARE:
        return "turns"
    bridged = float((features[:, _BRIDGE_IN] > 0).mean()) if len(features) else 0.0
    is_linked = features[:, _TITLE_NAMED].any() or bridged >= LINKED_SHARE
    return "linked" if is_linked else "plain"


def standardised(features: Table) -> Table:
    """Each feature in deviations from its mean among the candidates."""
    spread: Table = (features - features.mean(0)) / (features.std(0) + SPREAD)
    return spread


def belief_features(features: Table, scores: Floats, kind: str) -> Floats:
    """What a passage's probability is read from."""
    rank = log_ranks(scores)
    if kind == "notes":
        own = features[:, _NOTE_BELIEF_COLUMNS].T
        return np.stack([scores, *own, rank], 1)
    linked = np.full(len(scores), float(kind == "linked"))
    cosine, coverage = features[:, _COSINE], features[:, _COVERAGE]
    return np.stack([scores, cosine, coverage, rank, linked], 1)


def _prior_features(one: TrainingQuestion) -> Floats:
    features = one.features.astype(float)
    return np.stack([features[:, _COSINE], log_ranks(features[:, _PRIOR])], 1)


def _fit_belief(
    questions: Sequence[TrainingQuestion],
    count: int,
    read: Callable[[TrainingQuestion], Floats],
) -> Floats:
    if not questions:
        return np.zeros(count + 1)
    x = np.concatenate([read(one) for one in questions])
    y = np.concatenate([one.wanted for one in questions]).astype(float)
    return _fit(x, y, _shares(questions), BELIEF_SHRINKAGE, np.zeros(count))


def _by_name(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)}


def _fit_ranking(
    questions: Sequence[TrainingQuestion],
    columns: list[int],
    shrinkage: float,
    start: Floats,
    signs: Sequence[int] | None,
) -> Floats:
    if not questions:
        return start
    x = np.concatenate([standardised(one.features[:, columns]) for one in questions]).astype(float)
    y = np.concatenate([one.wanted for one in questions]).astype(float)
    return _fit(x, y, _shares(questions), shrinkage, start, signs)[:-1]


def _shares(questions: Sequence[TrainingQuestion]) -> Floats:
    """What each candidate of each question counts; 1 in all."""
    shares = np.concatenate([np.full(len(one.wanted), one.weight) for one in questions])
    return shares / max(1e-12, float(shares.sum()))


def _fit(
    x: Floats,
    y: Floats,
    weight: Floats,
    shrinkage: float,
    start: Floats,
    signs: Sequence[int] | None = None,
) -> Floats:
    """Logistic regression by Newton's method, shrunk towards `start`.

    A weight of the wrong sign is held at nothing and the rest is fitted again: with three
    weights that is all a bounded method would do.
    """
    ones = np.ones((len(x), 1))
    x = np.concatenate([x, ones], 1)
    aim = np.append(start, -4.0)
    strength = np.append(np.full(len(start), shrinkage), 0.0)
    free = np.ones(len(aim), bool)
    found = aim.copy()
    while True:
        found = _newton(x[:, free], y, weight, strength[free], aim[free], found[free], free)
        wrong = [at for at, sign in enumerate(signs or ()) if free[at] and found[at] * sign < 0]
        if not wrong:
            return found
        free[wrong] = False
        found[wrong] = 0.0


def _newton(
    x: Floats, y: Floats, weight: Floats, strength: Floats, aim: Floats, start: Floats, free: Any
) -> Floats:
    def loss(at: Floats) -> float:
        told = x @ at
        bent = float((strength * (at - aim) ** 2).sum()) / 2
        return float((weight * (np.logaddexp(0, told) - y * told)).sum()) + bent

    at, best = start.copy(), loss(start)
    for _ in range(_NEWTON_STEPS):
        chance = 1 / (1 + np.exp(-np.clip(x @ at, -30, 30)))
        slope = x.T @ (weight * (chance - y)) + strength * (at - aim)
        bend = (x * (weight * chance * (1 - chance))[:, None]).T @ x + np.diag(strength + 1e-9)
        step = np.linalg.solve(bend, slope)
        while (found := loss(at - step)) > best and np.abs(step).max() > _SMALL:
            step = step / 2
        if np.abs(step).max() <= _SMALL:
            break
        at, best = at - step, found
    whole = np.zeros(len(free))
    whole[free] = at
    return whole
