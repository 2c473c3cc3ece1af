"""The rows that the graph is built from, as arrays: mentions, edges, merges, order of chunks.

They hold the rows of all times; a `GraphView` has those of one moment. They are current as of a
change number and catch up like the rest of the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from hades.domain.graph import NodeKind, row_of
from hades.graph.arrays import Floats32, Ints
from hades.index.columns import Columns
from hades.index.derived import TIMES, Derived, TableTypes
from hades.index.graph_view import COUNTS, are_known, counted, is_at
from hades.index.terms import ChunkTerms
from hades.index.words import searched_texts, stems
from hades.language.names import name_parts
from hades.language.wording import fact_words
from hades.store.records import Progress
from hades.store.store import Store

SAVED_AFTER_ROWS = 5_000
_BATCH_ROWS = 200_000
_BATCH_TEXTS = 2_000

_ENTITY_BITS = 31
"""The key of a mention is its chunk and its entity in one number."""

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
    "first": np.uint32,
    "count": np.int16,
    "singles": np.int16,
    "capitals": np.int16,
}
"""Chunk and entity are row numbers. `first` and `count` locate the places of the mention. `singles`
counts its places of one word, `capitals` the capitalised ones among these. A passage has at most
4,400 characters, so 16 bits are enough for counts."""


@dataclass(frozen=True, slots=True)
class TableChanges:
    """The changes that `catch_up` found, to repair a graph instead of rebuilding it."""

    mentions: Ints = field(default_factory=lambda: np.zeros((0, 2 + COUNTS), np.int64))
    """New or changed mentions: chunk number, entity number, and the differences of the counts (see
    `counted`)."""
    stated: bool = False
    """Whether edges, derived edges or subjects changed."""
    is_exact: bool = True
    """Whether the graph contains none of these changes yet, so that counts can simply be added."""
    everything: bool = False
    """Whether entities were merged or split, or something was purged: the graph is rebuilt."""

    def with_(self, other: TableChanges) -> TableChanges:
        """Return these changes and the `other` ones together."""
        if self.everything or other.everything:
            return TableChanges(everything=True)
        mentions = np.concatenate([self.mentions, other.mentions])
        return TableChanges(mentions, self.stated or other.stated)


class ReadTerms(ChunkTerms):
    """The words of chunks, read from their texts on demand."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self.store = store

    def having(self, chunks: Ints, terms: Sequence[str]) -> Floats32:
        """Return a matrix, a row per chunk id and a column per stem: 1 where the chunk has it."""
        texts = searched_texts(self.store, chunks[~self.known(chunks)].tolist())
        self.put((chunk, stems(text)) for chunk, text in texts.items())
        return super().having(chunks, terms)


