"""Chunks: their place in states, their times, and their vectors.

A chunk belongs to a topic and is identified by its heading and text, so a new version keeps the
chunks of unchanged passages. The times of a chunk follow from the states. Placing a state changes
the chunks of one stretch of valid time: from the start of that state to the start of the next.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import blake2b
from typing import Any

from hades.domain.graph import NodeKind
from hades.domain.times import FOREVER, AsOf, from_micros, from_micros_or_none
from hades.domain.topics import DEFAULT_IMPORTANCE, Chunk, PlacedChunk
from hades.errors import Conflict, InvalidInput, NotFound
from hades.store.byte_cache import ByteCache
from hades.store.database import Database
from hades.store.records import Pending, Phase, Write
from hades.store.states import NEXT, usefulness_of, uses_of
from hades.store.topics import Topics

_DIGEST_BYTES = 16
_AT_ONCE = 32
"""The most contents of states that one statement reads."""
KEPT_BYTES_AT_MOST = 8 << 20
"""Size of the cache of decoded contents, so that many chunks of one text decode it once."""

VECTOR_CHARACTERS = 100_000
"""Passages of a note that begin after this many characters get no vector: only words and names find
them. The vectors of a note of a megabyte, such as a log, would take minutes. Documents that were
read from a source get all vectors."""

_BEFORE = (
    "topic = s.topic AND version < s.version AND (retired_at IS NULL OR retired_at > s.recorded_at)"
)
_STATE_BEFORE = f"""
SELECT (SELECT id FROM states WHERE {_BEFORE} AND valid_from <= s.valid_from
        ORDER BY valid_from DESC, version DESC LIMIT 1) FROM states s WHERE s.id = ?
"""
_NEXT_START = f"""
SELECT (SELECT min(valid_from) FROM states WHERE {_BEFORE} AND valid_from > s.valid_from)
FROM states s WHERE s.id = ?
"""
"""The first `valid_from` after that of a state, among the earlier versions of its topic. The
query scans all states with a later `valid_from`."""
_IN_ORDER = """
SELECT id FROM (
  SELECT id, valid_from, max(valid_from) OVER (
    PARTITION BY topic ORDER BY version ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
  ) AS latest FROM states WHERE topic IN (SELECT topic FROM states WHERE id = ANY(?1))
) s WHERE id = ANY(?1) AND (latest IS NULL OR latest <= valid_from)
"""
_THERE_AFTER = """
SELECT DISTINCT p.chunk FROM presences p JOIN chunks c ON c.id = p.chunk
WHERE c.topic = (SELECT topic FROM states WHERE id = ?) AND p.retired_at IS NULL
  AND (p.valid_to IS NULL OR p.valid_to > ?)
"""
_PLACED = f"""
SELECT s.chunk, s.state, s.ordinal, s.start, s."end", s.heading, s.tokens, s.name, s.version,
       s.valid_from, s.recorded_at, {NEXT}, s.confidence, s.importance, {uses_of("s.state")},
       {usefulness_of("s.state")}
FROM (
  SELECT p.*, c.heading, c.tokens, t.name, s.topic, s.version, s.valid_from, s.recorded_at,
         s.confidence, s.importance,
         row_number() OVER (
           PARTITION BY p.chunk
           ORDER BY CASE WHEN s.retired_at <= :known THEN 1 ELSE 0 END, s.valid_from DESC,
                    s.version DESC, p.ordinal
         ) AS choice
  FROM placements p JOIN chunks c ON c.id = p.chunk JOIN states s ON s.id = p.state
  JOIN topics t ON t.id = s.topic
  WHERE p.chunk = ANY(:chunks)
    AND s.valid_from <= :valid AND s.recorded_at <= :known
) s WHERE s.choice = 1
"""
"""For each chunk, the state with it that began last, among the states known at the moment."""

_PHASE = f"CASE p.phase WHEN {Phase.LARGE} THEN {Phase.CHUNKS} ELSE p.phase END"
"""The `Phase` of a waiting state, with CHUNKS for LARGE."""
_UNEMBEDDED = f"""
FROM chunks c JOIN topics t ON t.id = c.topic WHERE c.id > ?1 AND (t.space = ?4 OR ?4 IS NULL)
  AND (t.kind <> 'note' OR EXISTS (
    SELECT 1 FROM placements p WHERE p.chunk = c.id AND p.start < {VECTOR_CHARACTERS}))
  AND NOT EXISTS (SELECT 1 FROM embeddings v JOIN encoders e ON e.id = v.encoder
                  WHERE v.node = c.id << 3 | ?2 AND e.name = ?3)
