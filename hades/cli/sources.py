"""Commands that read in knowledge, and that index and embed it."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from hades.cli import app
from hades.cli.invocation import Invocation, command
from hades.domain.mirror import MirrorSummary
from hades.errors import InvalidInput, NotFound
from hades.ingest.summary import Summary

if TYPE_CHECKING:
    from hades.memory import Memory

WATCH_EVERY_S = 2.0
PHASES = ("nodes", "chunks", "edges", "embeddings")


@command(app, "ingest")
def ingest(
    invocation: Invocation,
    paths: Annotated[list[Path], typer.Argument(help="Files, folders, chat exports, corpora.")],
    prefix: Annotated[str | None, typer.Option(help="Put the topics below this name.")] = None,
    id_field: Annotated[str | None, typer.Option("--id", help="For records: the id field.")] = None,
    title: Annotated[
        str | None, typer.Option("--title", help="For records: the title field.")
    ] = None,
    text: Annotated[str | None, typer.Option("--text", help="For records: the text field.")] = None,
    phase: Annotated[
        list[str] | None,
        typer.Option(
            "--phase",
            help="Run only this phase: nodes, chunks, edges, embeddings; may be repeated.",
        ),
    ] = None,
    edges: Annotated[
        int, typer.Option("--edges", help="With 0, do not look for names and links.")
    ] = 1,
    history: Annotated[
        bool, typer.Option("--history", help="Read a git repository: one state per commit.")
    ] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="Follow links that lead out of the folder.")
    ] = False,
    in_process: Annotated[
        bool,
        typer.Option(
            "--in-process", help="For debugging: read files in this process, without limits."
        ),
    ] = False,
    ray: Annotated[
        str | None,
        typer.Option(
            "--ray",
            metavar="ADDRESS",
            help="Use Ray workers: local, or the host:port of a cluster.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would change.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Name every skipped file and the reason.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running: look for changes every two seconds.")
    ] = False,
) -> None:
    """Read in files and folders, or update what was read.

    Searches by words and names work before the vectors are ready. Ctrl-C keeps what is done;
    the next `hades ingest` or `hades index` continues.

    The exit code is 1 if a file you named, or a line in it, was skipped.
    """
    from hades.cli.render import summary_lines

    phases = tuple(phase) if phase else PHASES
    if not edges:
        phases = tuple(name for name in phases if name != "edges")
    named = {"id": id_field, "title": title, "text": text}
    fields = {name: field for name, field in named.items() if field is not None} or None
    if not any(path.exists() for path in paths):  # checked before a memory is created
        raise InvalidInput(f"There is nothing at {paths[0]} to ingest.")
    with _to_look(invocation) if dry_run else invocation.opened(create=True) as memory:
        known: list[tuple[str, str]] | None = None
        while True:
            # Ray prints the death of a worker on standard output, where the result belongs.
            with (
                _telling_what_waits(invocation, memory),
                invocation.progress() as progress,
                redirect_stdout(sys.stdout if ray is None else sys.stderr),
            ):
                summary = memory.ingest(
                    *paths,
                    prefix=prefix,
                    fields=fields,
                    phases=phases,
                    history=history,
                    dry_run=dry_run,
                    follow_links=follow_links,
                    in_process=in_process,
                    ray=ray,
                    on_progress=progress,
                )
            news = summary.added + summary.changed + summary.renamed + summary.removed
            if known is None or news or summary.skipped != known:
                invocation.show_lines(summary, summary_lines(summary, verbose=verbose))
                sys.stdout.flush()
            known = summary.skipped
            if not watch:
                break
            time.sleep(WATCH_EVERY_S)
    # A file of a folder may be skipped, but not one that the user named.
    named_files = tuple(path.name for path in map(Path, paths) if not path.is_dir())
    if any(PurePosixPath(where).name.startswith(named_files) for where, _ in summary.skipped):
        raise typer.Exit(1)


@command(app, "mirror")
def mirror(
    invocation: Invocation,
    folder: Annotated[Path, typer.Argument(help="The folder of Markdown files.")],
    deleted: Annotated[
        str,
        typer.Option("--deleted", help="For a deleted file: report, forget or restore its note."),
    ] = "report",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would change.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Keep running: look for changes every two seconds.")
    ] = False,
) -> None:
    """Keep the notes as Markdown files to read and edit.

    Edited files become new versions, changed notes are written to their files. If both changed,
    the edited text is kept as NAME.conflict.md. The exit code is 1 while there are conflicts.
    """
    known: MirrorSummary | None = None
    with invocation.opened(create=True) as memory:
        while True:
            with invocation.progress() as progress:
                done = memory.mirror(
                    folder,
                    deleted=deleted,
                    dry_run=dry_run,
                    settled_s=WATCH_EVERY_S if known else 0.0,
                    on_progress=progress,
                )
                if done.read and not dry_run:
                    memory.index(progress)
            if known is None or replace(known, unchanged=done.unchanged) != done:
                invocation.show_result(done, MirrorSummary)
                sys.stdout.flush()
            # Print a summary only if it differs from that of the last pass.
            known = replace(done, written=[], read=[], removed=[], forgotten=[])
            if not watch:
                break
            time.sleep(WATCH_EVERY_S)
    if done.conflicts:
        raise typer.Exit(1)


@command(app, "index")
def index(invocation: Invocation) -> None:
    """Index new notes and compute missing vectors.

    Ctrl-C keeps what is done; the next run continues.
    """
    with (
        invocation.opened(create=False) as memory,
        _telling_what_waits(invocation, memory),
        invocation.progress() as progress,
    ):
        waited = memory.index(progress)
    text = f"{waited:,} states were indexed." if waited else "Everything was indexed."
    invocation.show(waited, lambda out: out.print(text))


@contextmanager
def _telling_what_waits(invocation: Invocation, memory: Memory) -> Iterator[None]:
    """Report what is not indexed yet if the user stops the command."""
    try:
        yield
    except KeyboardInterrupt:
        sys.stderr.write(invocation.waiting(memory))
        raise


@contextmanager
def _to_look(invocation: Invocation) -> Iterator[Memory]:
    """Open the memory, or a temporary empty one if there is none."""
    with ExitStack() as stack:
        try:
            memory = stack.enter_context(invocation.opened(create=False))
        except NotFound:
            from hades.opening import open as open_memory

            folder = stack.enter_context(TemporaryDirectory())
            memory = stack.enter_context(open_memory(Path(folder) / "none.hades"))
        yield memory


@command(app, "import-triples")
def import_triples(
    invocation: Invocation,
    path: Annotated[Path, typer.Argument(help="A file of facts: JSON lines or CSV.")],
) -> None:
    """Import facts: subject, predicate, object.

    The exit code is 1 if a line was skipped.
    """
    with invocation.opened(create=True) as memory, invocation.progress() as progress:
        summary = memory.import_triples(path, progress)
        memory.index(progress)
    invocation.show_result(summary, Summary)
    if summary.skipped:
        raise typer.Exit(1)


@command(app, "reembed")
def reembed(
    invocation: Invocation,
    encoder: Annotated[str, typer.Argument(help="minilm, folder:/path, openai:URL#MODEL.")],
) -> None:
    """Compute all vectors again with another encoder.

    Searches use the old vectors until all new ones are ready.
    """
    with invocation.opened() as memory, invocation.progress() as progress:
        made = memory.reembed(encoder, progress)
    done = {"encoder": encoder, "vectors": made}
    invocation.show(done, lambda out: out.print(f"embedded {made:,} passages with {encoder}"))
