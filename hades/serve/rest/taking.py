"""Taking: what was sent to become a job, as work that can begin."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field

from hades.errors import InvalidInput
from hades.ingest.pipeline import PHASES
from hades.memory import Memory
from hades.serve.jobs import Kind, Work
from hades.serve.rest.receiving import (
    MULTIPART,
    TARS,
    content_type,
    receive_file,
    receive_folder,
)
from hades.serve.rest.words import Body, Content, Hint, Name
from hades.serve.uploads import Filling, Mark, Uploads, empty, put, remove
from hades.store.records import Progress

TEXTS_AT_MOST = 10_000
FIELDS_AT_MOST = 10

Phase = Annotated[str, Hint(enum=list(PHASES))]
Phases = Annotated[list[Phase], Field(max_length=len(PHASES))]
UploadKind = Literal["ingest", "triples", "import-node-link"]


class Text(Body):
    """A text sent as if it were a file."""

    name: Name
    text: Content


class IngestTexts(Body):
    """Texts to take in as the files of a source; what is no longer among them is forgotten."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "kind": "ingest",
                    "source": "handbook",
                    "texts": [{"name": "guide.md", "text": "# Guide\n\nApproach X is viable."}],
                }
            ]
        }
    )

    kind: Literal["ingest"]
    source: Name
    texts: Annotated[list[Text], Field(min_length=1, max_length=TEXTS_AT_MOST)]
    prefix: Name | None = None
    phases: Phases | None = None
    dry_run: bool = False


class Resolve(Body):
    """Find entities that are one under two spellings."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"kind": "resolve", "dry_run": True}]}
    )

    kind: Literal["resolve"]
    dry_run: bool = False


class Upload(BaseModel):
    """What is said, in the address, about files in the body."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: UploadKind = "ingest"
    source: Annotated[
        Name | None, Field(description="What the files come from; the same each time.")
    ] = None
    name: Annotated[Name | None, Field(description="The name of the file or folder.")] = None
    prefix: Annotated[Name | None, Field(description="Topics are put below this.")] = None
    field: Annotated[
        list[str],
        Field(max_length=FIELDS_AT_MOST, description="A field of records, as `text=body`."),
    ] = []
    phase: Phases = []
    dry_run: bool = False


@dataclass(frozen=True, slots=True)
class Taken:
    """Work that can begin, and what is to be done when it ended."""

    kind: Kind
    work: Work
    source: str | None = None
    afterwards: Callable[[], None] = lambda: None
    mark: str = ""
    """Of the bytes of files that were sent."""


async def take_wish(wish: IngestTexts | Resolve, space: str, uploads: Uploads) -> Taken:
    """The work somebody wishes for in JSON."""
    if isinstance(wish, Resolve):
        dry_run = wish.dry_run
        return Taken("resolve", lambda m, told: m.resolve(dry_run=dry_run, on_progress=told))
    place = uploads.place(space, wish.source, _last(wish.source))
    draft = uploads.draft()

    def fill() -> None:
        filling = Filling(draft)
        for text in wish.texts:
            filling.add(text.name, io.BytesIO(text.text.encode()))

    try:
        await uploads.run(fill)
    except BaseException:
        remove(draft)
        raise
    options = {"prefix": wish.prefix, "dry_run": wish.dry_run, "phases": wish.phases or PHASES}
    return _ingestion(draft, place, wish.source, options, [])


async def take_upload(request: Request, said: Upload, space: str, uploads: Uploads) -> Taken:
    """The work that files in a body are sent for."""
    with uploads.receiving():
        if said.kind == "ingest":
            return await _take_sources(request, said, space, uploads)
        return await _take_facts(request, said, uploads)


async def _take_facts(request: Request, said: Upload, uploads: Uploads) -> Taken:
    suffix = ".json"
    if said.kind == "triples":
        suffix = PurePosixPath(said.name or "facts.jsonl").suffix
    if suffix not in (".json", ".jsonl", ".ndjson", ".csv", ".tsv"):
        raise InvalidInput("Say what file it is: name=facts.jsonl or name=facts.csv.")
    draft, mark = uploads.draft(suffix), Mark()
    try:
        await receive_file(request, draft, uploads, mark)
    except BaseException:
        remove(draft)
        raise

    def work(memory: Memory, told: Progress) -> Any:
        if said.kind == "triples":
            return memory.import_triples(draft, told)
        return memory.import_(draft)

    return Taken(said.kind, work, said.source, lambda: remove(draft), mark.told())


async def _take_sources(request: Request, said: Upload, space: str, uploads: Uploads) -> Taken:
    source = said.source or said.name
    if source is None:
        raise InvalidInput("Say what the files come from: source=docs, the same each time.")
    folder = content_type(request) in (*TARS, MULTIPART)
    if not folder and said.name is None:
        raise InvalidInput("Say which file it is (name=guide.md), or send an archive.")
    place = uploads.place(space, source, said.name or _last(source))
    options = {
        "prefix": said.prefix,
        "dry_run": said.dry_run,
        "phases": said.phase or PHASES,
        "fields": _fields(said.field) if said.field else None,
    }
    draft, archive = uploads.draft(), uploads.draft(".tar")
    skipped: list[tuple[str, str]] = []
    mark = Mark()
    try:
        if folder:
            skipped = await receive_folder(request, archive, draft, uploads, mark)
        else:
            await receive_file(request, draft, uploads, mark)
    except BaseException:
        remove(draft)
        raise
    finally:
        remove(archive)
    return replace(_ingestion(draft, place, source, options, skipped), mark=mark.told())


def _ingestion(
    draft: Path,
    place: Path,
    source: str,
    options: dict[str, Any],
    skipped: list[tuple[str, str]],
) -> Taken:
    def work(memory: Memory, told: Progress) -> Any:
        # Put there only now: no other job of this source is under way.
        put(draft, place)
        try:
            summary = memory.ingest(place, **options, on_progress=told)
        finally:
            empty(place)
        summary.skipped[:0] = skipped
        return summary

    return Taken("ingest", work, source, lambda: remove(draft))


def _fields(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, theirs = pair.partition("=")
        if not equals or not theirs:
            raise InvalidInput(f"A field is told as text=body, not {pair[:100]!r}.")
        found[name] = theirs
    return found


def _last(source: str) -> str:
    return PurePosixPath(source).name or "source"
