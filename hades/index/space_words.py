"""The words of each space: one inverted index per space.

BM25 weighs a word by how many passages contain it. Statistics over all spaces would reveal the
words of one space to readers of another, so each space has its own index and statistics. It is
updated when a question is asked in its space; writes and questions elsewhere do not affect it.

New notes are kept in memory beside the index (see `words`). When there are enough of them, a thread
merges them into the index. A process reads again what another process has merged.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from hades.errors import HadesError
from hades.index.array_store import (
    UNREADABLE,
    checksum,
    locked,
    own_files,
    read_json,
    set_aside,
    verify,
    verify_arrays,
    write_json,
)
from hades.index.words import Presence, Words, searched_texts
from hades.store.drafts import remove_path
from hades.store.records import Progress
from hades.store.store import Store

MERGED_FROM = 64
MERGED_FROM_SHARE = 0.01
"""The presences beside the index are merged into it when there are this many, or when they reach
this share of those in it. A merge takes longer than a question. Until then the average length of a
passage is out of date."""
OPEN_AT_MOST = 64
"""Number of spaces whose words stay open. Opening one takes a millisecond."""
FORMAT = 2
"""The format of an index; one with another format is rebuilt. 2 stems by language."""
_BATCH = 5_000
_LOCKS = shutil.ignore_patterns("*.lock")
_LOG = logging.getLogger(__name__)

_Files = Mapping[str, Sequence[int]]
_Revision = dict[str, Any]
"""The `generation` and `change` of the memory, the `format` and `folder` of the index, length and
checksum of each of its `files`, and the number of passages and words that it took in
(`lengths`)."""


@dataclass(frozen=True, slots=True)
class _Open:
    """The open word index of one space; it contains every change up to number `seen`."""

    words: Words
    revision: _Revision
    """The revision of the index on disk; later presences are in memory beside it."""
    generation: str
    seen: int


class SpaceWords:
    """The word indexes of a memory, one per space."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self.folder = folder
        self._folder = folder / "spaces"
        self._open: dict[int, _Open] = {}
        self._lock = threading.Lock()
        self._merging: threading.Thread | None = None
        if self._folder.is_file():
            remove_path(self._folder)

    def of(
        self, space: int, generation: str, change: int, on_progress: Progress | None = None
    ) -> Words:
        """Return the word index of a space, with everything written up to a change."""
        with self._lock:
            held = self._open.pop(space, None)
            if held is None or not self._is_current(held, space, generation, change):
                with locked(self.folder):
                    held = self._opened(space, generation, change, held)
            if held.seen != change:
                held = self._caught_up(space, held, change, on_progress)
            while len(self._open) >= OPEN_AT_MOST:
                self._open.pop(next(iter(self._open)))
            self._open[space] = held
            most = min(MERGED_FROM, MERGED_FROM_SHARE * held.words.lengths[0] or MERGED_FROM)
            if len(held.words.recent) >= most and not (self._merging and self._merging.is_alive()):
                self._merging = threading.Thread(target=self._merge, args=(space, held))
                self._merging.start()
            return held.words

    def finish(self) -> None:
        """Wait for the thread that merges, if one is running."""
        if self._merging is not None:
            self._merging.join()

    def _is_current(self, held: _Open, space: int, generation: str, change: int) -> bool:
        """Return whether the open words can be updated by reading only later changes."""
        purged = held.seen != change and self._store.changefeed.since("purged", held.seen)
        if purged or held.generation != generation or held.seen > change:
            return False
        revision = self._revision(space)
        # Another process may have merged more than this question sees.
        return revision == held.revision or int(revision.get("change", 0)) > change

    def _opened(self, space: int, generation: str, change: int, held: _Open | None) -> _Open:
        """Open the index on disk. Remove an unusable one and return an empty index instead."""
        revision = self._revision(space)
        words = self._verified(space, revision, held)
        since = int(revision.get("change", 0))
        is_of_it = (
            revision.get("generation") == generation
            and since <= change
            and revision.get("format") == FORMAT
        )
        if words is not None and is_of_it and not self._store.changefeed.since("purged", since):
            return _Open(words, revision, generation, since)
        # Segments keep the words of purged texts until they are rewritten.
        for old in self._folder.glob(f"{space}.*"):
            remove_path(old)
        return _Open(Words(), {}, generation, 0)

    def _caught_up(
        self, space: int, held: _Open, change: int, on_progress: Progress | None
    ) -> _Open:
        """Return the open index with everything written up to a change."""
        batches = self._store.changefeed.said(space, held.seen, _BATCH)
        new = next(batches, [])
        if len(new) < MERGED_FROM:
            words = held.words.with_recent(self._presences([new], None)) if new else held.words
            return replace(held, words=words, seen=change)
        with locked(self.folder):
            held = self._opened(space, held.generation, change, held)
            batches = self._store.changefeed.said(space, held.seen, _BATCH)
            return self._written(space, held, change, self._presences(batches, on_progress))

    def _written(
        self, space: int, held: _Open, change: int, presences: Iterable[tuple[Presence, str]]
    ) -> _Open:
        """Write presences into the index, which is then complete up to a change.

        Each write makes a new folder, so a killed process leaves the old one intact.
        """
        old = held.revision
        noted = self._folder / f"{space}.json"
        folder = self._folder / f"{space}.{secrets.token_hex(6)}"
        if old:
            last = self._folder / old["folder"]
            shutil.copytree(last, folder, ignore=_LOCKS, copy_function=_link)
        words = Words(folder, old.get("lengths", (0, 0))).put(presences)
        revision = {
            "generation": held.generation,
            "change": change,
            "folder": folder.name,
            "format": FORMAT,
            "files": _files(folder, old.get("files", {})),
            "lengths": list(words.lengths),
        }
        write_json(noted, revision)
        for path in {*self._folder.glob(f"{space}.*")} - {folder, noted}:
            remove_path(path)
        return _Open(words, revision, held.generation, change)

    def _merge(self, space: int, held: _Open) -> None:
        """Merge the presences beside the index into it; runs in a thread."""
        presences = [(row.presence, row.raw) for row in held.words.recent.values()]
        try:
            with locked(self.folder):
                # Another process may have merged, or the memory was replaced, or texts were purged.
                if not self._is_current(held, space, *self._store.changefeed.revision()):
                    return
                merged = self._written(space, held, held.seen, presences)
        except HadesError:
            return  # the memory was closed, or the index is locked: merge next time
        except UNREADABLE as error:
            _LOG.warning("the index %s cannot be written: %s", self._folder, error)
            return
        with self._lock:
            self._open[space] = merged

    def _verified(self, space: int, revision: _Revision, held: _Open | None) -> Words | None:
        """Verify the index of a revision and open it. Return None if it is missing or damaged."""
        known = held.revision.get("files", {}) if held is not None else {}
        try:
            folder = self._folder / revision["folder"]
            verify(_bodies(folder, revision["files"], known), self.folder)
            return Words(folder, revision.get("lengths", (0, 0)))
        except UNREADABLE as error:
            if revision:
                set_aside(self._folder / f"{space}.json", error)
            return None

    def _revision(self, space: int) -> _Revision:
        path = self._folder / f"{space}.json"
        try:
            return read_json(path)
        except FileNotFoundError:
            return {}
        except UNREADABLE as error:
            set_aside(path, error)
            return {}

    def _presences(
        self, batches: Iterable[Sequence[tuple[Any, ...]]], on_progress: Progress | None
    ) -> Iterator[tuple[Presence, str]]:
        done = 0
        for batch in batches:
            texts = searched_texts(self._store, sorted({row[1] for row in batch}))
            for row in batch:
                yield Presence(*row), texts.get(row[1], "")
            done += len(batch)
            if on_progress is not None:
                on_progress("indexing words", done, done)


