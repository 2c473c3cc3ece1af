"""The ranker: five small logistic models, chosen by what the candidates are.

`notes_read` ranks the notes of a question if the reader judged any of them, `notes` if it judged
none. `turns` is for candidates that are mostly turns of conversations. `linked` uses all features
of passages, if the question names a title or candidates mention each other's titles. `plain`, for
the rest, is the order of meaning and words, corrected by a second hop. `turns` and `plain` are
shrunk towards the order of meaning and words; since the weights in the package were not trained on
conversations, their `turns` is just that order. Features are standardised within one question, so
that a model learned on one corpus works on another. The weights are a readable file, `ranker.json`,
made by `hades train-ranker`.
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
from hades.recall.find.results import Retrieved
from hades.recall.rank.features import FEATURES, log_ranks
from hades.recall.rank.note_features import NOTE_FEATURES

Table = Floats32
FusionWeights = tuple[float, float, float]
WALK_ROOT = 0.25
"""The power of walk scores in the fusion. A few passages get most of a walk; its fourth root lets
the others count, too."""
LITTLE_PRIOR = 1e-6

PLAIN: tuple[str, ...] = ("prior", "second_hop", "second_hop_rank")
TURNS: tuple[str, ...] = (
    *("prior", "prior_rank", "log_walk", "walk_rank", "log_walk_prior", "log_far"),
    *("words", "meaning", "coverage", "named_weight"),
)
BELIEF: tuple[str, ...] = ("score", "cosine", "coverage", "rank", "linked")
"""Features of a passage's probability; not standardised, so that questions can be compared."""
NOTE_BELIEF: tuple[str, ...] = ("score", "near", "coverage", "name_said", "missing", "rank")
"""Features of a note's probability; `missing` is a number or id of the question that it lacks."""
NOTE_READ_BELIEF: tuple[str, ...] = ("score", "near", "speaks", *NOTE_BELIEF[2:])
"""The same if the reader judged notes, with its judgement."""
SHIPPED = Path(__file__).with_name("ranker.json")

SPREAD = 0.05
"""Added to the deviation, so that a feature that hardly varies counts little."""
LINKED_SHARE = 0.02
"""The share of candidates whose title another one mentions that makes a question linked."""
TURNS_SHARE = 0.5
"""The share of turns among the candidates that makes a question one about conversations."""

_TITLE_NAMED = FEATURES.index("title_named")
_BRIDGE_IN = FEATURES.index("bridge_in")
_COSINE = FEATURES.index("cosine")
_COVERAGE = FEATURES.index("coverage")
_TURN = FEATURES.index("turn")
PRIOR_BELIEF: tuple[str, ...] = ("cosine", "rank")
"""Features of the probability without the models: few candidates, switched off, or late."""
_NAMES = {
    "linked": FEATURES[:-1],
    "plain": PLAIN,
    "turns": TURNS,
    "notes": NOTE_FEATURES[:-3],
    "notes_read": NOTE_FEATURES[:-2],
}
NOTE_MODELS = ("notes", "notes_read")
COLUMNS = {
    kind: [(NOTE_FEATURES if kind in NOTE_MODELS else FEATURES).index(name) for name in names]
    for kind, names in _NAMES.items()
}
BELIEFS = {
    "belief": BELIEF,
    "notes_belief": NOTE_BELIEF,
    "notes_read_belief": NOTE_READ_BELIEF,
    "prior_belief": PRIOR_BELIEF,
}
_SPEAKS = NOTE_FEATURES.index("speaks")


@dataclass(frozen=True, slots=True)
class Ranked:
    """The score of each candidate, and the probability that it answers the question."""

    scores: Floats
    belief: Floats
    linked: bool


