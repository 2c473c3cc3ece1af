"""Review: what a new state may have settled waits for somebody to look at it.

A note that says a bug is fixed says nothing of what the bug blocked. Those edges are proposed
to be ended; nothing is ended by itself.
"""

from __future__ import annotations

from hades.domain.proposal import DEFAULT_THRESHOLD
from hades.domain.settled import settled
from hades.domain.times import NOW, iso
from hades.domain.topics import State
from hades.store.records import Direction, EdgeFilter, Write
from hades.store.store import Store

CONFIDENCE = 0.5
"""Below every sensible threshold: the note does not speak of the edge. A judgement."""
BLOCKED = {"blocked_by", "blocked_on", "delayed_by", "depends_on", "postponed_because"}
BLOCKED |= {"rejected_because", "waiting_for", "waiting_on", "waits_for", "waits_on"}
"""Relations to something that is in the way until it is settled."""
ENABLING = ("enabled_by", "viable_after_fix")
"""A relation with one of these for an inverse is also to something in the way."""


def blocking(store: Store) -> set[str]:
    """The keys of all relations to something that is in the way."""
    inverses = store.edges.inverses().items()
    return BLOCKED | {relation for relation, inverse in inverses if inverse in ENABLING}


def relation_key(relation: str) -> str:
    """A relation in one spelling."""
    return relation.casefold().replace(" ", "_").replace("-", "_")


def propose_ends(store: Store, write: Write, space: int, state: State, actor: str) -> None:
    """Propose to end the edges that a topic's new state may have settled, each once."""
    word = "" if state.valid_to is not None else settled(state.topic, state.content)
    if not word or (node := store.entities.node(space, state.topic)) is None:
        return
    sides: tuple[tuple[Direction, set[str]], ...] = (("in", blocking(store)), ("out", {"blocks"}))
    found = [
        {"source": edge.source.name, "relation": edge.relation, "target": edge.target.name}
        for direction, relations in sides
        for edge in store.edges.find(space, EdgeFilter(node=node, direction=direction), NOW)
        if relation_key(edge.relation) in relations
        # What was said to be blocked later than the note was not settled by it.
        and edge.valid_from < state.valid_from
    ]
    waiting = store.proposals.find(space, "waiting", 0, None) if found else ()
    known = [one.fields.items() for one in waiting if one.kind == "unrelate"]
    for ends in found:
        if not any(ends.items() <= fields for fields in known):
            fields = {**ends, "at": iso(state.valid_from)}
            why = f"{state.id} says “{word}”"
            sure = {"confidence": CONFIDENCE, "threshold": DEFAULT_THRESHOLD}
            store.proposals.add(write, space, actor, "unrelate", fields, why=why, **sure)
