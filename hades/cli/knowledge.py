"""Commands about taking knowledge in and finding it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hades.cli import app
from hades.cli.door import Door, command
from hades.errors import InvalidInput

PHASES = ("nodes", "chunks", "embeddings", "edges")


@command(app, "ingest")
def ingest(
    door: Door,
    paths: Annotated[list[Path], typer.Argument(help="Files, folders, chat exports, corpora.")],
    prefix: Annotated[str | None, typer.Option(help="Put their topics below this name.")] = None,
    id_field: Annotated[str | None, typer.Option("--id", help="Records: the field of ids.")] = None,
    title: Annotated[str | None, typer.Option("--title", help="Records: the title field.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="Records: the text field.")] = None,
    phase: Annotated[
        list[str] | None,
        typer.Option("--phase", help="Only this: nodes, chunks, embeddings, edges; repeatable."),
    ] = None,
    edges: Annotated[int, typer.Option("--edges", help="0: leave names and links out.")] = 1,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
) -> None:
    """Take in files and folders, and bring them up to date. Exit code 1 if any was skipped."""
    phases = tuple(phase) if phase else PHASES
    if not edges:
        phases = tuple(one for one in phases if one != "edges")
    named = {"id": id_field, "title": title, "text": text}
    fields = {name: field for name, field in named.items() if field is not None} or None
    with door.opened(create=True) as memory, door.progress() as progress:
        summary = memory.ingest(
            *paths,
            prefix=prefix,
            fields=fields,
            phases=phases,
            dry_run=dry_run,
            on_progress=progress,
        )
    from hades.cli import show

    door.show(summary, lambda out: show.summary(out, summary))
    if summary.skipped:
        raise typer.Exit(1)


@command(app, "search", timed=True)
def search(
    door: Door,
    question: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many.")] = 10,
    by: Annotated[
        list[str] | None,
        typer.Option("--door", help="meaning, words or names; repeatable (else the first two)."),
    ] = None,
    tag: Annotated[str | None, typer.Option("--tag", "-t", help="Topics with this tag.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="note, document, code, conversation, record, paper.")
    ] = None,
    glob: Annotated[str | None, typer.Option(help="Topics like 'docs/*'.")] = None,
) -> None:
    """Find the passages that fit best, with the score each door gave."""
    if not question.strip():
        raise InvalidInput("Ask something: the question is empty.")
    with door.opened() as memory, door.progress() as progress:
        view = memory if door.at is None and door.known is None else None
        found = (view or memory.at(door.at, known=door.known)).search(
            question, limit, door=by, tag=tag, kind=kind, glob=glob, on_progress=progress
        )
    from hades.cli import show

    door.show(found, lambda out: show.hits(out, found))
