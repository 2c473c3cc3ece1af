"""Disagreement: two sources of today that say different values of one thing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product

from hades.domain.contradiction import Said, compare
from hades.domain.graph import Edge
from hades.domain.promotion import Disagreement, Side
from hades.domain.statement import statement
from hades.lifecycle.synthesis import SourcedSentence

EXCLUSIVE = frozenset(
    """works_at lives_in located_in runs_on reports_to owned_by assigned_to status has_status led_by
    based_in due_on version replaced_by married_to""".split()  # noqa: SIM905
)
"""Relations that have one target at a time, by their names alone."""


def edge_disagreements(
    subject: str, edges: Sequence[Edge], ended: Iterable[Edge]
) -> Iterator[Disagreement]:
    """Edges of one subject that cannot hold at once: of one exclusive relation, to two targets.

    A relation is exclusive by its name, or since one of its edges here took another's place.
    """
    relations = {edge.id: edge.relation for edge in edges}
    followed = {
        one.relation for one in ended if relations.get(one.superseded_by or 0) == one.relation
    }
    own = [e for e in edges if e.source.name == subject and e.relation in EXCLUSIVE | followed]
    for one, other in combinations(own, 2):
        if one.relation == other.relation and one.target != other.target:
            yield Disagreement((_told(one), _told(other)))


def sentence_disagreements(
    own: Iterable[SourcedSentence], others: Iterable[SourcedSentence]
) -> Iterator[Disagreement]:
    """Sentences of two topics that say the same with another value, or deny each other."""
    for one, other in product(own, others):
        topics = one.source.rpartition("@")[0], other.source.rpartition("@")[0]
        if compare(one.text, other.text, *topics).said in (Said.VALUE, Said.NEGATED):
            yield Disagreement((_said(one), _said(other)))


def _told(edge: Edge) -> Side:
    source = f"edge {edge.id}"
    return Side(statement(edge), source, edge.belief.mean, edge.valid_from, edge.id > 0)


def _said(one: SourcedSentence) -> Side:
    return Side(one.text, one.source, one.confidence, one.since)
