"""Facts that change: closing what no longer holds, opening what does.

Nothing is deleted. An edge that stopped being true gets an end; the edge that took
its place is linked from it; and a new fact is fitted between those known already.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from hades.domain.graph import Edge, FactChange, Turn
from hades.domain.times import NOW, AsOf, from_micros
from hades.errors import InvalidInput, NotFound
from hades.store.port import Draft, EdgeDraft, EdgeFilter, Store, Write

FALLBACK_INVERSE = "relates_to"
"""What a relation without an inverse turns into when nothing else is said."""


def relate(
    store: Store, write: Write, space: int, draft: EdgeDraft, *, exclusive: bool = False
) -> tuple[Edge, bool]:
    """Write an edge, unless that very fact holds already; and whether that was news.

    An exclusive edge ends its rivals.
    """
    starts = from_micros(write.at) if draft.valid_from is None else draft.valid_from
    if draft.valid_to is not None and draft.valid_to <= starts:
        raise InvalidInput("An edge cannot end before it begins: give a later valid_to.")
    same = EdgeFilter(
        node=draft.source, direction="out", relation=draft.relation, target=draft.target
    )
    for edge in store.edges.find(space, same, AsOf(valid=starts)):
        if draft.valid_to == edge.valid_to or draft.valid_to is None:
            return _refreshed(store, write, space, edge, draft)
    valid_to, rivals = _settle(store, space, draft, starts) if exclusive else (draft.valid_to, [])
    added = store.edges.add(write, space, replace(draft, valid_from=starts, valid_to=valid_to))
    for rival in rivals:
        store.edges.revise(write, rival.id, valid_to=starts, superseded_by=added)
    return store.edges.get(space, added), True


def unrelate(store: Store, write: Write, edge: Edge, at: datetime, *, mistake: bool) -> None:
    """End an edge at a moment; by mistake means that it was never true."""
    if mistake or at <= edge.valid_from:
        store.edges.retire(write, edge.id)
    else:
        store.edges.revise(write, edge.id, valid_to=at)


def end_edges_of(store: Store, write: Write, space: int, node: int, at: datetime) -> None:
    """End every edge of a node: it is forgotten from that moment on."""
    for edge in store.edges.find(space, EdgeFilter(node=node, any_time=True), NOW):
        if edge.valid_to is None or edge.valid_to > at:
            unrelate(store, write, edge, at, mistake=False)


def change_fact(
    store: Store,
    write: Write,
    space: int,
    subject: str,
    closing: list[Edge],
    *,
    at: datetime,
    to: int | None,
    new_relation: str | None,
    content: str | None,
    evidence: str,
) -> FactChange:
    """Close edges that no longer hold, open what holds instead, and say so in a new state."""
    source = store.entities.node(space, subject, NOW)
    if source is None:
        raise NotFound(f"There is no topic or entity {subject!r}.")
    state = None
    if content is not None:
        state, _ = store.traces.add(write, space, subject, Draft(content=content, valid_from=at))
    inverses = store.edges.inverses()
    opened: dict[tuple[str, int], int] = {}
    for edge in closing:
        relation = new_relation or inverses.get(edge.relation)
        if relation is None:
            # With a new target and no inverse the fact got a new value: Alice works_at …
            relation = edge.relation if to is not None else FALLBACK_INVERSE
        target = to if to is not None else _target(store, space, edge)
        if (relation, target) not in opened:
            draft = EdgeDraft(
                source=source,
                relation=relation,
                target=target,
                valid_from=at,
                weight=edge.weight,
                evidence=evidence,
            )
            opened[relation, target] = store.edges.add(write, space, draft)
        after = opened[relation, target]
        store.edges.revise(write, edge.id, valid_to=at, superseded_by=after)
    return FactChange(
        at=at,
        state=state,
        closed=tuple(store.edges.get(space, edge.id) for edge in closing),
        opened=tuple(store.edges.get(space, edge) for edge in opened.values()),
    )


def when_changed(
    store: Store, space: int, node: int, before: str, after: str | None, as_of: AsOf
) -> Turn:
    """When one relation gave way to another; NotFound when it has not."""
    wanted = EdgeFilter(node=node, direction="out", any_time=True)
    edges = store.edges.find(space, wanted, as_of)
    by_id = {edge.id: edge for edge in edges}
    turns = []
    for edge in edges:
        if edge.relation != before or edge.valid_to is None:
            continue
        successor = by_id.get(edge.superseded_by or 0) or _begun_at(edges, edge, after)
        if after is None or (successor is not None and successor.relation == after):
            turns.append(Turn(edge.valid_to, edge, successor))
    if not turns:
        became = f" and became {after!r}" if after else ""
        raise NotFound(f"No edge {before!r} ended{became} here.")
    return max(turns, key=lambda turn: turn.at)


def _begun_at(edges: list[Edge], ended: Edge, relation: str | None) -> Edge | None:
    """The edge that began when another ended, where nobody linked the two."""
    if relation is None:
        return None
    return next(
        (e for e in edges if e.relation == relation and e.valid_from == ended.valid_to), None
    )


def _settle(
    store: Store, space: int, draft: EdgeDraft, starts: datetime
) -> tuple[datetime | None, list[Edge]]:
    """Fit an exclusive fact among its rivals: until when it holds, and whom it ends.

    A rival that began earlier ends where the new fact begins; one that began later
    ends the new fact (it was born past).
    """
    wanted = EdgeFilter(node=draft.source, direction="out", relation=draft.relation, any_time=True)
    valid_to = draft.valid_to
    ended = []
    for rival in store.edges.find(space, wanted, NOW):
        if rival.valid_to is not None and rival.valid_to <= starts:
            continue
        if draft.valid_to is not None and draft.valid_to <= rival.valid_from:
            continue
        if rival.valid_from < starts:
            ended.append(rival)
        elif rival.valid_from > starts:
            valid_to = min(valid_to or rival.valid_from, rival.valid_from)
        else:
            raise InvalidInput(
                f"{rival} began at that very moment: say when the new fact began, or unrelate it."
            )
    return valid_to, ended


def _refreshed(
    store: Store, write: Write, space: int, edge: Edge, draft: EdgeDraft
) -> tuple[Edge, bool]:
    """The edge that says the same already, brought up to date where the draft says more."""
    changed: dict[str, object] = {}
    if draft.weight != edge.weight:
        changed["weight"] = draft.weight
    if draft.evidence and draft.evidence != edge.evidence:
        changed["evidence"] = draft.evidence
    if not changed:
        return edge, False
    store.edges.revise(write, edge.id, **changed)
    return store.edges.get(space, edge.id), True


def _target(store: Store, space: int, edge: Edge) -> int:
    node = store.entities.node(space, edge.target.name, NOW)
    if node is None:
        raise NotFound(f"The target of {edge} is gone.")
    return node