class Tables(Derived):
    """Tables of mentions, entities, edges, merges, subjects of topics and the order of chunks."""

    NAME = "links"
    FORMAT = 8
    FED: ClassVar[TableTypes] = _TABLES
    OWN: ClassVar[TableTypes] = {"mentions": _MENTIONS}
    terms: ChunkTerms
    """The stems of each chunk of the spaces asked about. A long text in one space does not delay a
    question in another."""
    fact_terms: ChunkTerms
    """The stems of each edge, by edge id. They find facts that have no vector yet."""

    def __init__(self, store: Store, folder: Path, *, saved: bool = True) -> None:
        super().__init__(store, folder, saved=saved)
        self.read_at = self.change
        """The change of the files that the tables were read from; 0 if there were no files."""

    @property
    def mentions(self) -> Columns:
        """The mentions, sorted by key (see `_MENTIONS`)."""
        return self["mentions"]

    @property
    def places(self) -> npt.NDArray[np.uint32]:
        """The places of all mentions, joined (encoded as `longest.counting` takes them)."""
        return self._places["place"]

    def catch_up(
        self, chunks: Columns, space: int, on_progress: Progress | None = None
    ) -> TableChanges | None:
        """Read the changes since the last call, and the words of a space.

        Return None if nothing was written. `chunks` are the chunks of the whole memory.
        """
        generation, change = self.store.changefeed.revision()
        changed = None
        new = 0
        if (generation, change) != (self.generation, self.change):
            changed, new = self._catch_up(generation, change, chunks["id"], on_progress)
            self._has_terms.clear()
        # An excerpt reads words on demand (`ReadTerms`).
        if self._saved and space not in self._has_terms:
            new += self._catch_up_terms(chunks["id"][chunks["space"] == space], on_progress)
            self._has_terms.add(space)
        self._save_from(SAVED_AFTER_ROWS, new)
        return changed

    def _catch_up(
        self, generation: str, change: int, chunks: Ints, on_progress: Progress | None
    ) -> tuple[TableChanges, int]:
        """Read all but the words of chunks (given by id). Return the changes and the row count.

        If the generation is another one, everything is read again.
        """
        is_other = generation != self.generation
        if is_other:
            self._forget(generation)
        subjects = self["subjects"].snapshot()
        counts = self._read_fed()
        stated = counts["edges"] + counts["derived_edges"] > 0
        for name in _TABLES["subjects"]:  # the changefeed returns all subjects each time
            stated |= not np.array_equal(subjects[name], self["subjects"][name])
        changed = TableChanges(stated=stated, everything=is_other or counts["merges"] > 0)
        new = sum(counts.values()) - counts["subjects"]
        for count, mentions in self._catch_up_mentions(chunks, on_progress):
            changed = changed.with_(mentions)
            new = new + count
        self._catch_up_fact_terms(counts["edges"])
        if self._drop_purged(chunks):
            changed = TableChanges(everything=True)
        self.change = change
        return changed, new

    def _catch_up_mentions(
        self, ids: Ints, on_progress: Progress | None
    ) -> Iterator[tuple[int, TableChanges]]:
        """Add new mentions to the tables. Yield the rows read and the changes of each batch.

        `ids` are the known chunks; a mention in another chunk is skipped.
        """
        after = (0, 0)
        new = 0
        while rows := self.store.changefeed.mentions(self.change, after, _BATCH_ROWS):
            yield len(rows), self._put_mentions(rows, ids)
            after = (rows[-1][0], rows[-1][1])
            new = new + len(rows)
            if on_progress is not None and new >= _BATCH_ROWS:
                on_progress("reading the graph", new, new)
            if len(rows) < _BATCH_ROWS:
                break

    def _catch_up_terms(self, own: Ints, on_progress: Progress | None) -> int:
        """Read the words of the new chunks of a space. Return the number of chunks."""
        chunks = own[~are_known(self.terms.chunks, own)].tolist()
        for first in range(0, len(chunks), _BATCH_TEXTS):
            batch = chunks[first : first + _BATCH_TEXTS]
            texts = searched_texts(self.store, batch)
            self.terms.put((chunk, stems(texts.get(chunk, ""))) for chunk in batch)
            if on_progress is not None and len(chunks) > _BATCH_TEXTS:
                on_progress("reading words", min(first + _BATCH_TEXTS, len(chunks)), len(chunks))
        return len(chunks)

    def _catch_up_fact_terms(self, written: int) -> None:
        """Index the words of new edges, which are the last `written` rows."""
        ids = np.unique(self["edges"]["id"][len(self["edges"]) - written :])
        for first in range(0, len(ids), _BATCH_TEXTS):
            facts = self.store.edges.told(ids[first : first + _BATCH_TEXTS].tolist())
            self.fact_terms.put((edge, _fact_stems(*fact)) for edge, fact in facts.items())

    def _put_mentions(
        self,
        rows: Sequence[tuple[int, int, int | None, bytes | None]],
        ids: Ints,
    ) -> TableChanges:
        chunks = np.array([row[0] for row in rows], np.int64)
        entities = np.array([row[1] for row in rows], np.int64)
        known = are_known(ids, chunks) & are_known(self["entities"]["id"], entities)
        if not known.all():  # skip mentions without a chunk or an entity
            rows = [row for row, is_known in zip(rows, known, strict=True) if is_known]
            chunks = chunks[known]
            entities = entities[known]
        counts = np.array([len(row[3] or b"") // 4 for row in rows], np.int16)
        places = np.frombuffer(b"".join(row[3] or b"" for row in rows), np.uint32)
        of = np.repeat(np.arange(len(rows)), counts)
        single = (places >> 1 & 15) == 1
        capital = single & (places & 1 == 1)
        firsts = len(self.places) + np.cumsum(counts) - counts
        new = {
            "key": chunks << _ENTITY_BITS | entities,
            "chunk": np.searchsorted(ids, chunks).astype(np.int32),
            "entity": np.searchsorted(self["entities"]["id"], entities).astype(np.int32),
            "introduces": np.array([row[2] or 0 for row in rows], np.int8),
            "first": firsts.astype(np.uint32),
            "count": counts,
            "singles": np.bincount(of[single], minlength=len(rows)).astype(np.int16),
            "capitals": np.bincount(of[capital], minlength=len(rows)).astype(np.int16),
        }
        keys = self.mentions["key"]
        at = np.searchsorted(keys, new["key"])
        known = is_at(keys, at, new["key"])
        more = counted(new, slice(None))
        more[known] -= counted(self.mentions, at[known])
        self.mentions.put_arrays(new)
        self._places.append({"place": places})
        return TableChanges(np.column_stack([new["chunk"], new["entity"], more]))

    def _drop_purged(self, ids: Ints) -> bool:
        """Remove purged rows and renumber the rest. Return whether anything was purged."""
        nodes = self._purged()
        if not len(nodes):
            return False
        gone = {kind: row_of(nodes[kind.has(nodes)]) for kind in NodeKind}
        keys = self.mentions["key"]
        chunk = keys >> _ENTITY_BITS
        entity = keys & ((1 << _ENTITY_BITS) - 1)
        stay = ~np.isin(chunk, gone[NodeKind.CHUNK]) & ~np.isin(entity, gone[NodeKind.ENTITY])
        self.mentions.keep(stay)
        for name in ("derived_edges", "edges"):
            table = self[name]
            table.keep(~np.isin(table["source"], nodes) & ~np.isin(table["target"], nodes))
        links = self["derived_edges"]
        order = self["order"]
        links.keep(~np.isin(links["chunk"], gone[NodeKind.CHUNK]))
        order.keep(~np.isin(order["chunk"], gone[NodeKind.CHUNK]))
        self.terms.drop(gone[NodeKind.CHUNK])
        self.fact_terms.drop(gone[NodeKind.EDGE])
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
        self._places = Columns({"place": np.uint32})
        self.terms = ChunkTerms()
        self.fact_terms = ChunkTerms()
        if not self._saved:
            self.terms = ReadTerms(self.store)
        self._parts |= {"places": self._places, "terms": self.terms}
        self._parts["fact_terms"] = self.fact_terms
        self._has_terms: set[int] = set()
        """The spaces whose words are complete as of `change`."""


def _fact_stems(source: str, relation: str, target: str) -> list[str]:
    """Return the stems of a fact's text, and of the parts of its names that people use alone."""
    parts = [*name_parts(source), *name_parts(target)]
    return stems(" ".join((fact_words(source, relation, target), *parts)))
