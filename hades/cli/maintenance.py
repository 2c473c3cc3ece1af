"""Commands about the memory as a whole."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hades.cli import app
from hades.cli.commands import YES, extended
from hades.cli.invocation import Invocation, command
from hades.domain.address import is_address, read_address, without_password
from hades.domain.topics import Space
from hades.errors import InvalidInput, NotFound
from hades.operations.declare import OPERATIONS
from hades.store.records import Problem

spaces_app = typer.Typer(help="Create, list and drop spaces.", no_args_is_help=True)
app.add_typer(spaces_app, name="spaces")


@command(spaces_app, "list")
def list_spaces(invocation: Invocation) -> None:
    """List the spaces of the memory."""
    with invocation.viewed() as view:
        spaces = view.spaces()
    invocation.show_result(spaces, list[Space])


@command(spaces_app, "create")
def create_space(
    invocation: Invocation, name: Annotated[str, typer.Argument(help="The name of the space.")]
) -> None:
    """Create an empty space."""
    with invocation.opened(create=True) as memory:
        space = memory.create_space(name)
    invocation.show_result(space, Space)


@command(spaces_app, "drop")
def drop_space(
    invocation: Invocation,
    name: Annotated[str, typer.Argument(help="The name of the space.")],
    yes: YES = False,
) -> None:
    """Erase a space with everything in it."""
    with invocation.opened() as memory:
        invocation.confirm(f"Erase the space {name!r} with everything in it?", yes)
        memory.drop_space(name)
        spaces = memory.spaces()
    invocation.show_result(spaces, list[Space])


@command(app, "export", timed=True)
def export(
    invocation: Invocation,
    path: Annotated[
        str | None, typer.Argument(help="The file or folder to write; - for stdout.")
    ] = None,
    format: Annotated[
        str, typer.Option("--format", help="jsonl, markdown, node-link, graphml, arango or neo4j.")
    ] = "jsonl",
    embeddings: Annotated[
        bool, typer.Option("--embeddings", help="Add the vectors of passages and names.")
    ] = False,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            help="Send the graph to a server instead: neo4j://HOST:7687, "
            "arango+http://HOST:8529/DATABASE or qdrant+http://HOST:6333/COLLECTION.",
        ),
    ] = None,
) -> None:
    """Export the memory, or its graph for another tool.

    jsonl holds all spaces and times. markdown holds one space's notes at one time, the other
    formats its graph.
    """
    if to is not None and path is None:
        from hades.exchange.servers import Sent

        with invocation.viewed() as view, invocation.progress() as progress:
            sent = view.export_to(to, embeddings=embeddings, on_progress=progress)
        invocation.show_result(sent, Sent)
        return
    if path is None or to is not None:
        raise InvalidInput("Name either a file or folder to write, or a server with --to.")
    with invocation.viewed() as view:
        view.export(sys.stdout if path == "-" else path, format, embeddings=embeddings)
    if path != "-":
        invocation.show({"path": path, "format": format}, lambda out: out.print(f"wrote {path}"))


@command(app, "import")
def import_(
    invocation: Invocation,
    path: Annotated[Path, typer.Argument(help="A .jsonl export or a node-link .json file.")],
    into: Annotated[str | None, typer.Option("--into", help="The space to put it in.")] = None,
) -> None:
    """Import what `export` wrote, all or nothing."""
    with invocation.opened(create=True) as memory:
        counts = memory.import_(path, into=into)
    invocation.show_result(counts, dict[str, int])


@command(app, "backup")
def backup(
    invocation: Invocation, path: Annotated[Path, typer.Argument(help="The new file.")]
) -> None:
    """Copy the memory to a file while others use it."""
    with invocation.opened(read_only=True) as memory, invocation.progress() as progress:
        memory.backup(path, progress)
    invocation.show({"path": str(path)}, lambda out: out.print(f"backed up to {path}"))


@command(app, "restore")
def restore(
    invocation: Invocation,
    path: Annotated[Path, typer.Argument(help="The backup.")],
    yes: YES = False,
) -> None:
    """Replace the memory with a backup."""
    if not path.is_file():
        raise InvalidInput(f"There is no backup at {path}.")
    with invocation.opened(create=True) as memory:
        invocation.confirm(f"Replace everything in the memory with {path}?", yes)
        with invocation.progress() as progress:
            memory.restore(path, progress)
    invocation.show({"restored": str(path)}, lambda out: out.print(f"restored {path}"))


@command(app, "copy", of_memory=False)
def copy(
    invocation: Invocation,
    source: Annotated[str, typer.Argument(metavar="FROM", help="A file, or postgresql://…")],
    target: Annotated[str, typer.Argument(metavar="TO", help="A new file, or postgresql://…")],
) -> None:
    """Copy a whole memory between files and databases.

    Run the same command again to continue a copy that was stopped.
    """
    from hades.store.copy import copy as copy_memory

    with invocation.progress() as progress:
        counts = copy_memory(source, target, on_progress=progress)
    invocation.show_result(counts, dict[str, int])


@command(app, "check")
def check(
    invocation: Invocation,
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair what can be computed again.")
    ] = False,
) -> None:
    """Look for damage and say how to repair it.

    The exit code is 1 when there is damage.
    """
    with invocation.opened(read_only=not repair) as memory, invocation.progress() as progress:
        problems = memory.repair(progress) if repair else memory.check(progress)
    invocation.show_result(problems, list[Problem])
    if problems:
        raise typer.Exit(1)


@extended(app, OPERATIONS["models"])
def models(invocation: Invocation, given: dict[str, Any]) -> None:
    """List the language models of the settings and their use.

    The exit code is 1 when a model does not answer `--check`.
    """
    with invocation.viewed() as view:
        reports = view.models(**given)
    invocation.show_result(reports, OPERATIONS["models"].returns)
    if any(report.answers is False for report in reports):
        raise typer.Exit(1)


@command(app, "settings")
def settings(invocation: Invocation) -> None:
    """Show the settings in force and their variables."""
    from hades.settings import PREFIX, load_settings

    loaded = load_settings()
    path = str(invocation.memory or loaded.ready_path())
    # An address may contain a key or a password.
    shown = read_address(path).text if is_address(path) else without_password(path)
    values = loaded.model_dump(mode="json") | {"path": shown}
    values["key"] = None if loaded.key is None else "(set)"

    rows = ((name, str(value), PREFIX + name.upper()) for name, value in values.items())
    invocation.show_table(values, ("setting", "value", "environment"), rows)


@command(app, "warm")
def warm(invocation: Invocation) -> None:
    """Load kernels, encoder and indexes before questions.

    The first run on a machine compiles the kernels. Questions work without it; the first few
    take longer.
    """
    from hades.recall.warming import load_kernels, timed

    if not invocation.json:
        sys.stderr.write("Warming up; compiling the kernels the first time takes some seconds.\n")
    try:
        with invocation.opened() as memory, invocation.progress() as progress:
            seconds = memory.warm(progress)
    except NotFound:
        # After an installation there is no memory yet, but there are kernels to compile.
        seconds = timed({"kernels": load_kernels}, None)
    times = ", ".join(f"{name} {spent:.2f} s" for name, spent in seconds.items())
    invocation.show(seconds, lambda out: out.print(times))
