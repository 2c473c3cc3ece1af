"""Erasing for good: a topic, an entity or a space with all that was derived from it.

Deleted bytes are overwritten in the file (secure_delete), and `wipe` empties the
write-ahead log, which still holds the pages as they were before.
"""

from __future__ import annotations

from hades.domain.graph import NodeKind
from hades.errors import NotFound
from hades.store.port import Write
from hades.store.sqlite.engine import Engine
from hades.store.sqlite.entities import SqliteEntities

_STILL_KNOWN = """
SELECT 1 FROM edges WHERE source = ?1 OR target = ?1
UNION ALL SELECT 1 FROM merges WHERE entity = ?2 OR target = ?2
UNION ALL SELECT 1 FROM aliases WHERE entity = ?2
UNION ALL SELECT 1 FROM topics WHERE entity = ?2 LIMIT 1
"""


def erase(
    engine: Engine, entities: SqliteEntities, write: Write, space: int, name: str
) -> dict[str, int]:
    """Erase a topic or an entity by name; how many rows of each kind went."""
    topic = engine.row("SELECT id, entity FROM topics WHERE space = ? AND name = ?", space, name)
    if topic is not None:
        gone = _erase_topic(engine, write, topic[0])
        if topic[1] is not None:
            gone["entities"] = gone.get("entities", 0) + _erase_entity(engine, write, topic[1])
        return gone
    node = entities.node(space, name)
    if node is None:
        raise NotFound(f"There is no topic or entity {name!r} to purge.")
    edges = _erase_edges(engine, write, node)
    return {"entities": _erase_entity(engine, write, node >> 3), "edges": edges}


def erase_space(engine: Engine, write: Write, space: int) -> None:
    """Erase everything in a space."""
    for (topic,) in engine.rows("SELECT id FROM topics WHERE space = ?", space):
        _erase_topic(engine, write, topic)
    for (entity,) in engine.rows("SELECT id FROM entities WHERE space = ?", space):
        _erase_entity(engine, write, entity)
    for sql in (
        "DELETE FROM edges WHERE space = ?",
        "DELETE FROM merges WHERE space = ?",
        "DELETE FROM queries WHERE space = ?",
        "DELETE FROM changes WHERE space = ?",
    ):
        engine.run(sql, space)


def wipe(engine: Engine) -> bool:
    """Empty the write-ahead log of what was erased; False when readers hold it open."""
    busy = engine.row("PRAGMA wal_checkpoint(TRUNCATE)")
    return busy is not None and busy[0] == 0


def _erase_topic(engine: Engine, write: Write, topic: int) -> dict[str, int]:
    node = topic << 3 | NodeKind.TOPIC
    chunks = [
        row[0]
        for row in engine.rows(
            "SELECT c.id FROM chunks c JOIN states s ON s.id = c.state WHERE s.topic = ?", topic
        )
    ]
    edges = _erase_edges(engine, write, node)
    for chunk in chunks:
        chunk_node = chunk << 3 | NodeKind.CHUNK
        edges += _erase_edges(engine, write, chunk_node)
        edges += engine.run("DELETE FROM edges WHERE chunk = ?", chunk).rowcount
        engine.run("DELETE FROM embeddings WHERE node = ?", chunk_node)
        engine.run("DELETE FROM chunks WHERE id = ?", chunk)
        engine.run("INSERT INTO purged VALUES (?, ?)", write.change, chunk_node)
    engine.run("DELETE FROM embeddings WHERE node = ?", node)
    engine.run("DELETE FROM heads WHERE topic = ?", topic)
    states = engine.run("DELETE FROM states WHERE topic = ?", topic).rowcount
    engine.run("DELETE FROM topics WHERE id = ?", topic)
    engine.run("INSERT INTO purged VALUES (?, ?)", write.change, node)
    return {"topics": 1, "states": states, "chunks": len(chunks), "edges": edges}


def _erase_entity(engine: Engine, write: Write, entity: int) -> int:
    node = entity << 3 | NodeKind.ENTITY
    _erase_edges(engine, write, node)
    engine.run("DELETE FROM aliases WHERE entity = ?", entity)
    engine.run("DELETE FROM merges WHERE entity = ?1 OR target = ?1", entity)
    engine.run("DELETE FROM embeddings WHERE node = ?", node)
    engine.run("UPDATE topics SET entity = NULL WHERE entity = ?", entity)
    gone = engine.run("DELETE FROM entities WHERE id = ?", entity).rowcount
    engine.run("INSERT INTO purged VALUES (?, ?)", write.change, node)
    return gone


def _erase_edges(engine: Engine, write: Write, node: int) -> int:
    """Erase the edges of a node, and entities that were known by these edges alone."""
    rows = engine.rows(
        "SELECT id, source, target FROM edges WHERE source = ?1 OR target = ?1", node
    )
    for edge in {row[0] for row in rows}:
        engine.run("DELETE FROM edges WHERE id = ?", edge)
        engine.run("UPDATE edges SET superseded_by = NULL WHERE superseded_by = ?", edge)
    others = {end for row in rows for end in row[1:] if end != node}
    for other in others:
        if other & 7 == NodeKind.ENTITY and not engine.row(_STILL_KNOWN, other, other >> 3):
            _erase_entity(engine, write, other >> 3)
    return len({row[0] for row in rows})
