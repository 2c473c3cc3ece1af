"""Authority: which facts a new note may end or change without review.

A fact that an actor told or approved holds until an actor ends it; a note that contradicts it only
proposes a change. A fact extracted from a note may be changed by a later note of the same author.
Notes of the actors in the setting `trusted_authors` may change every fact of their space.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hades.domain.extraction import APPROVED_BY, EXTRACTED_FROM
from hades.domain.graph import Edge
from hades.domain.topics import State

if TYPE_CHECKING:
    from hades.store.store import Store

ENDS_OF_EDGE = ("source", "relation", "target")
"""The fields that identify an edge in a proposal."""
EVIDENCE_CHARACTERS_AT_MOST = 300
"""The most characters of a fact's evidence in the reason of a proposal."""


def is_told(edge: Edge) -> bool:
    """Return whether an actor told or approved a fact; if not, it was extracted from a text."""
    return EXTRACTED_FROM not in edge.metadata or APPROVED_BY in edge.metadata


def may_change(store: Store, space: int, author: str, edges: Iterable[Edge]) -> bool:
    """Return whether an author's note may end or change these facts without review."""
    foreign = [edge for edge in edges if is_told(edge) or author != _author(store, space, edge)]
    if not foreign:
        return True
    from hades.settings import load_settings

    return author in load_settings().trusted_authors.get(store.spaces.name(space), ())


def ends_of(edge: Edge) -> dict[str, str]:
    """Return the fields that identify an edge in a proposal."""
    return {"source": edge.source.name, "relation": edge.relation, "target": edge.target.name}


def against(store: Store, space: int, state: State, author: str, edges: Iterable[Edge]) -> str:
    """Return the end of a reason: the author of the state, against those of the edges."""
    told = (f"{edge} {told_by(store, space, edge)}" for edge in edges)
    return f" {said_by(state, author)}, against {', '.join(told)}"


def said_by(state: State, author: str) -> str:
    """Return a state's author, date and confidence in parentheses, as part of a reason."""
    return f"({author}, {state.recorded_at:%Y-%m-%d}, confidence {state.confidence:g})"


def told_by(store: Store, space: int, edge: Edge) -> str:
    """Return a fact's edge, author, date and evidence in parentheses, as part of a reason."""
    how = "told by" if is_told(edge) else f"read in {edge.metadata[EXTRACTED_FROM]} of"
    by = f"{how} {_author(store, space, edge)} on {edge.recorded_at:%Y-%m-%d}"
    evidence = " ".join(edge.evidence.split())[:EVIDENCE_CHARACTERS_AT_MOST]
    return f"(edge {edge.id}, {by}" + (f", “{evidence}”)" if evidence else ")")


def _author(store: Store, space: int, edge: Edge) -> str | None:
    """Return the actor who told a fact or wrote its source text, or None if unknown."""
    if is_told(edge):
        return store.edges.actor(space, edge.id)
    topic, _, version = str(edge.metadata[EXTRACTED_FROM]).rpartition("@")
    return store.topics.author(space, topic, int(version)) if version.isdecimal() else None
