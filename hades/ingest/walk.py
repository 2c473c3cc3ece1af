"""Which files there are to read: a folder without what its ignore files leave out.

`.gitignore` and `.hadesignore` are respected at every level, as git does it. Hidden files
and folders are passed over, links to folders are not followed, so a loop cannot trap us.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hades.ingest.ignore import IgnoreRule, is_ignored, read_rules

IGNORE_FILES = (".gitignore", ".hadesignore")
_ALWAYS_IGNORED = frozenset({"__pycache__", "node_modules"})


def walk(root: Path) -> Iterator[Path | Unwalkable]:
    """The files below a folder, in a stable order, and what could not be looked at."""
    yield from _below(root, [])


@dataclass(frozen=True, slots=True)
class Unwalkable:
    """A path that could not be looked at, and why."""

    path: Path
    why: str


Rules = list[tuple[Path, list[IgnoreRule]]]


def _below(folder: Path, rules: Rules) -> Iterator[Path | Unwalkable]:
    try:
        rules = [*rules, *_rules_of(folder)]
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield Unwalkable(folder, error.strerror or str(error))
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith(".") or entry.name in _ALWAYS_IGNORED or _ours(entry.name):
            continue
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            is_file = entry.is_file()
        except OSError as error:
            yield Unwalkable(path, error.strerror or str(error))
            continue
        if _ignored(path, is_folder, rules):
            continue
        if is_folder:
            yield from _below(path, rules)
        elif is_file:
            yield path


def _ours(name: str) -> bool:
    """A memory and what lies beside it are not knowledge to take in."""
    return name.endswith((".hades", ".hades-wal", ".hades-shm", ".hades.index", ".hades.uploads"))


def _rules_of(folder: Path) -> Rules:
    found: Rules = []
    for name in IGNORE_FILES:
        file = folder / name
        if file.is_file():
            lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
            found.append((folder, read_rules(lines)))
    return found


def _ignored(path: Path, is_folder: bool, rules: Rules) -> bool:
    """The last rule that speaks of a path decides, the innermost file last."""
    for folder, own in reversed(rules):
        said = is_ignored(own, path.relative_to(folder).as_posix(), is_folder)
        if said is not None:
            return said
    return False
