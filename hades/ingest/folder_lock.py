"""A lock on a folder, for work that only one process may do at a time."""

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
def folder_lock(folder: Path, work: str, report: Progress | None) -> Iterator[bool]:
    """Try to lock a folder for the block. Yield whether this process holds the lock.

    With `report`, wait for the lock, and report that `work` waits. The folder itself is locked, so
    no lock file is left behind. The system releases the lock when the process ends.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if report is not None:
                    report(f"{work}, waiting for another process", 0, 0)
                    time.sleep(LOOK_EVERY_S)
                    continue
                yield False
            else:
                yield True
            return
    finally:
        os.close(handle)
