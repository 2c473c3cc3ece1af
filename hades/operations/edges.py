"""Edges: relations between topics and entities, and the facts they state."""

from __future__ import annotations

import shlex
from dataclasses import replace
from datetime import datetime
from typing import Annotated

from hades.domain.graph import RELATION_KINDS, Edge, FactChange, RelationChange
from hades.domain.rules import (
    clean_metadata,
    clean_name,
    clean_number,
    clean_share,
    clean_text,
)
from hades.domain.times import NOW, AsOf, from_micros, iso
from hades.errors import Conflict, InvalidInput, NotFound
from hades.language.likeness import are_forms, did_you_mean, is_comparable, is_slip
from hades.language.names import name_key
from hades.lifecycle import fact_changes
from hades.lifecycle.authority import ENDS_OF_EDGE
from hades.operations.declare import Param, Role, operation
from hades.operations.inside import Inside
from hades.operations.parameters import (
    RELATION,
    Create,
    DryRun,
    Evidence,
    Exclusive,
    Metadata,
    Name,
    NewKind,
    OptionalContent,
    PageLimit,
    Relation,
    ValidFrom,
    ValidTo,
    Weight,
    When,
    WhichWay,
    whole_number,
)
from hades.store.database import NO_LIMIT
from hades.store.edge_pages import FIRST, Place, edge_place, edges_after
from hades.store.records import Draft, EdgeDraft, EdgeFilter

FACTS_NAMED = 10
"""The most facts that a message names."""

Target = Annotated[
    str, Param("The topic or entity it leads to.", example="bugs/bug_y", rule=clean_name)
]
Source = Annotated[
    str,
    Param("The topic or entity it starts from.", example="design/approach_x", rule=clean_name),
]
EdgeNumber = Annotated[
    int, whole_number("The number of the edge.", "edge", most=10**18 - 1, example=1)
]


@operation("GET", "/edges", command="edges", timed=True, cursor=edge_place)
def edges(
    inside: Inside,
    name: Annotated[
        str | None, Param("Only facts about this topic or entity.", example="design/approach_x")
    ] = None,
    *,
    relation: Annotated[
        str | None, Param("Only this relation.", flag="--relation/-r", rule=RELATION)
    ] = None,
    direction: WhichWay = "both",
    all: Annotated[
        bool, Param("Include facts that have ended or have not begun.", flag="--all")
    ] = False,
    after: Annotated[Place | None, Param("Only edges after this place in the list.")] = None,
    limit: PageLimit = None,
) -> list[Edge]:
    """List the facts that hold, about one name or about all.

    Facts that were told (`relate`) come first. Then come edges that texts state (`contains`,
    `imports`, `cites` …), which hold as long as the passage that states them; their numbers are
    0 or less. Edges `documents` come last, but first in a paged list. The end of a symbol's
    name or of a file's path is enough if unambiguous. `all=True` includes facts that have ended or
    have not begun. `limit` and `after` (`edge_place` of the last edge) page through a long list.
    """
    store = inside.store
    space = inside.space_id
    with store.snapshot():
        inside.require_space()
        node = None if name is None else inside.meant_node(name)
        wanted = EdgeFilter(node=node, direction=direction, relation=relation, any_time=all)
        if limit is not None or after is not None:
            most = NO_LIMIT if limit is None else limit
            return edges_after(store, space, wanted, inside.as_of, after or FIRST, most)
        told = store.edges.find(space, wanted, inside.as_of)
        return told + store.derived_edges.find(space, wanted, inside.as_of)


@operation("GET", "/edges/{edge}", command="edge", timed=True)
def edge(inside: Inside, edge: EdgeNumber) -> list[Edge]:
    """List all recorded versions of one edge, oldest first."""
    return inside.store.edges.beliefs(inside.space_id, edge, inside.as_of)


@operation("GET", "/when-changed/{name}", command="when-changed", timed=True)
def when_changed(
    inside: Inside,
    name: Name,
    before: Annotated[
        str, Param("The relation that ended.", example="rejected_because", rule=RELATION)
    ],
    after: Annotated[str | None, Param("The relation that began.", rule=RELATION)] = None,
) -> RelationChange:
    """Show when a relation last ended, and what replaced it.

    With `after`, only a change to that relation counts. Raise NotFound if there is none.
    """
    with inside.store.snapshot():
        node = inside.named_node(name)
        return fact_changes.when_changed(
            inside.store, inside.space_id, node, before, after, inside.as_of
        )


