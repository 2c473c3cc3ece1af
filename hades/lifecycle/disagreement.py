"""Disagreement: two sources of today that say different values of one thing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import combinations

from hades.domain.graph import Edge
from hades.domain.promotion import Disagreement, Side
from hades.domain.statement import statement
from hades.lifecycle.synthesis import SourcedSentence, said_words

EXCLUSIVE = frozenset(
    """works_at lives_in located_in runs_on reports_to owned_by assigned_to status has_status led_by
    based_in due_on version replaced_by married_to""".split()  # noqa: SIM905
)
"""Relations that have one target at a time, unless this memory was told otherwise."""
SAME_FRAME = 0.75
"""Two sentences that share so many of their words, numbers left out, tell of one thing."""
FRAME_WORDS_AT_LEAST = 2
_VALUE = re.compile(r"\d")
_MONTHS = frozenset(
    """jan feb mar apr jun jul aug sep oct nov dec january february march april may june july
    august september october november december monday tuesday wednesday thursday friday saturday
    sunday""".split()  # noqa: SIM905
)


def edge_disagreements(
    subject: str, edges: Sequence[Edge], ended: Iterable[Edge]
) -> list[Disagreement]:
    """Edges of one subject that cannot hold at once: of one exclusive relation, to two targets.

    A relation is exclusive by its name, or since one of its edges here took another's place.
    """
    ids = {edge.id: edge for edge in edges}
    followed = {one.relation for one in ended if _follows(ids.get(one.superseded_by or 0), one)}
    own = [edge for edge in edges if edge.source.name == subject]
    return [
        Disagreement(f"{subject} {one.relation}", (_side(one), _side(other)))
        for one, other in combinations(own, 2)
        if one.relation == other.relation
        and one.relation in EXCLUSIVE | followed
        and one.target != other.target
    ]


def sentence_disagreements(
    own: Iterable[SourcedSentence], others: Sequence[SourcedSentence]
) -> list[Disagreement]:
    """Sentences that say the same with another number or date."""
    found = []
    for one in own:
        for other in others:
            if about := differs(one.text, other.text):
                found.append(Disagreement(about, (_said(one), _said(other))))
    return found


def differs(one: str, other: str) -> str:
    """What two sentences say of one thing with another number or date; empty: they do not."""
    frame, values = _parted(one)
    other_frame, other_values = _parted(other)
    shared = frame & other_frame
    if not values or not other_values or values == other_values:
        return ""
    if len(shared) < max(FRAME_WORDS_AT_LEAST, SAME_FRAME * len(frame | other_frame)):
        return ""
    return " ".join(sorted(shared))


def _parted(text: str) -> tuple[frozenset[str], frozenset[str]]:
    """The words of a sentence, and its numbers and names of days apart from them."""
    found = said_words(text)
    values = frozenset(one for one in found if _VALUE.search(one) or one in _MONTHS)
    return found - values, values


def _follows(after: Edge | None, before: Edge) -> bool:
    return after is not None and after.relation == before.relation


def _side(edge: Edge) -> Side:
    source = f"edge {edge.id}" if edge.id > 0 else f"in {getattr(edge.provenance, 'chunk', '')}"
    return Side(statement(edge), source, edge.belief.mean, edge.valid_from, edge.id > 0)


def _said(one: SourcedSentence) -> Side:
    return Side(one.text, one.source, one.confidence, one.since)
