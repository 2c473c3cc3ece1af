"""Admin: routes for the whole memory and files of this machine; at the admin socket only."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import IO, Annotated, Any

from fastapi import Depends, Query, Request
from pydantic import Field
from starlette.exceptions import HTTPException
from starlette.responses import Response, StreamingResponse

from hades.errors import Corrupt, InvalidInput, Unavailable
from hades.ingest.pipeline import PHASES
from hades.memory import Memory
from hades.serve.auth.audit import Audit, AuditEntry
from hades.serve.auth.caller import Role, caller_of
from hades.serve.jobs import JobKey, JobStatus
from hades.serve.rest.calls import IdempotencyKey, InMemory, RestCall, json_response
from hades.serve.rest.exports import file_response, written
from hades.serve.rest.jobs import FIELDS_AT_MOST, Phases, begun_response, receive_file
from hades.serve.rest.models import Body, Name, Number, Page, example, to_json, whole
from hades.serve.rest.routes import routes
from hades.serve.uploads import Uploads
from hades.serve.wire import NAME
from hades.store.drafts import remove_path
from hades.store.records import Problem, Progress


async def only_here(request: Request) -> None:
    """Raise 404 unless the call came by the admin socket and has the role admin."""
    caller = caller_of(request)
    if not caller.local or caller.role < Role.ADMIN:
        raise HTTPException(404)


router = routes("/v1/admin", "admin", dependencies=[Depends(only_here)])

PATHS_AT_MOST = 100
AUDIT_AT_MOST = 10_000
_LINES = "application/x-ndjson"
_OCTETS = "application/octet-stream"


class Reembed(Body):
    """The encoder to move to."""

    model_config = example(encoder="minilm")

    encoder: Name
    space: Name = "default"


class IngestPaths(Body):
    """Files and folders of the server's machine to ingest."""

    model_config = example(space="default", paths=["/srv/handbook"])

    space: Name = "default"
    paths: Annotated[list[Name], Field(min_length=1, max_length=PATHS_AT_MOST)]
    prefix: Name | None = None
    fields: Annotated[dict[str, str], Field(max_length=FIELDS_AT_MOST)] | None = None
    phases: Phases | None = None
    history: bool = False
    follow_links: bool = False
    dry_run: bool = False


_BINARY = {"schema": {"type": "string", "format": "binary"}}


def _sent(kind: str) -> dict[str, Any]:
    return {"requestBody": {"required": True, "content": {kind: _BINARY}}}


def _file(kind: str, what: str) -> dict[int | str, dict[str, Any]]:
    return {200: {"description": what, "content": {kind: _BINARY}}}


@router.get(
    "/export",
    summary="Export everything",
    response_class=StreamingResponse,
    responses=_file(_LINES, "Everything, in all spaces and at all times, as JSON lines."),
)
async def export(call: InMemory) -> Response:
    """Export the whole memory as JSON lines, for `import`."""
    file = await call.executor.read(
        call.caller,
        None,
        lambda view: written(lambda text: view.export(text)),
        role=Role.ADMIN,
        patient=True,
    )
    return file_response(file, _LINES, "memory.jsonl")


@router.post(
    "/import",
    summary="Import everything",
    response_model=dict[str, int],
    openapi_extra=_sent(_LINES),
)
async def import_(
    call: InMemory,
    into: Annotated[
        str | None, NAME, Query(description="A new name for the imported space.")
    ] = None,
) -> Response:
    """Import what `export` wrote, all or nothing. Returns how much of each kind was imported."""
    return await _with_file(call, ".jsonl", lambda m, path, _report: m.import_(path, into=into))


@router.get(
    "/backup",
    summary="Back up",
    response_class=StreamingResponse,
    responses=_file(_OCTETS, "The whole memory as one file, for `restore` or to be opened."),
)
async def backup(call: InMemory) -> Response:
    """Copy the whole memory, while others read and write it."""
    uploads: Uploads = call.request.app.state.uploads
    folder = await asyncio.to_thread(uploads.new_folder)

    def work(memory: Memory, report: Progress) -> IO[bytes]:
        memory.backup(folder / "memory.hades", report)
        return (folder / "memory.hades").open("rb")

    try:
        file = await _work(call, work)
    finally:
        await asyncio.to_thread(remove_path, folder)  # the open file stays readable
    return file_response(file, _OCTETS, "memory.hades")


