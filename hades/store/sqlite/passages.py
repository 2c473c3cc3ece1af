"""Chunks and vectors in SQLite."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hades.domain.graph import NodeKind
from hades.domain.trace import Chunk
from hades.errors import Conflict, NotFound
from hades.store.port import Write
from hades.store.sqlite.engine import Engine


class SqlitePassages:
    """Chunks of states, and vectors of nodes."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def put_chunks(self, write: Write, space: int, chunks: Sequence[Chunk]) -> list[int]:
        """Write chunks of states that exist; their nodes, in the same order."""
        nodes = []
        for chunk in chunks:
            state = self._state(space, chunk.topic, chunk.version)
            row = self._engine.insert(
                'INSERT INTO chunks (state, ordinal, start, "end", tokens, change, heading, text) '
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                *(state, chunk.ordinal, chunk.start, chunk.end, chunk.tokens, write.change),
                *(chunk.heading or None, chunk.text),
            )
            nodes.append(row << 3 | NodeKind.CHUNK)
        return nodes

    def chunks(self, space: int, topic: str, version: int) -> list[Chunk]:
        """The chunks of one state, in order."""
        rows = self._engine.rows(
            'SELECT ordinal, text, start, "end", heading, tokens FROM chunks '
            "WHERE state = ? ORDER BY ordinal",
            self._state(space, topic, version),
        )
        return [
            Chunk(topic, version, ordinal, text, start, end, heading or "", tokens)
            for ordinal, text, start, end, heading, tokens in rows
        ]

    def put_vectors(
        self, write: Write, encoder: str, dims: int, vectors: Iterable[tuple[int, bytes]]
    ) -> None:
        """Write vectors made by a named encoder; another encoder's stay beside them."""
        row = self._engine.row("SELECT id, dims FROM encoders WHERE name = ?", encoder)
        if row is not None and row[1] != dims:
            raise Conflict(f"The encoder {encoder!r} gives {row[1]} numbers a vector, not {dims}.")
        number = (
            row[0]
            if row
            else self._engine.insert(
                "INSERT INTO encoders (name, dims) VALUES (?, ?)", encoder, dims
            )
        )
        for node, vector in vectors:
            self._engine.run(
                "INSERT OR REPLACE INTO embeddings VALUES (?, ?, ?, ?)",
                *(node, number, write.change, vector),
            )

    def vectors(self, encoder: str) -> Iterator[tuple[int, bytes]]:
        """Every vector of an encoder, by node."""
        yield from self._engine.rows(
            "SELECT v.node, v.vector FROM embeddings v JOIN encoders e ON e.id = v.encoder "
            "WHERE e.name = ? ORDER BY v.node",
            encoder,
        )

    def _state(self, space: int, topic: str, version: int) -> int:
        row = self._engine.row(
            "SELECT s.id FROM states s JOIN topics t ON t.id = s.topic "
            "WHERE t.space = ? AND t.name = ? AND s.version = ?",
            *(space, topic, version),
        )
        if row is None:
            raise NotFound(f"There is no state {topic}@{version}.")
        return int(row[0])
