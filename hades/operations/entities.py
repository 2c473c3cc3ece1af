"""Entities: named things, the names they go by, and where they are mentioned."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

from hades.domain.graph import About, Entity, Mentioned, NodeKind, Related, Resolution, row_of
from hades.domain.rules import clean_name
from hades.domain.times import from_micros
from hades.errors import InvalidInput, NotFound
from hades.language.names import spoken
from hades.language.words import characters_at
from hades.operations.declare import Param, Role, operation
from hades.operations.parameters import (
    PAGE_AT_MOST,
    DryRun,
    EntityName,
    Glob,
    Most,
    Name,
    PageLimit,
)
from hades.store.records import Progress

if TYPE_CHECKING:
    from hades.memory import Memory, View


@operation(
    "GET",
    "/entities",
    command="entities",
    timed=True,
    cursor=lambda entity: [entity.name, entity.id],
)
def entities(
    view: View,
    glob: Glob = None,
    *,
    after: Annotated[tuple[str, int] | None, Param("Only entities after this name and id.")] = None,
    limit: PageLimit = None,
) -> list[Entity]:
    """List entities, sorted by name, with their aliases.

    `limit` and `after` (name and id of the last one seen) page through a long list.
    """
    with view._store.snapshot():
        view._require_space()
        return view._store.entities.list(view._space_id, glob, view.as_of, after, limit)


@operation("GET", "/about/{name}", command="about", asks=True)
def about(view: View, name: Name, limit: Most = 20) -> About:
    """Show what is known about a name: what it is, its facts, its mentions, and names near it.

    The sentence that says what it is comes from a text of the memory; the reader chooses it. Each
    list has at most `limit` entries: `edges` and `mentions` have all.
    """
    from hades.models.encoder import reader_of
    from hades.recall.rank.unit_reading import definition

    view._bring_up_to_date(None)
    store = view._store
    node = view._meant_node(name)
    main = store.entities.describe(node).name
    title = spoken(main.rpartition("/")[2]) if NodeKind.TOPIC.has(node) else main
    hits = view.search(f"What is {title}?")
    with store.snapshot():
        own = _own_entities(view, store.entities.node(view._space_id, title, view.as_of) or node)
        known_since = store.entities.first_known(node, own, view.as_of)
        if known_since is None:
            raise NotFound(f"Nothing was known of {main!r} at this time.")
        entity = view.entity(title) if own else Entity(title)
        told = view.edges(main, all=True, limit=PAGE_AT_MOST)
        mentions = _mentions(view, own, limit)
        near = store.mentions.together(own, *store.moment(view.as_of), limit)
    now = from_micros(store.moment(view.as_of)[0])
    return About(
        replace(entity, name=main, kind="topic") if NodeKind.TOPIC.has(node) else entity,
        *definition(
            reader_of(view._finder.encoder),
            (title, *entity.aliases, *entity.merged),
            [hit.chunk for hit in hits],
        ),
        known_since,
        tuple(edge for edge in told if edge.valid_from <= now and not edge.has_ended(now))[:limit],
        tuple(edge for edge in told[::-1] if edge.has_ended(now))[:limit],
        tuple(mentions),
        tuple(Related(*row) for row in near),
    )


@operation("GET", "/entity/{name}", timed=True)
def entity(view: View, name: EntityName) -> Entity:
    """Show one entity, by any of its names."""
    with view._store.snapshot():
        view._require_space()
        return view._store.entities.get(view._space_id, name, view.as_of)


@operation("GET", "/mentions/{name}", command="mentions", asks=True)
def mentions(view: View, name: Name, limit: Most = 100) -> list[Mentioned]:
    """List the passages that mention an entity, and where."""
    view._bring_up_to_date(None)
    with view._store.snapshot():
        return _mentions(view, _own_entities(view, view._named_node(name)), limit)


@operation("POST", "/entities/alias", role=Role.WRITER, command="alias")
def add_alias(
    memory: Memory,
    name: EntityName,
    alias: Annotated[
        str,
        Param(
            "Another name for it.",
            example="Timothy Walter Burton",
            rule=partial(clean_name, what="alias"),
        ),
    ],
) -> Entity:
    """Add another name to an entity."""
    with memory._write("add_alias") as write:
        memory._store.entities.add_alias(write, memory._space_id, name, alias)
        return memory.entity(name)


@operation("POST", "/entities/kind", role=Role.WRITER, command="kind")
def set_kind(
    memory: Memory,
    name: EntityName,
    kind: Annotated[
        str,
        Param("person, method, place …", example="person", rule=partial(clean_name, what="kind")),
    ],
) -> Entity:
    """Set the kind of an entity: person, method, place …"""
    with memory._write("set_kind") as write:
        memory._store.entities.set_kind(write, memory._space_id, name, kind)
        return memory.entity(name)


@operation("POST", "/entities/name", role=Role.WRITER, command="rename")
def rename(
    memory: Memory,
    name: EntityName,
    new_name: Annotated[
        str,
        Param(
            "The main name it should have.",
            example="Timothy Burton",
            rule=partial(clean_name, what="name"),
        ),
    ],
) -> Entity:
    """Give an entity another main name; `split` undoes it. The old name stays one of its names.

    The new name may be an alias of it, but not a name of another entity or topic.
    """
    with memory._write("rename") as write:
        memory._store.entities.rename(write, memory._space_id, name, new_name)
        return memory.entity(new_name)


@operation("POST", "/entities/merge", role=Role.WRITER, command="merge")
def merge(
    memory: Memory,
    keep: Annotated[str, Param("The entity that stays.", example="Tim Burton")],
    *others: Annotated[str, Param("The entities to merge into it.", example=["T. Burton"])],
) -> Entity:
    """Merge other entities into one; `split` undoes it."""
    if not others:
        raise InvalidInput("Name at least two entities to merge.")
    for name in (keep, *others):
        clean_name(name, "entity")
    with memory._write("merge") as write:
        for other in others:
            memory._store.entities.merge(write, memory._space_id, keep, other)
        return memory.entity(keep)


@operation("POST", "/entities/split", role=Role.WRITER, command="split")
def split(
    memory: Memory,
    name: Annotated[
        str,
        Param(
            "A merged entity or an alias.",
            example="T. Burton",
            rule=partial(clean_name, what="entity"),
        ),
    ],
) -> Entity:
    """Undo a merge, or turn an alias into an entity."""
    with memory._write("split") as write:
        memory._store.entities.split(write, memory._space_id, name)
        return memory.entity(name)


@operation("POST", "/resolve", role=Role.WRITER, command="resolve", job=True, needs_space=True)
def resolve(
    memory: Memory,
    *,
    repositories: Annotated[
        bool, Param("Also propose repositories for papers without one.", flag="--repositories")
    ] = False,
    dry_run: DryRun = False,
    on_progress: Progress | None = None,
) -> Resolution:
    """Merge names spelled alike, and link similar names.

    Names spelled nearly alike are merged if nothing speaks against it. `split` undoes a merge,
    and such a pair is not merged again. Names near in meaning get an edge `similar_to`; only
    frequent names and titles are compared. With `repositories`, edges `implements` from papers to
    repositories are proposed, each with its signs, and wait for review. A second run finds nothing
    to do, and a stopped run continues. A `dry_run` writes nothing.
    """
    from hades.lifecycle.repositories import propose_repositories
    from hades.lifecycle.resolve import EntityResolver

    if not dry_run:
        memory._index_pending(on_progress)
    finder = memory._finder
    report = on_progress or (lambda _what, _done, _total: None)
    resolver = EntityResolver(
        memory._store, memory._space_id, memory._actor, lambda: finder.encoder, report, dry_run
    )
    resolved = resolver.run()
    if repositories:
        resolved = replace(
            resolved,
            proposed=propose_repositories(
                memory._store, memory._space_id, memory._actor, dry_run=dry_run
            ),
        )
    return resolved


def _own_entities(view: View, node: int) -> list[int]:
    """Return the ids of the entities that mean the same as a node."""
    nodes = view._store.entities.same_as(view._space_id, node, view.as_of)
    return [row_of(other) for other in nodes if NodeKind.ENTITY.has(other)]


def _mentions(view: View, own: list[int], limit: int) -> list[Mentioned]:
    store = view._store
    rows = store.mentions.find(own, *store.moment(view.as_of), limit)
    chunks = store.chunks.find([chunk for chunk, _ in rows], view.as_of)
    return [
        Mentioned(
            chunk=chunks[chunk].chunk,
            line=chunks[chunk].line,
            positions=tuple(characters_at(chunks[chunk].chunk.text, places)),
        )
        for chunk, places in rows
        if chunk in chunks
    ]