"""


class Chunks:
    """Chunks of states, with their times and vectors."""

    def __init__(self, database: Database, topics: Topics) -> None:
        self._database = database
        self._topics = topics
        self.kept = ByteCache[int, str](KEPT_BYTES_AT_MOST)
        database.on_undo.append(self.kept.clear)

    # Indexing that still has to be done

    def pending(self, phase: int, space: int | None, limit: int, after: int = 0) -> list[Pending]:
        """Return states with ids above `after` whose next phase is `phase`, oldest first."""
        rows = self._database.rows(
            "SELECT p.state, t.space, t.name, s.version, p.phase, p.outline FROM pending p "
            "JOIN states s ON s.id = p.state JOIN topics t ON t.id = s.topic "
            f"WHERE {_PHASE} = ?1 AND (t.space = ?2 OR ?2 IS NULL) AND p.state > ?4 "
            "ORDER BY p.state LIMIT ?3",
            phase,
            space,
            limit,
            after,
        )
        return [Pending(*row) for row in rows]

    def pending_count(self, space: int | None, phase: int | None = None) -> int:
        """Return how many states wait to be indexed, or wait for one phase."""
        return int(
            self._database.value(
                "SELECT count(*) FROM pending p JOIN states s ON s.id = p.state "
                "JOIN topics t ON t.id = s.topic "
                f"WHERE (t.space = ?1 OR ?1 IS NULL) AND ({_PHASE} = ?2 OR ?2 IS NULL)",
                space,
                phase,
            )
        )

    def is_pending(self, pending: Pending) -> bool:
        """Return whether a state still waits for the same phase as when it was read."""
        phase = self._database.value("SELECT phase FROM pending WHERE state = ?", pending.state)
        return bool(phase == pending.phase)

    def advance(self, state: int, phase: int | None, outline: bytes | None = None) -> None:
        """Record the phase that a state waits for now. With None, its indexing is done."""
        if phase is None:
            self._database.run("DELETE FROM pending WHERE state = ?", state)
        else:
            self._database.upsert("pending", ("state",), state=state, phase=phase, outline=outline)

    def outline(self, space: int, topic: str, version: int, outline: bytes) -> None:
        """Store a reader's outline of a state, and queue the state to be cut and linked (again)."""
        self._database.run(
            "INSERT INTO pending SELECT s.id, 1, ? FROM states s "
            "JOIN topics t ON t.id = s.topic WHERE t.space = ? AND t.name = ? AND s.version = ? "
            "ON CONFLICT (state) DO UPDATE SET outline = excluded.outline, "
            f"phase = CASE pending.phase WHEN {Phase.LARGE} THEN {Phase.LARGE} ELSE 1 END",
            outline,
            space,
            topic,
            version,
        )

    def is_forgotten(self, state: int) -> bool:
        """Return whether a state is the empty one that records a forgetting."""
        row = self._database.row("SELECT encoding FROM states WHERE id = ?", state)
        return row is not None and row[0] is None

    # Placing

    def in_order(self, states: Sequence[int]) -> set[int]:
        """Return the states whose `valid_from` is not before that of any earlier version.

        It is one statement for all states, because a statement for each of 10,000 waiting versions
        would read 50 million rows.
        """
        return set(self._database.column(_IN_ORDER, list(states)))

    def place(
        self, write: Write, state: int, cuts: Sequence[Chunk], *, in_order: bool = False
    ) -> list[int]:
        """Write the chunks of a state in place of those it had. Return their ids.

        With `in_order`, the caller knows that no earlier version has a later `valid_from`.
        """
        row = self._database.row("SELECT topic, valid_from FROM states WHERE id = ?", state)
        if row is None:
            raise NotFound(f"There is no state {state}.")
        topic, valid_from = row
        before = set(self.placed(state))
        self._database.run("DELETE FROM placements WHERE state = ?", state)
        placed = [self._chunk(write, topic, cut) for cut in cuts]
        self._database.run_many(
            "INSERT INTO placements VALUES (?, ?, ?, ?, ?)",
            [
                (state, ordinal, chunk, cut.start, cut.end)
                for ordinal, (cut, chunk) in enumerate(zip(cuts, placed, strict=True))
            ],
        )
        valid_to = None if in_order else self._database.value(_NEXT_START, state)
        self._settle(write, state, (valid_from, valid_to), before, set(placed))
        return placed

    def _chunk(self, write: Write, topic: int, cut: Chunk) -> int:
        digest = blake2b(f"{cut.heading}\0{cut.text}".encode(), digest_size=_DIGEST_BYTES).digest()
        known = self._database.value(
            "SELECT id FROM chunks WHERE topic = ? AND digest = ?", topic, digest
        )
        return known or self._database.insert(
            "chunks",
            topic=topic,
            digest=digest,
            tokens=cut.tokens,
            change=write.change,
            heading=cut.heading or None,
        )

    def _settle(
        self,
        write: Write,
        state: int,
        stretch: tuple[int, int | None],
        before: set[int],
        after: set[int],
    ) -> None:
        """Update the presences of the chunks that a state adds or drops.

        `stretch` is the valid time of the state; `after` are its chunks now, `before` those of an
        earlier cut of it.
        """
        valid_from, valid_to = stretch
        previous = self._database.value(_STATE_BEFORE, state)
        recorded_at, encoding = self._database.row(
            "SELECT recorded_at, encoding FROM states WHERE id = ?", state
        )
        if encoding is None and valid_from == recorded_at:
            # Forgotten: current and planned chunks end here.
            dropped = self._database.column(_THERE_AFTER, state, valid_from)
            before = before.union(dropped)
            valid_to = None
        elif previous is not None:
            order = self.placed(previous)
            stayed = [c for c in order if c in after]
            self._note_moves(write, stayed, state, set(order))
            self._note_tags(write, stayed, state, previous)
            before = before | set(order)
        for chunk in sorted(before - after):
            self._take_out(write, chunk, valid_from, valid_to, recorded_at)
        self._put_presences(write, sorted(after - before), valid_from, valid_to, recorded_at)

    def _note_moves(
        self, write: Write, stayed: Sequence[int], state: int, before: set[int]
    ) -> None:
        """Mark a chunk as changed if the order changed, because the index reads only changed
        rows."""
        if stayed != [c for c in self.placed(state) if c in before]:
            self._database.run("UPDATE chunks SET change = ? WHERE id = ?", write.change, stayed[0])

    def _note_tags(self, write: Write, stayed: Sequence[int], state: int, previous: int) -> None:
        """Mark presences as changed if the tags of the state changed, because the index contains
        tags."""
        tags = self._database.column(
            "SELECT coalesce(tags, '') FROM states WHERE id IN (?, ?)", state, previous
        )
        if len(set(tags)) > 1:
            self._database.run(
                "UPDATE presences SET change = ? WHERE chunk = ANY(?)",
                write.change,
                list(stayed),
            )

    def _take_out(
        self, write: Write, chunk: int, valid_from: int, valid_to: int | None, recorded_at: int
    ) -> None:
        """Cut a stretch of valid time out of the current presences of a chunk."""
        rows = self._database.rows(
            "SELECT id, valid_from, valid_to FROM presences WHERE chunk = ? "
            "AND retired_at IS NULL AND (valid_to IS NULL OR valid_to > ?)",
            chunk,
            valid_from,
        )
        for row, starts, ends in rows:
            if valid_to is not None and starts >= valid_to:
                continue
            self._database.run(
                "UPDATE presences SET retired_at = ?, change = ? WHERE id = ?",
                recorded_at,
                write.change,
                row,
            )
            if starts < valid_from:
                self._put_presences(write, [chunk], starts, valid_from, recorded_at)
            if valid_to is not None and (ends is None or ends > valid_to):
                self._put_presences(write, [chunk], valid_to, ends, recorded_at)

    def _put_presences(
        self, write: Write, chunks: list[int], valid_from: int, valid_to: int | None, at: int
    ) -> None:
        self._database.run_many(
            "INSERT INTO presences (chunk, valid_from, valid_to, recorded_at, change) "
            "VALUES (?, ?, ?, ?, ?)",
            [(chunk, valid_from, valid_to, at, write.change) for chunk in chunks],
        )

    # Reading

    def placed(self, state: int) -> list[int]:
        """Return the ids of a state's chunks, in order."""
        return self._database.column(
            "SELECT chunk FROM placements WHERE state = ? ORDER BY ordinal", state
        )

    def ever_of(self, topic: int) -> list[int]:
        """Return all chunks that a topic ever had."""
        return self._database.column("SELECT id FROM chunks WHERE topic = ? ORDER BY id", topic)

    def of_topic(self, space: int, topic: str) -> list[int]:
        """Return the chunks of a topic's latest state, in order. An unknown topic has none."""
        return self._database.column(
            "SELECT p.chunk FROM topics t JOIN placements p ON p.state = t.latest "
            "WHERE t.space = ? AND t.name = ? ORDER BY p.ordinal",
            space,
            topic,
        )

    def chunks(self, space: int, topic: str, version: int) -> list[Chunk]:
        """Return the chunks of one state, with texts, in order."""
        return [chunk for _, chunk in self.numbered(space, topic, version)]

    def numbered(self, space: int, topic: str, version: int) -> list[tuple[int, Chunk]]:
        """Return the chunks of one state, with texts, in order, each as (id, chunk)."""
        rows = self._database.rows(
            'SELECT p.state, p.ordinal, p.start, p."end", c.heading, c.tokens, c.id '
            "FROM placements p JOIN chunks c ON c.id = p.chunk "
            "JOIN states s ON s.id = p.state JOIN topics t ON t.id = s.topic "
            "WHERE t.space = ? AND t.name = ? AND s.version = ? ORDER BY p.ordinal",
            space,
            topic,
            version,
        )
        return [
            (number, Chunk(topic, version, at, content[start:end], start, end, heading or "", size))
            for (_, at, start, end, heading, size, number), content in self._with_contents(rows, 0)
        ]

    def find(self, chunks: Sequence[int], as_of: AsOf) -> dict[int, PlacedChunk]:
        """Map chunk ids to chunks as placed in the last state that had each by a moment."""
        rows = self._placed(chunks, *self._database.moment(as_of))
        return {
            row[0]: _placed_chunk(row, content) for row, content in self._with_contents(rows, 1)
        }

    def without_text(self, chunks: Sequence[int], as_of: AsOf) -> dict[int, PlacedChunk]:
        """Return the same as `find` without texts, which take longest to read."""
        rows = self._placed(chunks, *self._database.moment(as_of))
        return {row[0]: _placed_chunk(row, "") for row in rows}

    def texts(self, chunks: Sequence[int], *, lost_ok: bool = False) -> dict[int, str]:
        """Return the texts of chunks of any time. With `lost_ok`, leave out unreadable ones."""
        rows = self._placed(chunks, FOREVER, FOREVER)
        contents = self._with_contents(rows, 1, lost_ok=lost_ok)
        return {row[0]: text[row[3] : row[4]] for row, text in contents}

    def archived(self, as_of: AsOf) -> list[int]:
        """Return the chunks whose text at a moment is in the archive."""
        chunks = self._database.column(
            "SELECT DISTINCT p.chunk FROM archived a JOIN placements p ON p.state = a.state"
        )
        states = set(self._database.column("SELECT state FROM archived"))
        rows = self._placed(chunks, *self._database.moment(as_of))
        return [row[0] for row in rows if row[1] in states]

    def labels(self, chunks: Iterable[int], valid: int, known: int) -> dict[int, str]:
        """Return the citation of each chunk at a moment, such as `docs/guide.md@3#0`."""
        rows = self._placed(sorted(set(chunks)), valid, known)
        return {row[0]: f"{row[7]}@{row[8]}#{row[2]}" for row in rows}

    def _placed(self, chunks: Sequence[int], valid: int, known: int) -> list[Any]:
        """Return a row per chunk; within a snapshot each chunk is read once."""
        read: dict[int, Any] = self._database.shared(("placed", valid, known), dict)
        if new := [chunk for chunk in chunks if chunk not in read]:
            rows = self._database.rows(_PLACED, chunks=new, valid=valid, known=known)
            read |= dict.fromkeys(new) | {row[0]: row for row in rows}
        return [read[chunk] for chunk in dict.fromkeys(chunks) if read[chunk] is not None]

    def _with_contents(
        self, rows: Sequence[Any], column: int, *, lost_ok: bool = False
    ) -> Iterator[tuple[Any, str]]:
        """Yield rows with the content of the state whose id is in `column` of the row."""
        of_state: dict[int, list[Any]] = {}
        for row in rows:
            of_state.setdefault(row[column], []).append(row)
        order = list(of_state)
        while states := order[:_AT_ONCE]:
            del order[:_AT_ONCE]
            kept = {state: self.kept.get(state) for state in states}
            texts = {state: text for state, text in kept.items() if text is not None}
            if new := [state for state in states if state not in texts]:
                read = self._topics.contents(new, lost_ok=lost_ok)
                for state, text in read.items():
                    self.kept.put(state, text, sys.getsizeof(text))
                texts |= read
            for state in states:
                if state in texts:
                    yield from ((row, texts[state]) for row in of_state[state])

    def headings(self, chunks: Sequence[int]) -> dict[int, str]:
        """Return the headings of chunks, "" without one."""
        rows = self._database.rows(
            "SELECT id, heading FROM chunks WHERE id = ANY(?)",
            list(chunks),
        )
        return {chunk: heading or "" for chunk, heading in rows}

    def sources(self, chunks: Sequence[int]) -> dict[int, tuple[str, str, str]]:
        """Return topic, kind of the topic, and heading of each chunk."""
        rows = self._database.rows(
            "SELECT c.id, t.name, t.kind, coalesce(c.heading, '') FROM chunks c "
            "JOIN topics t ON t.id = c.topic WHERE c.id = ANY(?)",
            list(chunks),
        )
        return {chunk: (topic, kind, heading) for chunk, topic, kind, heading in rows}

    def first_of_notes(self, chunks: Sequence[int], at_most: int) -> set[int]:
        """Return those of the chunks that are among the first `at_most` of a version of a note."""
        return set(
            self._database.column(
                "SELECT c.id FROM chunks c JOIN topics t ON t.id = c.topic "
                "JOIN placements p ON p.chunk = c.id AND p.ordinal < ?1 "
                "WHERE t.kind = 'note' AND c.id = ANY(?2)",
                at_most,
                list(chunks),
            )
        )

    def early_in_notes(self, chunks: Sequence[int]) -> list[int]:
        """Return those of the chunks that begin within VECTOR_CHARACTERS of a note, by id."""
        return self._database.column(
            "SELECT DISTINCT p.chunk FROM placements p WHERE p.start < ?1 AND p.chunk = ANY(?2) "
            "ORDER BY p.chunk",
            VECTOR_CHARACTERS,
            list(chunks),
        )

    def tags(self, chunks: Sequence[int]) -> dict[int, str]:
        """Return, by chunk, the tags of all states that have it, joined by spaces."""
        rows = self._database.rows(
            "SELECT DISTINCT p.chunk, s.tags FROM placements p JOIN states s ON s.id = p.state "
            "WHERE p.chunk = ANY(?) AND s.tags IS NOT NULL",
            list(chunks),
        )
        of_chunk: dict[int, set[str]] = {}
        for chunk, tags in rows:
            with suppress(ValueError, TypeError):  # `check` reports damaged tags
                of_chunk.setdefault(chunk, set()).update(map(str, json.loads(tags)))
        return {chunk: " ".join(sorted(tags)) for chunk, tags in of_chunk.items()}

    # Vectors

    def vectors(self, encoder: str, nodes: Sequence[int]) -> dict[int, bytes]:
        """Return float16 vectors by node. For a note's chunk, those of its sentences follow."""
        rows = self._database.rows(
            "SELECT v.node, v.vector FROM embeddings v JOIN encoders e ON e.id = v.encoder "
            "WHERE e.name = ? AND v.node = ANY(?)",
            encoder,
            list(nodes),
        )
        return dict(rows)

    def unembedded(
        self, encoder: str, after: int, limit: int, space: int | None = None
    ) -> list[int]:
        """Return chunks with an id above `after` that have no vector of an encoder, by id."""
        return self._database.column(
            f"SELECT c.id {_UNEMBEDDED} ORDER BY c.id LIMIT ?5",
            after,
            int(NodeKind.CHUNK),
            encoder,
            space,
            limit,
        )

    def unembedded_count(self, encoder: str, space: int | None) -> int:
        """Return the number of chunks without a vector of an encoder."""
        return int(
            self._database.value(
                f"SELECT count(*) {_UNEMBEDDED}",
                self.embedded(encoder),
                int(NodeKind.CHUNK),
                encoder,
                space,
            )
        )

    def embedded(self, encoder: str) -> int:
        """Return the chunk id up to which all are recorded to have a vector of an encoder."""
        return int(self._database.meta(self._database.embedded + encoder) or 0)

    def set_embedded(self, encoder: str) -> None:
        """Record up to which chunk id all have vectors, so that those are not read again.

        Call it inside a transaction: no chunk may be added between the query and the record.
        """
        mark = self.embedded(encoder)
        missing = self.unembedded(encoder, mark, 1)
        last = self._database.value("SELECT coalesce(max(id), 0) FROM chunks")
        if (last := missing[0] - 1 if missing else last) > mark:
            self._database.set_meta(self._database.embedded + encoder, str(last))

    def put_vectors(
        self, write: Write, encoder: str, dims: int, vectors: Iterable[tuple[int, bytes]]
    ) -> None:
        """Write vectors of nodes; vectors of other encoders stay.

        Nodes that were purged while their text was encoded are skipped.
        """
        number = encoder_id(self._database, encoder, dims)
        self._database.run_many(
            "INSERT INTO embeddings SELECT ?1, ?2, ?3, ?4 WHERE CASE ?1 & 7 "
            f"WHEN {NodeKind.CHUNK} THEN EXISTS (SELECT 1 FROM chunks WHERE id = ?1 >> 3) "
            f"WHEN {NodeKind.EDGE} THEN EXISTS (SELECT 1 FROM edges WHERE id = ?1 >> 3) "
            "ELSE EXISTS (SELECT 1 FROM entities WHERE id = ?1 >> 3) END "
            "ON CONFLICT (node, encoder) DO UPDATE SET change = excluded.change, "
            "vector = excluded.vector",
            [(node, number, write.change, vector) for node, vector in vectors],
        )


