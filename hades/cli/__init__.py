"""The command line. `commands.py` makes most commands from the declarations in
`hades/operations/`; the other modules have the commands that need code of their own.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import inspect
import io
import os
import sys
from copy import copy
from typing import Annotated

import typer

from hades import __version__
from hades.cli import commands
from hades.cli.panels import PanelGroup

GC_THRESHOLD = 20_000
"""The garbage collector runs after this many new objects. With the default (700 in Python 3.11),
it runs about a hundred times in a short command, and these runs free nothing."""

app = typer.Typer(
    name="hades",
    cls=PanelGroup,
    help="Long-term memory for AI agents: every version kept, every answer explained.\n\n"
    "`hades COMMAND --help` shows the options of a command.",
    no_args_is_help=True,
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _options(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        typer.echo(f"hades {__version__}")
        raise typer.Exit


_MODULES = (
    "states sources maintenance database library evals serve explorer mcp agents hooks docs demo"
)
for _module in _MODULES.split():
    importlib.import_module(f"hades.cli.{_module}")  # each adds its commands
commands.add_commands(app)


def app_for(first: list[str]) -> typer.Typer:
    """Return the command line with only what the first argument needs.

    Typer reads the options of all commands, which takes longer than running many of them. The help
    needs only names and summaries.
    """
    groups = [item for item in app.registered_groups if [item.name] == first]
    found = [item for item in app.registered_commands if [item.name] == first]
    if groups or found:
        part = copy(app)
        part.registered_groups = groups
        part.registered_commands = found
        return part
    if first in ([], ["-h"], ["--help"], ["--version"]):
        return _without_options(app)
    return app


def _without_options(whole: typer.Typer) -> typer.Typer:
    """Return a copy whose commands have their names and summaries, but no options."""
    part = copy(whole)
    part.registered_commands = [copy(item) for item in whole.registered_commands]
    for command in part.registered_commands:
        command.help = inspect.getdoc(command.callback)
        command.callback = lambda: None
    part.registered_groups = [copy(item) for item in whole.registered_groups]
    for group in part.registered_groups:
        if group.typer_instance is not None:
            group.typer_instance = _without_options(group.typer_instance)
    return part


def main() -> None:
    """Run the command line."""
    gc.set_threshold(GC_THRESHOLD)
    # Python's last garbage collections skip frozen objects. Looking at all of them would take an
    # eighth of a second.
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Print a character that the terminal cannot encode as its number.
            stream.reconfigure(errors="backslashreplace")
    try:
        app_for(sys.argv[1:2])()
    except BrokenPipeError:
        # The reader of our output is gone (`hades topics | head`), so no message is printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
