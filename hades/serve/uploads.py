"""Uploads: files that were sent, put where `ingest` can read them, and taken away again.

They lie in a folder beside the memory, each upload in one of its own, only while the job
runs. `ingest` knows them by the name of their source (`upload:docs`): what did not change
costs a hash, and what is no longer sent is forgotten.

Nothing in an archive is trusted: names that lead elsewhere refuse the whole; links, devices
and the like are passed over; bytes, members and headers are counted while they are unpacked.
"""

from __future__ import annotations

import asyncio
import errno
import fcntl
import gzip
import io
import os
import shutil
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeVar

from hades.errors import InvalidInput, Unavailable
from hades.serve.executor.pool import Overloaded

Result = TypeVar("Result")

UNPACKED_BYTES_AT_MOST = 2**31
FILES_AT_MOST = 20_000
"""Of an archive: all its members, folders and links too."""
HEADER_BYTES_AT_MOST = 2**20
"""Of all that stands between two files of an archive: it is held in memory."""
SKIPPED_NAMED_AT_MOST = 1_000
DEPTH_AT_MOST = 40
PART_BYTES_AT_MOST = 255
"""Of one part of a path: what file systems take."""
PATH_BYTES_AT_MOST = 2_048
"""Of a path in an archive: with the folder it lies in, file systems take 4,096."""
UPLOADS_AT_ONCE = 2

_COPY_BYTES = 256 * 1024
_GZIP = b"\x1f\x8b"
_ONLY_FILES = "Only files are taken, no links or devices."


class TooLarge(InvalidInput):
    """More was sent than is taken."""

    status = 413


class Uploads:
    """The folder for what is being sent."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._threads = ThreadPoolExecutor(UPLOADS_AT_ONCE, "hades-upload")
        self._under_way = 0
        self._lock: int | None = None
        if folder is not None and folder.is_dir():
            self._claim(folder)

    async def run(self, call: Callable[..., Result], *given: Any) -> Result:
        """Do something with files, in a thread of their own."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call, *given)

    async def new_folder(self) -> Path:
        """An empty folder for one upload; whoever asks removes it."""
        return await self.run(self._new_folder)

    @contextmanager
    def receiving(self) -> Iterator[None]:
        """While files are sent; Overloaded when too many send some already."""
        if self._under_way >= UPLOADS_AT_ONCE:
            raise Overloaded("Too many files are being sent: come back in a second.")
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1

    def close(self) -> None:
        """Let go of the folder."""
        self._threads.shutdown()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _new_folder(self) -> Path:
        if self._folder is None:
            raise Unavailable("This server takes no files: it knows no folder for them.")
        self._folder.mkdir(mode=0o700, exist_ok=True)
        if self._lock is None:
            self._claim(self._folder)
        return Path(tempfile.mkdtemp(dir=self._folder))

    def _claim(self, folder: Path) -> None:
        """Remove what a killed server left; a lock says whether another server is here."""
        self._lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pass
        else:
            for left in folder.iterdir():
                remove(left)
        fcntl.flock(self._lock, fcntl.LOCK_SH)