class Ranker:
    """The weights of the models, and the scores they give."""

    def __init__(self, weights: Mapping[str, Any], beliefs: Mapping[str, Any]) -> None:
        self.weights = {kind: np.asarray(values, float) for kind, values in weights.items()}
        """One weight for each feature, by model: the keys of COLUMNS."""
        self.beliefs = {name: np.asarray(values, float) for name, values in beliefs.items()}
        """One weight for each feature of a belief, and last a constant, by name in BELIEFS."""

    def rank(self, features: Table) -> Ranked:
        """Score the candidates of one question by the model for their kind (`kind_of`)."""
        kind = kind_of(features)
        scores = self.scores(features, kind)
        belief = f"{kind}_belief" if kind in NOTE_MODELS else "belief"
        chance = self._chance(belief, belief_features(features, scores, kind))
        return Ranked(scores, chance, kind == "linked")

    def rank_by_fusion(self, retrieved: Retrieved, numbers: Ints, weights: FusionWeights) -> Ranked:
        """Score candidates without the models, by the weighted sum of prior, walk and belief."""
        prior = retrieved.seeds.prior[numbers]
        cosine = retrieved.seeds.cosine[numbers]

        def belief(scores: Floats) -> Floats:
            return self._chance("prior_belief", np.stack([cosine, log_ranks(scores)], 1))

        scores = fused(prior, retrieved.walks.joined[numbers], belief(prior), weights)
        return Ranked(scores, belief(scores), linked=False)

    def _chance(self, belief: str, x: Floats) -> Floats:
        weights = self.beliefs[belief]
        return np.asarray(1 / (1 + np.exp(-(x @ weights[:-1] + weights[-1]))), float)

    def scores(self, features: Table, kind: str) -> Floats:
        """Return each candidate's score by the model `kind`."""
        columns = features[:, COLUMNS[kind]]
        return np.asarray(standardised(columns) @ self.weights[kind], float)

    def save(self, path: Path, trained: Mapping[str, Any]) -> None:
        """Write the weights by name, with the record `trained` of how they were learnt."""
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
        """Read the weights that `save` wrote; raise Corrupt if the file is not usable."""
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                {kind: [float(data[kind][key]) for key in names] for kind, names in _NAMES.items()},
                {
                    name: [float(data[name][feature]) for feature in (*of, "constant")]
                    for name, of in BELIEFS.items()
                },
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise Corrupt(f"{path} is not a usable ranker: train a new one.") from error


@cache
def shipped_ranker() -> Ranker:
    """Return the ranker of the package."""
    return Ranker.load(SHIPPED)


def fused(prior: Floats, walked: Floats, belief: Floats, weights: FusionWeights) -> Floats:
    """Return the weighted sum of prior, walk and belief; the prior breaks ties."""
    walked = (walked / max(1e-12, float(walked.max(initial=0.0)))) ** WALK_ROOT
    joined: Floats = weights[0] * prior + weights[1] * walked + weights[2] * belief
    return joined + LITTLE_PRIOR * prior


def kind_of(features: Table) -> str:
    """Return the name of the model for these candidates, a key of COLUMNS."""
    if features.shape[1] == len(NOTE_FEATURES):
        return "notes_read" if features[:, _SPEAKS].any() else "notes"
    if len(features) and float(features[:, _TURN].mean()) >= TURNS_SHARE:
        return "turns"
    linked = float((features[:, _BRIDGE_IN] > 0).mean()) if len(features) else 0.0
    is_linked = features[:, _TITLE_NAMED].any() or linked >= LINKED_SHARE
    return "linked" if is_linked else "plain"


def standardised(features: Table) -> Table:
    """Return each feature in standard deviations from its mean among the candidates."""
    spread: Table = (features - features.mean(0)) / (features.std(0) + SPREAD)
    return spread


def belief_features(features: Table, scores: Floats, kind: str) -> Floats:
    """Return, for each candidate, the features of the probability that it answers (BELIEFS)."""
    rank = log_ranks(scores)
    if kind in NOTE_MODELS:
        names = BELIEFS[f"{kind}_belief"][1:-1]
        own = features[:, [NOTE_FEATURES.index(name) for name in names]].T
        return np.stack([scores, *own, rank], 1)
    linked = np.full(len(scores), float(kind == "linked"))
    cosine = features[:, _COSINE]
    coverage = features[:, _COVERAGE]
    return np.stack([scores, cosine, coverage, rank, linked], 1)


def _by_name(names: Sequence[str], weights: Floats) -> dict[str, float]:
    return {name: round(float(weight), 4) for name, weight in zip(names, weights, strict=True)}
