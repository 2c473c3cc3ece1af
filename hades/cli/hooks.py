"""The commands for hooks: `hades hooks install`, `uninstall`, `status` and `run`."""

from __future__ import annotations

from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hades.cli import app, config_changes
from hades.cli.invocation import Invocation, command
from hades.domain.address import is_address, is_server

if TYPE_CHECKING:
    from rich.console import Console

    from hades.hooks.status import HooksStatus

hooks_app = typer.Typer(help="Give coding agents a memory, by hooks.", no_args_is_help=True)
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

    Each project has its own memory in your data folder, unless --memory names one;
    `hades hooks status` shows its path. Other hooks in the file stay, and the old file is kept
    as a backup.
    """
    from hades.hooks.install import plan_install
    from hades.project import check_outside_work_trees

    memory = config_changes.absolute(invocation.memory) if invocation.memory else ""
    if memory and not is_address(memory) and not is_server(memory):
        check_outside_work_trees(memory)
    change = plan_install(client, here=_here(here), memory=memory, tools=tools)
    config_changes.confirmed(invocation, change, yes)


@command(hooks_app, "uninstall", of_memory=False)
def uninstall(invocation: Invocation, client: CLIENT, here: HERE = False, yes: YES = False) -> None:
    """Remove the hooks of HADES from a coding agent's file."""
    from hades.hooks.install import plan_uninstall

    change = plan_uninstall(client, here=_here(here))
    config_changes.confirmed(invocation, change, yes, removes=True)


@command(hooks_app, "status", of_memory=False)
def status(invocation: Invocation) -> None:
    """Show the installed hooks, their last runs and the memory of the project in this folder."""
    from hades.hooks.status import hooks_status
    from hades.project import project_root

    state = hooks_status(project_root(Path.cwd()))
    invocation.show(state, lambda out: _show(out, state))


@command(hooks_app, "adopt", of_memory=False)
def adopt(
    invocation: Invocation,
    memory: Annotated[
        str, typer.Argument(help="The memory file (default: .hades/memory.hades of the project).")
    ] = "",
    yes: YES = False,
) -> None:
    """Move a memory to where the project in this folder has its own.

    Use it for a memory in a work tree, which hooks ignore, or after a repository was moved. Adopt
    only a memory that is yours: an agent reads it as its own notes.
    """
    from hades.hooks.adopting import adopt
    from hades.project import FOLDER, project_root

    root = project_root(Path.cwd())
    old = Path(memory).expanduser().absolute() if memory else root / FOLDER / "memory.hades"
    invocation.confirm(f"Make {old} the memory of the project {root}?", yes)
    new = adopt(root, old)
    result = {"from": str(old), "to": str(new)}
    invocation.show(result, lambda out: out.print(f"Moved {old} to {new}.", markup=False))


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


def _show(out: Console, state: HooksStatus) -> None:
    from hades.cli.render import show_table

    for hooks in state.installed:
        out.print(f"{hooks.client}: {hooks.file}: {', '.join(hooks.events)}", markup=False)
    if not state.installed:
        out.print("no hooks are installed")
    where = ": ".join(part for part in (state.memory or "none", state.note) if part)
    out.print(f"memory of this project: {where}", markup=False)
    for memory in state.left:
        out.print(f"`hades hooks adopt {memory}` takes over one from its old place", markup=False)
    out.print("the resident is running" if state.resident else "the resident is not running")
    if state.events:
        titles = ("client", "event", "last", "ms", "added", "runs", "failures", "says")
        shown = attrgetter(*titles[:4], "characters", "runs", "failures", "message")
        show_table(out, titles, map(shown, state.events))
    out.print(f"log: {state.log}", markup=False)
