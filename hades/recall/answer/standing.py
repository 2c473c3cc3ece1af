"""Standing: how a told fact is shown if a later note disputes it or a later fact replaces it.

A note never changes a told fact by itself: somebody must decide. Until then an answer states the
fact, then what the later note says, then that the change waits for review.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hades.domain.answer import Fact
from hades.domain.graph import Edge
from hades.domain.proposal import Proposal
from hades.domain.statement import day
from hades.lifecycle.authority import ENDS_OF_EDGE, ends_of
from hades.recall.rank import belief
from hades.store.store import Store

DISPUTED_SHARE = 0.5
"""The share of its belief that a fact keeps while a dispute about it is undecided."""


def with_disputes(store: Store, space: int, facts: Iterable[Fact]) -> list[Fact]:
    """Return the facts; if a waiting proposal disputes one, its text has both sides.

    The belief in such a fact is reduced to DISPUTED_SHARE.
    """
    return [_told(store, space, fact) if fact.edge.valid_to is None else fact for fact in facts]


def believe_ended_less(facts: Sequence[Fact]) -> list[Fact]:
    """Return the facts, with less belief in an ended fact than in the one that holds instead.

    That is the fact that replaced it, or else a current one of the same source and relation.
    """
    sure = {fact.edge.id: fact.belief.mean for fact in facts}
    holding = {_subject(fact.edge): fact.edge.id for fact in facts if fact.edge.valid_to is None}
    weighed = {}
    for fact in sorted(facts, key=lambda fact: fact.edge.valid_from, reverse=True):
        edge = fact.edge
        instead = edge.superseded_by if edge.superseded_by in sure else holding.get(_subject(edge))
        if edge.valid_to is not None and instead is not None:
            sure[edge.id] = min(sure[edge.id], sure[instead] * edge.belief.mean)
            believed = belief.interval(belief.of_probability(sure[edge.id]))
            fact = replace(fact, belief=believed)
        weighed[edge.id] = fact
    return [weighed[fact.edge.id] for fact in facts]


def _subject(edge: Edge) -> tuple[str, str]:
    return edge.source.name, edge.relation


def _told(store: Store, space: int, fact: Fact) -> Fact:
    waiting = store.proposals.changing(space, fact.edge.source.name)
    against = [proposal for proposal in waiting if _is_against(proposal, fact.edge)]
    if not against:
        return fact
    latest = against[-1]
    # The reason of a proposal begins with its source: log/1@1 says “…” (author, date, …).
    quote, is_quoted, _ = " ".join(latest.why.split()).partition("” (")
    says = f"{quote}”" if is_quoted else f"{latest.by} proposed otherwise"
    review = f"proposal {latest.id} waits for review"
    text = f"{fact.text}. Disputed: {says} ({day(latest.at)}); {review}."
    sure = belief.interval(belief.of_probability(DISPUTED_SHARE * fact.belief.mean))
    return replace(fact, text=text, belief=sure)


def _is_against(proposal: Proposal, edge: Edge) -> bool:
    """Return whether a proposal would end an edge, directly or by another exclusive target."""
    ends = ends_of(edge)
    fields = proposal.fields
    same = [fields.get(name) == ends[name] for name in ENDS_OF_EDGE]
    if proposal.kind == "unrelate":
        return all(same)
    return same == [True, True, False] and bool(fields.get("exclusive"))
