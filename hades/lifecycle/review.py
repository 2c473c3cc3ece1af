"""Review: what a new state may have settled waits for somebody to look at it.

A note that says a bug is fixed says nothing of what the bug blocked. Those edges are proposed
to be ended; nothing is ended by itself.
"""

from __future__ import annotations

from hades.domain.proposal import DEFAULT_THRESHOLD
from hades.domain.settled import settled
from hades.domain.times import NOW, iso
from hades.domain.topics import State
from hades.store.records import EdgeFilter, Write
from hades.store.store import Store

CONFIDENCE = 0.5
"""Below every sensible threshold: the note does not speak of the edge. A judgement."""
BLOCKED = {"blocked_by", "blocked_on", "delayed_by", "depends_on", "postponed_because"}
BLOCKED |= {"rejected_because", "waiting_for", "waiting_on", "waits_for", "waits_on"}
"""Relations to something that is in the way until it is settled."""
BLOCKS = "blocks"
ENABLING = ("enabled_by", "viable_after_fix")
"""A relation with one of these for an inverse is also to something in the way."""


def propose_ends(store: Store, write: Write, space: int, state: State, actor: str) -> None:
    """Propose to end the edges that a topic's new state may have settled, each once."""
    word = "" if state.valid_to is not None else settled(state.topic, state.content)
    node = store.entities.node(space, state.topic) if word else None
    if node is None:
        return
    inverses = store.edges.inverses().items()
    blocked = BLOCKED | {relation for relation, inverse in inverses if inverse in ENABLING}
    found = [
        edge
        for edge in store.edges.find(space, EdgeFilter(node=node, direction="in"), NOW)
        if edge.relation.casefold().replace(" ", "_").replace("-", "_") in blocked
    ]
    found += store.edges.find(space, EdgeFilter(node=node, direction="out", relation=BLOCKS), NOW)
    waiting = {
        tuple(one.fields.get(name) for name in ("source", "relation", "target"))
        for one in (store.proposals.find(space, "waiting", 0, None) if found else ())
        if one.kind == "unrelate"
    }
    for edge in found:
        source, relation, target = edge.source.name, edge.relation, edge.target.name
        # What was said to be blocked later than the note was not settled by it.
        if edge.valid_from >= state.valid_from or (source, relation, target) in waiting:
            continue
        ends = {"source": source, "relation": relation, "target": target}
        store.proposals.add(
            write,
            space,
            actor,
            "unrelate",
            {**ends, "at": iso(state.valid_from)},
            confidence=CONFIDENCE,
            threshold=DEFAULT_THRESHOLD,
            why=f"{state.id} says “{word}”",
        )
