"""Ingestion over a server: files of this machine are sent, git histories are read there."""

from __future__ import annotations

import socket
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from hades.client.connection import Connection, HttpCall, path_of
from hades.client.files import OCTETS, follow, upload
from hades.domain.rebuild import rebuild
from hades.errors import Denied, InvalidInput
from hades.ingest.summary import Summary
from hades.ingest.walk import walk
from hades.store.records import Progress

TAR = "application/x-tar"


def ingest_from_here(
    connection: Connection,
    space: str,
    paths: tuple[str | Path, ...],
    options: Mapping[str, Any],
    on_progress: Progress | None,
    follow_links: bool,
) -> Summary:
    """Ingest each path as a source of its own; return the sum, with unreadable paths as skipped."""
    roots = _roots(paths)
    if not any(root.exists() for root in roots):
        raise InvalidInput(f"There is nothing at {paths[0]} to ingest.")
    whole = Summary()
    for root in roots:
        if not root.exists():
            whole.skipped.append((str(root), "There is nothing there to ingest."))
            continue
        try:
            job, skipped = _sent(connection, space, root, options, on_progress, follow_links)
        except OSError as error:
            whole.skipped.append((str(root), f"It cannot be read: {error.strerror or error}."))
            continue
        done = rebuild(Summary, follow(connection, space, job, on_progress))
        done.skipped[:0] = skipped
        _add(whole, done)
    return whole


def ingest_there(
    connection: Connection,
    space: str,
    paths: tuple[str | Path, ...],
    options: Mapping[str, Any],
    on_progress: Progress | None,
) -> Summary:
    """Have the server read git repositories itself; needs the admin socket of this machine."""
    body = {name: value for name, value in options.items() if value is not None}
    body |= {"space": space, "paths": [str(root) for root in _roots(paths)], "history": True}
    try:
        job = connection.write(HttpCall("POST", path_of("admin", "jobs"), body=body))
    except Denied as error:
        raise Denied(
            "The server reads a history itself: open the admin socket on the repository's machine."
        ) from error
    return rebuild(Summary, follow(connection, space, job, on_progress))


def _roots(paths: tuple[str | Path, ...]) -> list[Path]:
    for path in paths:
        if not isinstance(path, str | Path) or not str(path):
            raise InvalidInput(f"A path is a non-empty string, not {path!r}.")
        if "\0" in str(path):
            raise InvalidInput("A path cannot have a NUL character.")
    return [Path(path).expanduser().resolve() for path in paths]


def _sent(
    connection: Connection,
    space: str,
    root: Path,
    options: Mapping[str, Any],
    on_progress: Progress | None,
    follow_links: bool,
) -> tuple[Any, list[tuple[str, str]]]:
    """Send a file or folder; return its job, and the files that were skipped, with the reason."""
    query = {"kind": "ingest", "source": f"{socket.gethostname()}:{root}", "name": root.name}
    call = HttpCall("POST", path_of("spaces", space, "jobs"), {**query, **options})
    packed = root.is_dir()
    with tempfile.TemporaryFile() if packed else root.open("rb") as file:
        skipped = _pack(root, file, follow_links) if packed else []
        return upload(connection, call, file, on_progress, TAR if packed else OCTETS), skipped


def _pack(root: Path, file: IO[bytes], follow_links: bool) -> list[tuple[str, str]]:
    """Pack the files that `ingest` reads into a tar; return the others, each with the reason."""
    skipped = []
    with tarfile.open(fileobj=file, mode="w", dereference=True) as archive:
        for path, why in walk(root, follow_links=follow_links):
            name = path.relative_to(root).as_posix()
            try:
                if not why:
                    archive.add(path, name, recursive=False)
            except OSError as error:
                why = f"It cannot be read: {error.strerror or error}."
            if why:
                skipped.append((f"{root.name}/{name}", why))
    return skipped


def _add(whole: Summary, part: Summary) -> None:
    """Add the counts, skipped files and seconds of a part to the whole."""
    for name in ("added", "changed", "unchanged", "renamed", "removed"):
        setattr(whole, name, getattr(whole, name) + getattr(part, name))
    whole.skipped += part.skipped
    for phase, seconds in part.seconds.items():
        whole.seconds[phase] = round(whole.seconds.get(phase, 0) + seconds, 3)
