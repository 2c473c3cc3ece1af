"""The command line. `commands.py` makes most commands from the declarations in
`hades/operations/`; the other modules have the commands that need code of their own.
"""

from __future__ import annotations

import importlib
import inspect
import io
import os
import sys
from itertools import chain
from typing import Annotated

import typer

from hades import __version__
from hades.cli import commands
from hades.cli.panels import PanelGroup

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


def _drop_other_options(first: list[str]) -> None:
    """Keep only what the first argument needs, because Typer reads the options of all commands.

    That takes longer than running many of the commands. The help needs only names and summaries.
    """
    groups = [item for item in app.registered_groups if [item.name] == first]
    commands = [item for item in app.registered_commands if [item.name] == first]
    if groups or commands:
        app.registered_groups = groups
        app.registered_commands = commands
    elif first in ([], ["-h"], ["--help"], ["--version"]):
        within = [item.typer_instance for item in app.registered_groups]
        for command in chain.from_iterable(
            part.registered_commands for part in (app, *within) if part is not None
        ):
            command.help = inspect.getdoc(command.callback)
            command.callback = lambda: None


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Print a character that the terminal cannot encode as its number.
            stream.reconfigure(errors="backslashreplace")
    _drop_other_options(sys.argv[1:2])
    try:
        app()
    except BrokenPipeError:
        # The reader of our output is gone (`hades topics | head`), so no message is printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
