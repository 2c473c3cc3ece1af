"""The state of a mirror: what its last pass left in the folder."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from hades.errors import InvalidInput
from hades.exchange.markdown import write_note

STATE_FILE = ".hades-mirror.json"
STATE_BYTES_AT_MOST = 64 * 2**20
UNSURE_S = 2.0
"""A file that changed this recently may change again without a new time, since FAT counts in two
seconds."""


@dataclass(frozen=True, slots=True)
class SyncedFile:
    """The topic and version of a file after its last pass, and its stamp."""

    topic: str
    version: int
    stamp: str = ""


def stamp_of(path: Path) -> str:
    """Return the time and size of a file, or "" if it changed too recently to trust them."""
    status = path.lstat()
    is_sure = time.time() - status.st_mtime > UNSURE_S
    return f"{status.st_mtime_ns} {status.st_size}" if is_sure else ""


def load_synced(root: Path, identity: str) -> dict[str, SyncedFile]:
    """Return the files of the last pass by path; raise InvalidInput if they belong to another
    memory.

    `identity` stands for the memory and the space.
    """
    path = root / STATE_FILE
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(STATE_BYTES_AT_MOST))
        owner = data["memory"]
        files = {name: SyncedFile(**values) for name, values in data["files"].items()}
        if not all(type(it.topic) is str and type(it.version) is int for it in files.values()):
            raise TypeError("not a topic and a version")
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise InvalidInput(f"{path} is damaged: delete it, and mirror again.") from error
    if owner != identity:
        raise InvalidInput(
            f"{root} mirrors another memory or space: choose another folder, or delete {path}."
        )
    return files


def save_synced(root: Path, identity: str, files: dict[str, SyncedFile]) -> None:
    """Store the files of a pass."""
    data = {"memory": identity, "files": {name: asdict(files[name]) for name in sorted(files)}}
    raw = json.dumps(data, ensure_ascii=True, indent=1).encode()
    path = root / STATE_FILE
    if not path.is_file() or path.read_bytes() != raw:
        write_note(root, STATE_FILE, raw)