@operation("GET", "/inverses", command="inverses")
def inverses(inside: Inside) -> dict[str, str]:
    """List the relations that replace others when a fact changes.

    The result maps each relation to its replacement. They are the same in all spaces.
    """
    return inside.store.edges.inverses()


@operation("POST", "/edges", role=Role.WRITER, command="relate", creates=True)
def relate(
    inside: Inside,
    source: Source,
    relation: Relation,
    target: Target,
    *,
    weight: Weight = None,
    evidence: Evidence = "",
    valid_from: ValidFrom = None,
    valid_to: ValidTo = None,
    exclusive: Exclusive = False,
    metadata: Metadata = None,
    kind: NewKind = "concept",
    create: Create = False,
) -> Edge:
    """Store a fact: source, relation, target.

    It holds from `valid_from` on, by default from now. A name that is neither topic nor entity
    becomes an entity of that `kind`, or of the kind that the relation implies. The weight is 1
    unless given. Storing it again updates weight and evidence and extends its time. An `exclusive`
    relation has one target at a time: the new fact ends the old one. An unknown source or relation
    that looks like a misspelling of a known one raises InvalidInput, unless `create`.
    """
    if not create:
        _check_slips(inside, source, relation)
    kinds = [kind, kind]
    if kind == "concept":
        kinds = [implied or kind for implied in RELATION_KINDS.get(relation, (kind, kind))]
    weight = clean_share(weight, "weight")
    store = inside.store
    space = inside.space_id
    with inside.write("relate") as write:
        draft = EdgeDraft(
            source=store.entities.ensure(write, space, source, kinds[0]),
            relation=relation,
            target=store.entities.ensure(write, space, target, kinds[1]),
            valid_from=inside.time(valid_from),
            valid_to=inside.time(valid_to),
            weight=weight,
            evidence=clean_text(evidence or "", "evidence"),
            metadata=clean_metadata(metadata) or {},
        )
        edge, is_news = fact_changes.relate(store, write, space, draft, exclusive=exclusive)
        write.cancelled = not is_news
    return edge


@operation("POST", "/edges/end", role=Role.WRITER, command="unrelate")
def unrelate(
    inside: Inside,
    source: Annotated[
        str | int,
        Param("Where it starts, or the number of the edge.", example="design/approach_x"),
    ],
    relation: Annotated[str | None, Param("The relation.", example="rejected_because")] = None,
    target: Annotated[str | None, Param("Where it leads.")] = None,
    *,
    at: When = None,
    mistake: Annotated[bool, Param("Say that it was never true.", flag="--mistake")] = False,
) -> list[Edge]:
    """End a fact, by its names or by its number (as `source`).

    Without `target`, all facts of that source and relation end. They end now, or at the time `at`.
    `mistake=True` says that they were never true: from now on they are shown at no time.
    """
    ends = inside.time(at)
    store = inside.store
    space = inside.space_id
    number = clean_number(source, "edge") if not isinstance(source, str) else None
    if relation is None and isinstance(source, str) and source.isdecimal():
        number = clean_number(int(clean_name(source, "edge")), "edge")
    if number is None and relation is None:
        raise InvalidInput("Say which relation ends, or give the number of an edge.")
    with inside.write("unrelate") as write:
        if number is not None:
            ending = [store.edges.get(space, number)]
        else:
            ending = _holding(inside, str(source), relation, target)
        for edge in ending:
            when = ends or from_micros(write.at)
            if edge.has_ended(when) and not (ends or mistake):
                raise Conflict(f"Edge {edge.id} ended already: give `at` to change its end.")
            fact_changes.unrelate(store, write, edge, when, mistake=mistake)
        write.subject = store.entities.node(space, ending[0].source.name, NOW)
    return [store.edges.beliefs(space, edge.id, NOW)[-1] for edge in ending]


