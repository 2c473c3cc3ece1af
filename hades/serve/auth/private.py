"""Private files: read by their owner only, and written whole or not at all."""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hades.errors import Denied, Unavailable

OTHERS = stat.S_IRWXG | stat.S_IRWXO


def check_private(path: Path, found: os.stat_result) -> None:
    """Denied when anybody but the owner may use a file, or the owner is another."""
    if found.st_mode & OTHERS:
        raise Denied(f"Others may read {path}: run `chmod 600 {path}`, and make new keys.")
    if found.st_uid not in (os.geteuid(), 0):
        raise Denied(f"{path} belongs to another user: remove it, or run as that user.")


def read_private(path: Path) -> bytes | None:
    """What a private file says; None when there is none."""
    try:
        with path.open("rb") as file:
            check_private(path, os.fstat(file.fileno()))
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read ({error.strerror}): check it.") from error


def write_private(path: Path, content: bytes) -> None:
    """Write a private file so that a crash leaves the old one or the new one."""
    try:
        # mkstemp makes it readable by the owner only, whatever the umask.
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(name)
            raise
        _sync_folder(path.parent)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written ({error.strerror}): check it.") from error


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """One process at a time inside; the lock goes with the process."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise Unavailable(f"The folder {folder} cannot be used ({error.strerror}).") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _sync_folder(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
