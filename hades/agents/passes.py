"""Passes: several recalls for one question, inside the budget of one plan, merged into one.

The passes share time and reads: each gets what earlier passes left. The passages of all passes are
packed once, into the tokens of the plan.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from hades.context.pack import pack
from hades.domain.answer import Passage, Recall
from hades.recall.plan import TOKENS_A_PASSAGE

LATENCY_MS_AT_LEAST = 50
READS_AT_LEAST = 20
"""A pass with less time or fewer reads than this finds too little to be worth it."""
DEPTH = 12
"""How many passages a later pass ranks. Chosen, like the sum of scores, on musique_train
(docs/lab/details.md)."""


@dataclass(frozen=True, slots=True)
class PassBudget:
    """The remaining budget of a question."""

    latency_ms: float
    reads: int
    tokens: int
    reads_a_pass: int
    """The most that one pass may read, as much as a single `recall`."""

    @property
    def is_spent(self) -> bool:
        """Whether too little is left for another pass."""
        return self.latency_ms < LATENCY_MS_AT_LEAST or self.reads < READS_AT_LEAST

    def after(self, recall: Recall) -> PassBudget:
        """Return the budget that remains after a pass."""
        return replace(
            self,
            latency_ms=self.latency_ms - recall.ms,
            reads=self.reads - reads_of(recall),
        )

    def plan(self, base: Mapping[str, Any], *, deep: bool) -> dict[str, Any]:
        """Return the plan of a pass: the caller's plan, within the remaining budget.

        A `deep` pass ranks more passages than the context shows.
        """
        reads = max(1, min(self.reads, self.reads_a_pass))
        left = {"latency_ms": max(1, int(self.latency_ms)), "docs_max": reads}
        plan = {**base, "budget": {**left, "tokens": self.tokens}}
        if deep:
            plan["final_context"] = max(int(base.get("final_context", 0)), DEPTH)
            plan["budget"]["tokens"] = max(self.tokens, DEPTH * TOKENS_A_PASSAGE)
        return plan


def reads_of(recall: Recall) -> int:
    """Return how many documents a recall looked at."""
    return sum(stage.reads for stage in recall.telemetry)


def merged(question: str, recalls: Sequence[Recall], tokens: int) -> Recall:
    """Return one recall with the evidence of all passes, packed into a budget of tokens.

    Passages are ranked by the sum of their scores in all passes; the first pass sets their number.
    After a drill-down the originals answer instead of the summaries.
    """
    recalls = [recall for recall in recalls if not recall.level] or recalls[:1]
    first = recalls[0]
    if len(recalls) == 1:
        return first
    facts = {fact.text: fact for recall in recalls for fact in recall.facts}
    paths = {str(path): path for recall in recalls for path in recall.paths}
    packed = pack(
        question,
        _ranked(recalls),
        list(paths.values()),
        budget=tokens,
        passages_at_most=int(first.plan["final_context"]),
        paths_at_most=int(first.plan["paths"]),
        facts=list(facts.values())[: int(first.plan["facts"])],
    )
    return replace(
        first,
        passages=packed.passages,
        paths=packed.paths,
        facts=packed.facts,
        context=packed.context,
        tokens=packed.tokens,
        citations=packed.citations,
        reasons=(*first.reasons, *packed.diagnostics),
        telemetry=tuple(chain.from_iterable(recall.telemetry for recall in recalls)),
        ms=sum(recall.ms for recall in recalls),
    )


def _ranked(recalls: Sequence[Recall]) -> list[Passage]:
    """Return the passages of all passes, the best first."""
    passages: dict[str, Passage] = {}
    scores: defaultdict[str, float] = defaultdict(float)
    for recall in recalls:
        for passage in recall.passages:
            passages.setdefault(passage.id, passage)
            scores[passage.id] += passage.score
    return sorted(passages.values(), key=lambda passage: -scores[passage.id])
