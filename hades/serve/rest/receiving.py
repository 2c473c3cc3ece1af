"""Receiving: the body of a request as files, without ever holding all of it in memory."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

from fastapi import Request

from hades.errors import InvalidInput
from hades.serve.rest.forms import Form
from hades.serve.uploads import (
    SENT_BYTES_AT_MOST,
    Filling,
    Mark,
    TooLarge,
    Uploads,
    unpack,
)

MULTIPART = "multipart/form-data"
TARS = ("application/x-tar", "application/gzip", "application/x-gzip", "application/x-gtar")
JSON_BYTES_AT_MOST = 32 * 2**20


def content_type(request: Request) -> str:
    """What a request says its body is."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def receive_file(
    request: Request, path: Path, uploads: Uploads, mark: Mark | None = None
) -> None:
    """Write the body to a new file; `mark` is told what came."""

    def take(part: bytes) -> None:
        if mark is not None:
            mark.add(part)
        file.write(part)

    with path.open("xb") as file:
        async for part in _bounded(request):
            await uploads.run(take, part)


async def receive_folder(
    request: Request, archive: Path, folder: Path, uploads: Uploads, mark: Mark
) -> list[tuple[str, str]]:
    """Write the files of an archive or a form into a new folder; what was passed over."""
    if content_type(request) == MULTIPART:
        await _receive_form(request, folder, uploads, mark)
        skipped: list[tuple[str, str]] = []
    else:
        await receive_file(request, archive, uploads, mark)
        skipped = await uploads.run(unpack, archive, folder)
    if not folder.is_dir() or not any(folder.iterdir()):
        raise InvalidInput("There is no file in what was sent.")
    return skipped


async def _receive_form(request: Request, folder: Path, uploads: Uploads, mark: Mark) -> None:
    form = Form(request.headers["content-type"], Filling(folder), mark)
    try:
        async for part in _bounded(request):
            await uploads.run(form.feed, part)
        form.finish()
    finally:
        form.close()


async def receive_json(request: Request) -> bytes:
    """The body as it came, where it is read into memory."""
    return b"".join([part async for part in _bounded(request, JSON_BYTES_AT_MOST)])


async def _bounded(request: Request, at_most: int | None = None) -> AsyncGenerator[bytes, None]:
    at_most = SENT_BYTES_AT_MOST if at_most is None else at_most
    said = request.headers.get("content-length", "")
    done = int(said) if said.isdecimal() else 0
    if done <= at_most:
        done = 0
        async for part in request.stream():
            done += len(part)
            if done > at_most:
                break
            yield part
    if done > at_most:
        raise TooLarge(f"More than {at_most // 2**20} MB were sent: send them in parts.")
