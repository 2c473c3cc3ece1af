"""Disagreement: two current sources that give different values for the same thing."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator
from itertools import combinations, product

from hades.domain.graph import Edge
from hades.domain.promotion import Disagreement, Side
from hades.domain.proposal import Proposal
from hades.domain.statement import statement
from hades.language.english.contradiction import contradiction
from hades.language.english.prose_facts import EXCLUSIVE
from hades.language.sentences import plain_sentence

ONE_AT_A_TIME = EXCLUSIVE | {"assigned_to", "due_on", "has_status", "status", "version"}
ONE_AT_A_TIME |= {"located_in", "runs_on"}
"""Relations that have one target at a time, judged by their names alone."""

_NOTED = re.compile(r" \(\d{1,2} [A-Z][a-z]{2,8} \d{4}\)(?=\.?$)")


def decided(proposals: Iterable[Proposal]) -> set[Hashable]:
    """Return the disagreements that review has settled: sentence pairs, and edges that stay."""
    settled: set[Hashable] = set()
    for proposal in proposals:
        metadata = proposal.fields.get("metadata") or {}
        if proposal.status in ("applied", "rejected") and {"says", "said"} <= metadata.keys():
            settled.add(_pair(metadata["says"], metadata["said"]))
        elif (proposal.kind, proposal.status) == ("unrelate", "rejected"):
            settled.add(tuple(proposal.fields[name] for name in ("source", "relation", "target")))
    return settled


def edge_disagreements(
    edges: Iterable[Edge], ended: Iterable[Edge], done: set[Hashable]
) -> Iterator[Disagreement]:
    """Yield pairs of edges with the same source and exclusive relation but different targets.

    A relation is exclusive if its name says so, or if one of these edges replaced an ended one.
    Edges that review decided (`done`, from `decided`) are left out.
    """
    by_subject: dict[tuple[str, str], dict[int, Edge]] = defaultdict(dict)
    for edge in edges:
        if (edge.source.name, edge.relation, edge.target.name) not in done:
            by_subject[edge.source.name, edge.relation][edge.id] = edge
    places = [(one.superseded_by, (one.source.name, one.relation)) for one in ended]
    followed = {key for later, key in places if later in by_subject.get(key, ())}
    for key, own in by_subject.items():
        for one, other in combinations(own.values(), 2):
            if (key[1] in ONE_AT_A_TIME or key in followed) and one.target != other.target:
                sides = _told(one), _told(other)
                if _pair(*(side.text for side in sides)) not in done:
                    yield Disagreement(sides)


def sentence_disagreements(
    own: Iterable[Side], others: Iterable[Side], done: set[Hashable]
) -> Iterator[Disagreement]:
    """Yield pairs (one of `own`, one of `others`) that contradict each other, unless `done`."""
    for one, other in product(own, others):
        topics = one.source.rpartition("@")[0], other.source.rpartition("@")[0]
        otherwise = contradiction(one.text, other.text, *topics) is not None
        if otherwise and _pair(one.text, other.text) not in done:
            yield Disagreement((one, other))


def _pair(*texts: str) -> frozenset[str]:
    """Return sentences as a set, without the date that promotion adds at the end of each."""
    return frozenset(_NOTED.sub("", plain_sentence(text)) for text in texts)


def _told(edge: Edge) -> Side:
    return Side(statement(edge), f"edge {edge.id}", edge.belief.mean, edge.valid_from)
