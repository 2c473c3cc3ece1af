"""Commands about a library: many memories that are asked as one."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command
from hades.domain.times import from_micros, iso
from hades.errors import Conflict, HadesError, InvalidInput, NotFound

if TYPE_CHECKING:
    from hades.library.library import Library

library_app = typer.Typer(
    help="Create a library of many memories, and manage its volumes.", no_args_is_help=True
)
app.add_typer(library_app, name="library")


@command(library_app, "create", of_memory=False)
def create(
    invocation: Invocation,
    place: Annotated[str, typer.Argument(help="The catalogue: a new file, or postgresql://…")],
    volumes: Annotated[
        int, typer.Option(min=0, help="The number of volumes to make; 0 to add existing ones.")
    ] = 4,
    by: Annotated[
        str, typer.Option(help="What decides where something new goes: topic, space or year.")
    ] = "topic",
) -> None:
    """Create a library, with new volumes beside its catalogue.

    Each volume is an ordinary memory.
    """
    from hades.opening import open_library

    with suppress(NotFound):
        open_library(place).close()
        raise Conflict(f"There is a library at {place} already.")
    with open_library(place, volumes=volumes, by=by) as library:
        _show(invocation, library)


@command(library_app, "add", spaced=False)
def add(
    invocation: Invocation,
    place: Annotated[str, typer.Argument(help="The memory: a file, or postgresql://…")],
    name: Annotated[str, typer.Option(help="The name of the volume.")],
    takes: Annotated[
        list[str] | None,
        typer.Option(help="A pattern of what it takes, such as 2026 or acme*; may be repeated."),
    ] = None,
) -> None:
    """Add a memory to the library as a volume.

    It is created if there is none.
    """
    with _opened(invocation) as library:
        library.add_volume(name, place, takes or ())
        _show(invocation, library)


@command(library_app, "list", spaced=False)
def list_volumes(invocation: Invocation) -> None:
    """List the volumes with their places and what they take."""
    with _opened(invocation) as library:
        _show(invocation, library)


@command(library_app, "move", spaced=False)
def move(
    invocation: Invocation,
    name: Annotated[str, typer.Argument(help="The name of the volume.")],
    place: Annotated[str, typer.Argument(help="The new place: a file, or postgresql://…")],
) -> None:
    """Copy a volume to another place and use it there.

    It answers questions meanwhile. If somebody wrote to it during the copy, run the command again.
    The old memory stays where it is, with all its texts, until you delete it.
    """
    with _opened(invocation) as library:
        library.move_volume(name, place)
        _show(invocation, library)


@command(library_app, "remove", spaced=False)
def remove(
    invocation: Invocation,
    name: Annotated[str, typer.Argument(help="The volume: `hades library list` names them.")],
) -> None:
    """Take a volume out of the library.

    Its memory stays where it is, and can be added again.
    """
    with _opened(invocation) as library:
        library.remove_volume(name)
        _show(invocation, library)


@command(library_app, "status")
def status(invocation: Invocation) -> None:
    """Ask every volume what it holds, and show it.

    A volume that does not answer is shown with the reason.
    """
    with _opened(invocation) as library:
        sketches = library.status()
    volumes = []
    for name, sketch in sketches.items():
        if sketch is None or isinstance(sketch, HadesError):
            why = "" if sketch is None else str(sketch)
            volumes.append({"volume": name, "topics": 0, "passages": 0, "since": None, "why": why})
            continue
        since = iso(from_micros(int(sketch.span[0]))) if len(sketch.span) else None
        counts = {"topics": sketch.topics, "passages": sketch.chunks, "since": since, "why": ""}
        volumes.append({"volume": name, **counts})
    rows = ([value if value is not None else "–" for value in one.values()] for one in volumes)
    invocation.show_table(
        volumes, ("volume", "topics", "passages", "since", "missing because"), rows
    )


def _opened(invocation: Invocation) -> Library:
    from hades.library.library import Library

    opened = invocation.opened()
    if not isinstance(opened, Library):
        opened.close()
        raise InvalidInput(
            "This is one memory, not a library: `hades library create` makes one; name it by -m."
        )
    return opened


def _show(invocation: Invocation, library: Library) -> None:
    volumes = [
        {"name": one.name, "place": one.shown, "takes": list(one.takes)}
        for one in library.volumes()
    ]
    rows = ((one["name"], one["place"], ", ".join(one["takes"])) for one in volumes)
    invocation.show_table(volumes, ("volume", "place", "takes"), rows)
