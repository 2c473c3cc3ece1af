"""Weights: how strong an edge is when it is first written, and as it grows older.

w = σ(α·sim + β·type_prior + γ·evidence + δ·freshness). The edge keeps each part, so that its weight
can be explained, aged or learned again. Unknown parts are left out. `Weighting` has the parameters,
shipped or learned (`weight_config` of HiRAG × PathRAG). `PathScoring` scores whole paths by their
edges.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import chain

from hades.domain.graph import Belief
from hades.errors import InvalidInput

COEFFICIENTS: Mapping[str, float] = {
    "sim": 1.0,
    "type_prior": 1.0,
    "evidence": 0.5,
    "freshness": 0.5,
}
"""α to δ. Chosen, not measured: a sure edge of a strong relation starts near .9, a guessed one of a
weak relation near .7, and age alone lowers a weight by less than a third."""

TYPE_PRIORS: Mapping[str, float] = {
    "coref": 1.0,
    "contains": 0.9,
    "documents": 0.8,
    "extends": 0.8,
    "refers_to": 0.8,
    "calls": 0.7,
    "implements": 0.7,
    "cites": 0.6,
    "derives_from": 0.6,
    "authored_by": 0.6,
    "imports": 0.5,
    "participant": 0.5,
    "in_category": 0.3,
}
"""How much a relation says by itself. refers_to, implements, cites and derives_from have the boosts
of path scores; the others are placed by how much one end says about the other."""
TYPE_PRIOR_OTHERWISE = 0.5

FRESHNESS = 1.0
"""The freshness of a new edge."""
TAU_DAYS: Mapping[str, float] = {
    **dict.fromkeys(("calls", "implements", "imports", "contains", "documents"), 730.0),
    **dict.fromkeys(("authored_by", "cites", "coref", "in_category"), 3_650.0),
}
"""The days after which freshness is 1/e: code changes sooner than citations."""
TAU_DAYS_OTHERWISE = 1_825.0
_DECIMALS = 4
_LEAST_WEIGHT = 1e-6


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight and its parts."""

    value: float
    components: Mapping[str, float]


def initial_weight(
    relation: str, *, certainty: float = 1.0, similarity: float | None = None
) -> Weight:
    """Return the weight that an edge starts with.

    `certainty` is the confidence of its reader, the evidence part. `similarity` is the cosine of
    its two ends.

    >>> initial_weight("contains").value, initial_weight("in_category").value
    (0.8699, 0.7858)
    """
    components = {
        "type_prior": TYPE_PRIORS.get(relation, TYPE_PRIOR_OTHERWISE),
        "evidence": round(certainty, _DECIMALS),
        "freshness": FRESHNESS,
    }
    if similarity is not None:
        components["sim"] = round(max(0.0, similarity), _DECIMALS)
    return Weight(weight_of(components), components)


def weight_of(components: Mapping[str, float], of: Mapping[str, float] = COEFFICIENTS) -> float:
    """Return the weight of these parts; a missing part adds nothing."""
    total = sum(factor * components.get(name, 0.0) for name, factor in of.items())
    return round(1 / (1 + math.exp(-total)), _DECIMALS)


@dataclass(frozen=True, slots=True)
class Weighting:
    """The parameters of edge weights and of path scores."""

    coefficients: Mapping[str, float] = field(default_factory=lambda: COEFFICIENTS)
    priors: Mapping[str, float] = field(default_factory=lambda: TYPE_PRIORS)
    tau_days: Mapping[str, float] = field(default_factory=lambda: TAU_DAYS)
    boosts: Mapping[str, float] = field(default_factory=dict)
    """The factor of a relation whose weight has no parts (mentions, told edges); 1 if missing."""
    beliefs: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Beta(a, b) of a relation whose edges have no belief of their own, where it was learned."""
    snapshot: int = field(default=0, compare=False)
    """The number of the weight snapshot; 0: the shipped parameters."""

    def prior(self, relation: str) -> float:
        """Return the prior of a relation: how much it says without similarity and evidence."""
        return self.priors.get(relation, TYPE_PRIOR_OTHERWISE)

    def aged(self, relation: str, weight: float, parts: Mapping[str, float], days: float) -> Weight:
        """Return the weight of an edge `days` after it was stated: freshness = exp(−age/τ).

        An edge without freshness, such as a told edge, keeps its weight.
        """
        if "freshness" not in parts:
            return Weight(weight, parts)
        fresh = math.exp(-max(0.0, days) / self.tau_days.get(relation, TAU_DAYS_OTHERWISE))
        learned = self.prior(relation) - SHIPPED.prior(relation)
        parts = {
            **parts,
            "type_prior": round(parts.get("type_prior", 0.0) + learned, _DECIMALS),
            "freshness": round(parts["freshness"] * fresh, _DECIMALS),
        }
        return Weight(weight_of(parts, self.coefficients), parts)

    def shift(self, relation: str) -> float:
        """Return the change of a new edge's logit by the learned prior and freshness coefficient.

        Walks read stored weights without their parts, so they use this shift.
        """
        old = SHIPPED.coefficients
        new = self.coefficients
        prior = new["type_prior"] * self.prior(relation)
        shipped = old["type_prior"] * SHIPPED.prior(relation)
        return prior - shipped + FRESHNESS * (new["freshness"] - old["freshness"])

    def boost(self, relations: Iterable[str]) -> float:
        """Return the factor of a path's score: the product of the boosts of its steps."""
        return math.prod(self.boosts.get(relation, 1.0) for relation in relations)

    def belief(self, relation: str, otherwise: Belief) -> Belief:
        """Return the belief of an edge of a relation that has none of its own."""
        learned = self.beliefs.get(relation)
        return otherwise if learned is None else Belief(*learned)

    def parameters(self) -> dict[str, float]:
        """Return every parameter by name: `prior cites`, `coefficient sim`, `boost mentions` …"""
        named = {
            "coefficient": self.coefficients,
            "prior": self.priors,
            "tau_days": self.tau_days,
            "boost": self.boosts,
            "belief": {relation: a / (a + b) for relation, (a, b) in self.beliefs.items()},
        }
        return {
            f"{group} {name}": round(value, _DECIMALS)
            for group, values in named.items()
            for name, value in sorted(values.items())
        }

    def as_json(self) -> str:
        """Return the whole configuration as JSON."""
        config = asdict(self)
        del config["snapshot"]
        return json.dumps(config, sort_keys=True)


