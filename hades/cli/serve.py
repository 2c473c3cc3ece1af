"""Commands about the server: run it, and manage the keys of its callers."""

from __future__ import annotations

import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command, require_extra

if TYPE_CHECKING:
    from rich.console import Console

    from hades.serve.auth.keys import Keys
    from hades.serve.running import Started

keys_app = typer.Typer(help="Create, list and revoke API keys of the server.", no_args_is_help=True)
app.add_typer(keys_app, name="keys")

_FOR = {"ro": "for reading", "rw": "for reading and writing", "admin": "for operators"}


@command(app, "serve", spaced=False)
def serve(
    invocation: Invocation,
    host: Annotated[
        str | None, typer.Option(help="The TCP address to listen on (default: 127.0.0.1).")
    ] = None,
    port: Annotated[int | None, typer.Option(help="The TCP port (default: 8674).")] = None,
    tcp: Annotated[
        bool, typer.Option("--tcp/--no-tcp", help="Listen on TCP, or only on sockets.")
    ] = True,
    remote: Annotated[
        bool,
        typer.Option("--remote", help="Allow connections from other machines: --host 0.0.0.0."),
    ] = False,
    ro_socket: Annotated[
        Path | None, typer.Option(help="A unix socket for reading only (mode 0660).")
    ] = None,
    rw_socket: Annotated[
        Path | None, typer.Option(help="A unix socket for reading and writing (mode 0600).")
    ] = None,
    admin_socket: Annotated[
        Path | None, typer.Option(help="A unix socket for operators (mode 0600).")
    ] = None,
    socket_group: Annotated[
        str | None, typer.Option(help="The group that may use the read-only socket.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Refuse every write.")] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A host name to accept in requests; may be repeated.")
    ] = None,
    request_mb: Annotated[int, typer.Option(min=1, help="The largest request, in MB.")] = 32,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="The time limit of a call, in seconds.")
    ] = 30.0,
    readers: Annotated[int, typer.Option(min=1, help="The number of reading threads.")] = 2,
    grace: Annotated[
        float, typer.Option(min=0, help="Seconds to finish open requests on shutdown.")
    ] = 10,
    log_level: Annotated[str, typer.Option(help="debug, info, warning or error.")] = "info",
    ui: Annotated[
        bool, typer.Option("--ui/--no-ui", help="Serve the explorer's pages at TCP (extra `ui`).")
    ] = True,
) -> None:
    """Serve the memory over MCP, REST and GraphQL, with the explorer's pages.

    File permissions control who may use a unix socket; TCP needs a key (`hades keys create`).
    For TLS and for protection from slow or greedy clients, put a reverse proxy in front:
    deploy/nginx.conf is an example.
    """
    require_extra("server", "fastapi", "uvicorn", "uvloop", "prometheus_client")
    from hades.cli.explorer import explorer_pages
    from hades.serve.running import Options, run
    from hades.serve.schedule import TASKS
    from hades.serve.telemetry.logs import logging_to
    from hades.settings import load_settings

    settings = load_settings()
    sockets = {
        "ro": ro_socket or settings.ro_socket,
        "rw": rw_socket or settings.rw_socket,
        "admin": admin_socket or settings.admin_socket,
    }
    options = Options(
        memory=invocation.place(),
        executor={
            "read_only": read_only,
            "encoder": settings.own_encoder,
            "readers": readers,
            "timeout_s": timeout,
            "busy_timeout_s": settings.busy_timeout_s,
        },
        host=host or settings.listen_host,
        port=settings.listen_port if port is None else port,
        tcp=tcp,
        remote=remote,
        sockets={name: path.expanduser() for name, path in sockets.items() if path is not None},
        group=socket_group,
        hosts=tuple(allow_host or ()),
        body_bytes=request_mb * 1024 * 1024,
        grace_s=grace,
        otlp_endpoint=settings.otlp_endpoint,
        trace_contents=settings.trace_contents,
        every_hours={task: getattr(settings, f"{task}_every_hours") for task in TASKS},
        pages=explorer_pages if ui and settings.ui and find_spec("nicegui") else None,
    )
    with logging_to(level=log_level, shape=settings.log_format):
        run(options, lambda started: _say(invocation, started))


@command(keys_app, "create", spaced=False)
def create_key(
    invocation: Invocation,
    name: Annotated[str, typer.Argument(help="The name of the key in the audit log.")],
    role: Annotated[str, typer.Option(help="reader, writer or admin.")] = "reader",
    space: Annotated[
        list[str] | None,
        typer.Option(
            "--space", "-s", help="A space the key may use; may be repeated (default: all)."
        ),
    ] = None,
) -> None:
    """Create an API key and print it once.

    A running server accepts it at once.
    """
    from hades.serve.auth.keys import role_named

    key, token = _keys(invocation).create(name, role_named(role), space)

    def render(out: Console) -> None:
        out.file.write(f"{token}\n")
        sys.stderr.write("Keep it: it is not shown again.\n")

    invocation.show({**key.shown(), "key": token}, render)


@command(keys_app, "list", spaced=False)
def list_keys(invocation: Invocation) -> None:
    """List the keys with role, spaces and dates.

    The keys themselves are never shown.
    """
    keys = [key.shown() for key in _keys(invocation).listed()]
    rows = [
        (
            *(key["name"], key["id"], key["role"]),
            "all" if key["spaces"] is None else ", ".join(key["spaces"]),
            *((key[at] or "never")[:19].replace("T", " ") for at in ("made_at", "used_at")),
        )
        for key in keys
    ]
    titles = ("name", "id", "role", "spaces", "made", "last used")
    invocation.show_table(keys, titles, rows, "no keys")


@command(keys_app, "revoke", spaced=False)
def revoke_key(
    invocation: Invocation, name: Annotated[str, typer.Argument(help="The name or id of the key.")]
) -> None:
    """Revoke a key.

    A running server rejects it at once.
    """
    key = _keys(invocation).revoke(name).shown()
    invocation.show(key, lambda out: out.print(f"revoked {key['name']}", markup=False))


def _keys(invocation: Invocation) -> Keys:
    from hades.serve.auth.keys import Keys, keys_beside
    from hades.store.opening import files_of

    return Keys(keys_beside(files_of(invocation.place())))


def _say(invocation: Invocation, started: Started) -> None:
    """Print where the server listens; with `--json`, as one JSON object."""
    if invocation.json:
        from hades.domain.plain import plain

        text = json.dumps(plain(started), ensure_ascii=False)
    else:
        lines = [f"hades serves {started.memory}"]
        for place in started.listening:
            lines.append(f"  {place['where']}  {_FOR.get(place['listener'], 'with a key')}")
        if started.pages:
            lines.append(f"  explorer: {started.pages}/ (`hades ui` opens it)")
        lines.append(f"  audit log: {started.audit}")
        if not started.has_keys and any(at["listener"] == "http" for at in started.listening):
            lines.append("There are no keys yet: `hades keys create NAME` makes one.")
        text = "\n".join(lines)
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
