"""The rows the graph is made of, as arrays: who is mentioned where, what is related.

They hold everything at all times; `GraphView` reads from them what counts at one moment. They
stand at a change number and catch up like the rest of the index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hades.domain.graph import NodeKind, row_of
from hades.graph.arrays import Floats32, Ints
from hades.index.columns import Columns
from hades.index.derived import TIMES, Derived, TableTypes
from hades.index.graph_view import COUNTS, are_known, counted, is_at
from hades.index.terms import ChunkTerms
from hades.index.words import searched_texts, stems
from hades.language.names import fact_words, name_parts
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


@dataclass(frozen=True, slots=True)
class TableChanges:
    """What a catching up brought: enough to repair a graph instead of making it anew."""

    mentions: Ints = field(default_factory=lambda: np.zeros((0, 2 + COUNTS), np.int64))
    """Mentions that are new or other: chunk and entity, by number, and by how much more each of
    them adds to what is `counted`."""
    stated: bool = False
    """There are other edges, links or subjects."""
    is_exact: bool = True
    """Whether each mention is new to the graph, so that counts can be added."""
    everything: bool = False
    """Entities were merged or split, or something was purged: nothing can be kept."""

    def with_(self, other: TableChanges) -> TableChanges:
        """Both together."""
        if self.everything or other.everything:
            return TableChanges(everything=True)
        mentions = np.concatenate([self.mentions, other.mentions])
        return TableChanges(mentions, self.stated or other.stated)


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

    NAME, FORMAT, FED, OWN = "links", 7, _TABLES, {"mentions": _MENTIONS}
    terms: ChunkTerms
    """The stems of each chunk, of the spaces that were asked about: a long text written in one
    space does not hold up a question in another."""
    fact_terms: ChunkTerms
    """The stems of each edge, by edge id. They find facts that have no vector yet."""

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

    def catch_up(
        self, chunks: Columns, space: int, on_progress: Progress | None = None
    ) -> TableChanges | None:
        """Read what was written since, and of words those of a space.

        Returns None when nothing was written. `chunks` are the chunks of the whole memory.
        """
        generation, change = self.store.changefeed.revision()
        changed, new = None, 0
        if (generation, change) != (self._generation, self.change):
            changed, new = self._catch_up(generation, change, chunks["id"], on_progress)
            self._has_terms.clear()
        # An excerpt reads the words of the passages it compares when it needs them.
        if self._saved and space not in self._has_terms:
            new += self._catch_up_terms(chunks["id"][chunks["space"] == space], on_progress)
            self._has_terms.add(space)
        if new >= SAVED_AFTER_ROWS:
            self._save()
        return changed

    def _catch_up(
        self, generation: str, change: int, chunks: Ints, on_progress: Progress | None
    ) -> tuple[TableChanges, int]:
        """Read everything but words: what changed, and how many rows were new."""
        is_other = generation != self._generation
        if is_other:
            self._forget(generation)
        subjects = self["subjects"].snapshot()
        counts = self._read_fed()
        stated = counts["edges"] + counts["derived_edges"] > 0
        for name in _TABLES["subjects"]:  # they are read whole each time
            stated |= not np.array_equal(subjects[name], self["subjects"][name])
        changed = TableChanges(stated=stated, everything=is_other or counts["merges"] > 0)
        new = sum(counts.values()) - counts["subjects"]
        for count, mentions in self._catch_up_mentions(chunks, on_progress):
            changed, new = changed.with_(mentions), new + count
        self._catch_up_fact_terms(counts["edges"])
        if self._drop_purged(chunks):
            changed = TableChanges(everything=True)
        self.change = change
        return changed, new

    def _catch_up_mentions(
        self, ids: Ints, on_progress: Progress | None
    ) -> Iterator[tuple[int, TableChanges]]:
        """Batch by batch: how many rows, and what they change."""
        after, new = (0, 0), 0
        while rows := self.store.changefeed.mentions(self.change, after, _BATCH_ROWS):
            yield len(rows), self._put_mentions(rows, ids)
            after, new = (rows[-1][0], rows[-1][1]), new + len(rows)
            if on_progress is not None and new >= _BATCH_ROWS:
                on_progress("reading the graph", new, new)
            if len(rows) < _BATCH_ROWS:
                break

    def _catch_up_terms(self, own: Ints, on_progress: Progress | None) -> int:
        """Read the words of the chunks of a space that are not known yet; how many they were."""
        chunks = own[~are_known(self.terms.chunks, own)].tolist()
        for first in range(0, len(chunks), _BATCH_TEXTS):
            batch = chunks[first : first + _BATCH_TEXTS]
            said = searched_texts(self.store, batch)
            self.terms.put((one, stems(said.get(one, ""))) for one in batch)
            if on_progress is not None and len(chunks) > _BATCH_TEXTS:
                on_progress("reading words", min(first + _BATCH_TEXTS, len(chunks)), len(chunks))
        return len(chunks)

    def _catch_up_fact_terms(self, written: int) -> None:
        """Index the words of new edges, which are the last `written` rows."""
        ids = np.unique(self["edges"]["id"][len(self["edges"]) - written :])
        for first in range(0, len(ids), _BATCH_TEXTS):
            told = self.store.edges.told(ids[first : first + _BATCH_TEXTS].tolist())
            self.fact_terms.put((one, _fact_stems(*fact)) for one, fact in told.items())

    def _put_mentions(
        self,
        rows: Sequence[tuple[int, int, int | None, bytes | None]],
        ids: Ints,
    ) -> TableChanges:
        chunks = np.array([row[0] for row in rows], np.int64)
        entities = np.array([row[1] for row in rows], np.int64)
        known = are_known(ids, chunks) & are_known(self["entities"]["id"], entities)
        if not known.all():  # others belong to nothing
            rows = [row for row, is_known in zip(rows, known, strict=True) if is_known]
            chunks, entities = chunks[known], entities[known]
        counts = np.array([len(row[3] or b"") // 4 for row in rows], np.int32)
        places = np.frombuffer(b"".join(row[3] or b"" for row in rows), np.uint32)
        of = np.repeat(np.arange(len(rows)), counts)
        single = (places >> 1 & 15) == 1
        capital = single & (places & 1 == 1)
        firsts = len(self.places) + np.cumsum(counts) - counts
        made = {
            "key": chunks << _ENTITY_BITS | entities,
            "chunk": np.searchsorted(ids, chunks).astype(np.int32),
            "entity": np.searchsorted(self["entities"]["id"], entities).astype(np.int32),
            "introduces": np.array([row[2] or 0 for row in rows], np.int8),
            "first": firsts.astype(np.int64),
            "count": counts,
            "singles": np.bincount(of[single], minlength=len(rows)).astype(np.int32),
            "capitals": np.bincount(of[capital], minlength=len(rows)).astype(np.int32),
        }
        keys = self.mentions["key"]
        at = np.searchsorted(keys, made["key"])
        known = is_at(keys, at, made["key"])
        more = counted(made, slice(None))
        more[known] -= counted(self.mentions, at[known])
        self.mentions.put_arrays(made)
        self._places.append({"place": places})
        return TableChanges(np.column_stack([made["chunk"], made["entity"], more]))

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
        self._places, self.terms = Columns({"place": np.uint32}), ChunkTerms()
        self.fact_terms = ChunkTerms()
        if not self._saved:
            self.terms = ReadTerms(self.store)
        self._parts |= {"places": self._places, "terms": self.terms}
        self._parts["fact_terms"] = self.fact_terms
        self._has_terms: set[int] = set()
        """Spaces whose words are complete as of `change`."""


def _fact_stems(source: str, relation: str, target: str) -> list[str]:
    """Return the stems of a fact's words, and of parts of its names that people use alone."""
    parts = [*name_parts(source), *name_parts(target)]
    return stems(" ".join((fact_words(source, relation, target), *parts)))
