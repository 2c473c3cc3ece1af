"""The rows the graph is made of, as arrays: who is mentioned where, what is related.

They hold everything at all times; `GraphView` reads from them what counts at one moment. They
stand at a change number and catch up like the rest of the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hades.domain.graph import NodeKind, row_of
from hades.graph.arrays import Floats32, Ints
from hades.index.columns import Columns
from hades.index.derived import TIMES, Derived, TableTypes
from hades.index.terms import ChunkTerms
from hades.index.words import searched_texts, stems
from hades.store.records import Progress
from hades.store.store import Store

SAVED_AFTER_ROWS = 5_000
_BATCH_ROWS = 200_000
_BATCH_TEXTS = 2_000

_ENTITY_BITS = 31
"""A mention is known by its chunk and its entity, in one number."""

_ENDS = {"source": np.int64, "relation": np.int32, "target": np.int64, "weight": np.float32}
_TABLES: TableTypes = {
    "entities": {"id": np.int64, "space": np.int32, "origin": np.int8, "recorded_at": np.int64},
    "derived_edges": {"id": np.int64, "chunk": np.int64, **_ENDS},
    "edges": {
        "row": np.int64,
        "id": np.int64,
        "space": np.int32,
        **_ENDS,
        **dict.fromkeys(TIMES, np.int64),
    },
    "merges": dict.fromkeys(
        ("id", "space", "entity", "target", "recorded_at", "retired_at"), np.int64
    ),
    "subjects": {"topic": np.int64, "entity": np.int64},
    "order": {"chunk": np.int64, "topic": np.int64, "ordinal": np.int32, "turn": np.bool_},
}
_MENTIONS = {
    "key": np.int64,
    "chunk": np.int32,
    "entity": np.int32,
    "introduces": np.int8,
    "first": np.int64,
    "count": np.int32,
    "singles": np.int32,
    "capitals": np.int32,
}
"""Chunk and entity by number (their place among all, which only grows); where its places
are; and of those of one word how many there are, and how many begin with a capital."""


_NONE: npt.NDArray[np.int32] = np.zeros(0, np.int32)


@dataclass(slots=True)
class TableChanges:
    """What a catching up brought: enough to repair a graph instead of making it anew."""

    chunks: list[npt.NDArray[np.int32]] = field(default_factory=list)
    """The numbers of chunks with new mentions."""
    everything: bool = False
    """Entities were merged or split, or something was purged: nothing can be kept."""

    def with_(self, other: TableChanges) -> TableChanges:
        """Both together."""
        everything = self.everything or other.everything
        if everything:
            return TableChanges(everything=True)
        return TableChanges([np.unique(np.concatenate([_NONE, *self.chunks, *other.chunks]))])


class ReadTerms(ChunkTerms):
    """The words of chunks, read from their texts when somebody asks for them."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store

    def having(self, chunks: Ints, terms: Sequence[str]) -> Floats32:
        """By chunk and term: 1 where the chunk has the term."""
        said = searched_texts(self.store, chunks.tolist())
        self.put((one, stems(text)) for one, text in said.items())
        return super().having(chunks, terms)