def _placed_chunk(row: Any, content: str) -> PlacedChunk:
    _, _, ordinal, start, end, heading, tokens, topic, version, *times, uses, last, useful = row
    return PlacedChunk(
        Chunk(topic, version, ordinal, content[start:end], start, end, heading or "", tokens),
        line=content.count("\n", 0, start) + 1,
        end_line=content.count("\n", 0, max(start, end - 1)) + 1,
        valid_from=from_micros(times[0]),
        recorded_at=from_micros(times[1]),
        valid_to=from_micros_or_none(times[2]),
        confidence=times[3],
        importance=DEFAULT_IMPORTANCE if times[4] is None else times[4],
        access_count=uses or 0,
        last_used=from_micros_or_none(last),
        usefulness=useful or 0.0,
    )


def encoder_id(database: Database, encoder: str, dims: int) -> int:
    """Return the number of an encoder, adding it if needed. Raise Conflict if `dims` differs."""
    if type(dims) is not int or dims < 1:
        raise InvalidInput(f"An encoder has a whole number of dimensions from 1, not {dims!r:.60}.")
    row = database.row("SELECT id, dims FROM encoders WHERE name = ?", encoder)
    if row is None:
        return database.insert("encoders", name=encoder, dims=dims)
    if row[1] != dims:
        raise Conflict(
            f"Vectors of the encoder {encoder!r:.60} have {row[1]} dimensions, not {dims}."
        )
    return int(row[0])
