"""Jobs: ingestion and other long work, watched by server-sent events.

Uploads are written to disk while they are received.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Annotated, Any, Literal
from urllib.parse import quote

from fastapi import Header, Query, Request
from fastapi import Path as PathParameter
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response, StreamingResponse

from hades.domain.rules import NAME_BYTES_AT_MOST
from hades.errors import InvalidInput
from hades.ingest.pipeline import PHASES
from hades.memory import Memory
from hades.serve.auth.caller import Role
from hades.serve.executor import Work
from hades.serve.jobs import Job, JobKey, JobStatus
from hades.serve.problems import documented
from hades.serve.rest.calls import IdempotencyKey, InSpace, json_response
from hades.serve.rest.models import Page, to_json, whole
from hades.serve.rest.routes import routes
from hades.serve.sent_files import begin_with_files
from hades.serve.uploads import Uploads, safe_parts, unpack
from hades.serve.wire import Hint
from hades.store.records import Progress

router = routes("/v1/spaces/{space:name}", "jobs")

EVENTS = "text/event-stream"
TARS = ("application/x-tar", "application/gzip", "application/x-gzip", "application/x-gtar")
FACTS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv")
FIELDS_AT_MOST = 10

_BINARY = {"schema": {"type": "string", "format": "binary"}}
_FILES = dict.fromkeys((*TARS[:2], "application/octet-stream"), _BINARY)
_SENT = {"requestBody": {"required": True, "content": _FILES}}
GivenName = Annotated[str, Field(min_length=1, max_length=NAME_BYTES_AT_MOST)]
Phases = Annotated[list[Annotated[str, Hint(enum=list(PHASES))]], Field(max_length=len(PHASES))]


class Upload(BaseModel):
    """The query parameters that describe the files in the body."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["ingest", "triples", "import-node-link"] = "ingest"
    source: Annotated[
        GivenName | None, Field(description="The name of the source; keep it for each upload.")
    ] = None
    name: Annotated[GivenName | None, Field(description="The name of the file or folder.")] = None
    prefix: Annotated[GivenName | None, Field(description="A prefix for the names of topics.")] = (
        None
    )
    field: Annotated[
        list[str],
        Field(
            max_length=FIELDS_AT_MOST,
            description="How a field of records is named, as `text=body`.",
        ),
    ] = []
    phase: Phases = []
    dry_run: bool = False


JobId = Annotated[str, PathParameter(max_length=100, examples=["f3Kx0aQm1-_z"])]


@router.post(
    "/jobs",
    summary="Send files",
    status_code=202,
    response_model=JobStatus,
    openapi_extra=_SENT,
    responses={
        202: {"headers": {"Location": {"schema": {"type": "string"}}}},
        **documented(507),
    },
)
async def begin(
    call: InSpace,
    upload: Annotated[Upload, Query()],
    key: IdempotencyKey = None,
) -> Response:
    """Ingest an archive or one file, or import facts or a graph, as a job.

    An archive contains the whole of its `source`: when it is sent again, changed files get a
    new state and missing files are forgotten. Watch the job at `/jobs/{id}/events`.
    """
    await call.require(Role.WRITER)
    job_key = JobKey.of(key, "files", upload)
    if (again := call.jobs.begun_with(job_key, call.caller, call.space)) is not None:
        return begun_response(again)
    uploads: Uploads = call.request.app.state.uploads
    receive = _receive_source if upload.kind == "ingest" else _receive_facts
    receiving = partial(receive, call.request, upload)
    job = await begin_with_files(
        call.jobs, uploads, call.caller, call.space, upload.kind, receiving, job_key
    )
    return begun_response(job)


@router.get("/jobs", summary="List jobs", response_model=Page[JobStatus])
async def listed(call: InSpace) -> Response:
    """List the jobs that you began in this space, newest first.

    The role admin sees the jobs of all callers. The server forgets old jobs.
    """
    await call.require(Role.READER)
    shown = [job.shown() for job in call.jobs.seen_by(call.caller, call.space)]
    return json_response(to_json(whole(shown)))


@router.get("/jobs/{id}", summary="Read a job", response_model=JobStatus)
async def read(call: InSpace, id: JobId) -> Response:
    """Return the progress and result of a job that you began. The role admin reads any job."""
    await call.require(Role.READER)
    return json_response(to_json(call.jobs.get(call.caller, call.space, id).shown()))


