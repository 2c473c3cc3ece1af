"""Objects: named files of bytes, in a folder or in object storage.

A folder needs only the standard library. `s3://`, `gs://` and `az://` need `obstore` (the extra
`archive`), which takes its keys from the environment.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from hades.breaker import RefusedByServer, breaker_of
from hades.domain.rules import CONTENT_BYTES_AT_MOST
from hades.errors import Corrupt, InvalidInput, Unavailable, lacking
from hades.store.drafts import draft_of, sync_folder

BUCKETS = ("s3", "gs", "az")
BYTES_AT_MOST = CONTENT_BYTES_AT_MOST + (16 << 20)
"""The most bytes of one object: room for the largest text, uncompressed, and some smaller ones."""
_ANSWER_S = 20
"""The longest time for one request, from connecting to the last byte of the reply."""
_CONNECT_S = 5
_RETRIED_S = 30
"""A failed request is repeated only within this time."""
_LISTED_S = 120
"""The longest time for a listing with all its pages; a store could send pages without end."""
_REFUSED = re.compile(r"status code: 4(?!08|29)")
"""Finds a refused request in messages of obstore, which has one exception class for a bad request
and for an unreachable server."""


def open_objects(place: str) -> Objects:
    """Open the objects at a location: a folder, `file:///…`, `s3://…`, `gs://…` or `az://…`."""
    scheme = place.partition("://")[0] if "://" in place else ""
    if scheme in BUCKETS:
        return _Bucket(place)
    if scheme not in ("", "file"):
        known = ", ".join(f"{scheme}://…" for scheme in ("file", *BUCKETS))
        raise InvalidInput(f"An archive cannot be kept at {place}: give a folder, {known}.")
    return _Folder(unquote(urlsplit(place).path) if scheme else place)


class _Folder:
    """Objects as files below a folder."""

    def __init__(self, place: str) -> None:
        self.place = place
        self._root = Path(place).expanduser().absolute()

    def put(self, name: str, data: bytes) -> None:
        """Write an object. It is on the disk when this returns."""
        path = self._root / name
        with self._reached():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with draft_of(path) as draft:
                with draft.open("xb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(draft, path)
            for folder in (path.parent, *path.parents[1:3]):  # their names too
                sync_folder(folder)

    def get(self, name: str) -> bytes | None:
        """Return an object, or None if there is none of this name.

        Raise Unavailable if the folder cannot be read, and Corrupt, without reading, if the object
        is too large or not a regular file.
        """
        with self._reached(), suppress(FileNotFoundError, NotADirectoryError):
            # O_NONBLOCK: opening a named pipe would otherwise wait for a writer.
            descriptor = os.open(self._root / name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                status = os.fstat(descriptor)
                if not stat.S_ISREG(status.st_mode):
                    raise Corrupt(f"{name} in the archive {self.place} is not a regular file.")
                with open(descriptor, "rb", closefd=False) as file:
                    return file.read(_accepted(self.place, name, status.st_size))
            finally:
                os.close(descriptor)
        return None

    def remove(self, start: str) -> None:
        """Remove the object `start`, or all objects below it if it ends with a slash."""
        path = self._root / start
        with self._reached(), suppress(FileNotFoundError, NotADirectoryError):
            for left in path.parent.glob(f".{path.name}.*.draft"):  # by a killed process
                shutil.rmtree(left)
            shutil.rmtree(path) if start.endswith("/") else path.unlink()

    def size(self, start: str) -> int:
        """Return the bytes of all objects below a folder."""
        with self._reached():
            return sum(path.stat().st_size for path in (self._root / start).rglob("*.xz"))

    @contextmanager
    def _reached(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise Unavailable(f"The archive {self.place} cannot be used: {error}.") from error


class _Bucket:
    """Objects in object storage, with the methods of a folder."""

    def __init__(self, place: str) -> None:
        self.place = place
        try:
            import obstore
            from obstore.exceptions import BaseError, NotFoundError
            from obstore.store import from_url
        except ImportError as error:
            raise lacking(f"The archive {place} needs", "cluster") from error
        self._obstore = obstore
        self._failed = BaseError
        # obstore 0.12 raises the built-in one.
        self._missing = (NotFoundError, FileNotFoundError)
        limits: Any = {
            "timeout": timedelta(seconds=_ANSWER_S),
            "connect_timeout": timedelta(seconds=_CONNECT_S),
        }
        if os.environ.get("AWS_ALLOW_HTTP", "").lower() == "true":
            limits["allow_http"] = True
        retries: Any = {"max_retries": 3, "retry_timeout": timedelta(seconds=_RETRIED_S)}
        self._breaker = breaker_of("/".join(place.split("/")[:3]))  # s3://bucket
        with self._translated():  # nothing is sent yet
            self._store: Any = from_url(place, client_options=limits, retry_config=retries)

    def put(self, name: str, data: bytes) -> None:
        with self._reached():
            self._obstore.put(self._store, name, data)

    def get(self, name: str) -> bytes | None:
        with self._reached(), suppress(*self._missing):
            reply = self._obstore.get(self._store, name)  # reads the headers only
            _accepted(self.place, name, reply.meta["size"])
            return bytes(reply.bytes())
        return None

    def remove(self, start: str) -> None:
        with self._reached(), suppress(*self._missing):
            if not start.endswith("/"):
                self._obstore.delete(self._store, start)
                return
            for page in self._pages(start):
                self._obstore.delete(self._store, [entry["path"] for entry in page])

    def size(self, start: str) -> int:
        with self._reached():
            return sum(entry["size"] for page in self._pages(start) for entry in page)

    def _pages(self, start: str) -> Iterator[Any]:
        until = time.monotonic() + _LISTED_S
        for page in self._obstore.list(self._store, prefix=start):
            if time.monotonic() > until:
                raise TimeoutError(f"listing it takes longer than {_LISTED_S} seconds")
            yield page

    @contextmanager
    def _reached(self) -> Iterator[None]:
        with self._breaker.guard(), self._translated():
            yield

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except self._missing:
            raise
        except (self._failed, OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            kind = RefusedByServer if _REFUSED.search(reason) else Unavailable
            raise kind(f"The archive {self.place} cannot be used: {reason}.") from error


def _accepted(place: str, name: str, size: int) -> int:
    """Return the size of an object before it is read. Raise Corrupt if it is too large."""
    if size > BYTES_AT_MOST:
        raise Corrupt(
            f"{name} in the archive {place} is {size >> 20} MB, more than the limit of an object "
            f"({BYTES_AT_MOST >> 20} MB)."
        )
    return size


Objects = _Folder | _Bucket
