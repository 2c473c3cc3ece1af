"""Turns: work that one process does for all, while the others wait or go on without it."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hades.store.records import Progress

LOOK_EVERY_S = 0.2


@contextmanager
def turn(folder: Path, work: str, told: Progress | None) -> Iterator[bool]:
    """Whether this is the one that does the work; its turn ends with its process at the latest.

    Whoever gives `told` waits for a turn, and is told so meanwhile. The lock is the folder's
    own: there is no file to leave behind.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if told is not None:
                    told(f"{work}, which another process does", 0, 0)
                    time.sleep(LOOK_EVERY_S)
                    continue
                yield False
            else:
                yield True
            return
    finally:
        os.close(handle)
