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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from hades.errors import Corrupt
from hades.graph.arrays import Floats, Floats32, Ints
from hades.recall.find.results import Found
from hades.recall.rank.features import FEATURES, log_ranks
from hades.recall.rank.note_features import NOTE_FEATURES

Table = Floats32
FusionWeights = tuple[float, float, float]
WALK_ROOT = 0.25
"""A few passages hold most of a walk: by its fourth root the others count beside the prior (R@5
of the fusion on half 0: 2Wiki 65 → 71, MuSiQue 55 → 56, HotpotQA 81 → 84, LoCoMo 59 → 60)."""
LITTLE_PRIOR = 1e-6

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

_TITLE_NAMED, _BRIDGE_IN = FEATURES.index("title_named"), FEATURES.index("bridge_in")
_COSINE, _COVERAGE = FEATURES.index("cosine"), FEATURES.index("coverage")
_TURN = FEATURES.index("turn")
PRIOR_BELIEF: tuple[str, ...] = ("cosine", "rank")
"""The same where nothing was ranked: too few candidates, switched off, or too late."""
_NAMES = {"linked": FEATURES[:-1], "plain": PLAIN, "turns": TURNS, "notes": NOTE_FEATURES[:-2]}
COLUMNS = {
    kind: [(NOTE_FEATURES if kind == "notes" else FEATURES).index(name) for name in names]
    for kind, names in _NAMES.items()
}
BELIEFS = {"belief": BELIEF, "notes_belief": NOTE_BELIEF, "prior_belief": PRIOR_BELIEF}
_NOTE_BELIEF_COLUMNS = [NOTE_FEATURES.index(name) for name in NOTE_BELIEF[1:-1]]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates' scores and the probability that each is wanted."""

    scores: Floats
    belief: Floats
    linked: bool


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
        scores = self.scores(features, kind)
        belief = "notes_belief" if kind == "notes" else "belief"
        chance = self._chance(belief, belief_features(features, scores, kind))
        return Ranked(scores, chance, kind == "linked")

    def rank_by_fusion(self, found: Found, numbers: Ints, weights: FusionWeights) -> Ranked:
        """Score candidates without the models, by the fusion of source document 004."""
        prior, cosine = found.seeds.prior[numbers], found.seeds.cosine[numbers]

        def belief(scores: Floats) -> Floats:
            return self._chance("prior_belief", np.stack([cosine, log_ranks(scores)], 1))

        scores = fused(prior, found.walks.joined[numbers], belief(prior), weights)
        return Ranked(scores, belief(scores), linked=False)

    def _chance(self, belief: str, x: Floats) -> Floats:
        weights = self.beliefs[belief]
        return np.asarray(1 / (1 + np.exp(-(x @ weights[:-1] + weights[-1]))), float)

    def scores(self, features: Table, kind: str) -> Floats:
        """Return the scores one of the models gives."""
        columns = features[:, COLUMNS[kind]]
        return np.asarray(standardised(columns) @ self.weights[kind], float)

    def save(self, path: Path, trained: Mapping[str, Any]) -> None:
        """Write the weights by name, with how they were made."""
        data = {
            "trained": dict(trained),
            **{kind: _by_name(names, self.weights[kind]) for kind, names in _NAMES.items()},
            **{
                name: _by_name((*of, "constant"), self.beliefs[name])
                for name, of in BELIEFS.items()
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
                    for name, of in BELIEFS.items()
                },
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Corrupt(f"{path} is not a usable ranker: train a new one.") from error


@cache
def shipped_ranker() -> Ranker:
    """The ranker in the package."""
    return Ranker.load(SHIPPED)


def fused(prior: Floats, walked: Floats, belief: Floats, weights: FusionWeights) -> Floats:
    """Weigh prior, walk and belief; where no walk came, the prior decides."""
    walked = (walked / max(1e-12, float(walked.max(initial=0.0)))) ** WALK_ROOT
    joined: Floats = weights[0] * prior + weights[1] * walked + weights[2] * belief
    return joined + LITTLE_PRIOR * prior


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


def _by_name(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)}