def remove(path: Path) -> None:
    """Remove a file or a folder, whether it is there or not."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def unpack(archive: Path, folder: Path) -> list[tuple[str, str]]:
    """Unpack a tar, plain or with gzip, into a new folder; what was passed over, and why."""
    skipped: list[tuple[str, str]] = []
    more = 0
    try:
        with (
            archive.open("rb") as file,
            _unpacked(file) as counted,
            tarfile.open(fileobj=counted, mode="r|") as tar,
        ):
            filling = Filling(folder)
            for member in _members(tar, counted):
                if member.isfile():
                    content = tar.extractfile(member)
                    assert content is not None
                    filling.add(member.name, content)
                elif not member.isdir() and len(skipped) < SKIPPED_NAMED_AT_MOST:
                    skipped.append((member.name[:PATH_BYTES_AT_MOST], _ONLY_FILES))
                elif not member.isdir():
                    more += 1
    except RecursionError as error:
        raise InvalidInput("That is no whole tar archive: headers follow on headers.") from error
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError) as error:
        raise InvalidInput(f"That is no whole tar archive, plain or gzip: {error}.") from error
    return [*skipped, (f"… and {more:,} more", _ONLY_FILES)] if more else skipped


def _members(tar: tarfile.TarFile, counted: _Counted) -> Iterator[tarfile.TarInfo]:
    """The members of an archive one by one, none of them kept."""
    seen = 0
    while (member := tar.next()) is not None:
        seen += 1
        if seen > FILES_AT_MOST:
            raise _too_many()
        tar.members = []  # type: ignore[attr-defined]  # kept else, though never asked for
        tar.pax_headers = {}  # what is said for all that follow would pile up
        counted.within_header(False)
        yield member
        counted.within_header(True)


class Filling:
    """A new folder that is being filled with files from elsewhere."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files = 0
        self._bytes = 0
        folder.mkdir(mode=0o700)

    def add(self, name: str, content: IO[bytes]) -> None:
        """Write a file below the folder; InvalidInput for names that lead elsewhere."""
        self._files += 1
        if self._files > FILES_AT_MOST:
            raise _too_many()
        with self._new_file(name) as file:
            while part := content.read(_COPY_BYTES):
                self._bytes += len(part)
                if self._bytes > UNPACKED_BYTES_AT_MOST:
                    raise _too_much()
                file.write(part)

    def _new_file(self, name: str) -> IO[bytes]:
        path = self._folder.joinpath(*safe_parts(name))
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            return path.open("xb")
        except (FileExistsError, NotADirectoryError) as error:
            raise InvalidInput(f"Two files are called {name!r}: send one of them.") from error
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                raise InvalidInput(_too_long_a_path(name)) from error
            raise


def safe_parts(name: str, *, whole: bool = False) -> tuple[str, ...]:
    """The parts of a path that stays below where it is put; InvalidInput for any other.

    `whole`: it must be one part.
    """
    pure = PurePosixPath(name)
    parts = pure.parts
    tricky = (
        not parts
        or pure.is_absolute()
        or ".." in parts
        or "\0" in name
        or "\\" in name
        or len(parts) > (1 if whole else DEPTH_AT_MOST)
    )
    if tricky:
        raise InvalidInput(f"{name[:200]!r} is no path of a file that can be taken in.")
    try:
        too_long = any(len(part.encode()) > PART_BYTES_AT_MOST for part in parts)
        too_deep = len(name.encode()) > PATH_BYTES_AT_MOST
    except UnicodeEncodeError as error:
        raise InvalidInput("A file's name is not UTF-8: rename it.") from error
    if too_long:
        raise InvalidInput(f"{name[:80]!r}… has a part longer than {PART_BYTES_AT_MOST} bytes.")
    if too_deep:
        raise InvalidInput(_too_long_a_path(name))
    return parts


class _Counted(io.RawIOBase):
    """A file read no further than a limit: also what a few bytes of gzip blow up to.

    What is read for a header has a limit of its own, since tarfile holds it in memory.
    """

    def __init__(self, file: IO[bytes] | gzip.GzipFile) -> None:
        self._file = file
        self._header_left: int | None = HEADER_BYTES_AT_MOST
        self._left = UNPACKED_BYTES_AT_MOST + FILES_AT_MOST * 2 * tarfile.BLOCKSIZE

    def within_header(self, now: bool) -> None:
        """Say whether a header is read from here on, or a file."""
        self._header_left = HEADER_BYTES_AT_MOST if now else None

    def readable(self) -> bool:
        """It is read only."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes; TooLarge beyond the limit."""
        part = self._file.read(size)
        self._left -= len(part)
        if self._left < 0:
            raise _too_much()
        if self._header_left is not None:
            self._header_left -= len(part)
            if self._header_left < 0:
                raise TooLarge("A header of the archive is larger than 1 MB: pack it anew.")
        return part


@contextmanager
def _unpacked(file: IO[bytes]) -> Iterator[_Counted]:
    """An archive's bytes, unpacked where they are packed."""
    packed = file.read(len(_GZIP)) == _GZIP
    file.seek(0)
    if packed:
        with gzip.GzipFile(fileobj=file) as inner:
            yield _Counted(inner)
    else:
        yield _Counted(file)


def _too_much() -> TooLarge:
    megabytes = UNPACKED_BYTES_AT_MOST // 2**20
    return TooLarge(f"More than {megabytes} MB were sent: send them in parts.")


def _too_many() -> TooLarge:
    return TooLarge(f"More than {FILES_AT_MOST:,} files were sent: send them in parts.")


def _too_long_a_path(name: str) -> str:
    return f"{name[:80]!r}… is a longer path than can be taken in."
