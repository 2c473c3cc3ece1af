"""Files between a client and its server, as streams, and the jobs that read them there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, TextIO

from hades.client.connection import ADMIN, BrokenOff, Connection, HttpCall, path_of, refusal
from hades.errors import InvalidInput, Unavailable
from hades.store.drafts import private_opener
from hades.store.records import Progress

PART_BYTES = 256 * 1024
"""Bytes of a file that are in memory at once."""
OCTETS = "application/octet-stream"


def download_export(
    connection: Connection,
    space: str,
    as_of: Mapping[str, str],
    path: str | Path | TextIO,
    format: str,
    *,
    embeddings: bool = False,
) -> None:
    """Download an export to a path or an open text file; a format that is a folder is refused."""
    from hades.exchange import formats  # loads numpy, which no other call of a client needs

    formats.check(format, embeddings=embeddings)
    if format in formats.FOLDERS:
        raise InvalidInput(f"{format} is a folder: export it where the memory's file is.")
    if format == "jsonl" and as_of:
        raise InvalidInput("A jsonl export has all times: export it without a time.")
    target = Path(path).expanduser() if isinstance(path, str | Path) else path
    call = HttpCall("GET", path_of("admin", "export"), patient=True)
    if format != "jsonl":
        query = {"format": format, **as_of} | ({"embeddings": "true"} if embeddings else {})
        call = HttpCall("GET", path_of("spaces", space, "export"), query, patient=True)
    with formats.text_file(target) as file, connection.opened(call) as response:
        response.encoding = "utf-8"
        for text in response.iter_text():
            file.write(text)


def download_backup(connection: Connection, path: Path, on_progress: Progress | None) -> None:
    """Download a backup of the server's memory to a new file; raise InvalidInput if it exists."""
    from hades.exchange import formats  # loads numpy, which no other call of a client needs

    call = HttpCall("GET", path_of("admin", "backup"), patient=True)
    with (
        formats.new_path(path.expanduser()) as draft,
        open(draft, "xb", opener=private_opener) as file,
        connection.opened(call) as response,
    ):
        total = int(response.headers.get("content-length", 0))
        done = 0
        for part in response.iter_bytes():
            file.write(part)
            done += len(part)
            if on_progress is not None:
                on_progress("copying", done, total)


def upload_path(
    connection: Connection, call: HttpCall, path: Path, on_progress: Progress | None = None
) -> Any:
    """Send a file and return the server's answer."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error
    with file:
        return upload(connection, call, file, on_progress)


def upload(
    connection: Connection,
    call: HttpCall,
    file: IO[bytes],
    on_progress: Progress | None,
    kind: str = OCTETS,
) -> Any:
    """Send an open file, from its start, and return the server's answer.

    `kind` is the media type. After a broken connection only a job is sent again, not an import or
    a backup: the server knows the key of a job.
    """
    size = file.seek(0, os.SEEK_END)

    def parts() -> Iterator[bytes]:
        file.seek(0)
        while part := file.read(PART_BYTES):
            yield part
            if on_progress is not None:
                on_progress("sending", file.tell(), size)

    headers = {"content-type": kind, "content-length": str(size)}
    repeatable = not call.path.startswith(ADMIN)
    return connection.write(
        replace(call, body=parts, headers=headers, repeatable=repeatable, patient=True)
    )


def follow(
    connection: Connection, space: str, job: Mapping[str, Any], on_progress: Progress | None
) -> Any:
    """Wait for a job by its events and return its result; raise if it failed or was cancelled."""
    for event in _watched(connection, path_of("spaces", space, "jobs", job["id"], "events")):
        name = event.get("event")
        data = json.loads(event["data"])
        if name == "progress" and on_progress is not None:
            on_progress(data["what"], data["done"], data["total"])
        elif name == "done":
            return data["result"]
        elif name == "failed":
            raise refusal(data, 500)
        elif name == "cancelled":
            raise Unavailable("Somebody cancelled this job: start it again.")
    raise AssertionError("unreachable")


def _watched(connection: Connection, path: str) -> Iterator[dict[str, str]]:
    """Yield a job's events; after a break, reconnect and continue after the last event."""
    last = ""
    breaks = 0
    while True:
        headers = {"accept": "text/event-stream"} | ({"last-event-id": last} if last else {})
        call = HttpCall("GET", path, headers=headers, patient=True)
        try:
            with connection.opened(call) as response:
                for event in _events_of(response.iter_lines()):
                    last = event.get("id", last)
                    breaks = 0
                    yield event
        except BrokenOff:
            breaks += 1
            if breaks > connection.retries:
                raise


def _events_of(lines: Iterator[str]) -> Iterator[dict[str, str]]:
    """Yield server-sent events as their fields; an empty line ends an event."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
            continue
        if "data" in fields:  # else it was a comment, such as a heartbeat
            yield fields
        fields = {}
