"""The indexes of a memory together: chunks and their times, vectors, words, mentions.

All of it is derived from the store and can be rebuilt. It is current as of a change number, and
`catch_up` reads later changes, in every process that has the memory open. Arrays are saved beside
the memory, so that opening a large memory does not read all of it again.
"""

from __future__ import annotations

import atexit
import copy
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from hades.domain.graph import NodeKind, row_of
from hades.domain.times import FOREVER, AsOf, to_micros
from hades.graph.arrays import Flags, Floats32, Ints
from hades.index.columns import Columns, next_time
from hades.index.derived import TIMES, Derived, TableTypes
from hades.index.graph_view import are_known, is_at
from hades.index.note_times import DATED, EVENT, NOTE_TIMES, REPLACED, Window, chunks_of, time_rows
from hades.index.space_words import SpaceWords
from hades.index.vectors import Codes, Vectors
from hades.index.words import Words
from hades.store.records import Progress
from hades.store.store import Store

SAVED_AFTER_ROWS = 2_000
"""The arrays are saved again after at least this many new rows. A process that starts reads other
rows from the store."""
_VECTORS_BATCH = 20_000
_NOTES_BATCH = 2_000

_TABLES: TableTypes = {
    "chunks": {"id": np.int64, "topic": np.int64, "space": np.int64, "note": np.bool_},
    "presences": dict.fromkeys(("id", "chunk", *TIMES), np.int64),
}


