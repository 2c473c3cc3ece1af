"""The state of a mirror: what its last pass left in the folder."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from stat import S_ISREG

from hades.errors import InvalidInput
from hades.exchange.markdown import write_note

STATE_FILE = ".hades-mirror.json"
STATE_BYTES_AT_MOST = 64 * 2**20
UNSURE_S = 2.0
"""A file that changed so recently may change again without another time, as FAT has only even
seconds. Its time is not trusted."""


@dataclass(frozen=True, slots=True)
class SyncedFile:
    """The topic and version of a file after its last sync, and its time and size."""

    topic: str
    version: int
    modified: int = 0
    size: int = 0

    def is_untouched(self, path: Path) -> bool:
        """Return whether a file surely is as it was."""
        found = path.lstat()
        return S_ISREG(found.st_mode) and (found.st_mtime_ns, found.st_size) == (
            self.modified,
            self.size,
        )


def synced_file(path: Path, topic: str, version: int) -> SyncedFile:
    """Describe a file that was just written or read."""
    found = path.lstat()
    is_sure = time.time() - found.st_mtime > UNSURE_S
    return SyncedFile(topic, version, found.st_mtime_ns if is_sure else 0, found.st_size)


def load_synced(root: Path, identity: str) -> dict[str, SyncedFile]:
    """Return the files of the last pass by path; raise InvalidInput if they are another memory's.

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
    """Remember the files of a sync."""
    data = {"memory": identity, "files": {name: asdict(files[name]) for name in sorted(files)}}
    raw = json.dumps(data, ensure_ascii=True, indent=1).encode()
    path = root / STATE_FILE
    if not path.is_file() or path.read_bytes() != raw:
        write_note(root, STATE_FILE, raw)