def words_on_disk(store: Store, space: int) -> tuple[Words, int]:
    """Return the words of a space on disk and their change, or empty words and 0.

    Nothing is locked, verified or written. The caller checks every hit in the store.
    """
    folder = store.index_folder / "spaces"
    with suppress(*UNREADABLE):
        revision = read_json(folder / f"{space}.json")
        own = folder / str(revision["folder"])
        change = int(revision["change"])
        if revision["generation"] == store.changefeed.revision()[0] and own.is_dir():
            return _opened(own, change), change
    return Words(), 0


@lru_cache(maxsize=8)
def _opened(folder: Path, _change: int) -> Words:
    return Words(folder)


def forget_opened() -> None:
    """Close the files that `words_on_disk` keeps open."""
    _opened.cache_clear()


def damaged(folder: Path) -> dict[Path, str]:
    """Map the damaged files of an index folder to the fault of each."""
    faults: dict[Path, str] = {}
    if not folder.is_dir():
        return faults
    with ExitStack() as held:
        with suppress(OSError):  # a read-only folder is checked without the lock
            held.enter_context(locked(folder))
        for path in (*own_files(folder), *folder.glob("spaces/*.json")):
            try:
                if path.suffix == ".json":
                    revision = read_json(path)
                    verify(_bodies(path.parent / revision["folder"], revision["files"], {}))
                elif path.name != "spaces":
                    verify_arrays(path)
            except UNREADABLE as error:
                faults[path] = str(error)
    return faults


def _bodies(folder: Path, files: _Files, known: _Files) -> dict[Path, tuple[int, int, int]]:
    """Return what to verify of the files that are not in `known`, as `verify` takes it."""
    new = {name: file for name, file in files.items() if known.get(name) != file}
    return {folder / name: (0, size, checksum) for name, (size, checksum) in new.items()}


def _link(file: str, to: str) -> None:
    """Link a file, or copy it. tantivy never changes a file, it only replaces it."""
    try:
        os.link(file, to)
    except OSError:  # the file system has no hard links
        shutil.copyfile(file, to)


def _files(folder: Path, known: _Files) -> _Files:
    """Return length and checksum of each file of an index, from `known` if it cannot change."""
    files = {}
    for path in folder.iterdir():
        if path.suffix == ".lock":
            continue
        files[path.name] = known.get(path.name, [])
        if not files[path.name] or path.suffix == ".json":
            with path.open("rb") as file:
                files[path.name] = [path.stat().st_size, checksum(file)]
    return files
