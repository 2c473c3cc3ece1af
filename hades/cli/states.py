"""Commands on one topic or question that do more than call their operation."""

from __future__ import annotations

import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hades.cli import app
from hades.cli.commands import call, extended
from hades.cli.invocation import Invocation
from hades.context.text.layout import TextBody
from hades.domain.plain import plain
from hades.errors import InvalidInput, Unavailable
from hades.operations.declare import OPERATIONS

if TYPE_CHECKING:
    from rich.console import Console

_REMEMBER, _GET, _RECALL = (OPERATIONS[name] for name in ("remember", "get", "recall"))


@extended(app, _REMEMBER, "content")
def remember(
    invocation: Invocation,
    given: dict[str, Any],
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="Read the text from a file (- for stdin)."),
    ] = None,
) -> None:
    """Store what you know about a topic as a new version.

    The same text again adds no version. Without CONTENT or --file, standard input is read.
    """
    given["content"] = _content(given["content"], file)
    with invocation.opened(create=True) as memory, invocation.progress() as progress:
        before = memory.log(1)
        state = call(_REMEMBER, memory, given, progress)
        is_news = memory.log(1) != before
        recent = []
        with suppress(Unavailable):  # a library has no list of proposals
            recent = memory.proposals("all", since=state.recorded_at) if is_news else []
        proposals = [item for item in recent if item.why.startswith(f"{state.id} says ")]
    from hades.cli import render
    from hades.context.text.reports import proposal_lines

    def show(out: Console) -> None:
        news = "remembered" if is_news else "nothing new in"
        out.print(f"{news} [bold]{render.clean(state.id)}[/]")
        if proposals:
            out.print("what changed with it, or may have changed (see `hades review`):")
            render.show_lines(out, proposal_lines(proposals))

    invocation.show({**plain(state), "proposals": proposals} if proposals else state, show)


@extended(app, _GET)
def get(
    invocation: Invocation,
    given: dict[str, Any],
    raw: Annotated[bool, typer.Option("--raw", help="Print only the text, byte for byte.")] = False,
) -> None:
    """Show a topic now, as of a time, or at one version."""
    with invocation.viewed() as view:
        state = view.get(**given)
    if raw:
        sys.stdout.buffer.write(state.content.encode())
    else:
        invocation.show_result(state, _GET.returns)


@extended(app, _RECALL)
def recall(
    invocation: Invocation,
    given: dict[str, Any],
    explain: Annotated[
        bool, typer.Option("--explain", help="Show the stages and the parts of each score.")
    ] = False,
    context: Annotated[
        bool, typer.Option("--context", help="Print only the text for a model.")
    ] = False,
) -> None:
    """Collect facts, passages and paths about a question."""
    with invocation.asked() as (view, progress):
        recalled = call(_RECALL, view, given, progress)
    from hades.context.text.answers import recall_lines

    if context:
        invocation.show_lines(recalled, [TextBody(recalled.context)])
    else:
        invocation.show_lines(recalled, recall_lines(recalled, explain=explain))


def _content(content: str | None, file: Path | None) -> str:
    if content is not None and file is not None:
        raise InvalidInput("Give the content either as an argument or with --file, not both.")
    if content is not None:
        return content
    try:
        if file is None or str(file) == "-":
            if file is None and sys.stdin.isatty():
                raise InvalidInput("Give the content as an argument, with --file, or pipe it in.")
            piped = sys.stdin.buffer.read().decode()
            if not piped:
                raise InvalidInput("Standard input is empty: nothing was remembered.")
            return piped
        return file.read_bytes().decode()
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"{file or 'Standard input'} is not UTF-8 text (byte {error.start})."
        ) from error