@operation("POST", "/edges/change", role=Role.WRITER, command="change-fact")
def change_fact(
    inside: Inside,
    source: Source,
    relation: Annotated[
        str | None, Param("The relation.", example="rejected_because", rule=RELATION)
    ] = None,
    target: Annotated[str | None, Param("Only the edge to this target.")] = None,
    *,
    to: Annotated[
        str | None,
        Param("Where the new edge leads.", flag="--to", example="refactoring/q1", rule=clean_name),
    ] = None,
    new_relation: Annotated[
        str | None,
        Param("The new relation (default: the inverse).", flag="--new-relation", rule=RELATION),
    ] = None,
    content: OptionalContent = None,
    evidence: Evidence = "",
    at: When = None,
    create: Create = False,
) -> FactChange:
    """End a fact and store the one that replaces it.

    The source's edges of that relation (to `target`, or all) end. An edge of the inverse relation
    (`inverses`, or `new_relation`) begins, to `to` or to the old target, and supersedes them. If
    the relation has no inverse, the new edge has the same relation; without a new target, the old
    edge only ends. If no edge of that relation holds yet, the edge to `to` is stored and nothing is
    `closed`. `content` becomes the source's new state. All of it is one write. With `content`
    alone, without a relation, nothing ends: the fact that the text names is `proposed` for review.
    An unknown name is refused as by `relate`, unless `create`.
    """
    from hades.lifecycle import review

    moment = inside.time(at)
    store = inside.store
    space = inside.space_id
    if relation is None:
        if content is None or target or to or new_relation:
            raise InvalidInput("Say which relation changed, or only what happened: `content`.")
        return _described(inside, source, content, moment)
    if not create:
        _check_slips(inside, source, relation, new_relation or relation)
    with inside.write("change_fact") as write:
        when = moment or from_micros(write.at)
        opens = to is not None and target is None
        hint = "" if to else " To open one, give `to`."
        closing = _holding(inside, source, relation, target, when, may_lack=opens, hint=hint)
        new_target = None if to is None else store.entities.ensure(write, space, to, "concept")
        change = fact_changes.change_fact(
            store,
            write,
            space,
            source,
            relation,
            closing,
            at=when,
            to=new_target,
            new_relation=new_relation,
            content=content,
            evidence=clean_text(evidence or "", "evidence"),
        )
        if change.state is not None:
            review.review(store, write, space, change.state, inside.actor)
    return replace(change, affected=tuple(review.affected(store, space, source)))


def _check_slips(inside: Inside, source: str, *relations: str) -> None:
    """Raise InvalidInput if an unknown name looks like a misspelling of a known one."""
    store = inside.store
    space = inside.space_id
    unknown = [("relation", name) for name in relations if store.edges.relation(name) is None]
    if is_comparable(name_key(source)) and store.entities.node(space, source) is None:
        unknown.append(("topic or entity", source))
    for what, name in unknown:
        if what == "relation":  # "affects" may be told beside "affected"
            told = store.edges.told_relations(space)
            known = [relation for relation in told if not are_forms(name, relation)]
        else:
            known = [*store.entities.alike(space, name)]
        near = [other for other in known if is_slip(name, other)]
        if near:
            raise InvalidInput(
                f"There is no {what} {name!r} yet.{did_you_mean(near)} If it is new, add "
                "`--create` (create=True)."
            )


def _described(inside: Inside, source: str, content: str, at: datetime | None) -> FactChange:
    """Store a new state of the source, and propose to end the fact that its text names."""
    from hades.lifecycle import review

    store = inside.store
    space = inside.space_id
    edge = _meant_edge(inside, source, content, at)
    with inside.write("change_fact") as write:
        when = at or from_micros(write.at)
        if edge.valid_from >= when:
            raise InvalidInput(f"{edge} began later than that: give a later time.")
        state, _ = store.topics.add(write, space, source, Draft(content=content, valid_from=when))
        names = [edge.source.name, edge.relation, edge.target.name]
        why = f"{state.id} says “{content}”: this may end {edge}"
        if inverse := store.edges.inverses().get(edge.relation):
            why += f"; `hades change-fact {shlex.join(names)}` replaces it by {inverse}"
        fields = {**dict(zip(ENDS_OF_EDGE, names, strict=True)), "at": iso(when)}
        number = store.proposals.waiting(space, "unrelate", fields) or store.proposals.add(
            write,
            space,
            inside.actor,
            "unrelate",
            fields,
            confidence=review.SETTLED,
            threshold=1.0,
            why=why,
            status="waiting",
        )
        review.review(store, write, space, state, inside.actor)
    return FactChange(
        at=when,
        state=state,
        closed=(),
        opened=(),
        affected=tuple(review.affected(store, space, source)),
        proposed=store.proposals.get(space, number),
    )


