"""Commands about a memory in PostgreSQL: create it, show its status, grant rights, distribute."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command
from hades.domain.address import is_server, without_password
from hades.errors import InvalidInput, NotFound

if TYPE_CHECKING:
    from hades.store.postgres.database import PostgresDatabase

_WAIT_S = 10.0

db_app = typer.Typer(help="Manage a memory in PostgreSQL.", no_args_is_help=True)
app.add_typer(db_app, name="db")


@command(db_app, "init", of_memory=False)
def init(
    invocation: Invocation,
    address: Annotated[str, typer.Argument(help="postgresql://user@host/database")],
    schema: Annotated[
        str | None, typer.Option("--schema", help="The schema of the tables (default: hades).")
    ] = None,
) -> None:
    """Create the tables of a memory if they do not exist."""
    if schema is not None:
        address += f"{'&' if '?' in address else '?'}schema={schema}"
    created = False
    try:
        opened = _opened(address)
    except NotFound:
        opened = _opened(address, create=True)
        created = True
    with closing(opened) as database:
        version = database.value("SELECT max(number) FROM migrations")
        done = {"address": database.place, "schema_version": version, "made": created}
    what = "made" if created else "there is a memory at"
    invocation.show(done, lambda out: out.print(f"{what} {done['address']}", markup=False))


@command(db_app, "status", spaced=False)
def status(invocation: Invocation) -> None:
    """Show the server, connections, table sizes and indexing."""
    from hades.store.postgres.status import status as find_status

    with closing(_opened(_address(invocation))) as database:
        status_of = find_status(database)

    def render(out: Any) -> None:
        from hades.cli.render import show_table

        facts = {name: value for name, value in status_of.items() if name != "tables"}
        for name, value in facts.items():
            if isinstance(value, dict):
                facts[name] = ", ".join(f"{key}: {part}" for key, part in value.items())
        shown = ((name, "–" if value in (None, "") else value) for name, value in facts.items())
        show_table(out, ("", ""), shown)
        tables = status_of["tables"].items()
        sizes = ((name, f"{size['rows']:,}", f"{size['bytes']:,}") for name, size in tables)
        out.print()
        show_table(out, ("table", "rows (about)", "bytes"), sizes)

    invocation.show(status_of, render)


@command(db_app, "grant")
def grant(
    invocation: Invocation,
    role: Annotated[str, typer.Argument(help="An existing role of the database server.")],
    read: Annotated[bool, typer.Option("--read", help="The role may read.")] = False,
    write: Annotated[bool, typer.Option("--write", help="The role may read and write.")] = False,
    none: Annotated[bool, typer.Option("--none", help="Take all rights back.")] = False,
) -> None:
    """Set what a database role may do.

    Without --space the right applies to the whole memory. With --space, that space is added to
    the spaces granted before.
    """
    from hades.store.postgres.address import read_server_address
    from hades.store.postgres.grants import grant as grant_right

    options = {"read": read, "write": write, "none": none}
    rights = [right for right, is_given in options.items() if is_given]
    space = invocation.space or os.environ.get("HADES_SPACE")
    if len(rights) != 1 or (none and space):
        raise InvalidInput("Give one of --read, --write and --none; --none takes no --space.")
    address = read_server_address(_address(invocation))
    spaces = grant_right(address, role, rights[0], space)
    granted = {"role": role, "may": rights[0], "spaces": spaces}
    where = "" if none else " in " + (", ".join(spaces) if space else "all spaces")
    what = "nothing" if none else rights[0]
    invocation.show(granted, lambda out: out.print(f"{role} may {what}{where}", markup=False))


@command(db_app, "distribute", spaced=False)
def distribute(invocation: Invocation) -> None:
    """Have Citus place the memory on one of its workers.

    Running it again changes nothing.
    """
    from hades.store.postgres.distribute import distribute as place_memory

    worker = place_memory(_address(invocation))
    invocation.show({"worker": worker}, lambda out: out.print(f"on {worker}", markup=False))


def _address(invocation: Invocation) -> str:
    from hades.settings import load_settings

    place = str(invocation.memory or load_settings().ready_path())
    if not is_server(place):
        shown = without_password(place)
        raise InvalidInput(f"{shown} is not in PostgreSQL: name it with -m postgresql://…")
    return place


def _opened(address: str, *, create: bool = False) -> PostgresDatabase:
    from hades.domain.times import system_clock
    from hades.store.opening import open_database
    from hades.store.postgres.database import PostgresDatabase

    if not is_server(address):
        shown = without_password(address)
        raise InvalidInput(f"{shown} is not the address of a database: postgresql://…")
    opened = open_database(
        address, create=create, read_only=not create, busy_timeout_s=_WAIT_S, clock=system_clock
    )
    assert isinstance(opened, PostgresDatabase)
    return opened
