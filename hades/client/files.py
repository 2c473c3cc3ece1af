"""Files between a client and its server: exports and backups down, imports up, as streams."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, TextIO

from hades.client.connection import ADMIN, Connection, HttpCall, path_of
from hades.errors import InvalidInput, Unavailable
from hades.exchange import formats
from hades.store.drafts import draft_of
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
) -> None:
    """Download what `View.export` writes to a path or an open text file."""
    if format not in formats.FORMATS:
        raise InvalidInput(f"There is no format {format!r}: {', '.join(formats.FORMATS)}.")
    if format in formats.GRAPH_FOLDERS:
        raise InvalidInput(f"{format} is a folder: export it beside the memory's file.")
    if format == "jsonl" and as_of:
        raise InvalidInput("A jsonl export has all times: export it without a time.")
    target = Path(path).expanduser() if isinstance(path, str | Path) else path
    if format == "jsonl":
        call = HttpCall("GET", path_of("admin", "export"), patient=True)
    else:
        query = {"format": format, **as_of}
        call = HttpCall("GET", path_of("spaces", space, "export"), query, patient=True)
    if isinstance(target, Path):
        with formats.new_file(target) as file:
            _write_text(connection, call, file)
    else:
        _write_text(connection, call, target)


def download_backup(connection: Connection, path: Path, on_progress: Progress | None) -> None:
    """Download a backup of the server's memory to a new file."""
    path = path.expanduser()
    if path.exists():
        raise InvalidInput(f"{path} exists already: choose another name for the backup.")
    report = on_progress or (lambda _what, _done, _total: None)
    call = HttpCall("GET", path_of("admin", "backup"), patient=True)
    with _new_private_file(path) as file, connection.opened(call) as response:
        total, done = int(response.headers.get("content-length", 0)), 0
        for part in response.iter_bytes():
            file.write(part)
            done += len(part)
            report("copying", done, total)


def upload(connection: Connection, call: HttpCall, path: Path, on_progress: Progress | None) -> Any:
    """Send a file and return the answer. Only jobs are retried: the server knows their key."""
    report = on_progress or (lambda _what, _done, _total: None)
    try:
        size = path.stat().st_size
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error

    def parts() -> Iterator[bytes]:
        with path.open("rb") as file:
            yield from parts_of(file, lambda done: report("sending", done, size))

    headers = {**(call.headers or {}), "content-length": str(size)}
    headers.setdefault("content-type", OCTETS)
    repeatable = not call.path.startswith(ADMIN)
    return connection.write(
        replace(call, body=parts, headers=headers, repeatable=repeatable, patient=True)
    )


def parts_of(file: IO[bytes], report: Callable[[int], None]) -> Iterator[bytes]:
    """Yield a file in parts; report the bytes sent so far after each."""
    done = 0
    while part := file.read(PART_BYTES):
        yield part
        done += len(part)
        report(done)


def _write_text(connection: Connection, call: HttpCall, file: TextIO) -> None:
    with connection.opened(call) as response:
        response.encoding = "utf-8"
        for text in response.iter_text():
            file.write(text)


@contextmanager
def _new_private_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that only its owner may read; it gets its name once it is complete."""
    try:
        with draft_of(path) as draft:
            number = os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(number, "wb") as file:
                yield file
            os.rename(draft, path)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written: {error.strerror or error}.") from error
