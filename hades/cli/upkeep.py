"""Commands about the memory as a whole."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from hades.cli import app
from hades.cli.door import Door, command
from hades.domain.address import is_address, read_address
from hades.errors import InvalidInput, NotFound

YES = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]

spaces_app = typer.Typer(help="Create, list and drop spaces.", no_args_is_help=True)
app.add_typer(spaces_app, name="spaces")


@command(spaces_app, "list")
def list_spaces(door: Door) -> None:
    """List the spaces of the memory."""
    with door.viewed() as view:
        found = view.spaces()
    from hades.cli import show

    door.show(found, lambda out: show.spaces(out, found))


@command(spaces_app, "create")
def create_space(door: Door, name: Annotated[str, typer.Argument(help="Its name.")]) -> None:
    """Make a new, empty space."""
    with door.opened(create=True) as memory:
        space = memory.create_space(name)
    from hades.cli import show

    door.show(space, lambda out: show.spaces(out, [space]))


@command(spaces_app, "drop")
def drop_space(
    door: Door, name: Annotated[str, typer.Argument(help="Its name.")], yes: YES = False
) -> None:
    """Erase a space with everything in it."""
    with door.opened() as memory:
        door.confirm(f"Erase the space {name!r} with everything in it?", yes)
        memory.drop_space(name)
        found = memory.spaces()
    from hades.cli import show

    door.show(found, lambda out: show.spaces(out, found))


@command(app, "stats")
def stats(door: Door) -> None:
    """Show how much there is."""
    with door.viewed() as view:
        found = view.stats()
    from hades.cli import show

    door.show(found, lambda out: show.numbers(out, found))


@command(app, "log")
def log(door: Door, limit: Annotated[int, typer.Option(help="At most so many.")] = 20) -> None:
    """Show the last changes: who did what, when."""
    with door.viewed() as view:
        found = view.log(limit)
    from hades.cli import show

    door.show(found, lambda out: show.log(out, found))


@command(app, "export", timed=True)
def export(
    door: Door,
    path: Annotated[str, typer.Argument(help="The file or folder to write; - for stdout.")],
    format: Annotated[
        str, typer.Option("--format", help="jsonl, node-link, graphml, arango or neo4j.")
    ] = "jsonl",
) -> None:
    """Write the memory for safekeeping or for another tool.

    jsonl is everything, of all spaces and times; the others are one space's graph at a time.
    """
    with door.viewed() as view:
        view.export(sys.stdout if path == "-" else path, format)
    if path != "-":
        door.show({"path": path, "format": format}, lambda out: out.print(f"wrote {path}"))


@command(app, "import")
def import_(
    door: Door,
    path: Annotated[Path, typer.Argument(help="A .jsonl export or a node-link .json file.")],
    into: Annotated[str | None, typer.Option("--into", help="The space to put it in.")] = None,
) -> None:
    """Take in what `export` wrote; all or nothing."""
    with door.opened(create=True) as memory:
        counts = memory.import_(path, into=into)
    from hades.cli import show

    door.show(counts, lambda out: show.numbers(out, counts))


@command(app, "backup")
def backup(door: Door, path: Annotated[Path, typer.Argument(help="The new file.")]) -> None:
    """Copy the memory while others read and write it."""
    with door.opened(read_only=True) as memory, door.progress() as progress:
        memory.backup(path, progress)
    door.show({"path": str(path)}, lambda out: out.print(f"backed up to {path}"))


@command(app, "restore")
def restore(
    door: Door, path: Annotated[Path, typer.Argument(help="The backup.")], yes: YES = False
) -> None:
    """Put back a backup over the memory."""
    if not path.is_file():
        raise InvalidInput(f"There is no backup at {path}.")
    with door.opened(create=True) as memory:
        door.confirm(f"Replace everything in the memory by {path}?", yes)
        with door.progress() as progress:
            memory.restore(path, progress)
    door.show({"restored": str(path)}, lambda out: out.print(f"restored {path}"))


@command(app, "check")
def check(
    door: Door,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what can be derived again.")
    ] = False,
) -> None:
    """Look for damage, and say how to repair it. Exit code 1 when there is any."""
    with door.opened(read_only=not repair) as memory, door.progress() as progress:
        problems = memory.repair(progress) if repair else memory.check(progress)
    from hades.cli import show

    def render(out: object) -> None:
        for problem in problems:
            line = f"[red]{show.clean(problem.where)}[/]: {show.clean(problem.what)}"
            out.print(f"{line}\n  to repair: {show.clean(problem.repair)}")  # type: ignore[attr-defined]
        if not problems:
            out.print("everything is as it should be")  # type: ignore[attr-defined]

    door.show(problems, render)
    if problems:
        raise typer.Exit(1)


@command(app, "settings")
def settings(door: Door) -> None:
    """Show the settings in force, and the variables that set them."""
    from hades.cli import show
    from hades.settings import PREFIX, load_settings

    found = load_settings()
    path = str(door.memory or found.ready_path())
    # An address may hold a key.
    shown = read_address(path).text if is_address(path) else path
    values = found.model_dump(mode="json") | {"path": shown}
    values["key"] = None if found.key is None else "(set)"

    def render(out: object) -> None:
        rows = show.table("setting", "value", "environment")
        for name, value in values.items():
            rows.add_row(name, show.clean(str(value)), PREFIX + name.upper())
        out.print(rows)  # type: ignore[attr-defined]

    door.show(values, render)


@command(app, "warm")
def warm(door: Door) -> None:
    """Compile the kernels, once on a machine, and read the indexes of the memory in.

    Questions are answered without it too, only the first few take longer.
    """
    from hades.recall.warming import load_kernels, timed

    if not door.json:
        sys.stderr.write("Warming; the first time the kernels are compiled: some seconds.\n")
    try:
        with door.opened() as memory, door.progress() as progress:
            found = memory.warm(progress)
    except NotFound:
        # After an installation there is no memory yet, but there are kernels to compile.
        found = timed({"kernels": load_kernels}, None)
    from hades.cli import show

    door.show(found, lambda out: show.seconds(out, found))
