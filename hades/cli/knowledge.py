"""Commands about taking knowledge in and finding it."""

from __future__ import annotations

import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hades.cli import app
from hades.cli.door import Door, command
from hades.errors import InvalidInput

if TYPE_CHECKING:
    from rich.console import Console

    from hades.ingest.summary import Summary

WATCH_EVERY_S = 2.0
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
    history: Annotated[
        bool, typer.Option("--history", help="Git repositories: a state for every commit.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would change.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on: look for changes every two seconds.")
    ] = False,
) -> None:
    """Take in files and folders, and bring them up to date. Exit code 1 if any was skipped."""
    phases = tuple(phase) if phase else PHASES
    if not edges:
        phases = tuple(one for one in phases if one != "edges")
    named = {"id": id_field, "title": title, "text": text}
    fields = {name: field for name, field in named.items() if field is not None} or None
    with door.opened(create=True) as memory:
        known: list[tuple[str, str]] | None = None
        while True:
            with door.progress() as progress:
                summary = memory.ingest(
                    *paths,
                    prefix=prefix,
                    fields=fields,
                    phases=phases,
                    history=history,
                    dry_run=dry_run,
                    on_progress=progress,
                )
            news = summary.added + summary.changed + summary.renamed + summary.removed
            if known is None or news or summary.skipped != known:
                door.show(summary, partial(_show_summary, summary))
                sys.stdout.flush()
            known = summary.skipped
            if not watch:
                break
            time.sleep(WATCH_EVERY_S)
    if summary.skipped:
        raise typer.Exit(1)


def _show_summary(summary: Summary, out: Console) -> None:
    from hades.cli import show

    show.summary(out, summary)


@command(app, "import-triples")
def import_triples(
    door: Door, path: Annotated[Path, typer.Argument(help="JSON lines or CSV of facts.")]
) -> None:
    """Take in facts: subject, predicate, object. Exit code 1 if any line was skipped."""
    with door.opened(create=True) as memory, door.progress() as progress:
        summary = memory.import_triples(path, progress)
    door.show(summary, partial(_show_summary, summary))
    if summary.skipped:
        raise typer.Exit(1)


@command(app, "reembed")
def reembed(
    door: Door,
    encoder: Annotated[
        str, typer.Argument(help="minilm, folder:/path, fastembed:NAME, openai:URL#MODEL.")
    ],
) -> None:
    """Move to another encoder; searches go on with the old one until it is done."""
    with door.opened() as memory, door.progress() as progress:
        made = memory.reembed(encoder, progress)
    done = {"encoder": encoder, "vectors": made}
    door.show(done, lambda out: out.print(f"made {made:,} vectors with {encoder}"))


@command(app, "search", asks=True)
def search(
    door: Door,
    question: Annotated[str, typer.Argument(help="What to look for.")],
    limit: Annotated[int, typer.Option("--limit", "-n", help="At most so many.")] = 10,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--retriever", help="meaning, words or names; repeatable (else the first two)."
        ),
    ] = None,
    tag: Annotated[str | None, typer.Option("--tag", "-t", help="Topics with this tag.")] = None,
    kind: Annotated[
        str | None, typer.Option(help="note, document, code, conversation, record, paper.")
    ] = None,
    glob: Annotated[str | None, typer.Option(help="Topics like 'docs/*'.")] = None,
) -> None:
    """Find the passages that fit best, with the score each retriever gave."""
    if not question.strip():
        raise InvalidInput("Ask something: the question is empty.")
    with door.asked() as (view, progress):
        found = view.search(
            question, limit, retriever=by, tag=tag, kind=kind, glob=glob, on_progress=progress
        )
    from hades.cli import show

    door.show(found, lambda out: show.hits(out, found))
