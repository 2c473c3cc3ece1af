"""Taking: what was sent to become a job, as work that can begin.

Files are never held in memory as a whole, but for forms, which Starlette reads.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Any, Literal

from fastapi import Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.datastructures import FormData, UploadFile

from hades.errors import InvalidInput
from hades.ingest.pipeline import PHASES
from hades.memory import Memory
from hades.serve.jobs import Kind, Work
from hades.serve.rest.words import Body, Content, Hint, Name
from hades.serve.uploads import Filling, Uploads, safe_parts, unpack
from hades.store.records import Progress

MULTIPART = "multipart/form-data"
TARS = ("application/x-tar", "application/gzip", "application/x-gzip", "application/x-gtar")
FORM_FILES_AT_MOST = 1_000
"""Each file of a form may need an open file of its own: send more as an archive."""
_COPY_BYTES = 256 * 1024
TEXTS_AT_MOST = 10_000
FIELDS_AT_MOST = 10

Phase = Annotated[str, Hint(enum=list(PHASES))]
Phases = Annotated[list[Phase], Field(max_length=len(PHASES))]
UploadKind = Literal["ingest", "triples", "import-node-link"]


class SentText(Body):
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
    texts: Annotated[list[SentText], Field(min_length=1, max_length=TEXTS_AT_MOST)]
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
    """Work that can begin."""

    kind: Kind
    work: Work
    source: str | None = None
    digest: str = ""
    """A hash of the files that were sent, to know the same request again."""


def content_type(request: Request) -> str:
    """What a request says its body is."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def take_wish(wish: IngestTexts | Resolve, folder: Path, uploads: Uploads) -> Taken:
    """The work somebody asks for in JSON; its files are put into a folder."""
    if isinstance(wish, Resolve):
        dry_run = wish.dry_run
        return Taken("resolve", lambda m, told: m.resolve(dry_run=dry_run, on_progress=told))
    path = folder / _file_name(wish.source, None)

    def fill() -> None:
        filling = Filling(path)
        for text in wish.texts:
            filling.add(text.name, io.BytesIO(text.text.encode()))

    await uploads.run(fill)
    options = {"prefix": wish.prefix, "dry_run": wish.dry_run, "phases": wish.phases or PHASES}
    return Taken("ingest", _ingestion(path, wish.source, options), wish.source)


async def take_upload(request: Request, said: Upload, folder: Path, uploads: Uploads) -> Taken:
    """The work that files in a body are sent for; they are put into a folder."""
    with uploads.receiving():
        if said.kind == "ingest":
            return await _take_sources(request, said, folder, uploads)
        return await _take_facts(request, said, folder, uploads)


async def receive_file(request: Request, path: Path, uploads: Uploads) -> str:
    """Write the body to a new file; a hash of it."""
    digest = blake2b(digest_size=16)
    file: IO[bytes] = await uploads.run(path.open, "xb")

    def write(part: bytes) -> None:
        digest.update(part)
        file.write(part)

    try:
        async for part in request.stream():
            await uploads.run(write, part)
    finally:
        await uploads.run(file.close)
    return digest.hexdigest()


async def _take_facts(request: Request, said: Upload, folder: Path, uploads: Uploads) -> Taken:
    suffix = ".json"
    if said.kind == "triples":
        suffix = PurePosixPath(said.name or "facts.jsonl").suffix
    if suffix not in (".json", ".jsonl", ".ndjson", ".csv", ".tsv"):
        raise InvalidInput("Say what file it is: name=facts.jsonl or name=facts.csv.")
    path = folder / f"facts{suffix}"
    digest = await receive_file(request, path, uploads)

    def work(memory: Memory, told: Progress) -> Any:
        if said.kind == "triples":
            return memory.import_triples(path, told)
        return memory.import_(path)

    return Taken(said.kind, work, said.source, digest)


async def _take_sources(request: Request, said: Upload, folder: Path, uploads: Uploads) -> Taken:
    source = said.source or said.name
    if source is None:
        raise InvalidInput("Say what the files come from: source=docs, the same each time.")
    kind = content_type(request)
    if said.name is None and kind not in (*TARS, MULTIPART):
        raise InvalidInput("Say which file it is (name=guide.md), or send an archive.")
    options = {
        "prefix": said.prefix,
        "dry_run": said.dry_run,
        "phases": said.phase or PHASES,
        "fields": _fields(said.field) if said.field else None,
    }
    path = folder / _file_name(source, said.name)
    skipped: list[tuple[str, str]] = []
    if kind == MULTIPART:
        digest = await _receive_form(request, path, uploads)
    elif kind in TARS:
        archive = folder / f"{path.name}.tar"
        digest = await receive_file(request, archive, uploads)
        skipped = await uploads.run(unpack, archive, path)
        await uploads.run(archive.unlink)
    else:
        digest = await receive_file(request, path, uploads)
    if path.is_dir() and not any(path.iterdir()):
        raise InvalidInput("There is no file in what was sent.")
    return Taken("ingest", _ingestion(path, source, options, skipped), source, digest)


async def _receive_form(request: Request, path: Path, uploads: Uploads) -> str:
    """Write the files of a form into a new folder; a hash of them."""
    body = await request.body()  # limited by the middleware
    first_line = body.partition(b"\r\n")[0]
    if not body.rstrip(b"\r\n").endswith(first_line + b"--"):
        raise InvalidInput("The form cannot be read: its end is missing.")
    async with request.form(max_files=FORM_FILES_AT_MOST, max_fields=0) as form:
        return await uploads.run(_unpack_form, form, path)


def _unpack_form(form: FormData, path: Path) -> str:
    digest = blake2b(digest_size=16)
    filling = Filling(path)
    for _, sent in form.multi_items():
        assert isinstance(sent, UploadFile)  # there are no other fields
        name = sent.filename or ""
        filling.add(name, sent.file)
        digest.update(f"{len(name)} {name} {sent.size} ".encode())
        sent.file.seek(0)
        while part := sent.file.read(_COPY_BYTES):
            digest.update(part)
    return digest.hexdigest()


def _ingestion(
    path: Path, source: str, options: dict[str, Any], skipped: list[tuple[str, str]] | None = None
) -> Work:
    # The same source may be sent under several names: each is a source of its own.
    known_by = f"upload:{source}"
    if path.name != PurePosixPath(source).name:
        known_by += f"/{path.name}"

    def work(memory: Memory, told: Progress) -> Any:
        summary = memory.ingest(path, **options, source=known_by, on_progress=told)
        summary.skipped[:0] = skipped or []
        return summary

    return work


def _file_name(source: str, name: str | None) -> str:
    """The name of the file or folder an upload is put into: topics are called by it."""
    return safe_parts(name or PurePosixPath(source).name or "source", whole=True)[0]


def _fields(pairs: list[str]) -> dict[str, str]:
    found = {}
    for pair in pairs:
        name, equals, theirs = pair.partition("=")
        if not equals or not theirs:
            raise InvalidInput(f"A field is told as text=body, not {pair[:100]!r}.")
        found[name] = theirs
    return found
