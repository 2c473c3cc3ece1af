"""Uploads: received files, kept on disk for `ingest` while their job runs.

Each upload has its own folder in a folder beside the memory. `ingest` knows it by the name of
its source (`upload:docs`): unchanged files cost a hash, and missing files are forgotten.

Archives are not trusted. One with a path that leads outside its folder is refused; links and
devices are skipped; bytes, members and headers are limited while unpacking.
"""

from __future__ import annotations

import fcntl
import gzip
import io
import os
import shutil
import tarfile
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from hades.errors import InvalidInput, Unavailable
from hades.serve.pool import Overloaded
from hades.serve.problems import TooLarge
from hades.store.drafts import left_in

UNPACKED_BYTES_AT_MOST = 2**31
FILES_AT_MOST = 20_000
"""Members of an archive, including folders and links."""
HEADER_BYTES_AT_MOST = 2**20
"""Bytes between two files of an archive, which tarfile reads into memory."""
SKIPPED_NAMED_AT_MOST = 1_000
DEPTH_AT_MOST = 40
PART_BYTES_AT_MOST = 255
"""Limit for one part of a path, as in most file systems."""
PATH_BYTES_AT_MOST = 2_048
"""Limit for a path in an archive. File systems allow 4,096 bytes including the upload's folder."""
UPLOADS_AT_ONCE = 8
UPLOADS_OF_ONE_AT_ONCE = 2
"""How many uploads one caller may send at once, so that a slow sender does not block the others."""

_COPY_BYTES = 256 * 1024
_GZIP = b"\x1f\x8b"
_ONLY_FILES = "Only files are ingested, no links or devices."


class Uploads:
    """The folder for uploads, shared by all callers."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._receiving: Counter[str] = Counter()
        self._lock: int | None = None
        if folder is not None and folder.is_dir():
            self._claim(folder)

    def new_folder(self) -> Path:
        """Create and return an empty folder for one upload; the caller removes it."""
        if self._folder is None:
            raise Unavailable("This server accepts no files: it has no folder for them.")
        self._folder.mkdir(mode=0o700, exist_ok=True)
        if self._lock is None:
            self._claim(self._folder)
        return Path(tempfile.mkdtemp(dir=self._folder))

    @contextmanager
    def receiving(self, who: str) -> Iterator[None]:
        """Count an upload of a caller while it is received; raise Overloaded at the limit."""
        sending = self._receiving
        if sending[who] >= UPLOADS_OF_ONE_AT_ONCE or sending.total() >= UPLOADS_AT_ONCE:
            raise Overloaded("Too many files are being sent: try again in a second.")
        sending[who] += 1
        try:
            yield
        finally:
            sending[who] -= 1

    def close(self) -> None:
        """Release the lock on the folder; uploads stay."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def _claim(self, folder: Path) -> None:
        """Lock the folder; if no other server has locked it, first remove old uploads."""
        left_in(folder, list(folder.iterdir()), remove=True)
        self._lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_SH)


def unpack(archive: Path, folder: Path) -> list[tuple[str, str]]:
    """Unpack a tar, plain or gzip, into a new folder; return the members skipped, with the reason.

    Raise InvalidInput if the archive is damaged or unsafe, TooLarge beyond the limits.
    """
    folder.mkdir(mode=0o700)
    skipped: list[tuple[str, str]] = []
    seen = more = 0
    try:
        with (
            archive.open("rb") as file,
            _CountedFile(file) as counted,
            tarfile.open(fileobj=counted, mode="r|") as tar,
        ):
            while (member := tar.next()) is not None:
                tar.members = []  # type: ignore[attr-defined]  # tarfile would keep all of them
                tar.pax_headers = {}  # global headers would accumulate
                seen += 1
                if seen > FILES_AT_MOST:
                    raise TooLarge(f"More than {FILES_AT_MOST:,} files: send them in parts.")
                counted.header_left = None
                if member.isreg() and not member.issparse():
                    _write_new(folder, member.name, tar.extractfile(member))
                elif not member.isdir() and len(skipped) < SKIPPED_NAMED_AT_MOST:
                    skipped.append((member.name[:PATH_BYTES_AT_MOST], _ONLY_FILES))
                elif not member.isdir():
                    more += 1
                counted.header_left = HEADER_BYTES_AT_MOST
    except RecursionError as error:
        raise InvalidInput(
            "This is not a complete tar archive: too many headers in a row."
        ) from error
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError) as error:
        raise InvalidInput(
            f"This is not a complete tar archive, plain or gzip: {error}."
        ) from error
    return [*skipped, (f"… and {more:,} more", _ONLY_FILES)] if more else skipped


def _write_new(folder: Path, name: str, content: IO[bytes] | None) -> None:
    """Write a new file below a folder; raise InvalidInput if it exists or is not below it."""
    assert content is not None
    path = folder.joinpath(*safe_parts(name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        file = path.open("xb")
    except (FileExistsError, NotADirectoryError) as error:
        raise InvalidInput(f"Two files are named {name!r}: send one of them.") from error
    with file:
        shutil.copyfileobj(content, file, _COPY_BYTES)


def safe_parts(name: str, *, parts_at_most: int = DEPTH_AT_MOST) -> tuple[str, ...]:
    """Return the parts of a path; raise InvalidInput if it is too long or may lead outside."""
    path = PurePosixPath(name)
    leads_elsewhere = path.is_absolute() or ".." in path.parts or "\0" in name or "\\" in name
    if leads_elsewhere or not 1 <= len(path.parts) <= parts_at_most:
        raise InvalidInput(f"{name[:200]!r} is not a valid file path.")
    try:
        longest = max(len(part.encode()) for part in path.parts)
        if longest > PART_BYTES_AT_MOST or len(name.encode()) > PATH_BYTES_AT_MOST:
            raise InvalidInput(f"The path {name[:80]!r}… is too long.")
    except UnicodeEncodeError as error:
        raise InvalidInput("A file's name is not UTF-8: rename it.") from error
    return path.parts


class _CountedFile(io.RawIOBase):
    """An archive, decompressed if it is gzip, that raises TooLarge beyond a limit.

    The limit stops decompression bombs. Headers have a smaller limit, since tarfile reads them
    into memory.
    """

    def __init__(self, file: IO[bytes]) -> None:
        packed = file.read(len(_GZIP)) == _GZIP
        file.seek(0)
        self._file = gzip.GzipFile(fileobj=file) if packed else file
        self.header_left: int | None = HEADER_BYTES_AT_MOST
        """Bytes that the current headers may still have; None inside a file."""
        self._left = UNPACKED_BYTES_AT_MOST + FILES_AT_MOST * 2 * tarfile.BLOCKSIZE

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        part = self._file.read(size)
        self._left -= len(part)
        if self._left < 0:
            megabytes = UNPACKED_BYTES_AT_MOST // 2**20
            raise TooLarge(f"More than {megabytes} MB were sent: send them in parts.")
        if self.header_left is not None:
            self.header_left -= len(part)
            if self.header_left < 0:
                raise TooLarge("A header of the archive is larger than 1 MB: pack it again.")
        return part
