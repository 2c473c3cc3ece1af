"""Commands about edges and entities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from hades.cli import app
from hades.cli.door import Door, command
from hades.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

SOURCE = Annotated[str, typer.Argument(help="The topic or entity it starts from.")]
RELATION = Annotated[str, typer.Argument(help="The relation, such as rejected_because.")]
TARGET = Annotated[str, typer.Argument(help="The topic or entity it leads to.")]
NAME = Annotated[str, typer.Argument(help="The topic or entity.")]


@command(app, "relate")
def relate(
    door: Door,
    source: SOURCE,
    relation: RELATION,
    target: TARGET,
    weight: Annotated[float | None, typer.Option(help="How strong, 0 to 1.")] = None,
    evidence: Annotated[str, typer.Option(help="Why it holds.")] = "",
    valid_from: Annotated[str | None, typer.Option(help="Since when it holds.")] = None,
    valid_to: Annotated[str | None, typer.Option(help="Until when it holds.")] = None,
    exclusive: Annotated[
        bool, typer.Option("--exclusive", help="One target at a time: ends the old one.")
    ] = False,
    kind: Annotated[str, typer.Option(help="What a new name is: person, method …")] = "concept",
) -> None:
    """Say that one thing stands in a relation to another."""
    with door.opened(create=True) as memory:
        edge = memory.relate(
            source,
            relation,
            target,
            weight=weight,
            evidence=evidence,
            valid_from=valid_from,
            valid_to=valid_to,
            exclusive=exclusive,
            kind=kind,
        )
    from hades.cli import show

    door.show(edge, lambda out: show.edges(out, [edge]))


@command(app, "unrelate")
def unrelate(
    door: Door,
    source: Annotated[str, typer.Argument(help="Where it starts, or the number of the edge.")],
    relation: Annotated[str | None, typer.Argument(help="The relation.")] = None,
    target: Annotated[str | None, typer.Argument(help="Where it leads.")] = None,
    when: Annotated[str | None, typer.Option("--when", help="It ended at this time.")] = None,
    mistake: Annotated[bool, typer.Option("--mistake", help="It was never true.")] = False,
) -> None:
    """End an edge, now or at a time."""
    if relation is None and not source.isdigit():
        raise InvalidInput("Give the number of an edge, or where it starts and its relation.")
    with door.opened() as memory:
        start = int(source) if relation is None else source
        edges = memory.unrelate(start, relation, target, at=when, mistake=mistake)
    from hades.cli import show

    door.show(edges, lambda out: show.edges(out, edges))


@command(app, "edges", timed=True)
def edges(
    door: Door,
    name: Annotated[str | None, typer.Argument(help="Of this topic or entity.")] = None,
    relation: Annotated[str | None, typer.Option("--relation", "-r", help="Of this type.")] = None,
    direction: Annotated[str, typer.Option(help="out, in or both.")] = "both",
    every: Annotated[
        bool, typer.Option("--all", help="Also those that no longer hold or not yet.")
    ] = False,
) -> None:
    """List edges: those that hold now or at a time, or all."""
    with door.viewed() as view:
        found = view.edges(name, relation=relation, direction=direction, all=every)  # type: ignore[arg-type]
    from hades.cli import show

    door.show(found, lambda out: show.edges(out, found))


@command(app, "edge")
def edge(door: Door, number: Annotated[int, typer.Argument(help="The edge.")]) -> None:
    """Show everything ever believed about one edge."""
    with door.viewed() as view:
        found = view.edge(number)
    from hades.cli import show

    door.show(found, lambda out: show.edges(out, found))


@command(app, "change-fact")
def change_fact(
    door: Door,
    subject: SOURCE,
    relation: RELATION,
    target: Annotated[str | None, typer.Argument(help="Only the edge to this one.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Where the new edge leads.")] = None,
    new_relation: Annotated[
        str | None, typer.Option(help="The new relation (else its inverse).")
    ] = None,
    content: Annotated[str | None, typer.Option(help="The subject's new state.")] = None,
    evidence: Annotated[str, typer.Option(help="Why it changed.")] = "",
    when: Annotated[str | None, typer.Option("--when", help="When it changed.")] = None,
) -> None:
    """A fact changed: close what no longer holds, open what holds instead."""
    with door.opened() as memory:
        done = memory.change_fact(
            subject,
            relation,
            target,
            to=to,
            new_relation=new_relation,
            content=content,
            evidence=evidence,
            at=when,
        )
    from hades.cli import show

    door.show(done, lambda out: show.edges(out, [*done.closed, *done.opened]))


@command(app, "when-changed", timed=True)
def when_changed(
    door: Door,
    name: NAME,
    before: Annotated[str, typer.Argument(help="The relation that ended.")],
    after: Annotated[str | None, typer.Argument(help="The relation that began.")] = None,
) -> None:
    """Say when one relation gave way to another."""
    with door.viewed() as view:
        turn = view.when_changed(name, before, after)
    from hades.cli import show

    became = f" → {turn.after.relation} {turn.after.target}" if turn.after else ""
    line = f"{show.when(turn.at)}  {turn.before.relation} {turn.before.target}{became}"
    door.show(turn, lambda out: out.print(show.clean(line)))


@command(app, "inverses")
def inverses(
    door: Door,
    relation: Annotated[str | None, typer.Argument(help="Set the inverse of this one …")] = None,
    inverse: Annotated[str | None, typer.Argument(help="… to this one.")] = None,
) -> None:
    """Show which relation takes over when a fact changes, or set one."""
    if (relation is None) != (inverse is None):
        raise InvalidInput("Give a relation and its inverse, or neither to list them.")
    if relation is not None and inverse is not None:
        with door.opened(create=True) as memory:
            memory.set_inverse(relation, inverse)
            found = memory.inverses()
    else:
        with door.viewed() as view:
            found = view.inverses()
    from hades.cli import show

    def render(out: Console) -> None:
        rows = show.table("relation", "inverse")
        for name, other in found.items():
            rows.add_row(show.clean(name), show.clean(other))
        out.print(rows)

    door.show(found, render)


@command(app, "entities", timed=True)
def entities(
    door: Door,
    glob: Annotated[str | None, typer.Argument(help="Which, such as 'Al*'.")] = None,
) -> None:
    """List the entities with their other names."""
    with door.viewed() as view:
        found = view.entities(glob)
    from hades.cli import show

    door.show(found, lambda out: show.entities(out, found))


@command(app, "related", asks=True)
def related(
    door: Door,
    name: NAME,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many.")] = 20,
) -> None:
    """Show what is mentioned together with an entity, most often first."""
    with door.asked() as (view, _):
        found = view.related(name, limit)
    from hades.cli import show

    def render(out: Console) -> None:
        rows = show.table("name", "kind", "together", "strength")
        for one in found:
            rows.add_row(show.clean(one.name), one.kind, str(one.count), f"{one.strength:.2f}")
        out.print(rows if found else "nothing is mentioned with it")

    door.show(found, render)


@command(app, "mentions", asks=True)
def mentions(
    door: Door,
    name: NAME,
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many passages.")] = 20,
) -> None:
    """Show the passages that mention an entity by any of its names, and where."""
    with door.asked() as (view, _):
        found = view.mentions(name, limit)
    from hades.cli import show

    door.show(found, lambda out: show.mentions(out, found))


@command(app, "alias")
def alias(
    door: Door, name: NAME, other: Annotated[str, typer.Argument(help="Another name for it.")]
) -> None:
    """Let an entity be found under another name too."""
    with door.opened() as memory:
        memory.add_alias(name, other)
        found = memory.entities()
    from hades.cli import show

    door.show(found, lambda out: show.entities(out, [e for e in found if other in e.aliases]))


@command(app, "kind")
def kind(
    door: Door, name: NAME, what: Annotated[str, typer.Argument(help="person, method, place …")]
) -> None:
    """Say what kind of thing an entity is."""
    with door.opened() as memory:
        memory.set_kind(name, what)
        found = memory.entities()
    from hades.cli import show

    door.show(found, lambda out: show.entities(out, [e for e in found if e.kind == what]))


@command(app, "merge")
def merge(
    door: Door,
    keep: Annotated[str, typer.Argument(help="The entity that stays.")],
    others: Annotated[list[str], typer.Argument(help="Those that are the same.")],
) -> None:
    """Say that several entities are one; `split` undoes it."""
    with door.opened() as memory:
        memory.merge(keep, *others)
        found = memory.entities()
    from hades.cli import show

    door.show(found, lambda out: show.entities(out, [e for e in found if e.merged]))


@command(app, "split")
def split(
    door: Door, name: Annotated[str, typer.Argument(help="A merged entity or an alias.")]
) -> None:
    """Undo a merge, or make an alias an entity of its own."""
    with door.opened() as memory:
        memory.split(name)
        found = memory.entities()
    from hades.cli import show

    door.show(found, lambda out: show.entities(out, found))


@command(app, "resolve")
def resolve(
    door: Door,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done.")
    ] = False,
) -> None:
    """Merge entities spelled nearly alike, and join names near in meaning."""
    with door.opened() as memory, door.progress() as told:
        found = memory.resolve(dry_run=dry_run, on_progress=told)
    from hades.cli import show

    door.show(found, lambda out: show.resolution(out, found))
