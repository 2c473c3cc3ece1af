"""Jobs: long work a server does with files it is sent, followed until it is done."""

from __future__ import annotations

import json
import socket
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from hades.client.connection import BrokenOff, Call, Connection, path_of, refusal
from hades.client.files import parts_of
from hades.domain.rebuild import rebuild
from hades.errors import InvalidInput, Unavailable
from hades.ingest.summary import Summary
from hades.ingest.walk import Unwalkable, walk
from hades.store.port import Progress


@dataclass(frozen=True, slots=True)
class Packed:
    """Files packed for sending, and what could not be."""

    file: IO[bytes]
    size: int
    origins: tuple[str, ...]
    """Where each path given is, as the server shall know it next time."""
    skipped: tuple[tuple[str, str], ...]


def pack(paths: tuple[str | Path, ...], *, whole: bool) -> Packed:
    """Files and folders as one archive: `0/name`, `1/name` …, in the order given.

    A folder is what `ingest` would read of it, or, `whole`, everything in it.
    """
    for path in paths:
        if not isinstance(path, str | Path) or not str(path) or "\0" in str(path):
            raise InvalidInput(f"A path is a non-empty string, not {path!r}.")
    roots = [Path(path).expanduser().resolve() for path in paths]
    if not any(root.exists() for root in roots):
        raise InvalidInput(f"There is nothing at {paths[0]} to ingest.")
    file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by whoever sends it
    skipped: list[tuple[str, str]] = []
    origins: list[str] = []
    with tarfile.open(fileobj=file, mode="w", dereference=not whole) as archive:
        for root in roots:
            if not root.exists():
                skipped.append((str(root), "There is nothing there to ingest."))
                continue
            skipped += _add(archive, root, f"{len(origins)}/{root.name}", whole)
            origins.append(f"{socket.gethostname()}:{root}")
    size = file.tell()
    file.seek(0)
    return Packed(file, size, tuple(origins), tuple(skipped))


def _add(archive: tarfile.TarFile, root: Path, name: str, whole: bool) -> Iterator[tuple[str, str]]:
    """Put a file or folder into an archive; what could not be read, and why."""
    if whole or root.is_file():
        archive.add(root, name, recursive=whole)
        return
    archive.add(root, name, recursive=False)
    for path in walk(root):
        if isinstance(path, Unwalkable):
            yield str(path.path), f"It cannot be looked at: {path.why}."
            continue
        try:
            archive.add(path, f"{name}/{path.relative_to(root).as_posix()}", recursive=False)
        except OSError as error:
            yield str(path), f"It cannot be read: {error.strerror or error}."


@dataclass(frozen=True, slots=True)
class Event:
    """One message of a stream of events."""

    name: str
    data: Any
    id: str = ""


def events_of(lines: Iterator[str]) -> Iterator[Event]:
    """Server-sent events: fields up to an empty line are one event; comments say nothing."""
    fields: dict[str, str] = {}
    for line in lines:
        if line:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data" and "data" in fields:
                value = f"{fields['data']}\n{value}"
            fields[name] = value
            continue
        if "data" in fields:
            told = json.loads(fields["data"])
            yield Event(fields.get("event", "message"), told, fields.get("id", ""))
        fields = {}


def follow(
    connection: Connection, space: str, job: Mapping[str, Any], on_progress: Progress | None
) -> Any:
    """The result of a job, waited for; where the connection breaks, it is taken up again."""
    told = on_progress or (lambda _what, _done, _total: None)
    for event in _watched(connection, path_of("spaces", space, "jobs", job["id"], "events")):
        if event.name == "progress":
            told(event.data["what"], event.data["done"], event.data["total"])
        elif event.name == "done":
            return event.data["result"]
        elif event.name == "failed":
            raise refusal(event.data, 500)
        elif event.name == "cancelled":
            raise Unavailable("Somebody cancelled this job: start it again.")
    raise AssertionError("unreachable")


def _watched(connection: Connection, path: str) -> Iterator[Event]:
    """The events at an address, without an end; those that came before a break are not lost."""
    last, breaks = "", 0
    while True:
        headers = {"accept": "text/event-stream"} | ({"last-event-id": last} if last else {})
        call = Call("GET", path, headers=headers, patient=True)
        try:
            with connection.opened(call) as response:
                for event in events_of(response.iter_lines()):
                    last, breaks = event.id or last, 0
                    yield event
        except BrokenOff:
            breaks += 1
            if breaks > connection.retries:
                raise


def ingest(
    connection: Connection,
    space: str,
    paths: tuple[str | Path, ...],
    options: Mapping[str, Any],
    on_progress: Progress | None,
) -> Summary:
    """Pack files, send them, and follow the job that takes them in."""
    told = on_progress or (lambda _what, _done, _total: None)
    packed = pack(paths, whole=bool(options["history"]))
    with packed.file as file:

        def parts() -> Iterator[bytes]:
            file.seek(0)
            return parts_of(file, lambda done: told("sending", done, packed.size))

        asked = {name: value for name, value in options.items() if value is not None}
        call = Call(
            "POST",
            path_of("spaces", space, "jobs"),
            {"kind": "ingest", "options": json.dumps({**asked, "origins": packed.origins})},
            parts,
            {"content-type": "application/x-tar", "content-length": str(packed.size)},
            repeatable=False,
        )
        job = connection.json(call)
    summary = rebuild(Summary, follow(connection, space, job, on_progress))
    summary.skipped[:0] = packed.skipped
    return summary
