"""Disagreement: two sources of today that say different values of one thing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations, product

from hades.domain.contradiction import contradiction
from hades.domain.graph import Edge
from hades.domain.promotion import Disagreement, Side
from hades.domain.prose_facts import EXCLUSIVE
from hades.domain.statement import statement

ONE_AT_A_TIME = EXCLUSIVE | {"assigned_to", "due_on", "has_status", "status", "version"}
ONE_AT_A_TIME |= {"located_in", "runs_on"}
"""Relations that have one target at a time, by their names alone."""


def edge_disagreements(edges: Iterable[Edge], ended: Iterable[Edge]) -> Iterator[Disagreement]:
    """Edges of one subject that cannot hold at once: of one exclusive relation, to two targets.

    A relation is exclusive by its name, or since one of its edges here took another's place.
    """
    by_subject: dict[tuple[str, str], dict[int, Edge]] = defaultdict(dict)
    for edge in edges:
        by_subject[edge.source.name, edge.relation][edge.id] = edge
    places = [(one.superseded_by, (one.source.name, one.relation)) for one in ended]
    followed = {key for later, key in places if later in by_subject.get(key, ())}
    for key, own in by_subject.items():
        for one, other in combinations(own.values(), 2):
            if (key[1] in ONE_AT_A_TIME or key in followed) and one.target != other.target:
                yield Disagreement((_told(one), _told(other)))


def sentence_disagreements(own: Iterable[Side], others: Iterable[Side]) -> Iterator[Disagreement]:
    """Sentences of two topics that say the same with another value, or deny each other."""
    for one, other in product(own, others):
        topics = one.source.rpartition("@")[0], other.source.rpartition("@")[0]
        if contradiction(one.text, other.text, *topics) is not None:
            yield Disagreement((one, other))


def _told(edge: Edge) -> Side:
    source = f"edge {edge.id}"
    return Side(statement(edge), source, edge.belief.mean, edge.valid_from, edge.id > 0)
