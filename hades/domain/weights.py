"""Weights: how strong an edge is when it is first written, and as it grows older.

w = σ(α·sim + β·type_prior + γ·evidence + δ·freshness). Each part is kept on the edge, so
that a weight can be explained, aged or learned anew. What is not known is left out.
`PathScoring` is how whole paths are scored by their edges (source documents 000 and 002).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from hades.errors import InvalidInput

COEFFICIENTS: Mapping[str, float] = {
    "sim": 1.0,
    "type_prior": 1.0,
    "evidence": 0.5,
    "freshness": 0.5,
}
"""α to δ. Chosen, not measured: a stated edge of a strong relation starts near .9, a guessed one
of a weak relation near .7, and age alone never takes a third of it. To be learned from
feedback."""

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
"""What a relation says by itself. refers_to, implements, cites and derives_from are the boosts
that path scores use; the others are put in between by how much one end tells of the other."""
TYPE_PRIOR_OTHERWISE = 0.5

FRESHNESS = 1.0
"""Of an edge that is only now written: all of its youth."""
TAU_DAYS: Mapping[str, float] = {
    **dict.fromkeys(("calls", "implements", "imports", "contains", "documents"), 730.0),
    **dict.fromkeys(("authored_by", "cites", "coref", "in_category"), 3_650.0),
}
"""After so many days a freshness is 1/e: what code does changes sooner than who cites whom."""
TAU_DAYS_OTHERWISE = 1_825.0
_DECIMALS = 4
_LEAST_WEIGHT = 1e-6


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight and what it was made of."""

    value: float
    components: Mapping[str, float]


def initial_weight(
    relation: str, *, certainty: float = 1.0, similarity: float | None = None
) -> Weight:
    """The weight an edge starts with.

    `certainty` is how sure its reader is (the evidence), `similarity` the cosine of what it
    joins.

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


def aged_weight(relation: str, weight: float, parts: Mapping[str, float], days: float) -> Weight:
    """What an edge weighs so many days after it was stated: freshness = exp(−age/τ).

    One without a freshness, such as a told edge, keeps the weight it was given.
    """
    if "freshness" not in parts:
        return Weight(weight, parts)
    fresh = math.exp(-max(0.0, days) / TAU_DAYS.get(relation, TAU_DAYS_OTHERWISE))
    parts = {**parts, "freshness": round(parts["freshness"] * fresh, _DECIMALS)}
    return Weight(weight_of(parts), parts)


def weight_of(components: Mapping[str, float]) -> float:
    """The weight that parts make together; a part that is missing adds nothing."""
    total = sum(of * components.get(name, 0.0) for name, of in COEFFICIENTS.items())
    return round(1 / (1 + math.exp(-total)), _DECIMALS)


@dataclass(frozen=True, slots=True)
class PathScoring:
    """How whole paths are scored and which are pruned.

    score = exp(Σ log(max(w·boost·decay, ε)) / (1 + λ(len−2))), 0 to 1, where the weight of an
    edge into a hub counts 1/(1 + hub_demotion·degree) of itself.
    """

    decay_rate: float = 0.85
    """What each edge leaves of a path (source document 000)."""
    pruning_threshold: float = 0.01
    """A path with a lower score is left out (source document 000)."""
    length_correction: float = 0.0
    """λ: how much of their length is forgiven to long paths; source document 002 has .3. It
    divides sums of negative logarithms, so a strong detour comes before a weak direct edge."""
    hub_demotion: float = 0.005
    """deg_alpha of source document 002."""
    boosts: Mapping[str, float] = field(default_factory=dict)
    """What a relation counts, 0 to 1; one that is not named counts in full."""

    def __post_init__(self) -> None:
        shares = (self.decay_rate, self.pruning_threshold, self.length_correction)
        if not all(0 <= one <= 1 for one in (*shares, *self.boosts.values())):
            raise InvalidInput("Decay, threshold, length correction and boosts are from 0 to 1.")
        if not 0 <= self.hub_demotion < math.inf:
            raise InvalidInput("The demotion of hubs is 0 or more.")

    def score(
        self, relations: Sequence[str], weights: Sequence[float], degrees: Iterable[int] = ()
    ) -> float:
        """The score of a path by its edges; `degrees` are those of the nodes it leads through."""
        logs = -sum(math.log1p(self.hub_demotion * degree) for degree in degrees)
        for relation, weight in zip(relations, weights, strict=True):
            kept = min(weight, 1.0) * self.boosts.get(relation, 1.0) * self.decay_rate
            logs += math.log(max(kept, _LEAST_WEIGHT))
        return math.exp(logs / max(1 + self.length_correction * (len(weights) - 2), _LEAST_WEIGHT))
