"""Checking: whether every index file is as it was written."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from pathlib import Path

from hades.index.array_store import UNREADABLE, locked, verify_arrays
from hades.index.space_words import verify_words


def damaged(folder: Path) -> dict[Path, str]:
    """What is wrong with the files of an index folder, by the file that stands for it."""
    found: dict[Path, str] = {}
    with ExitStack() as held:
        with suppress(OSError):  # may it be read at all, it is looked at
            held.enter_context(locked(folder))
        arrays = [(path, verify_arrays) for path in folder.glob("*")]
        for path, look in (*arrays, *((one, verify_words) for one in folder.glob("spaces/*.json"))):
            if path.name in ("lock", "spaces") or path.name.startswith("."):
                continue
            try:
                look(path)
            except UNREADABLE as error:
                found[path] = str(error)
    return found
