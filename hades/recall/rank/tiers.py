"""The order without the ranker: meaning and words, the walk, and belief, weighed (seed 004)."""

from __future__ import annotations

from hades.graph.arrays import Floats, Ints
from hades.recall.find.results import Found
from hades.recall.rank.ranker import Ranked, Ranker
from hades.recall.rank.ranking import NEAR_LEAST

Tiers = tuple[float, float, float]
WALK_ROOT = 0.25
"""A few passages hold most of a walk: by its fourth root the others count beside the prior (R@5
of the tiers on half 0: 2Wiki 65 → 71, MuSiQue 55 → 56, HotpotQA 81 → 84, LoCoMo 59 → 60)."""


def rank_by_tiers(ranker: Ranker, found: Found, numbers: Ints, weights: Tiers) -> Ranked:
    """Score candidates by the three tiers."""
    prior, cosine = found.seeds.prior[numbers], found.seeds.cosine[numbers]
    believed = ranker.unranked(prior, cosine).belief
    joined = tier_scores(prior, found.walks.joined[numbers], believed, weights)
    return ranker.unranked(joined, cosine)


def tier_scores(prior: Floats, walked: Floats, belief: Floats, weights: Tiers) -> Floats:
    """Weigh prior, walk and belief; where no walk came, the prior decides."""
    walked = (walked / max(1e-12, float(walked.max(initial=0.0)))) ** WALK_ROOT
    joined: Floats = weights[0] * prior + weights[1] * walked + weights[2] * belief
    return joined + NEAR_LEAST * prior
