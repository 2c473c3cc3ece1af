"""Jobs: ingestion and other long work, watched by server-sent events."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends, Header, Query, Request
from fastapi import Path as PathParameter
from fastapi.exceptions import RequestValidationError
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from starlette.responses import Response, StreamingResponse

from hades.domain.trace import State
from hades.errors import Unavailable
from hades.serve.jobs import Job, Jobs, JobStatus
from hades.serve.problems import ERRORS_AT_MOST, documented
from hades.serve.rest import bodies
from hades.serve.rest.calls import Reads, Writes, Writing, json_response
from hades.serve.rest.routes import routes
from hades.serve.rest.taking import (
    MULTIPART,
    TARS,
    IngestTexts,
    Resolve,
    Taken,
    Upload,
    content_type,
    take_upload,
    take_wish,
)
from hades.serve.rest.words import TAGS_AT_MOST, Body, Content, Name, Time
from hades.serve.uploads import Uploads, remove
from hades.serve.wire import JSON, Page, to_json

router = routes("/v1/spaces/{space:name}", "jobs")

EVENTS = "text/event-stream"
Wish = Annotated[IngestTexts | Resolve, Field(discriminator="kind")]
_WISH: TypeAdapter[IngestTexts | Resolve] = TypeAdapter(Wish)
_EVENT = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "event": {"enum": ["progress", "done", "failed", "cancelled"]},
        "data": {"type": "string", "contentMediaType": JSON},
    },
}
_BINARY = {"schema": {"type": "string", "format": "binary"}}
_SENT = {
    "requestBody": {
        "required": True,
        "content": {
            JSON: {
                "schema": {
                    "oneOf": [
                        {"$ref": "#/components/schemas/IngestTexts"},
                        {"$ref": "#/components/schemas/Resolve"},
                    ]
                }
            },
            **dict.fromkeys((*TARS[:2], "application/octet-stream"), _BINARY),
            MULTIPART: {
                "schema": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "array", "items": _BINARY["schema"], "minItems": 1}
                    },
                    "required": ["file"],
                    "additionalProperties": False,
                }
            },
        },
    }
}


class IngestText(Body):
    """A text to take in as one document, at once."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"topic": "notes/standup", "text": "Approach X is viable again."}]
        }
    )

    topic: Name
    text: Content
    tags: Annotated[list[Name], Field(max_length=TAGS_AT_MOST)] | None = None
    metadata: dict[str, Any] | None = None
    valid_from: Time | None = None


async def _jobs(request: Request) -> Jobs:
    jobs: Jobs = request.app.state.jobs
    return jobs


TheJobs = Annotated[Jobs, Depends(_jobs)]
JobId = Annotated[str, PathParameter(max_length=100, examples=["f3Kx0aQm1-_z"])]


@router.post("/ingest/text", summary="Take in a text", response_model=State)
async def ingest_text(writes: Writes, body: IngestText) -> Response:
    """Remember a text as one document and index it, so that the next question finds it."""
    said = body.model_dump(exclude={"topic", "text"}, exclude_unset=True)
    answer = await writes.answer(lambda memory: memory.remember(body.topic, body.text, **said))
    with suppress(Unavailable):  # the text is there; the next question indexes it
        await writes.executor.index(writes.caller, writes.space or "", lambda *_: None)
    return answer


@router.post(
    "/jobs",
    summary="Begin a job",
    status_code=202,
    response_model=JobStatus,
    openapi_extra=_SENT,
    responses={
        202: {"headers": {"Location": {"schema": {"type": "string"}}}},
        **documented(507),
    },
)
async def begin(
    writes: Writes, jobs: TheJobs, request: Request, said: Annotated[Upload, Query()]
) -> Response:
    """Take in files (an archive, a form, one file) or texts, import facts, or resolve names.

    An archive or form is the whole of its `source`: sent again, what changed gets a new
    state and what is gone is forgotten. The job is watched at `/jobs/{id}/events`.
    """
    await writes.require()
    with jobs.reserved(writes.caller, writes.space or "", writes.key):
        job, again = await _begun(writes, jobs, request, said)
    replayed = {"Idempotent-Replayed": "true"} if again else {}
    headers = {"Location": f"{request.scope['path']}/{job.id}", **replayed}
    return json_response(to_json(job.shown()), 202, headers)


