"""The ladder of baselines: the score of every passage by each system, for evaluation."""

from __future__ import annotations

import numpy as np

from hades.domain.question import Intent
from hades.graph.arrays import Floats
from hades.recall.find.results import Retrieved
from hades.recall.plan import default_plan
from hades.recall.rank.ranker import fused
from hades.recall.rank.ranking import Ranking

SYSTEMS = ("dense", "words", "hybrid", "ppr", "fusion", "full")
"""Each system adds a part to the one before."""


def system_scores(retrieved: Retrieved, ranking: Ranking, system: str) -> Floats:
    """Return one system's scores of all chunks, by chunk number; -inf for chunks not retrieved."""
    seeds = retrieved.seeds
    walked = retrieved.walks.joined
    if system == "full":
        # The ranked candidates come first, in their order; then the rest by prior.
        scores = seeds.prior - 1e6
        scores[ranking.numbers] = ranking.scores
    elif system == "fusion":
        believed = np.zeros(len(seeds.mask))
        believed[ranking.numbers] = ranking.belief
        plan = default_plan(Intent.LOOKUP, retrieved.search.question.mode)
        scores = fused(seeds.prior, walked, believed, plan.reranker.fusion)
    elif system == "ppr":
        # A walk reaches few passages; the others follow by prior.
        share = walked / max(1e-12, float(walked.max(initial=0.0)))
        scores = np.where(share > 0, 1 + share, seeds.prior * 1e-3)
    elif system == "hybrid":
        scores = (seeds.scaled[0] + seeds.scaled[1]) / 2
    elif system == "words":
        scores = np.where(seeds.words > 0, seeds.words, -np.inf)
    else:
        scores = seeds.cosine
    return np.where(seeds.mask, scores, -np.inf)
