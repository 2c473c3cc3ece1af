"""The command line. `commands.py` makes most commands from the declarations in
`hades/operations/`; the other modules have the commands that need code of their own.
"""

from __future__ import annotations

import importlib
import io
import os
import sys
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


_MODULES = "states sources maintenance database evals serve explorer mcp agents hooks docs"
for _module in _MODULES.split():
    importlib.import_module(f"hades.cli.{_module}")  # each adds its commands
commands.add_commands(app)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Print a character that the terminal cannot encode as its number.
            stream.reconfigure(errors="backslashreplace")
    # Keep only the command that is run: reading the options of all sixty takes longer than many.
    named = [item for item in app.registered_commands if [item.name] == sys.argv[1:2]]
    app.registered_commands = named or app.registered_commands
    try:
        app()
    except BrokenPipeError:
        # The reader of our output is gone (`hades topics | head`), so no message is printed.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
