"""The command line: a command for every method of Memory."""

from __future__ import annotations

import os
import sys

import typer

app = typer.Typer(
    name="hades",
    help="Long-term memory for AI agents: every version kept, every answer explained.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _register() -> None:
    from hades.cli import graph, states, upkeep  # noqa: F401 — they add their commands


_register()


def main() -> None:
    """Run the command line."""
    try:
        app()
    except BrokenPipeError:
        # The reader of our output went away (`hades topics | head`): nothing to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)
