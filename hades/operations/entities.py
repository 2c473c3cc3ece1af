"""Entities: named things, the names they go by, and where they are mentioned."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

from hades.domain.graph import About, Entity, Mentioned, NodeKind, Related, Resolution, row_of
from hades.domain.rules import clean_name
from hades.domain.times import from_micros
from hades.errors import InvalidInput, NotFound
from hades.language.wording import spoken
from hades.language.words import characters_at
from hades.operations import edges, questions
from hades.operations.declare import Param, Role, operation
from hades.operations.indexing import catch_up, index_pending
from hades.operations.inside import Inside
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


@operation(
    "GET",
    "/entities",
    command="entities",
    timed=True,
    cursor=lambda entity: [entity.name, entity.id],
)
def entities(
    inside: Inside,
    glob: Glob = None,
    *,
    after: Annotated[tuple[str, int] | None, Param("Only entities after this name and id.")] = None,
    limit: PageLimit = None,
) -> list[Entity]:
    """List entities, sorted by name, with their aliases.

    `limit` and `after` (name and id of the last one seen) page through a long list.
    """
    with inside.store.snapshot():
        inside.require_space()
        return inside.store.entities.list(inside.space_id, glob, inside.as_of, after, limit)


@operation("GET", "/about/{name}", command="about", asks=True)
def about(inside: Inside, name: Name, limit: Most = 20) -> About:
    """Show what is known about a name: what it is, its facts, its mentions, and names near it.

    The sentence that says what it is comes from a text of the memory; the reader chooses it. Each
    list has at most `limit` entries: `edges` and `mentions` have all.
    """
    from hades.models.encoder import reader_of
    from hades.recall.rank.unit_reading import definition

    catch_up(inside, None)
    store = inside.store
    node = inside.meant_node(name)
    main = store.entities.describe(node).name
    title = spoken(main.rpartition("/")[2]) if NodeKind.TOPIC.has(node) else main
    hits = questions.search(inside, f"What is {title}?")
    with store.snapshot():
        own = _own_entities(
            inside, store.entities.node(inside.space_id, title, inside.as_of) or node
        )
        known_since = store.entities.first_known(node, own, inside.as_of)
        if known_since is None:
            raise NotFound(f"Nothing was known of {main!r} at this time.")
        known = entity(inside, title) if own else Entity(title)
        told = edges.edges(inside, main, all=True, limit=PAGE_AT_MOST)
        mentions = _mentions(inside, own, limit)
        near = store.mentions.together(own, *store.moment(inside.as_of), limit)
    now = from_micros(store.moment(inside.as_of)[0])
    return About(
        replace(known, name=main, kind="topic") if NodeKind.TOPIC.has(node) else known,
        *definition(
            reader_of(inside.finder.encoder),
            (title, *known.aliases, *known.merged),
            [hit.chunk for hit in hits],
        ),
        known_since,
        tuple(edge for edge in told if edge.valid_from <= now and not edge.has_ended(now))[:limit],
        tuple(edge for edge in told[::-1] if edge.has_ended(now))[:limit],
        tuple(mentions),
        tuple(Related(*row) for row in near),
    )


@operation("GET", "/entity/{name}", timed=True)
def entity(inside: Inside, name: EntityName) -> Entity:
    """Show one entity, by any of its names."""
    with inside.store.snapshot():
        inside.require_space()
        return inside.store.entities.get(inside.space_id, name, inside.as_of)


@operation("GET", "/mentions/{name}", command="mentions", asks=True)
def mentions(inside: Inside, name: Name, limit: Most = 100) -> list[Mentioned]:
    """List the passages that mention an entity, and where."""
    catch_up(inside, None)
    with inside.store.snapshot():
        return _mentions(inside, _own_entities(inside, inside.named_node(name)), limit)


@operation("POST", "/entities/alias", role=Role.WRITER, command="alias")
def add_alias(
    inside: Inside,
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
    with inside.write("add_alias") as write:
        inside.store.entities.add_alias(write, inside.space_id, name, alias)
        return entity(inside, name)


@operation("POST", "/entities/kind", role=Role.WRITER, command="kind")
def set_kind(
    inside: Inside,
    name: EntityName,
    kind: Annotated[
        str,
        Param("person, method, place …", example="person", rule=partial(clean_name, what="kind")),
    ],
) -> Entity:
    """Set the kind of an entity: person, method, place …"""
    with inside.write("set_kind") as write:
        inside.store.entities.set_kind(write, inside.space_id, name, kind)
        return entity(inside, name)


@operation("POST", "/entities/name", role=Role.WRITER, command="rename")
def rename(
    inside: Inside,
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
    with inside.write("rename") as write:
        inside.store.entities.rename(write, inside.space_id, name, new_name)
        return entity(inside, new_name)


@operation("POST", "/entities/merge", role=Role.WRITER, command="merge")
def merge(
    inside: Inside,
    keep: Annotated[str, Param("The entity that stays.", example="Tim Burton")],
    *others: Annotated[str, Param("The entities to merge into it.", example=["T. Burton"])],
) -> Entity:
    """Merge other entities into one; `split` undoes it."""
    if not others:
        raise InvalidInput("Name at least two entities to merge.")
    for name in (keep, *others):
        clean_name(name, "entity")
    with inside.write("merge") as write:
        for other in others:
            inside.store.entities.merge(write, inside.space_id, keep, other)
        return entity(inside, keep)


@operation("POST", "/entities/split", role=Role.WRITER, command="split")
def split(
    inside: Inside,
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
    with inside.write("split") as write:
        inside.store.entities.split(write, inside.space_id, name)
        return entity(inside, name)


@operation("POST", "/resolve", role=Role.WRITER, command="resolve", job=True, needs_space=True)
def resolve(
    inside: Inside,
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
        index_pending(inside, on_progress)
    finder = inside.finder
    report = on_progress or (lambda _what, _done, _total: None)
    resolver = EntityResolver(
        inside.store, inside.space_id, inside.actor, lambda: finder.encoder, report, dry_run
    )
    resolved = resolver.run()
    if repositories:
        resolved = replace(
            resolved,
            proposed=propose_repositories(
                inside.store, inside.space_id, inside.actor, dry_run=dry_run
            ),
        )
    return resolved


def _own_entities(inside: Inside, node: int) -> list[int]:
    """Return the ids of the entities that mean the same as a node."""
    nodes = inside.store.entities.same_as(inside.space_id, node, inside.as_of)
    return [row_of(other) for other in nodes if NodeKind.ENTITY.has(other)]


def _mentions(inside: Inside, own: list[int], limit: int) -> list[Mentioned]:
    rows = inside.store.mentions.find(own, *inside.store.moment(inside.as_of), limit)
    chunks = inside.store.chunks.find([chunk for chunk, _ in rows], inside.as_of)
    return [
        Mentioned(
            chunk=chunks[chunk].chunk,
            line=chunks[chunk].line,
            positions=tuple(characters_at(chunks[chunk].chunk.text, places)),
        )
        for chunk, places in rows
        if chunk in chunks
    ]
