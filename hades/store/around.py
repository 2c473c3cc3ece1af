"""Rows around some chunks: a part of the tables of a memory, complete with the rows it refers to.

With a chunk come its topic with all versions, its names, its vector, and the facts about them. A
library joins such parts of several memories (`hades.library.excerpt`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hades.domain.graph import NodeKind, row_of
from hades.store.catalogue import TABLES, quoted
from hades.store.excerpt import EDGES_AT_MOST
from hades.store.store import Store

Rows = dict[str, list[tuple[Any, ...]]]
"""For each table, whole rows, in the order of the columns."""

_OF_TOPICS = ("states", "heads", "sources")
_OF_CHUNKS = ("placements", "presences", "mentions", "derived_edges")
_OF_STATES = ("uses", "usefulness")
_BY_NAME = {"relations": ("edges", "derived_edges"), "actors": _OF_STATES}
"""Tables of names, and the tables that refer to them."""
_FACTS = "source = ANY(?1) OR target = ANY(?1)"


def rows_around(
    store: Store, space: int, model: str, chunks: Sequence[int], nodes: Iterable[int]
) -> Rows:
    """Return the rows of some chunks, and those of the facts about their names and some nodes."""
    rows = _rows_of_chunks(store, chunks)
    ends = {entity << 3 | NodeKind.ENTITY for entity in _column(rows, "mentions", "entity")}
    topics = {*store.database.column("SELECT topic FROM chunks WHERE id = ANY(?)", list(chunks))}
    ends |= {topic << 3 | NodeKind.TOPIC for topic in topics} | set(nodes)
    where = f"space = ?2 AND ({_FACTS}) ORDER BY row DESC LIMIT {EDGES_AT_MOST}"
    rows["edges"] = _select(store, "edges", where, list(ends), space)
    for table in ("edges", "derived_edges"):
        ends |= {*_column(rows, table, "source"), *_column(rows, table, "target")}
    topics |= {row_of(node) for node in ends if NodeKind.TOPIC.has(node)}
    own = list(topics)
    # with the plus SQLite finds the topics by id, and not all of the space
    rows["topics"] = _select(store, "topics", "id = ANY(?) AND +space = ?", own, space)
    for table in _OF_TOPICS:
        rows[table] = _select(store, table, "topic = ANY(?)", own)
    rows["states"] = [store.topics.archive.filled(row) for row in rows["states"]]
    for table in _OF_STATES:
        rows[table] = _select(store, table, "state = ANY(?)", _column(rows, "states", "id"))
    entities = {row_of(node) for node in ends if NodeKind.ENTITY.has(node)}
    entities |= {entity for entity in _column(rows, "topics", "entity") if entity is not None}
    rows["merges"] = _select(store, "merges", "entity = ANY(?)", list(entities))
    entities |= {*_column(rows, "merges", "target")}
    rows["entities"] = _select(store, "entities", "id = ANY(?)", list(entities))
    rows["names"] = _select(store, "names", "entity = ANY(?)", list(entities))
    for table, users in _BY_NAME.items():
        named = {row for user in users for row in _column(rows, user, table[:-1])}
        rows[table] = _select(store, table, "id = ANY(?)", list(named))
    nodes_with_vectors = [chunk << 3 | NodeKind.CHUNK for chunk in chunks]
    nodes_with_vectors += [edge << 3 | NodeKind.EDGE for edge in _column(rows, "edges", "id")]
    rows["encoders"] = _select(store, "encoders", "name = ?", model)
    encoder = _column(rows, "encoders", "id")
    rows["embeddings"] = _select(
        store, "embeddings", "node = ANY(?) AND encoder = ANY(?)", nodes_with_vectors, encoder
    )
    return rows


def _rows_of_chunks(store: Store, chunks: Sequence[int]) -> Rows:
    rows = {"chunks": _select(store, "chunks", "id = ANY(?)", list(chunks))}
    for table in _OF_CHUNKS:
        rows[table] = _select(store, table, "chunk = ANY(?)", list(chunks))
    return rows


def _select(store: Store, table: str, where: str, *values: Any) -> list[tuple[Any, ...]]:
    columns = quoted(TABLES[table].columns)
    return store.database.rows(f"SELECT {columns} FROM {table} WHERE {where}", *values)


def _column(rows: Rows, table: str, column: str) -> list[Any]:
    at = list(TABLES[table].columns).index(column)
    return [row[at] for row in rows[table]]
