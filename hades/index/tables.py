"""The rows the graph is made of, as arrays: who is mentioned where, what is related.

They hold everything at all times; `Web` reads from them what counts at one moment. They
stand at a change number and catch up like the rest of the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hades.domain.graph import NodeKind
from hades.index.columns import Columns
from hades.index.shelf import Shelf, locked
from hades.index.terms import Terms
from hades.index.words import stems
from hades.store.port import Progress, Store

FORMAT = 1
SAVED_AFTER_ROWS = 5_000
_BATCH_ROWS = 200_000
_BATCH_TEXTS = 2_000

_ENTITY_BITS = 31
"""A mention is known by its chunk and its entity, in one number."""

_TIMES = ("valid_from", "valid_to", "recorded_at", "retired_at")
_TABLES: dict[str, tuple[str, dict[str, Any]]] = {
    "entities": ("id", {"id": np.int64, "space": np.int32, "origin": np.int8}),
    "links": (
        "id",
        {
            "id": np.int64,
            "chunk": np.int64,
            "source": np.int64,
            "relation": np.int32,
            "target": np.int64,
            "weight": np.float32,
        },
    ),
    "edges": (
        "row",
        {
            "row": np.int64,
            "id": np.int64,
            "space": np.int32,
            "source": np.int64,
            "relation": np.int32,
            "target": np.int64,
            "weight": np.float32,
            **dict.fromkeys(_TIMES, np.int64),
        },
    ),
    "merges": (
        "id",
        dict.fromkeys(("id", "space", "entity", "target", "recorded_at", "retired_at"), np.int64),
    ),
    "subjects": ("topic", {"topic": np.int64, "entity": np.int64}),
    "order": ("chunk", {"chunk": np.int64, "topic": np.int64, "ordinal": np.int32}),
}
_MENTIONS = {"key": np.int64, "introduces": np.int8, "first": np.int64, "count": np.int32}


class Tables:
    """Mentions, stated links, edges, merges and the order of chunks."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._shelf = Shelf(folder, "links")
        self._places: npt.NDArray[np.uint32] = np.zeros(0, np.uint32)
        self._forget("")
        generation = store.feed.stand()[0]
        with locked(folder):
            change = self._shelf.load(self._stand(generation), self._read)
        if change is None:
            self._forget("")
        else:
            self._generation, self.change = generation, change

    def __getitem__(self, name: str) -> Columns:
        return self._columns[name]

    @property
    def mentions(self) -> Columns:
        """key (chunk and entity), introduces (an origin, or 0), first and count of places."""
        return self._mentions

    @property
    def places(self) -> npt.NDArray[np.uint32]:
        """All places of all mentions, one after another."""
        return self._places

    def chunk_of(self, keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The chunks of mentions."""
        return keys >> _ENTITY_BITS

    def entity_of(self, keys: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The entities of mentions."""
        return keys & ((1 << _ENTITY_BITS) - 1)

    def catch_up(self, on_progress: Progress | None = None) -> bool:
        """Read what was written since; whether there was anything."""
        generation, change = self._store.feed.stand()
        if (generation, change) == (self._generation, self.change):
            return False
        if generation != self._generation:
            self._forget(generation)
        new = self._catch_up_mentions(on_progress) + self._catch_up_terms(on_progress)
        for name, columns in self._columns.items():
            rows = self._store.feed.since(name, self.change)
            columns.put(rows)
            new += 0 if name == "subjects" else len(rows)  # those are read whole each time
        self._drop_purged()
        self.change = change
        if new >= SAVED_AFTER_ROWS:
            with locked(self._folder):
                self._shelf.save(self._stand(generation), change, self._write)
        return True

    def _catch_up_mentions(self, on_progress: Progress | None) -> int:
        after, new = (0, 0), 0
        while rows := self._store.feed.mentions(self.change, after, _BATCH_ROWS):
            self._put_mentions(rows)
            after, new = (rows[-1][0], rows[-1][1]), new + len(rows)
            if on_progress is not None and new >= _BATCH_ROWS:
                on_progress("reading the graph", new, new)
            if len(rows) < _BATCH_ROWS:
                break
        return new

    def _catch_up_terms(self, on_progress: Progress | None) -> int:
        chunks = [row[0] for row in self._store.feed.since("chunks", self.change)]
        for first in range(0, len(chunks), _BATCH_TEXTS):
            batch = chunks[first : first + _BATCH_TEXTS]
            texts, headings = (
                self._store.passages.texts(batch),
                self._store.passages.headings(batch),
            )
            self.terms.put((one, stems(f"{headings[one]} {texts.get(one, '')}")) for one in batch)
            if on_progress is not None and len(chunks) > _BATCH_TEXTS:
                on_progress("reading words", min(first + _BATCH_TEXTS, len(chunks)), len(chunks))
        return len(chunks)

    def _put_mentions(self, rows: Sequence[tuple[int, int, int | None, bytes | None]]) -> None:
        chunks = np.array([row[0] for row in rows], np.int64)
        entities = np.array([row[1] for row in rows], np.int64)
        counts = np.array([len(row[3] or b"") // 4 for row in rows], np.int32)
        firsts = len(self._places) + np.concatenate([[0], np.cumsum(counts)[:-1]])
        self._mentions.put_arrays(
            {
                "key": chunks << _ENTITY_BITS | entities,
                "introduces": np.array([row[2] or 0 for row in rows], np.int8),
                "first": firsts.astype(np.int64),
                "count": counts,
            }
        )
        places = np.frombuffer(b"".join(row[3] or b"" for row in rows), np.uint32)
        self._places = np.concatenate([self._places, places])

    def _drop_purged(self) -> None:
        nodes = np.array(
            [row[0] for row in self._store.feed.since("purged", self.change)], np.int64
        )
        if not len(nodes):
            return
        gone = {kind: nodes[nodes & 7 == kind] >> 3 for kind in NodeKind}
        keys = self._mentions["key"]
        self._mentions.keep(
            ~np.isin(self.chunk_of(keys), gone[NodeKind.CHUNK])
            & ~np.isin(self.entity_of(keys), gone[NodeKind.ENTITY])
        )
        for name in ("links", "edges"):
            table = self._columns[name]
            table.keep(~np.isin(table["source"], nodes) & ~np.isin(table["target"], nodes))
        links, order = self._columns["links"], self._columns["order"]
        links.keep(~np.isin(links["chunk"], gone[NodeKind.CHUNK]))
        order.keep(~np.isin(order["chunk"], gone[NodeKind.CHUNK]))
        self.terms.drop(gone[NodeKind.CHUNK])
        self._columns["entities"].drop(gone[NodeKind.ENTITY])
        self._columns["subjects"].drop(gone[NodeKind.TOPIC])

    def _forget(self, generation: str) -> None:
        self._columns = {name: Columns(key, types) for name, (key, types) in _TABLES.items()}
        self._mentions = Columns("key", _MENTIONS)
        self._places = np.zeros(0, np.uint32)
        self.terms = Terms()
        self._generation, self.change = generation, 0

    def _read(self, folder: Path) -> None:
        for name, columns in self._columns.items():
            columns.load(folder, name)
        self._mentions.load(folder, "mentions")
        self._places = np.load(folder / "places.npy", mmap_mode="r")
        self.terms.load(folder)

    def _write(self, folder: Path) -> None:
        for name, columns in self._columns.items():
            columns.save(folder, name)
        self._mentions.save(folder, "mentions")
        np.save(folder / "places.npy", self._places)
        self.terms.save(folder)

    def _stand(self, generation: str) -> dict[str, Any]:
        return {"format": FORMAT, "generation": generation}
