"""Drafts: a file is made beside its place and gets its name in one step when it is whole.

A draft lies in a hidden folder of its own, which is locked as long as somebody is at work in
it. So what is not locked was left by a process that was killed, and can be found and removed.
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

_FOLDER = re.compile(r"\..+\.[0-9a-f]{12}\.draft")


@contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A path for what becomes `path`; what is there at the end of the block is removed."""
    folder = path.with_name(f".{path.name}.{secrets.token_hex(6)}.draft")
    folder.mkdir(mode=0o700)
    lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder / path.name
    finally:
        os.close(lock)
        shutil.rmtree(folder, ignore_errors=True)


def sync_folder(folder: Path) -> None:
    """Bring the names in a folder to the disk."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def leftovers(memory: Path, *, remove: bool = False) -> list[Path]:
    """What killed processes left beside a memory: drafts and files that were sent.

    With `remove` they are removed, and what could not be removed is given.
    """
    found = []
    for path in _listed(memory.parent):
        # A folder is empty until it is locked.
        if _FOLDER.fullmatch(path.name) and _listed(path):
            found += left_in(path, [path], remove=remove)
    uploads = memory.with_name(f"{memory.name}.uploads")
    return found + left_in(uploads, _listed(uploads), remove=remove)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return []  # it is none, or may not be read


def left_in(locked: Path, paths: list[Path], *, remove: bool) -> list[Path]:
    """Those of the paths that are there, or stay there, unless somebody holds the lock."""
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
    """Remove a file or a folder, as far as that is allowed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
