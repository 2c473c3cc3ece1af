"""Drafts: files that are written beside their final place and renamed once they are complete.

A draft is in a hidden folder of its own, which its process keeps locked. A folder that is not
locked was left by a killed process and can be removed.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hades.errors import Unavailable

_FOLDER = re.compile(r"\..+\.[0-9a-f]{12}\.draft")


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """Yield a path for a draft of `path`. If the caller does not rename it, it is removed."""
    folder = path.with_name(f".{path.name}.{secrets.token_hex(6)}.draft")
    folder.mkdir(mode=0o700)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder / path.name
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def private_opener(path: str, flags: int) -> int:
    """Opener for `open`: a new file can be read only by its owner, whatever the umask."""
    return os.open(path, flags, 0o600)


def place(source: Path, target: Path) -> bool:
    """Give a file the name `target`; return False if another file has it, which is left alone."""
    try:
        os.link(source, target)
    except FileExistsError:
        return False
    except OSError:
        # Some file systems have no hard links: rename instead.
        if os.path.lexists(target):
            return False
        os.rename(source, target)
    return True


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the names in it are on the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def leftovers(memory: Path, *, remove: bool = False) -> list[Path]:
    """Return the drafts and uploads that killed processes left beside a memory.

    With `remove`, remove them and return those that could not be removed.
    """
    left = []
    for path in _listed(memory.parent):
        # An empty folder may be new: it is locked before anything is written to it.
        if _FOLDER.fullmatch(path.name) and _listed(path):
            left += left_in(path, [path], remove=remove)
    uploads = memory.with_name(f"{memory.name}.uploads")
    return left + left_in(uploads, _listed(uploads), remove=remove)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []  # missing, not a folder, or not readable


def left_in(locked: Path, paths: list[Path], *, remove: bool) -> list[Path]:
    """Return those of the paths that exist, after removal if `remove`; [] if `locked` is locked."""
    try:
        lock = os.open(locked, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return []  # its owner has just removed it, or is another user
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path in paths if remove else ():
            remove_path(path)
    except BlockingIOError:
        return []
    finally:
        os.close(lock)
    return [path for path in paths if os.path.lexists(path)]


def remove_path(path: Path) -> None:
    """Remove a file or a folder, and ignore errors."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def write_private(path: Path, content: bytes) -> None:
    """Write a private file atomically: a crash leaves the old content or the new one."""
    try:
        with draft_of(path) as draft:
            with open(draft, "xb", opener=private_opener) as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        sync_folder(path.parent)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written ({error.strerror}): check it.") from error
