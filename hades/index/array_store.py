"""Array store: arrays of one kind saved together beside the memory.

Each saving makes a new folder and then points at it, so a reader finds the old arrays or
the new ones, never a mixture. Whatever is wrong with them, they can be made anew.
"""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

UNREADABLE = (OSError, ValueError, KeyError, TypeError, EOFError)
"""What reading a damaged file can raise."""


class ArrayStore:
    """One kind of arrays in the index folder."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self._name = name

    def load(self, stand: dict[str, Any], now: int, read: Callable[[Path], None]) -> int | None:
        """Read what was saved for this stand; the change it is at, None when there is none.

        What stands at a later change than `now` is of a file that was put back since.
        """
        try:
            folder = self._folder / (self._folder / self._name).read_text().strip()
            saved = json.loads((folder / "stand.json").read_text())
            if any(saved[key] != value for key, value in stand.items()):
                return None
            if int(saved["change"]) > now:
                return None
            read(folder)
            return int(saved["change"])
        except UNREADABLE:
            return None

    def save(self, stand: dict[str, Any], change: int, write: Callable[[Path], None]) -> None:
        """Save arrays for a stand at a change; older ones go."""
        name = f"{self._name}-{secrets.token_hex(6)}"
        folder = self._folder / name
        folder.mkdir(parents=True)
        write(folder)
        write_json(folder / "stand.json", {**stand, "change": change})
        draft = self._folder / f".{name}"
        draft.write_text(name)
        os.replace(draft, self._folder / self._name)
        for old in self._folder.glob(f"{self._name}-*"):
            if old.name != name:
                shutil.rmtree(old, ignore_errors=True)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process at a time; the lock itself is never removed."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / "lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def drop_files(folder: Path) -> None:
    """Remove everything that is derived; whoever has it open makes it anew."""
    with locked(folder):
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif path.name != "lock":
                path.unlink(missing_ok=True)


def write_json(path: Path, data: dict[str, Any]) -> None:
    """Replace a small file at once."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    draft.write_text(json.dumps(data))
    os.replace(draft, path)
