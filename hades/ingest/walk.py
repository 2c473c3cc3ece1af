"""The files of a folder, without ignored ones.

`.gitignore` and `.hadesignore` apply at every level, as in git. Hidden files and folders are
skipped. Unless links are followed, a link to a folder is skipped, and a link that leads out of the
root is reported. No folder is walked twice, so a loop of links ends.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

from hades.ingest.ignore import IgnoreRule, is_ignored, read_rules

IGNORE_FILES = (".gitignore", ".hadesignore")
_ALWAYS_IGNORED = frozenset({"__pycache__", "node_modules"})
IGNORE_BYTES_AT_MOST = 64 * 1024
NO_FILE = "It is neither a file nor a folder."
LEADS_OUT = "It is a link that leads out of the folder: --follow-links takes it in."

Found = tuple[Path, str]
"""A path and the reason why it cannot be read; empty for a file that probably can."""
Rules = list[tuple[Path, list[IgnoreRule]]]


def walk(root: Path, *, follow_links: bool = False) -> Iterator[Found]:
    """Yield the files below a folder, sorted, and the paths that cannot be read, with reasons."""
    yield from _below(root, [], root.resolve(), set() if follow_links else None)


def _below(folder: Path, rules: Rules, root: Path, walked: set[Path] | None) -> Iterator[Found]:
    """Walk a folder and those below. `walked` are real folders so far; None: follow no links."""
    try:
        if walked is not None:
            if (real := folder.resolve()) in walked:
                return
            walked.add(real)
        rules = [*rules, *_rules_of(folder)]
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError as error:
        yield folder, _why_unreadable(error)
        return
    for entry in entries:
        path = Path(entry.path)
        if entry.name.startswith(".") or entry.name in _ALWAYS_IGNORED or _ours(entry.name):
            continue
        try:
            is_folder = entry.is_dir()
            is_file = entry.is_file()
            leads_out = entry.is_symlink() and not path.resolve().is_relative_to(root)
        except OSError as error:
            yield path, _why_unreadable(error)
            continue
        if _ignored(path, is_folder, rules):
            continue
        if leads_out and walked is None:
            yield path, LEADS_OUT
        elif is_folder and (walked is not None or not entry.is_symlink()):
            yield from _below(path, rules, root, walked)
        elif is_file:
            yield path, ""
        elif not is_folder:
            yield path, NO_FILE


def _why_unreadable(error: OSError) -> str:
    return f"It cannot be read: {error.strerror or error}."


def _ours(name: str) -> bool:
    """Return whether a file belongs to a memory: these are never ingested."""
    return name.endswith((".hades", ".hades-wal", ".hades-shm", ".hades.index", ".hades.uploads"))


def _rules_of(folder: Path) -> Rules:
    rules: Rules = []
    for name in IGNORE_FILES:
        file = folder / name
        if file.is_file() and not file.is_symlink():
            with file.open("rb") as opened:
                content = opened.read(IGNORE_BYTES_AT_MOST + 1)
            if len(content) > IGNORE_BYTES_AT_MOST:
                raise OSError(errno.EFBIG, f"its {name} is larger than {IGNORE_BYTES_AT_MOST:,} B")
            rules.append((folder, read_rules(content.decode(errors="replace").splitlines())))
    return rules


def _ignored(path: Path, is_folder: bool, rules: Rules) -> bool:
    """Return whether the last matching rule ignores a path; inner ignore files come last."""
    for folder, own in reversed(rules):
        verdict = is_ignored(own, path.relative_to(folder).as_posix(), is_folder)
        if verdict is not None:
            return verdict
    return False
