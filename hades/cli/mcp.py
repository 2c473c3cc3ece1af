"""The command for agents: `hades mcp`, which can also be written into their configuration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command, require_extra
from hades.domain.address import is_address, is_server
from hades.errors import InvalidInput

ToolSet = Literal["core", "memgpt", "all"]


@command(app, "mcp")
def mcp(
    invocation: Invocation,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer only tools that read.")
    ] = False,
    tools: Annotated[
        ToolSet,
        typer.Option("--tools", help="The tools to offer: core, memgpt or all."),
    ] = "all",
    install: Annotated[
        str | None,
        typer.Option(
            "--install",
            metavar="CLIENT",
            help="Write it into the configuration of claude-code, claude-desktop, cursor, vscode, "
            "windsurf or gemini-cli, after showing it.",
        ),
    ] = None,
    here: Annotated[
        bool, typer.Option("--here", help="With --install: only for the project in this folder.")
    ] = False,
    name: Annotated[
        str, typer.Option("--name", help="With --install: the name of the server there.")
    ] = "hades",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
) -> None:
    """Serve the memory to an agent over MCP (stdin, stdout).

    With --space, only that space can be used. With a server's address for --memory, that
    server is used, with your key (HADES_KEY).
    """
    if install is None:
        _serve(invocation, read_only=read_only, tools=tools)
    else:
        options = ["--read-only"] * read_only + ["--tools", tools] * (tools != "all")
        _install(invocation, install, options, here=here, name=name, yes=yes)


def _serve(invocation: Invocation, *, read_only: bool, tools: str) -> None:
    require_extra("mcp")
    from hades.settings import load_settings

    settings = load_settings()
    memory = invocation.memory or settings.ready_path()
    if is_address(memory):
        from hades.serve.mcp.bridge import serve_address

        if invocation.space is not None:
            raise InvalidInput(
                "A server says which spaces you may use: `hades keys create --space` makes a key."
            )
        serve_address(str(memory), settings.key, read_only=read_only, tools=tools)
    else:
        from hades.serve.mcp.stdio import serve_memory

        place = memory if is_server(memory) else Path(memory).expanduser()
        serve_memory(place, invocation.space, read_only=read_only, tools=tools)


def _install(
    invocation: Invocation, client: str, options: list[str], *, here: bool, name: str, yes: bool
) -> None:
    from hades.cli.render import printable
    from hades.serve.mcp import install
    from hades.settings import load_settings

    memory = invocation.memory or load_settings().ready_path()
    if not is_address(memory) and not is_server(memory):
        memory = Path(memory).expanduser().absolute()
    arguments = ["mcp", "--memory", str(memory)]
    if invocation.space is not None:
        arguments += ["--space", invocation.space]
    arguments += options
    change = install.plan(client, name, arguments, here=Path.cwd() if here else None)
    sys.stdout.write(f"{change.client.title} reads {change.file}. This goes in:\n")
    sys.stdout.write(printable(change.shown()) + "\n")
    if not change.is_news:
        sys.stdout.write("It is there already: nothing to write.\n")
        return
    if change.replaces is not None:
        sys.stdout.write(f"It takes the place of: {printable(str(change.replaces))}\n")
    invocation.confirm(f"Write this to {change.file}?", yes)
    kept = install.apply(change)
    sys.stdout.write(f"Written to {change.file}.\n")
    if kept is not None:
        sys.stdout.write(f"The file as it was: {kept}\n")
    sys.stdout.write(f"Restart {change.client.title} to use it.\n")