@router.post(
    "/restore",
    summary="Restore a backup",
    response_model=Number,
    openapi_extra=_sent(_OCTETS),
)
async def restore(call: InMemory) -> Response:
    """Replace this memory with a backup, in one step. Returns the number of its last change."""

    def work(memory: Memory, path: Path, report: Progress) -> dict[str, int]:
        try:
            memory.restore(path, report)
        except Corrupt as error:
            raise InvalidInput(
                "The upload is not a complete backup: nothing was changed."
            ) from error
        return {"value": memory.change}

    return await _with_file(call, ".hades", work)


@router.post("/check", summary="Look for damage", response_model=Page[Problem])
async def check(call: InMemory) -> Response:
    """List the problems of the file: what is wrong, where, and how to repair it."""
    problems = await call.executor.read(
        call.caller, None, lambda view: view.check(), role=Role.ADMIN, patient=True
    )
    return json_response(to_json(whole(problems)))


@router.post("/repair", summary="Repair damage", response_model=Page[Problem])
async def repair(call: InMemory) -> Response:
    """Rebuild derived data that is damaged. Returns the problems that remain."""
    left = await _work(call, lambda memory, report: memory.repair(report))
    return json_response(to_json(whole(left)))


@router.post("/reembed", summary="Move to another encoder", response_model=Number)
async def reembed(call: InMemory, body: Reembed) -> Response:
    """Compute the vectors of another encoder, then use them. Returns the number of passages."""
    vectors = await _work(
        call, lambda memory, report: memory.reembed(body.encoder, report), space=body.space
    )
    call.executor.follow_encoder()
    return json_response(to_json({"value": vectors}))


@router.post("/jobs", summary="Ingest paths", status_code=202, response_model=JobStatus)
async def ingest(call: InMemory, body: IngestPaths, key: IdempotencyKey = None) -> Response:
    """Ingest files, folders and git histories of this machine, as a job."""
    options = body.model_dump(exclude={"space", "paths"})
    options["phases"] = body.phases or PHASES

    def work(memory: Memory, report: Progress) -> Any:
        return memory.ingest(*body.paths, **options, on_progress=report)

    await RestCall(call.request, body.space).require(Role.ADMIN)
    job_key = JobKey.of(key, "paths", body)
    job = call.jobs.begun_with(job_key, call.caller, body.space) or call.jobs.start(
        call.caller, body.space, "ingest", work, key=job_key, role=Role.ADMIN
    )
    return begun_response(job)


@router.get("/audit", summary="Read the audit log", response_model=Page[AuditEntry])
async def audit(
    call: InMemory, limit: Annotated[int, Query(ge=0, le=AUDIT_AT_MOST)] = 100
) -> Response:
    """List the last calls, newest first: who called what, in which space, with which status."""
    log: Audit | None = call.request.app.state.audit
    if log is None:
        raise Unavailable("This server writes no audit log.")
    return json_response(to_json(whole(await asyncio.to_thread(log.tail, limit))))


async def _work(
    call: RestCall, work: Callable[[Memory, Progress], Any], space: str | None = None
) -> Any:
    return await call.executor.work(call.caller, space, work, lambda *_: None, role=Role.ADMIN)


async def _with_file(
    call: RestCall, suffix: str, work: Callable[[Memory, Path, Progress], Any]
) -> Response:
    """Write the body to a temporary file, call `work` with it, and answer with the result."""
    uploads: Uploads = call.request.app.state.uploads
    folder = await asyncio.to_thread(uploads.new_folder)
    path = folder / f"sent{suffix}"
    try:
        await receive_file(call.request, path)
        result = await _work(call, lambda memory, report: work(memory, path, report))
    finally:
        await asyncio.to_thread(remove_path, folder)
    call.executor.follow_encoder()  # an import or a backup may have another encoder
    return json_response(to_json(result))
