"""Weights: how strong an edge is when it is first written.

w = σ(α·sim + β·type_prior + γ·evidence + δ·freshness). Each part is kept on the edge, so
that a weight can be explained, aged or learned anew. What is not known is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

ALPHA_SIM = 1.0
BETA_TYPE_PRIOR = 1.0
GAMMA_EVIDENCE = 0.5
DELTA_FRESHNESS = 0.5
"""Chosen, not measured: a stated edge of a strong relation starts near .9, a guessed one of a
weak relation near .7, and age alone never takes a third of it. To be learned from feedback."""

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

TAU_DAYS: Mapping[str, float] = {
    "calls": 180.0,
    "contains": 365.0,
    "documents": 365.0,
    "implements": 365.0,
    "imports": 180.0,
    "cites": 3_650.0,
    "authored_by": 36_500.0,
    "coref": 36_500.0,
}
"""After so many days freshness is down to 1/e: code moves on, citations stay."""
TAU_DAYS_OTHERWISE = 1_000.0

_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Weight:
    """A weight and what it was made of."""

    value: float
    components: Mapping[str, float]


def initial_weight(
    relation: str, *, certainty: float = 1.0, similarity: float | None = None, age_days: float = 0.0
) -> Weight:
    """The weight an edge starts with.

    `certainty` is how sure its reader is (the evidence), `similarity` the cosine of what it
    joins, `age_days` how long ago it was stated.

    >>> initial_weight("contains").value, initial_weight("in_category").value
    (0.8699, 0.7858)
    """
    components = {
        "type_prior": TYPE_PRIORS.get(relation, TYPE_PRIOR_OTHERWISE),
        "evidence": round(certainty, _DECIMALS),
        "freshness": round(freshness(relation, age_days), _DECIMALS),
    }
    if similarity is not None:
        components["sim"] = round(max(0.0, similarity), _DECIMALS)
    return Weight(weight_of(components), components)


def weight_of(components: Mapping[str, float]) -> float:
    """The weight that parts make together; a part that is missing adds nothing."""
    total = (
        ALPHA_SIM * components.get("sim", 0.0)
        + BETA_TYPE_PRIOR * components.get("type_prior", 0.0)
        + GAMMA_EVIDENCE * components.get("evidence", 0.0)
        + DELTA_FRESHNESS * components.get("freshness", 0.0)
    )
    return round(1 / (1 + math.exp(-total)), _DECIMALS)


def freshness(relation: str, age_days: float) -> float:
    """How much of an edge's youth is left: 1 when it is stated, 1/e after the relation's τ."""
    return math.exp(-max(0.0, age_days) / TAU_DAYS.get(relation, TAU_DAYS_OTHERWISE))
