"""The words of each space: an inverted index a space.

BM25 weighs a word by how many passages have it. Over all spaces together that would tell a
reader of one which words another has, so each space has an index, and statistics, of its own.
It is brought up to date when somebody asks in its space: what is written and asked elsewhere
changes nothing in it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hades.domain.graph import NodeKind
from hades.index.array_store import locked, remove, write_json
from hades.index.words import Presence, Words, searched_text
from hades.store.records import Progress
from hades.store.store import Store

OPEN_AT_MOST = 64
"""Spaces whose words stay open; opening one takes a millisecond."""
_BATCH = 5_000

_Stand = dict[str, Any]
"""Which memory's words these are (`generation`), up to which `change`, and in which `folder`."""


@dataclass(frozen=True, slots=True)
class _Open:
    """The words of a space, and the change up to which nothing of it is missing in them."""

    words: Words
    stand: _Stand
    seen: int


class SpaceWords:
    """The words of the spaces of a memory."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store, self._index_folder, self._folder = store, folder, folder / "spaces"
        self._open: dict[int, _Open] = {}
        for old in ("words.json", "words"):  # all spaces in one, as it once was
            remove(folder / old)

    def of(
        self, space: int, generation: str, change: int, on_progress: Progress | None = None
    ) -> Words:
        """The words of a space up to a change."""
        held = self._open.pop(space, None)
        if held is None or held.seen != change or held.stand != self._stand(space):
            with locked(self._index_folder):
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
        words = self._opened(stand, held)
        since = held.seen if held and held.stand == stand else int(stand.get("change", 0))
        purged = [
            node >> 3 for (node,) in feed.since("purged", since) if node & 7 == NodeKind.CHUNK
        ]
        is_of_it = stand.get("generation") == generation and since <= change
        if words is None or not is_of_it or words.has(purged):
            # Segments keep the words of what was purged until they are written anew.
            for old in self._folder.glob(f"{space}.*"):
                remove(old)
            stand, since = {"folder": f"{space}.{secrets.token_hex(6)}"}, 0
            words = Words(self._folder / stand["folder"])
        rows = feed.said(space, since)
        if rows:
            words.put(self._presences(rows, on_progress))
        if rows or purged or not since:
            stand = {"generation": generation, "change": change, "folder": stand["folder"]}
            write_json(self._folder / f"{space}.json", stand)
        return _Open(words, stand, change)

    def _opened(self, stand: _Stand, held: _Open | None) -> Words | None:
        """The words of a stand as they are now; None when there are none, or damaged ones."""
        if held is not None and held.stand.get("folder") == stand.get("folder"):
            if held.stand != stand:
                held.words.reload()  # another process brought them up to date
            return held.words
        try:
            return Words(self._folder / stand["folder"])
        except (KeyError, ValueError, OSError):
            return None

    def _stand(self, space: int) -> _Stand:
        try:
            stand: _Stand = json.loads((self._folder / f"{space}.json").read_text())
            return stand
        except (OSError, ValueError):
            return {}

    def _presences(
        self, rows: Sequence[tuple[Any, ...]], on_progress: Progress | None
    ) -> Iterator[Presence]:
        found = self._store.chunks
        for first in range(0, len(rows), _BATCH):
            batch = rows[first : first + _BATCH]
            wanted = sorted({row[1] for row in batch})
            texts, headings, tags = found.texts(wanted), found.headings(wanted), found.tags(wanted)
            for id_, chunk, topic, note, *times in batch:
                text = searched_text(headings.get(chunk, ""), texts.get(chunk, ""), tags.get(chunk))
                yield Presence(id_, chunk, topic, bool(note), text, *times)
            if on_progress is not None:
                on_progress("indexing words", first + len(batch), len(rows))
