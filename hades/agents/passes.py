"""Passes: several recalls for one question, inside the budget of one plan, merged into one.

Time and reads are shared: a pass gets what the earlier ones left. The passages of all passes
are packed once, into the tokens of the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any

from hades.context.pack import pack
from hades.domain.answer import Passage, Recall

LATENCY_MS_AT_LEAST, READS_AT_LEAST = 50, 20
"""A pass with less time or fewer reads finds too little to be worth it."""
NEW_AT_MOST = 2
"""The most passages that each later pass may add."""


@dataclass(frozen=True, slots=True)
class PassBudget:
    """What a question may still cost."""

    latency_ms: float
    reads: int
    tokens: int

    @property
    def is_spent(self) -> bool:
        """Whether too little is left for another pass."""
        return self.latency_ms < LATENCY_MS_AT_LEAST or self.reads < READS_AT_LEAST

    def after(self, recall: Recall) -> PassBudget:
        """Return what is left after a pass."""
        return replace(
            self,
            latency_ms=self.latency_ms - recall.ms,
            reads=self.reads - reads_of(recall),
        )

    def plan(self, base: Mapping[str, Any]) -> dict[str, Any]:
        """Return the plan of a pass: the caller's, within what is left."""
        left = {"latency_ms": max(1, int(self.latency_ms)), "docs_max": max(1, self.reads)}
        return {**base, "budget": {**left, "tokens": self.tokens}}


def reads_of(recall: Recall) -> int:
    """Return how many documents a recall looked at."""
    return sum(stage.reads for stage in recall.telemetry)


def merged(question: str, recalls: Sequence[Recall], tokens: int) -> Recall:
    """Return one recall with the evidence of all passes, packed into a budget of tokens.

    The first pass keeps its order. Each later pass adds its best new passages, which take the
    places of the weakest ones.
    """
    first = recalls[0]
    if len(recalls) == 1:
        return first
    passages = _merged_passages(recalls)
    facts = {fact.text: fact for recall in recalls for fact in recall.facts}
    paths = {str(path): path for recall in recalls for path in recall.paths}
    packed = pack(
        question,
        passages,
        list(paths.values()),
        budget=tokens,
        passages_at_most=len(first.passages) or len(passages),
        paths_at_most=int(first.plan["paths"]),
        facts=list(facts.values())[: int(first.plan["facts"])],
    )
    return replace(
        first,
        question=question,
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


def _merged_passages(recalls: Sequence[Recall]) -> list[Passage]:
    first, *later = ({hit.id: hit for hit in recall.passages} for recall in recalls)
    added: dict[str, Passage] = {}
    for found in later:
        news = [hit for id_, hit in found.items() if id_ not in first and id_ not in added]
        added |= {hit.id: hit for hit in news[:NEW_AT_MOST]}
    return [*first.values(), *added.values()]
