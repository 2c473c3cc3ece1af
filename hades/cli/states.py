"""Commands about topics and their states."""

from __future__ import annotations

import json as jsonlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from hades.cli import app
from hades.cli.door import Door, command
from hades.errors import InvalidInput

TOPIC = Annotated[str, typer.Argument(help="The topic, such as design/approach_x.")]


@command(app, "remember")
def remember(
    door: Door,
    topic: TOPIC,
    content: Annotated[
        str | None, typer.Argument(help="What is known. Without it: standard input.")
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="Read the content from a file (- for stdin)."),
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", help="A tag; repeatable.")] = None,
    metadata: Annotated[str | None, typer.Option(help="A JSON object kept with the state.")] = None,
    confidence: Annotated[float | None, typer.Option(help="How sure, 0 to 1.")] = None,
    importance: Annotated[float | None, typer.Option(help="How important, 0 to 1.")] = None,
    valid_from: Annotated[str | None, typer.Option(help="Since when it is true.")] = None,
    expect_version: Annotated[
        int | None, typer.Option(help="Fail unless the topic is at this version (0: new).")
    ] = None,
) -> None:
    """Write what is known of a topic: a new version, unless nothing changed."""
    text = _content(content, file)
    with door.opened(create=True) as memory:
        before = memory.change
        state = memory.remember(
            topic,
            text,
            tags=tag,
            metadata=_json_object(metadata),
            confidence=confidence,
            importance=importance,
            valid_from=valid_from,
            expect_version=expect_version,
        )
        news = "remembered" if memory.change > before else "nothing new in"
    from hades.cli import show

    door.show(state, lambda out: out.print(f"{news} [bold]{show.clean(state.id)}[/]"))


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


def _json_object(text: str | None) -> dict[str, Any] | None:
    if text is None:
        return None
    try:
        value = jsonlib.loads(text)
    except ValueError as error:
        raise InvalidInput(f"The metadata is not JSON: {error}.") from error
    if not isinstance(value, dict):
        raise InvalidInput('The metadata must be a JSON object, such as {"source": "chat"}.')
    return value


@command(app, "get", timed=True)
def get(
    door: Door,
    topic: TOPIC,
    version: Annotated[int | None, typer.Option("--version", "-v", help="This version.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="The content alone, byte for byte.")] = False,
) -> None:
    """Show a topic: now, as of a time, or one version."""
    with door.viewed() as view:
        state = view.get(topic, version)
    if raw:
        sys.stdout.buffer.write(state.content.encode())
        return
    from hades.cli import show

    door.show(state, lambda out: show.state(out, state))


@command(app, "history", timed=True)
def history(door: Door, topic: TOPIC) -> None:
    """List every version of a topic."""
    with door.viewed() as view:
        states = view.history(topic)
    from hades.cli import show

    door.show(states, lambda out: show.history(out, states))


@command(app, "diff", timed=True)
def diff(
    door: Door,
    topic: TOPIC,
    before: Annotated[int | None, typer.Argument(help="The earlier version.")] = None,
    after: Annotated[int | None, typer.Argument(help="The later version.")] = None,
) -> None:
    """Show what changed between two versions; by default the last change."""
    with door.viewed() as view:
        found = view.diff(topic, before, after)
    from hades.cli import show

    door.show(found, lambda out: show.diff(out, found))


@command(app, "topics", timed=True)
def topics(
    door: Door,
    glob: Annotated[str | None, typer.Argument(help="Which, such as 'design/*'.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", "-t", help="With this tag.")] = None,
    since: Annotated[str | None, typer.Option(help="Changed at or after this time.")] = None,
    until: Annotated[str | None, typer.Option(help="Changed before this time.")] = None,
    after: Annotated[str | None, typer.Option(help="Only names after this one (paging).")] = None,
    limit: Annotated[int | None, typer.Option(help="At most so many.")] = None,
) -> None:
    """List the topics there are."""
    with door.viewed() as view:
        found = view.topics(glob, tag=tag, since=since, until=until, after=after, limit=limit)
    from hades.cli import show

    door.show(found, lambda out: show.topics(out, found))


@command(app, "forget")
def forget(door: Door, topic: TOPIC) -> None:
    """Let a topic be gone from now on; its history is kept."""
    with door.opened() as memory:
        state = memory.forget(topic)
    from hades.cli import show

    door.show(state, lambda out: out.print(f"forgot [bold]{show.clean(topic)}[/]"))


@command(app, "purge")
def purge(
    door: Door,
    name: Annotated[str, typer.Argument(help="The topic or entity.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Erase a topic or entity everywhere, with its history and all derived from it."""
    with door.opened() as memory:
        door.confirm(f"Erase {name!r} and all its history for good?", yes)
        gone = memory.purge(name)
    from hades.cli import show

    door.show(gone, lambda out: show.numbers(out, gone))
