"""Adopting: make an existing memory the memory of a project.

HADES cannot tell a user's own memory from one that was unpacked from an archive, so the user must
ask for it.
"""

from __future__ import annotations

import glob
import shutil
from pathlib import Path

from hades.errors import Conflict, NotFound, Unavailable
from hades.opening import open_with_settings
from hades.project import check_own, note_project, project_memory


def adopt(root: Path, memory: Path) -> Path:
    """Move a memory and the files beside it to the project's place; return the new path."""
    if not memory.is_file():
        raise NotFound(f"There is no memory {memory}.")
    check_own(memory)
    target = project_memory(root)
    if target.exists():
        raise Conflict(f"The project {root} has a memory already: {target}.")
    open_with_settings(memory, create=False).close()  # moves the write-ahead log into the file
    if Path(f"{memory}-wal").exists():
        raise Unavailable(f"{memory} is in use: end the programs that have it open.")
    note_project(root, target.parent)
    beside = memory.parent.glob(f"{glob.escape(memory.name)}*")
    try:
        for file in sorted(beside, reverse=True):  # the memory itself is the last one
            shutil.move(file, target.with_name(target.name + file.name[len(memory.name) :]))
    except OSError as error:
        raise Unavailable(f"{memory} cannot be moved to {target}: {error.strerror}.") from error
    return target
