"""The command for agents: `hades mcp`, which can also be written into their configuration."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hades.cli import app, config_changes
from hades.cli.invocation import Invocation, command, require_extra
from hades.domain.address import is_address, is_server
from hades.errors import InvalidInput


@command(app, "mcp")
def mcp(
    invocation: Invocation,
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer only tools that read.")
    ] = False,
    tools: Annotated[
        str,
        typer.Option("--tools", help="core, memgpt, all or names, with commas between."),
    ] = "core",
    install: Annotated[
        str | None,
        typer.Option(
            "--install",
            metavar="CLIENT",
            help="Write it into the configuration of claude-code, claude-desktop, cursor, vscode, "
            "windsurf or gemini-cli, after showing it.",
        ),
    ] = None,
    uninstall: Annotated[
        str | None,
        typer.Option(
            "--uninstall", metavar="CLIENT", help="Remove it from there, after showing it."
        ),
    ] = None,
    here: Annotated[
        bool, typer.Option("--here", help="Use the memory of the project in this folder.")
    ] = False,
    name: Annotated[
        str, typer.Option("--name", help="With --install, --uninstall: the server's name there.")
    ] = "hades",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
) -> None:
    """Serve the memory to an agent over MCP (stdin, stdout).

    With --space, only that space can be used. With a server's address for --memory, that
    server is used, with your key (HADES_KEY). With --here, the memory is that of the project,
    as with `--memory project:`; --install then writes to the client's file there.
    """
    if install and uninstall:
        raise InvalidInput("Give --install or --uninstall, not both.")
    require_extra("server", "mcp")
    if uninstall:
        _configure(invocation, uninstall, None, here=here, name=name, yes=yes)
    elif install is None:
        _serve(invocation, read_only=read_only, tools=tools, here=here)
    else:
        _check(tools)
        options = ["--read-only"] * read_only + ["--tools", tools] * (tools != "core")
        _configure(invocation, install, options, here=here, name=name, yes=yes)


def _serve(invocation: Invocation, *, read_only: bool, tools: str, here: bool) -> None:
    from hades.project import FOLDER, check_own, current_project, make_project_folder
    from hades.settings import load_settings

    settings = load_settings()
    memory = invocation.memory
    if memory is None:
        memory = str(make_project_folder(current_project()) if here else settings.ready_path())
    if is_address(memory):
        from hades.serve.mcp.forwarding import serve_address

        if invocation.space is not None:
            raise InvalidInput(
                "A server says which spaces you may use: `hades keys create --space` makes a key."
            )
        serve_address(memory, settings.key, read_only=read_only, tools=tools)
        return
    from hades.serve.mcp.stdio import serve_memory

    _check(tools)
    place = memory if is_server(memory) else Path(memory).expanduser()
    if isinstance(place, Path) and place.parent.name == FOLDER:
        check_own(place)  # it may have come with the repository
    serve_memory(place, invocation.space, read_only=read_only, tools=tools)


def _check(tools: str) -> None:
    """Raise InvalidInput if a set or a tool of this list does not exist."""
    if tools != "core":  # the check imports the tools, which takes long
        from hades.serve.mcp.server import chosen_tools

        chosen_tools(tools)


def _configure(
    invocation: Invocation,
    client: str,
    options: list[str] | None,
    *,
    here: bool,
    name: str,
    yes: bool,
) -> None:
    """Write the command with these options into a client's file; without options, remove it."""
    from hades.project import current_project, make_project_folder, project_memory
    from hades.serve.mcp import install
    from hades.settings import load_settings

    root = current_project() if here else None
    memory = invocation.memory
    if memory is None and root is None:
        memory = str(load_settings().ready_path())
    arguments = [] if memory is None else ["--memory", config_changes.absolute(memory)]
    if invocation.space is not None:
        arguments += ["--space", invocation.space]
    wanted = None if options is None else [*arguments, *options]
    change = install.plan(client, name, wanted, here=root)
    prepare = None
    if root is not None and memory is None and wanted is not None:
        sys.stdout.write(f"The memory of this project is {project_memory(root)}.\n")
        prepare = partial(make_project_folder, root)
    removes = wanted is None
    if config_changes.confirmed(invocation, change, yes, removes=removes, prepare=prepare):
        sys.stdout.write(f"Restart {change.program} to {'use' if wanted else 'forget'} it.\n")
