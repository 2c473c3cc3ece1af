"""Facts that change: end edges that no longer hold, and open the edges that replace them.

Nothing is deleted. An edge that stopped being true gets an end and a link to its replacement.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from hades.domain.graph import SYMMETRIC, Edge, FactChange, RelationChange
from hades.domain.times import NOW, AsOf, from_micros
from hades.errors import InvalidInput, NotFound
from hades.store.records import Draft, EdgeDraft, EdgeFilter, Write

if TYPE_CHECKING:
    from hades.store.store import Store


def relate(
    store: Store, write: Write, space: int, draft: EdgeDraft, *, exclusive: bool = False
) -> tuple[Edge, bool]:
    """Write an edge; return it and whether anything changed.

    If the same fact is known for an overlapping time, that edge is extended instead. An exclusive
    edge ends its rivals: edges with the same source and relation but another target.
    """
    starts = from_micros(write.at) if draft.valid_from is None else draft.valid_from
    if draft.valid_to is not None and draft.valid_to <= starts:
        raise InvalidInput("An edge cannot end before it begins: give a later valid_to.")
    draft, rivals, known = _settled(store, space, draft, starts, exclusive)
    if known:
        edge, is_news = _refresh(store, write, space, known, draft)
    else:
        edge = store.edges.get(space, store.edges.add(write, space, draft))
        is_news = True
    for rival in rivals:
        store.edges.revise(write, rival.id, valid_to=starts, superseded_by=edge.id)
    return edge, is_news or bool(rivals)


def changed_by(
    store: Store, space: int, draft: EdgeDraft, starts: datetime, *, exclusive: bool
) -> list[Edge]:
    """Return the edges that `relate` would end, extend or merge."""
    _, rivals, known = _settled(store, space, draft, starts, exclusive)
    return [*rivals, *known]


def unrelate(store: Store, write: Write, edge: Edge, at: datetime, *, mistake: bool) -> None:
    """End an edge at a moment after its start; with `mistake`, retire it as never true."""
    if mistake:
        store.edges.retire(write, edge.id)
    elif at <= edge.valid_from:
        raise InvalidInput(
            f"Edge {edge.id} began later than that: say it was a mistake, or give a later time."
        )
    else:
        store.edges.revise(write, edge.id, valid_to=at)


def end_edges_of(store: Store, write: Write, space: int, node: int, at: datetime) -> None:
    """End every edge of a node that is forgotten at a moment; retire edges that begin later."""
    wanted = EdgeFilter(node=node, any_time=True, exact=True)
    for edge in store.edges.find(space, wanted, NOW):
        if edge.valid_to is None or edge.valid_to > at:
            unrelate(store, write, edge, at, mistake=at <= edge.valid_from)


def change_fact(
    store: Store,
    write: Write,
    space: int,
    source: str,
    relation: str,
    closing: list[Edge],
    *,
    at: datetime,
    to: int | None,
    new_relation: str | None,
    content: str | None,
    evidence: str,
) -> FactChange:
    """End the edges `closing` at a moment, and open their replacements.

    A replacement leads to `to`, or to the same target. Its relation is `new_relation`, else the
    inverse of `relation`, else `relation` if `to` is given. If there is none of these, the edges
    only end.

    With `content`, also write a new state of the source. If `closing` is empty and `to` is given,
    only the new edge is opened.
    """
    state = None
    if content is not None:
        state, _ = store.topics.add(write, space, source, Draft(content=content, valid_from=at))
    node = store.entities.ensure(write, space, source, "concept")
    # With a new target and no inverse, the relation stays and gets a new value: Alice works_at …
    same = None if to is None else relation
    after_it = new_relation or store.edges.inverses().get(relation, same)
    opened: dict[int, int] = {}
    if not closing and to is not None:
        opening = new_relation or relation
        draft = EdgeDraft(node, opening, to, valid_from=at, evidence=evidence)
        # No edge of this relation holds, so `exclusive` can only give the new edge an end: the
        # start of a rival that begins later.
        opened[to] = relate(store, write, space, draft, exclusive=opening == relation)[0].id
    for edge in closing:
        if after_it is None:
            unrelate(store, write, edge, at, mistake=False)
            continue
        target = to if to is not None else _target(store, space, edge)
        if target not in opened:
            draft = EdgeDraft(
                source=node,
                relation=after_it,
                target=target,
                valid_from=at,
                # A replacement within a past period ends with that period.
                valid_to=edge.valid_to,
                weight=edge.weight,
                evidence=evidence,
            )
            opened[target] = relate(store, write, space, draft)[0].id
        after = opened[target]
        if after != edge.id:
            store.edges.revise(write, edge.id, valid_to=at, superseded_by=after)
        if edge.superseded_by is not None:
            store.edges.revise(write, after, superseded_by=edge.superseded_by)
    return FactChange(
        at=at,
        state=state,
        closed=tuple(store.edges.get(space, edge.id) for edge in closing),
        opened=tuple(store.edges.get(space, edge) for edge in opened.values()),
    )


def when_changed(
    store: Store, space: int, node: int, before: str, after: str | None, as_of: AsOf
) -> RelationChange:
    """Return the last change from the relation `before` to `after` (None: to any relation or none).

    Raise NotFound if there was none.
    """
    wanted = EdgeFilter(node=node, direction="out", any_time=True)
    edges = store.edges.find(space, wanted, as_of)
    by_id = {edge.id: edge for edge in edges}
    changes = []
    for edge in edges:
        if edge.relation != before or edge.valid_to is None:
            continue
        successor = by_id.get(edge.superseded_by or 0) or _begun_at(edges, edge, after)
        if as_of.valid is not None and edge.valid_to > as_of.valid:
            continue
        if after is None or (successor is not None and successor.relation == after):
            changes.append(RelationChange(edge.valid_to, edge, successor))
    if not changes:
        became = f" and became {after!r}" if after else ""
        raise NotFound(f"No edge {before!r} ended{became} here.")
    return max(changes, key=lambda change: change.at)


def _begun_at(edges: list[Edge], ended: Edge, relation: str | None) -> Edge | None:
    """Return the edge of a relation that began when `ended` ended, for an `ended` without a link to
    its replacement."""
    if relation is None:
        return None
    return next(
        (e for e in edges if e.relation == relation and e.valid_from == ended.valid_to), None
    )


def _settled(
    store: Store, space: int, draft: EdgeDraft, starts: datetime, exclusive: bool
) -> tuple[EdgeDraft, list[Edge], list[Edge]]:
    """Return a draft with its times, the rivals that it ends, and the edges that it extends.

    Only an exclusive fact has rivals: at its source, and at its target too if the relation is
    symmetric. A rival that began earlier ends where the new fact begins. A rival that began later
    ends the new fact.
    """
    out = EdgeFilter(node=draft.source, direction="out", relation=draft.relation, any_time=True)
    same = store.edges.find(space, replace(out, target=draft.target), NOW)
    ids = {edge.id for edge in same}
    valid_to = draft.valid_to
    ended = list[Edge]()
    rivals = store.edges.find(space, out, NOW) if exclusive else []
    if exclusive and draft.relation in SYMMETRIC:
        rivals += store.edges.find(space, replace(out, node=draft.target), NOW)
    for rival in rivals:
        if rival.id in ids or rival.has_ended(starts):
            continue
        if draft.valid_to is not None and draft.valid_to <= rival.valid_from:
            continue
        if rival.valid_from < starts:
            ended.append(rival)
        elif rival.valid_from > starts:
            valid_to = min(valid_to or rival.valid_from, rival.valid_from)
        else:
            raise InvalidInput(
                f"{rival} began at the same moment: say when the new fact began, or unrelate it."
            )
    overlapping = [
        edge
        for edge in same
        if (valid_to is None or edge.valid_from < valid_to)
        and (edge.valid_to is None or starts < edge.valid_to)
    ]
    return replace(draft, valid_from=starts, valid_to=valid_to), ended, overlapping


def _refresh(
    store: Store, write: Write, space: int, known: list[Edge], draft: EdgeDraft
) -> tuple[Edge, bool]:
    """Merge edges of the same fact into the first, over all their time; return it and whether
    anything changed."""
    edge = known[0]
    others = known[1:]
    starts = min([draft.valid_from or edge.valid_from, *(e.valid_from for e in known)])
    ends = [draft.valid_to, *(e.valid_to for e in known)]
    valid_to = None if None in ends else max(end for end in ends if end is not None)
    values: dict[str, object] = {"valid_from": starts, "valid_to": valid_to}
    if draft.weight is not None:
        values["weight"] = draft.weight
    if draft.evidence:
        values["evidence"] = draft.evidence
    if draft.metadata:
        values["metadata"] = {**edge.metadata, **draft.metadata}
    changed = {name: value for name, value in values.items() if getattr(edge, name) != value}
    for other in others:
        store.edges.retire(write, other.id)
    if changed:
        store.edges.revise(write, edge.id, **changed)
    return store.edges.get(space, edge.id), bool(changed or others)


def _target(store: Store, space: int, edge: Edge) -> int:
    node = store.entities.node(space, edge.target.name, NOW)
    if node is None:
        raise NotFound(f"The target of {edge} is gone.")
    return node
