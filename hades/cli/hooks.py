"""The commands for hooks: `hades hooks install`, `uninstall`, `status` and `run`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command
from hades.domain.address import is_address, is_server

if TYPE_CHECKING:
    from rich.console import Console

    from hades.hooks.install import HookChange
    from hades.hooks.status import HooksStatus

hooks_app = typer.Typer(help="A memory that coding agents need not ask for.", no_args_is_help=True)
app.add_typer(hooks_app, name="hooks")

CLIENT = Annotated[str, typer.Argument(metavar="CLIENT", help="claude-code, codex or cursor.")]
HERE = Annotated[bool, typer.Option("--here", help="Only for the project in this folder.")]
YES = Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")]


@command(hooks_app, "install", spaced=False)
def install(
    invocation: Invocation,
    client: CLIENT,
    here: HERE = False,
    tools: Annotated[
        bool, typer.Option("--tools", help="Also note edited files and failed commands.")
    ] = False,
    yes: YES = False,
) -> None:
    """Install the hooks for a coding agent, after showing them.

    Each project has its own memory, .hades/memory.hades in its repository, unless --memory names
    one. Other hooks in the file stay, and the file as it was is kept.
    """
    from hades.hooks.install import plan_install

    memory = invocation.memory or ""
    if memory and not is_address(memory) and not is_server(memory):
        memory = str(Path(memory).expanduser().absolute())
    change = plan_install(client, here=_here(here), memory=memory, tools=tools)
    _write(invocation, change, "This is added", "It is there already: nothing to write.", yes)


@command(hooks_app, "uninstall", of_memory=False)
def uninstall(invocation: Invocation, client: CLIENT, here: HERE = False, yes: YES = False) -> None:
    """Remove the hooks of HADES from a coding agent's file."""
    from hades.hooks.install import plan_uninstall

    change = plan_uninstall(client, here=_here(here))
    _write(invocation, change, "This is removed", "There is no hook of HADES in it.", yes)


@command(hooks_app, "status", of_memory=False)
def status(invocation: Invocation) -> None:
    """Show what is installed, when it last ran and what it added."""
    from hades.hooks.status import hooks_status

    state = hooks_status(_here(True))
    invocation.show(state, lambda out: _show(out, state))


@hooks_app.command("run")
def run(
    client: CLIENT,
    event: Annotated[
        str,
        typer.Argument(
            help="session-start, prompt, tool, turn-end, before-compact or session-end."
        ),
    ],
    memory: Annotated[str, typer.Argument(help="The memory (default: the project's).")] = "",
) -> None:
    """Run a hook with the payload on standard input, to try it.

    The installed hooks run the same code without the start of this command line.
    """
    from hades.hooks import client as hook_client

    hook_client.main([client, event, memory])


def _here(here: bool) -> Path | None:
    from hades.project import project_root

    return project_root(Path.cwd()) if here else None


def _write(invocation: Invocation, change: HookChange, what: str, nothing: str, yes: bool) -> None:
    from hades.cli.render import printable

    sys.stdout.write(f"{change.client.title} reads {change.file}.\n")
    if change.entries:
        sys.stdout.write(f"{what}:\n{printable(change.shown())}\n")
    if change.after is None:
        sys.stdout.write(f"{nothing}\n")
        return
    invocation.confirm(f"Write {change.file}?", yes)
    kept = change.apply()
    sys.stdout.write(f"Written to {change.file}.\n")
    if kept is not None:
        sys.stdout.write(f"The file as it was: {kept}\n")


def _show(out: Console, state: HooksStatus) -> None:
    from hades.cli import render as show

    for hooks in state.installed:
        out.print(f"{hooks.client}: {hooks.file}: {', '.join(hooks.events)}", markup=False)
    if not state.installed:
        out.print("no hooks are installed")
    out.print("the resident runs" if state.resident else "the resident does not run")
    if state.events:
        rows = show.table("client", "event", "last", "ms", "added", "runs", "failures", "says")
        for run in state.events:
            cells = (run.ms, run.characters, run.runs, run.failures)
            ms, characters, runs, failures = ("" if cell is None else str(cell) for cell in cells)
            rows.add_row(
                show.clean(run.client),
                show.clean(run.event),
                run.last,
                ms,
                characters,
                runs,
                failures,
                show.clean(run.message),
            )
        out.print(rows)
    out.print(f"log: {state.log}", markup=False)