SHIPPED = Weighting()
_SIZE_AT_MOST = 20.0
"""The largest coefficient or prior of a stored configuration. Learning stays within much narrower
bounds (see `hades.lifecycle.learning`)."""


@lru_cache(maxsize=64)
def read_weighting(text: str, snapshot: int = 0) -> Weighting:
    """Return the configuration of `Weighting.as_json`; raise ValueError if it cannot be used."""
    config = json.loads(text)
    factors = dict(config["coefficients"])
    priors = dict(config["priors"])
    taus = dict(config["tau_days"])
    boosts = dict(config["boosts"])
    beliefs = {relation: (a, b) for relation, (a, b) in dict(config["beliefs"]).items()}
    positive = [*taus.values(), *chain.from_iterable(beliefs.values())]
    if (
        set(factors) != set(COEFFICIENTS)
        or not all(abs(number) <= _SIZE_AT_MOST for number in (*factors.values(), *priors.values()))
        or not all(0 < number < math.inf for number in positive)
        or not all(0 < boost <= 1 for boost in boosts.values())
    ):
        raise ValueError("a parameter of the weights is out of range")
    return Weighting(factors, priors, taus, boosts, beliefs, snapshot)


@dataclass(frozen=True, slots=True)
class PathScoring:
    """The scoring and pruning of whole paths.

    score = exp(Σ log(max(w·boost·decay, ε)) / (1 + λ(len−2))), 0 to 1, where the weight of an
    edge into a hub counts 1/(1 + hub_demotion·degree) of itself.
    """

    decay_rate: float = 0.85
    """The factor of each edge, as in memory-enhanced PathRAG."""
    pruning_threshold: float = 0.01
    """Paths with a lower score, before hub demotion, are left out (memory-enhanced PathRAG)."""
    length_correction: float = 0.0
    """λ: how much length is forgiven; HiRAG × PathRAG has .3. It divides sums of negative
    logarithms, so that a strong detour scores above a weak direct edge."""
    hub_demotion: float = 0.005
    """`deg_alpha` of HiRAG × PathRAG."""
    boosts: Mapping[str, float] = field(default_factory=dict)
    """The factor of each relation, 0 to 1; 1 for a relation that is not listed."""
    epsilon: float = _LEAST_WEIGHT
    """ε: no edge counts less than this."""

    def __post_init__(self) -> None:
        shares = (self.decay_rate, self.pruning_threshold, self.length_correction)
        if not all(0 <= share <= 1 for share in (*shares, *self.boosts.values())):
            raise InvalidInput("Decay, threshold, length correction and boosts go from 0 to 1.")
        if not 0 <= self.hub_demotion < math.inf:
            raise InvalidInput("The demotion of hubs is 0 or more.")
        if not 0 < self.epsilon <= 1:
            raise InvalidInput("Epsilon is above 0 and at most 1.")

    def learned(self, weights: Weighting) -> PathScoring:
        """Return this scoring with learned boosts, where it has none of its own."""
        return replace(self, boosts={**weights.boosts, **self.boosts})

    def score(
        self, relations: Sequence[str], weights: Sequence[float], degrees: Iterable[int] = ()
    ) -> float:
        """Return the score of a path from its edges; `degrees` are those of its inner nodes."""
        logs = -sum(math.log1p(self.hub_demotion * degree) for degree in degrees)
        for relation, weight in zip(relations, weights, strict=True):
            kept = min(weight, 1.0) * self.boosts.get(relation, 1.0) * self.decay_rate
            logs += math.log(max(kept, self.epsilon))
        return math.exp(logs / max(1 + self.length_correction * (len(weights) - 2), _LEAST_WEIGHT))