async def _begun(writes: Writing, jobs: Jobs, request: Request, said: Upload) -> tuple[Job, bool]:
    """The job a request became, and whether that was earlier."""
    caller, space, key = writes.caller, writes.space or "", writes.key
    body = await request.body() if content_type(request) == JSON else None
    asked = f"{content_type(request)} {said.model_dump_json()} "
    if body is not None:
        asked += blake2b(body, digest_size=16).hexdigest()
        if (job := jobs.earlier(caller, space, key, asked)) is not None:
            return job, True
    if not jobs.knows(caller, space, key):
        jobs.refuse_more()
    uploads: Uploads = request.app.state.uploads
    folder = await uploads.new_folder()
    job = None
    try:
        taken = await _taken(request, said, body, folder, uploads)
        asked += taken.digest
        if (earlier := jobs.earlier(caller, space, key, asked)) is not None:
            return earlier, True
        job = jobs.start(
            *(caller, space, taken.kind, taken.work),
            source=taken.source,
            key=key,
            asked=asked,
            afterwards=lambda: remove(folder),
        )
        return job, False
    finally:
        if job is None:
            await uploads.run(remove, folder)


async def _taken(
    request: Request, said: Upload, body: bytes | None, folder: Path, uploads: Uploads
) -> Taken:
    if body is None:
        return await take_upload(request, said, folder, uploads)
    try:
        wish = await bodies.read(body, _WISH.validate_json)
    except ValidationError as error:
        wrong = [{**one, "loc": ("body", *one["loc"])} for one in error.errors()[:ERRORS_AT_MOST]]
        raise RequestValidationError(wrong) from error
    return await take_wish(wish, folder, uploads)


@router.get("/jobs", summary="List jobs", response_model=Page[JobStatus])
async def listed(reads: Reads, jobs: TheJobs) -> Response:
    """The jobs of this space that the server still knows, newest first."""
    space = await reads(lambda view: view.space)
    shown = [job.shown() for job in jobs.of_space(space)]
    return json_response(to_json({"items": shown, "next": None}))


@router.get("/jobs/{id}", summary="Read a job", response_model=JobStatus)
async def read(reads: Reads, jobs: TheJobs, id: JobId) -> Response:
    """How a job stands: its progress, and what it gave."""
    space = await reads(lambda view: view.space)
    return json_response(to_json(jobs.get(space, id).shown()))


@router.delete("/jobs/{id}", summary="Cancel a job", response_model=JobStatus)
async def cancel(writes: Writes, jobs: TheJobs, id: JobId) -> Response:
    """Let a job stop at its next step; what it wrote until then stays."""
    await writes.require()
    job = jobs.get(writes.space or "", id)
    jobs.cancel(job)
    return json_response(to_json(job.shown()))


@router.get(
    "/jobs/{id}/events",
    summary="Watch a job",
    response_class=StreamingResponse,
    responses={
        200: {
            "description": "`progress` events, and at last `done`, `failed` or `cancelled`.",
            "content": {EVENTS: {"schema": _EVENT}},
        }
    },
)
async def events(
    reads: Reads,
    jobs: TheJobs,
    id: JobId,
    last: Annotated[
        str,
        Header(alias="Last-Event-ID", pattern="^[0-9]{1,18}$", description="Go on after it."),
    ] = "0",
) -> Response:
    """What a job tells, as server-sent events, from its first one or after the last seen."""
    space = await reads(lambda view: view.space)
    job = jobs.get(space, id)
    jobs.refuse_watchers()
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(_told(jobs, job, int(last)), headers=headers, media_type=EVENTS)


async def _told(jobs: Jobs, job: Job, last: int) -> AsyncIterator[bytes]:
    yield b": here\n\n"
    async for event in jobs.events(job, last):
        if event is None:
            yield b": still here\n\n"
        else:
            head = f"id: {event.number}\nevent: {event.name}\ndata: "
            yield head.encode() + to_json(event.data) + b"\n\n"