@router.delete("/jobs/{id}", summary="Cancel a job", response_model=JobStatus)
async def cancel(call: InSpace, id: JobId) -> Response:
    """Stop a job that you began at its next step. The role admin stops any job. Its writes stay."""
    await call.require(Role.WRITER)
    job = call.jobs.get(call.caller, call.space, id)
    call.jobs.cancel(job)
    return json_response(to_json(job.shown()))


@router.get(
    "/jobs/{id}/events",
    summary="Watch a job",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "Events `progress`, and one `done`, `failed` or `cancelled` at the end.",
            "content": {EVENTS: {"schema": {"type": "object"}}},
        }
    },
)
async def events(
    call: InSpace,
    id: JobId,
    last: Annotated[
        str,
        Header(
            alias="Last-Event-ID", pattern="^[0-9]{1,18}$", description="Continue after this event."
        ),
    ] = "0",
) -> Response:
    """Stream the progress of a job that you began as server-sent events, at once and on changes."""
    await call.require(Role.READER)
    job = call.jobs.get(call.caller, call.space, id)
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(
        call.jobs.watch(job, int(last), call.caller.name), headers=headers, media_type=EVENTS
    )


def begun_response(job: Job) -> Response:
    """Return the response to a request that started a job."""
    headers = {"Location": f"/v1/spaces/{quote(job.space, safe='')}/jobs/{job.id}"}
    return json_response(to_json(job.shown()), 202, headers)


async def receive_file(request: Request, path: Path) -> None:
    """Write the body to a new file."""
    file: IO[bytes] = await asyncio.to_thread(path.open, "xb")
    try:
        async for part in request.stream():
            await asyncio.to_thread(file.write, part)
    finally:
        await asyncio.to_thread(file.close)


async def _receive_facts(
    request: Request, upload: Upload, folder: Path
) -> tuple[Work[Any], str | None]:
    suffix = ".json"
    if upload.kind == "triples":
        suffix = PurePosixPath(upload.name or "facts.jsonl").suffix
    if suffix not in FACTS:
        raise InvalidInput("Give the file's name: name=facts.jsonl or name=facts.csv.")
    path = folder / f"facts{suffix}"
    await receive_file(request, path)

    def work(memory: Memory, report: Progress) -> Any:
        if upload.kind == "triples":
            return memory.import_triples(path, report)
        return memory.import_(path)

    return work, upload.source


async def _receive_source(request: Request, upload: Upload, folder: Path) -> tuple[Work[Any], str]:
    source = upload.source or upload.name
    if source is None:
        raise InvalidInput(
            "Name the source of the files (source=docs), the same name for each upload."
        )
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in TARS and (upload.name is None or kind.startswith("multipart/")):
        raise InvalidInput("Send one file and its name (name=guide.md), or an archive.")
    options: dict[str, Any] = {
        "prefix": upload.prefix,
        "dry_run": upload.dry_run,
        "phases": upload.phase or PHASES,
        "fields": _fields(upload.field) if upload.field else None,
    }
    # The name of the file or folder becomes part of the topics' names.
    source_name = PurePosixPath(source).name
    (name,) = safe_parts(upload.name or source_name or "source", parts_at_most=1)
    path = folder / name
    skipped: list[tuple[str, str]] = []
    if kind in TARS:
        archive = folder / ("sent.tar" if name != "sent.tar" else "sent")
        await receive_file(request, archive)
        skipped = await asyncio.to_thread(unpack, archive, path)
        await asyncio.to_thread(archive.unlink)
    else:
        await receive_file(request, path)
    if path.is_dir() and not any(path.iterdir()):
        raise InvalidInput("The upload contains no file.")
    # Files of one source that are sent under several names are separate sources.
    known_by = f"upload:{source}" + ("" if name == source_name else f"/{name}")

    def work(memory: Memory, report: Progress) -> Any:
        summary = memory.ingest(path, **options, source=known_by, on_progress=report)
        summary.skipped[:0] = skipped
        return summary

    return work, source


def _fields(pairs: list[str]) -> dict[str, str]:
    fields = {}
    for pair in pairs:
        name, equals, theirs = pair.partition("=")
        if not equals or not theirs:
            raise InvalidInput(f"A field is written as text=body, not {pair[:100]!r}.")
        fields[name] = theirs
    return fields
