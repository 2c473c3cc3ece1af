"""The words of each space: an inverted index a space.

BM25 weighs a word by how many passages have it. Over all spaces together that would tell a
reader of one which words another has, so each space has an index, and statistics, of its own.
It is brought up to date when somebody asks in its space: what is written and asked elsewhere
changes nothing in it. (tantivy counts replaced versions until it merges segments, so that it
matters when this is done.)
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

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

OPEN_AT_MOST = 64
"""Spaces whose words stay open; opening one takes a millisecond."""
_BATCH = 5_000

_Files = Mapping[str, Sequence[int]]
_Stand = dict[str, Any]
"""Which memory's words these are (`generation`), up to which `change`, in which `folder`, and
length and checksum of each of its `files`."""


@dataclass(frozen=True, slots=True)
class _Open:
    """The words of a space, and the change up to which nothing of it is missing in them."""

    words: Words
    stand: _Stand
    seen: int


class SpaceWords:
    """The words of the spaces of a memory."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store, self.folder, self._folder = store, folder, folder / "spaces"
        self._open: dict[int, _Open] = {}
        self._lock = threading.Lock()
        for old in ("words.json", "words"):  # all spaces in one, as it once was
            remove_path(folder / old)
        if self._folder.is_file():
            remove_path(self._folder)

    def of(
        self, space: int, generation: str, change: int, on_progress: Progress | None = None
    ) -> Words:
        """The words of a space up to a change."""
        with self._lock:
            held = self._open.pop(space, None)
            if held is None or held.seen != change or held.stand != self._stand(space):
                with locked(self.folder):
                    held = self._catch_up(space, generation, change, held, on_progress)
            while len(self._open) >= OPEN_AT_MOST:
                self._open.pop(next(iter(self._open)))
            self._open[space] = held
            return held.words

    def _catch_up(
        self,
        space: int,
        generation: str,
        change: int,
        held: _Open | None,
        on_progress: Progress | None,
    ) -> _Open:
        stand, feed = self._stand(space), self._store.changefeed
        words = self._opened(space, stand, held)
        since = held.seen if held and held.stand == stand else int(stand.get("change", 0))
        is_of_it = stand.get("generation") == generation and since <= change
        if words is None or not is_of_it or feed.since("purged", since):
            # Segments keep the words of what was purged until they are written anew.
            for old in self._folder.glob(f"{space}.*"):
                remove_path(old)
            stand, since = {"folder": f"{space}.{secrets.token_hex(6)}", "files": {}}, 0
            words = Words(self._folder / stand["folder"])
        batches = feed.said(space, since, _BATCH)
        first = next(batches, None)
        if first is not None:
            words.put(self._presences(chain([first], batches), on_progress))
        if first is not None or not since:
            files = _files(self._folder / stand["folder"], stand["files"])
            stand = {**stand, "generation": generation, "change": change, "files": files}
            write_json(self._folder / f"{space}.json", stand)
        return _Open(words, stand, change)

    def _opened(self, space: int, stand: _Stand, held: _Open | None) -> Words | None:
        """The words of a stand as they are now; None when there are none, or damaged ones."""
        is_held = held is not None and held.stand.get("folder") == stand.get("folder")
        known = held.stand["files"] if held is not None and is_held else {}
        noted = self._folder / f"{space}.json"
        try:
            folder = self._folder / stand["folder"]
            new = _bodies(folder, stand["files"], known)
            verify(new, self.folder)
            if held is None or not is_held:
                return Words(folder)
            if new:
                held.words.reload()  # another process brought them up to date
            return held.words
        except UNREADABLE as error:
            if stand:
                set_aside(noted, error)
            return None

    def _stand(self, space: int) -> _Stand:
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
            said = searched_texts(self._store, sorted({row[1] for row in batch}))
            for row in batch:
                yield Presence(*row), said.get(row[1], "")
            done += len(batch)
            if on_progress is not None:
                on_progress("indexing words", done, done)


def damaged(folder: Path) -> dict[Path, str]:
    """What is wrong with the files of an index folder, by the file that stands for it."""
    found: dict[Path, str] = {}
    if not folder.is_dir():
        return found
    with ExitStack() as held:
        with suppress(OSError):  # where it may only be read, it is looked at all the same
            held.enter_context(locked(folder))
        for path in (*own_files(folder), *folder.glob("spaces/*.json")):
            try:
                if path.suffix == ".json":
                    stand = read_json(path)
                    verify(_bodies(path.parent / stand["folder"], stand["files"], {}))
                elif path.name != "spaces":
                    verify_arrays(path)
            except UNREADABLE as error:
                found[path] = str(error)
    return found


def _bodies(folder: Path, files: _Files, known: _Files) -> dict[Path, tuple[int, int, int]]:
    """The files that are not known yet, to be verified."""
    new = {name: file for name, file in files.items() if known.get(name) != file}
    return {folder / name: (0, size, checksum) for name, (size, checksum) in new.items()}


def _files(folder: Path, known: _Files) -> _Files:
    """Length and checksum of the files of an index; segments never change, its lists do."""
    files = {}
    for path in folder.iterdir():
        if path.suffix == ".lock":
            continue
        files[path.name] = known.get(path.name, [])
        if not files[path.name] or path.suffix == ".json":
            with path.open("rb") as file:
                files[path.name] = [path.stat().st_size, checksum(file)]
    return files
