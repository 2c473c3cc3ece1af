"""Authority: which facts a note may end or change by itself, and what both sides rest on.

A fact that somebody told, or approved, stays until somebody ends it: a note that says otherwise
only proposes. A fact that was read in a note may change with a later note of the same author. The
setting `trusted_authors` names the actors of a space whose notes may change every fact.
"""

from __future__ import annotations

from collections.abc import Iterable

from hades.domain.extraction import APPROVED_BY, EXTRACTED_FROM
from hades.domain.graph import Edge
from hades.domain.topics import State
from hades.store.store import Store

EVIDENCE_CHARACTERS_AT_MOST = 300
"""Of a fact's evidence, in the reason of a proposal."""


def is_told(edge: Edge) -> bool:
    """Whether somebody told or approved a fact; else it was read in a text."""
    return EXTRACTED_FROM not in edge.metadata or APPROVED_BY in edge.metadata


def may_change(store: Store, space: int, author: str, edges: Iterable[Edge]) -> bool:
    """Whether a note of an author may end or change these facts without review."""
    foreign = [one for one in edges if is_told(one) or author != _author(store, space, one)]
    if not foreign:
        return True
    from hades.settings import load_settings

    return author in load_settings().trusted_authors.get(store.spaces.name(space), ())


def said_by(state: State, author: str) -> str:
    """Who wrote a state, when, and how sure they were; for a reason."""
    return f"({author}, {state.recorded_at:%Y-%m-%d}, confidence {state.confidence:g})"


def told_by(store: Store, space: int, edge: Edge) -> str:
    """Who told a fact, or wrote the text it was read in, when, and its evidence; for a reason."""
    how = "told by" if is_told(edge) else f"read in {edge.metadata[EXTRACTED_FROM]} of"
    by = f"{how} {_author(store, space, edge)} on {edge.recorded_at:%Y-%m-%d}"
    evidence = " ".join(edge.evidence.split())[:EVIDENCE_CHARACTERS_AT_MOST]
    return f"(edge {edge.id}, {by}" + (f", “{evidence}”)" if evidence else ")")


def _author(store: Store, space: int, edge: Edge) -> str | None:
    """Who told a fact, or who wrote the text that it was read in; None: that is not known."""
    if is_told(edge):
        return store.edges.actor(space, edge.id)
    topic, _, version = str(edge.metadata[EXTRACTED_FROM]).rpartition("@")
    return store.topics.author(space, topic, int(version)) if version.isdecimal() else None