def _meant_edge(inside: Inside, source: str, text: str, at: datetime | None) -> Edge:
    """Return the fact of a source whose target and relation a text names most completely.

    Raise InvalidInput, listing the relations that hold, if two facts fit equally well.
    """
    from hades.index.words import is_said, name_words, stems

    def share(name: str) -> float:
        """Return the share of a name's words that are in the text."""
        words = name_words(name)
        return sum(is_said(word, parts, text_stems) for word, parts in words.items()) / max(
            1, len(words)
        )

    held = _holding(inside, source, None, None, at)
    text_stems = set(stems(text))
    named = [share(edge.target.name) + share(edge.relation) for edge in held]
    most = max(named)
    meant = [edge for edge, shares in zip(held, named, strict=True) if shares == most]
    if len(meant) > 1:
        several = ", ".join(f"{edge.relation} ({edge.target})" for edge in meant[:FACTS_NAMED])
        raise InvalidInput(f"Say which relation of {source!r} changed: {several}.")
    return meant[0]


@operation("POST", "/edges/prune", role=Role.ADMIN, command="prune", needs_space=True)
def prune(
    inside: Inside,
    *,
    below: Annotated[
        float,
        Param(
            "End weak edges that have faded below this weight.",
            flag="--below",
            least=0,
            rule=lambda value: clean_share(value, "weight"),
        ),
    ] = 0.1,
    restore: Annotated[
        bool, Param("Let the edges that were pruned hold again.", flag="--restore")
    ] = False,
    dry_run: DryRun = False,
) -> list[Edge]:
    """End weak edges that nobody used, each with a reason.

    An edge with a weight below 0.5 fades: its weight halves every 90 days since it was last
    written, shown in an answer, or since both topics that it joins were used. One that has faded
    below `below` ends now; nothing is deleted, and the metadata of the edge say why (`pruned`).
    `restore` undoes it. Returns the edges that end, or that hold again.
    """
    from hades.lifecycle import prune as pruning

    store = inside.store
    space = inside.space_id
    store.uses.write(0)
    with inside.write("prune") as write:
        now = from_micros(write.at)
        changed = (
            pruning.pruned(store, space)
            if restore
            else list(pruning.faded(store, space, below, now))
        )
        write.cancelled = dry_run or not changed
        for edge in changed if not dry_run else ():
            if restore:
                pruning.restore(store, write, edge)
            else:
                pruning.prune(store, write, edge)
    return changed if dry_run else [store.edges.get(space, edge.id) for edge in changed]


@operation(
    "PUT",
    "/inverses/{relation}",
    role=Role.WRITER,
    command="set-inverse",
    whole_memory=True,
    creates=True,
)
def set_inverse(
    inside: Inside,
    relation: Relation,
    inverse: Annotated[
        str, Param("The relation that takes over.", example="viable_after_fix", rule=RELATION)
    ],
) -> dict[str, str]:
    """Set the relation that replaces another when a fact changes.

    It applies to all spaces.
    """
    with inside.write("set_inverse"):
        inside.store.edges.set_inverse(relation, inverse)
    return {relation: inverse}


def _holding(
    inside: Inside,
    source: str,
    relation: str | None,
    target: str | None,
    at: datetime | None = None,
    *,
    may_lack: bool = False,
    hint: str = "",
) -> list[Edge]:
    """Return the edges of a source that hold now or `at` a time.

    Raise NotFound, with `hint` in the message, if there is none; with `may_lack` return [].
    """
    store = inside.store
    space = inside.space_id
    inside.require_space()
    if may_lack and store.entities.node(space, source) is None:
        return []
    wanted = EdgeFilter(
        node=inside.named_node(source),
        direction="out",
        relation=relation,
        target=None if target is None else inside.named_node(target),
    )
    edges = store.edges.find(space, wanted, NOW if at is None else AsOf(valid=at))
    if not edges and not may_lack:
        what = f"{source} --[{relation or '*'}]--> {target or '*'}"
        raise NotFound(f"No such edge holds: {what}.{hint}")
    return edges