class Tables(Derived):
    """Mentions, stated links, edges, merges and the order of chunks."""

    NAME, FORMAT, FED, OWN = "links", 6, _TABLES, {"mentions": _MENTIONS}
    terms: ChunkTerms

    def __init__(self, store: Store, folder: Path, *, saved: bool = True) -> None:
        super().__init__(store, folder, saved=saved)
        self.read_at = self.change
        """The change these were read at from files; 0: they are made anew."""

    @property
    def mentions(self) -> Columns:
        """key (chunk and entity), introduces (an origin, or 0), first and count of places."""
        return self["mentions"]

    @property
    def places(self) -> npt.NDArray[np.uint32]:
        """All places of all mentions, one after another."""
        return self._places["place"]

    def catch_up(self, chunks: Ints, on_progress: Progress | None = None) -> TableChanges | None:
        """Read what was written since, None when there was nothing; `chunks` are all ids."""
        generation, change = self.store.changefeed.stand()
        if (generation, change) == (self._generation, self.change):
            return None
        changed = TableChanges(everything=generation != self._generation)
        if changed.everything:
            self._forget(generation)
        counts = self._read_fed()
        changed.everything |= bool(counts["merges"])
        new = sum(counts.values()) - counts["subjects"]  # those are read whole each time
        new += self._catch_up_mentions(chunks, changed, on_progress)
        if self._saved:  # else the words of what is asked about are read when they are needed
            new += self._catch_up_terms(on_progress)
        changed.everything |= self._drop_purged(chunks)
        self.change = change
        if new >= SAVED_AFTER_ROWS:
            self._save()
        return changed

    def _catch_up_mentions(
        self, ids: Ints, changed: TableChanges, on_progress: Progress | None
    ) -> int:
        after, new = (0, 0), 0
        while rows := self.store.changefeed.mentions(self.change, after, _BATCH_ROWS):
            changed.chunks.append(self._put_mentions(rows, ids))
            after, new = (rows[-1][0], rows[-1][1]), new + len(rows)
            if on_progress is not None and new >= _BATCH_ROWS:
                on_progress("reading the graph", new, new)
            if len(rows) < _BATCH_ROWS:
                break
        return new

    def _catch_up_terms(self, on_progress: Progress | None) -> int:
        chunks = [row[0] for row in self.store.changefeed.since("chunks", self.change)]
        for first in range(0, len(chunks), _BATCH_TEXTS):
            batch = chunks[first : first + _BATCH_TEXTS]
            said = searched_texts(self.store, batch)
            self.terms.put((one, stems(text)) for one, text in said.items())
            if on_progress is not None and len(chunks) > _BATCH_TEXTS:
                on_progress("reading words", min(first + _BATCH_TEXTS, len(chunks)), len(chunks))
        return len(chunks)

    def _put_mentions(
        self,
        rows: Sequence[tuple[int, int, int | None, bytes | None]],
        ids: Ints,
    ) -> npt.NDArray[np.int32]:
        chunks = np.array([row[0] for row in rows], np.int64)
        entities = np.array([row[1] for row in rows], np.int64)
        counts = np.array([len(row[3] or b"") // 4 for row in rows], np.int32)
        places = np.frombuffer(b"".join(row[3] or b"" for row in rows), np.uint32)
        of = np.repeat(np.arange(len(rows)), counts)
        single = (places >> 1 & 15) == 1
        capital = single & (places & 1 == 1)
        numbers = np.searchsorted(ids, chunks).astype(np.int32)
        firsts = len(self.places) + np.cumsum(counts) - counts
        self.mentions.put_arrays(
            {
                "key": chunks << _ENTITY_BITS | entities,
                "chunk": numbers,
                "entity": np.searchsorted(self["entities"]["id"], entities).astype(np.int32),
                "introduces": np.array([row[2] or 0 for row in rows], np.int8),
                "first": firsts.astype(np.int64),
                "count": counts,
                "singles": np.bincount(of[single], minlength=len(rows)).astype(np.int32),
                "capitals": np.bincount(of[capital], minlength=len(rows)).astype(np.int32),
            }
        )
        self._places.append({"place": places})
        return numbers

    def _drop_purged(self, ids: Ints) -> bool:
        """Let go of what was purged; whether there was anything. Numbers move up then."""
        nodes = self._purged()
        if not len(nodes):
            return False
        gone = {kind: row_of(nodes[kind.has(nodes)]) for kind in NodeKind}
        keys = self.mentions["key"]
        chunk, entity = keys >> _ENTITY_BITS, keys & ((1 << _ENTITY_BITS) - 1)
        stay = ~np.isin(chunk, gone[NodeKind.CHUNK]) & ~np.isin(entity, gone[NodeKind.ENTITY])
        self.mentions.keep(stay)
        for name in ("derived_edges", "edges"):
            table = self[name]
            table.keep(~np.isin(table["source"], nodes) & ~np.isin(table["target"], nodes))
        links, order = self["derived_edges"], self["order"]
        links.keep(~np.isin(links["chunk"], gone[NodeKind.CHUNK]))
        order.keep(~np.isin(order["chunk"], gone[NodeKind.CHUNK]))
        self.terms.drop(gone[NodeKind.CHUNK])
        self["entities"].drop(gone[NodeKind.ENTITY])
        self["subjects"].drop(gone[NodeKind.TOPIC])
        merges = self["merges"]
        merges.keep(
            ~np.isin(merges["entity"], gone[NodeKind.ENTITY])
            & ~np.isin(merges["target"], gone[NodeKind.ENTITY])
        )
        self.mentions.set("chunk", np.searchsorted(ids, chunk[stay]))
        self.mentions.set("entity", np.searchsorted(self["entities"]["id"], entity[stay]))
        return True

    def _forget(self, generation: str) -> None:
        super()._forget(generation)
        self._places, self.terms = Columns({"place": np.uint32}), ChunkTerms()
        if not self._saved:
            self.terms = ReadTerms(self.store)
        self._parts |= {"places": self._places, "terms": self.terms}