class Indexes(Derived):
    """The indexes of one memory; `words` is the word index of the space asked about."""

    words: Words

    NAME = "arrays"
    FORMAT = 4
    FED: ClassVar[TableTypes] = _TABLES
    OWN: ClassVar[TableTypes] = {"note_times": NOTE_TIMES}

    def __init__(
        self, store: Store, encoder: str, dims: int, words: SpaceWords | None = None
    ) -> None:
        """Open the indexes of a memory. With `words`, index an excerpt, which is not saved."""
        self.encoder = encoder
        self._dims = dims
        self._space = 0
        self._numbers = self._row_of = np.zeros(0, np.int64)
        self._masks: dict[tuple[int, int, int], tuple[Flags, int]] = {}
        """By space and moment: the visible chunks, and the valid time until which that holds."""
        self._earlier: tuple[Flags | None, Flags] = None, np.zeros(0, np.bool_)
        """The visible chunks last asked about, and the earlier versions of notes for them."""
        folder = usable(store.index_folder) if words is None else words.folder
        super().__init__(store, folder, saved=words is None)
        self._number_vectors()
        self.space_words = words or SpaceWords(store, self.folder)

    @property
    def is_whole(self) -> bool:
        """Whether these index the whole memory, not an excerpt."""
        return self._saved

    @property
    def chunks(self) -> Columns:
        """Id, topic and space of each chunk; the row of a chunk is its number."""
        return self._columns["chunks"]

    def snapshot(self) -> Indexes:
        """Return the current state; a later `catch_up` does not show in it."""
        taken = copy.copy(self)
        taken._columns = {name: columns.snapshot() for name, columns in self._columns.items()}
        taken.vectors = self.vectors.snapshot()
        taken.facts = self.facts.snapshot()
        taken._masks = {}
        return taken

    # Catching up

    def catch_up(self, space: int, on_progress: Progress | None = None) -> None:
        """Read the changes since the last call, and the words of a space.

        Rebuild if the index belongs to another memory. `words` and `own` then are of this space.
        """
        generation, change = self.store.changefeed.revision()
        if (generation, change) != (self.generation, self.change):
            self._catch_up(generation, change)
        self._space = space
        self.words = self.space_words.of(space, generation, change, on_progress)

    def _catch_up(self, generation: str, change: int) -> None:
        if generation != self.generation:
            self._forget(generation)
        known = self.chunks["id"]
        new = sum(self._read_fed().values())
        self._read_note_times(int(known[-1]) if len(known) else 0)
        new += self.vectors.put(self._new_vectors(NodeKind.CHUNK))
        new += self.facts.put(self._new_vectors(NodeKind.EDGE))
        self._drop_purged()
        self.change = change
        self._masks.clear()
        self._number_vectors()
        self._save_from(SAVED_AFTER_ROWS, new)

    def _owned(self, name: str, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
        if name != "presences":
            return rows
        known = are_known(self.chunks["id"], np.array([row[1] for row in rows], np.int64))
        return [row for row, is_known in zip(rows, known, strict=True) if is_known]

    def _read_note_times(self, last: int) -> None:
        """Read the times that notes speak of, in the chunks with higher ids than `last`.

        Only the beginning of a long note is read, because a megabyte would take seconds.
        """
        notes = self.chunks["id"][(self.chunks["id"] > last) & self.chunks["note"]]
        presences = self._columns["presences"]
        own = np.isin(presences["chunk"], notes)
        starts = np.full(len(notes), FOREVER)
        at = np.searchsorted(notes, presences["chunk"][own])
        np.minimum.at(starts, at, presences["valid_from"][own])
        begun = {int(note): int(start) for note, start in zip(notes, starts, strict=True)}
        held = [note for note, start in begun.items() if start < FOREVER]
        for first in range(0, len(held), _NOTES_BATCH):
            early = self.store.chunks.early_in_notes(held[first : first + _NOTES_BATCH])
            texts = self.store.chunks.texts(early, lost_ok=True)
            self._columns["note_times"].put(time_rows(texts, begun))

    def _new_vectors(self, kind: NodeKind) -> Iterator[tuple[Ints, npt.NDArray[np.float16]]]:
        for rows in self.store.changefeed.vectors(self.encoder, self.change, _VECTORS_BATCH):
            kept = [row for row in rows if kind.has(row[0])]
            ids = np.array([row_of(node) for node, _ in kept], np.int64)
            size = 2 * self.vectors.dims  # the vectors of a note's sentences follow
            flat = np.frombuffer(b"".join(vector[:size] for _, vector in kept), np.float16)
            vectors = flat.reshape(len(kept), self.vectors.dims)
            known = are_known(self.chunks["id"], ids) if kind == NodeKind.CHUNK else slice(None)
            yield ids[known], vectors[known]

    def _drop_purged(self) -> None:
        nodes = self._purged()
        self.facts.drop(row_of(nodes[NodeKind.EDGE.has(nodes)]))
        gone = row_of(nodes[NodeKind.CHUNK.has(nodes)])
        if len(gone):
            self.chunks.drop(gone)
            times = self._columns["note_times"]
            times.keep(~np.isin(times["chunk"], gone))
            presences = self._columns["presences"]
            presences.keep(~np.isin(presences["chunk"], gone))
            self.vectors.drop(gone)

    def _number_vectors(self) -> None:
        """Set the chunk number of each vector, and the reverse. Chunk ids grow: they are sorted."""
        ids = self.chunks["id"]
        at = np.searchsorted(ids, self.vectors.chunks)
        self._numbers = np.minimum(at, max(0, len(ids) - 1)).astype(np.int64)
        self._row_of = np.full(len(ids), -1, np.int64)
        self._row_of[self._numbers] = np.arange(len(self._numbers))

    # Looking

    def visible(self, space: int, as_of: AsOf) -> Flags:
        """Return a mask over all chunks, by number: True if in the space and visible then."""
        valid, known = self.moment(as_of)
        key = (space, 0 if as_of.valid is None else valid, 0 if as_of.known is None else known)
        if key in self._masks and valid < self._masks[key][1]:
            return self._masks[key][0]
        rows = self._columns["presences"]
        believed = (rows["recorded_at"] <= known) & (rows["retired_at"] > known)
        present = believed & (rows["valid_from"] <= valid) & (rows["valid_to"] > valid)
        mask = np.zeros(len(self.chunks), np.bool_)
        at = np.searchsorted(self.chunks["id"], rows["chunk"][present])
        mask[at] = True
        mask &= self.chunks["space"] == space
        if len(self._masks) > 16:
            self._masks.clear()
        boundaries = np.concatenate([rows["valid_from"][believed], rows["valid_to"][believed]])
        self._masks[key] = (mask, next_time(boundaries, valid))
        return mask

    @property
    def boundaries(self) -> Ints:
        """The valid times at which chunks of any space appear and disappear, unsorted."""
        rows = self._columns["presences"]
        return np.concatenate([rows["valid_from"], rows["valid_to"]])

    def earlier(self, space: int, as_of: AsOf) -> Flags:
        """Return a mask over all chunks, by number: True for earlier versions of visible notes.

        Versions from before a note was forgotten do not count.
        """
        visible = self.visible(space, as_of)
        if self._earlier[0] is not visible:
            self._earlier = visible, self._find_earlier(visible, *self.moment(as_of))
        return self._earlier[1]

    def _find_earlier(self, visible: Flags, valid: int, known: int) -> Flags:
        rows = self._columns["presences"]
        note = self.chunks["note"]
        earlier = np.zeros(len(note), np.bool_)
        alive = np.unique(self.chunks["topic"][visible & note])
        at = np.minimum(np.searchsorted(self.chunks["id"], rows["chunk"]), max(0, len(note) - 1))
        topic = self.chunks["topic"][at]
        used = np.flatnonzero(
            (rows["recorded_at"] <= known)
            & (rows["retired_at"] > known)
            & (rows["valid_from"] <= valid)
            & np.isin(topic, alive)
        )
        if not len(used):
            return earlier
        used = used[np.lexsort((rows["valid_from"][used], topic[used]))]
        # Times become ranks, so that topic and time fit into one increasing number.
        times, rank = np.unique(
            np.concatenate([rows["valid_from"][used], rows["valid_to"][used]]), return_inverse=True
        )
        base = np.searchsorted(alive, topic[used]) * len(times)
        starts = base + rank[: len(used)]
        ends = base + rank[len(used) :]
        reached = np.maximum.accumulate(ends)
        gap = np.concatenate([[True], starts[1:] > reached[:-1]])
        last = np.zeros(len(alive), np.int64)
        np.maximum.at(last, np.searchsorted(alive, topic[used]), np.cumsum(gap))
        kept = used[np.cumsum(gap) == last[np.searchsorted(alive, topic[used])]]
        earlier[at[kept]] = True
        return earlier & ~visible

    def spans(self, numbers: Ints, as_of: AsOf) -> tuple[Ints, Ints]:
        """Return start and end of the last presence begun by a moment, per chunk; 0 without one."""
        valid, known = self.moment(as_of)
        rows = self._columns["presences"]
        order = np.argsort(numbers)
        ids = self.chunks["id"][numbers[order]]
        own = np.flatnonzero(
            np.isin(rows["chunk"], ids)
            & (rows["recorded_at"] <= known)
            & (rows["retired_at"] > known)
            & (rows["valid_from"] <= valid)
        )
        own = own[np.argsort(rows["valid_from"][own], kind="stable")]  # the last one wins
        at = order[np.searchsorted(ids, rows["chunk"][own])]
        starts = np.zeros(len(numbers), np.int64)
        ends = np.zeros(len(numbers), np.int64)
        starts[at] = rows["valid_from"][own]
        ends[at] = rows["valid_to"][own]
        return starts, ends

    def begun(
        self,
        mask: Flags,
        as_of: AsOf,
        since: datetime | None,
        until: datetime | None,
        *,
        by_event: bool = False,
    ) -> Flags:
        """Return the mask without chunks that began before `since`, or at `until` or later.

        With `by_event`, the times that notes speak of count.
        """
        numbers = np.flatnonzero(mask)
        starts = self.spans(numbers, as_of)[0]
        first = -FOREVER if since is None else to_micros(since)
        last = FOREVER if until is None else to_micros(until)
        kept = (starts >= first) & (starts < last)
        if by_event:
            kept = self.within(numbers, starts, Window(first, last))
        begun = np.zeros(len(mask), np.bool_)
        begun[numbers[kept]] = True
        return begun

    def within(self, numbers: Ints, starts: Ints, window: Window) -> Flags:
        """Return which chunks mention a time in a window; `starts` has the time of each chunk.

        A sentence without a time has the time of its note, unless the window is `ahead`.
        """
        rows = self._columns["note_times"]
        ids = self.chunks["id"][numbers]
        spoken = np.isin(ids, chunks_of(rows, EVENT, window))
        written = (starts >= window.since) & (starts < window.until)
        written &= ~np.isin(ids, chunks_of(rows, DATED))
        return spoken if window.ahead else spoken | written

    def replacing(self) -> Ints:
        """Return the numbers of the chunks that say that something was moved or cancelled."""
        ids = chunks_of(self._columns["note_times"], REPLACED)
        return np.searchsorted(self.chunks["id"], ids).astype(np.int64)

    def moment(self, as_of: AsOf) -> tuple[int, int]:
        """Return valid and known time in microseconds; known is before FOREVER, the open end."""
        valid, known = self.store.moment(as_of)
        return valid, min(known, FOREVER - 1)

    def of_topics(self, topics: Sequence[int]) -> Flags:
        """Return a mask over all chunks, by chunk number: True for those of `topics`."""
        return np.isin(self.chunks["topic"], np.array(list(topics), np.int64))

    def among(self, mask: Flags, chunks: Sequence[int]) -> list[bool]:
        """Return for each chunk id whether the mask includes it; False for an unknown id."""
        wanted = np.array(chunks, np.int64)
        at = np.searchsorted(self.chunks["id"], wanted)
        known = is_at(self.chunks["id"], at, wanted)
        known[known] = mask[at[known]]
        return [bool(flag) for flag in known]

    def nearest(self, question: Floats32, mask: Flags, limit: int) -> list[tuple[int, float]]:
        """Return the chunks of a mask nearest by meaning, best first, as (chunk id, cosine)."""
        numbers, near = self.vectors.nearest(question, self._numbers, mask, self.own, limit)
        ids = self.chunks["id"][numbers]
        return list(zip(ids.tolist(), near.tolist(), strict=True))

    def near(self, question: Floats32, mask: Flags, *, exact: bool = True) -> Floats32:
        """Return the cosines of all chunks, by chunk number; -inf if masked out or not embedded.

        If `exact`, those of the nearest chunks are exact; the others are computed from int8.
        """
        return self.vectors.near(question, self._numbers, mask, self.own, exact=exact)

    @property
    def own(self) -> Flags:
        """A mask over all chunks, by chunk number: True for the space of the last `catch_up`."""
        own: Flags = self.chunks["space"] == self._space
        return own

    @property
    def has_vectors(self) -> bool:
        """Whether any chunk of the space has a vector."""
        return bool(self.own[self._numbers].any())

    def has_vector(self, number: int) -> bool:
        """Return whether the chunk with this number has a vector."""
        return bool(self._row_of[number] >= 0)

    def without_vector(self, mask: Flags) -> int:
        """Return the number of chunks of a mask that have no vector yet."""
        return int((mask & (self._row_of < 0)).sum())

    def vectors_of(self, numbers: Ints) -> Floats32:
        """Return a matrix with the vector of each chunk number; zeros for a chunk without one."""
        vectors = np.zeros((len(numbers), self.vectors.dims), np.float32)
        if len(self.vectors):
            at = self._row_of[numbers]
            vectors[at >= 0] = self.vectors.full(at[at >= 0])
        return vectors

    def coded(self, mask: Flags) -> tuple[Ints, Codes]:
        """Return the chunk numbers of a mask that have a vector, ascending, and its int8 codes."""
        numbers = np.flatnonzero(mask & (self._row_of >= 0))
        return numbers, self.vectors.codes(self._row_of[numbers])

    # Files

    def _forget(self, generation: str) -> None:
        super()._forget(generation)
        self.vectors = Vectors(self._dims)
        self.facts = Vectors(self._dims)
        self._parts |= {"vectors": self.vectors, "facts": self.facts}

    def _revision(self, generation: str) -> dict[str, Any]:
        return {**super()._revision(generation), "encoder": self.encoder}


def usable(folder: Path) -> Path:
    """Create the index folder and return it, or a temporary one if it cannot be written."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "lock").open("a").close()
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="hades-index-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
