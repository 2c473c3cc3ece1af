"""Erasing for good: a topic, an entity or a space with all that was derived from it.

Deleted bytes are overwritten in the file (secure_delete); `wipe` then writes the file anew
and empties the write-ahead log, which still holds the pages as they were before.
"""

from __future__ import annotations

import json
from typing import Any

from hades.domain.graph import NodeKind
from hades.domain.names import says
from hades.errors import NotFound
from hades.store.entities import Entities
from hades.store.listing import OTHER_NAME
from hades.store.records import Write
from hades.store.sqlite import Database

_TIED = """
SELECT 1 FROM edges WHERE source = ?1 OR target = ?1
UNION ALL SELECT 1 FROM merges WHERE entity = ?2 OR target = ?2
UNION ALL SELECT 1 FROM links WHERE source = ?1 OR target = ?1
UNION ALL SELECT 1 FROM topics WHERE entity = ?2 LIMIT 1
"""
_STILL_KNOWN = f"""
SELECT 1 FROM edges WHERE source = ?1 OR target = ?1
UNION ALL SELECT 1 FROM merges WHERE entity = ?2 OR target = ?2
UNION ALL SELECT 1 FROM names a JOIN entities e ON e.id = a.entity AND {OTHER_NAME}
  WHERE entity = ?2
UNION ALL SELECT 1 FROM mentions WHERE entity = ?2
UNION ALL SELECT 1 FROM links WHERE source = ?1 OR target = ?1
UNION ALL SELECT 1 FROM topics WHERE entity = ?2 LIMIT 1
"""


def erase(
    engine: Database, entities: Entities, write: Write, space: int, name: str
) -> dict[str, int]:
    """Erase what bears a name, topic and entity alike; how many rows of each kind went.

    Entities that were merged into it, or that it was merged into, bear names of their own.
    """
    nodes = entities.own_nodes(space, name)
    said = erase_said(engine, space, {name, *_names(engine, nodes)})
    if not nodes and not said:
        raise NotFound(f"There is no topic or entity {name!r} to purge.")
    topics = {node >> 3 for node in nodes if node & 7 == NodeKind.TOPIC}
    named = {node >> 3 for node in nodes if node & 7 == NodeKind.ENTITY}
    for entity in named:
        rows = engine.rows("SELECT id FROM topics WHERE entity = ?", entity)
        topics |= {row[0] for row in rows}
    gone = said
    for topic in topics:
        for kind, count in _erase_topic(engine, write, topic).items():
            gone[kind] = gone.get(kind, 0) + count
    for entity in named:
        edges = _erase_edges(engine, write, entity << 3 | NodeKind.ENTITY)
        gone["edges"] = gone.get("edges", 0) + edges
        gone["entities"] = gone.get("entities", 0) + _erase_entity(engine, write, entity)
    return gone


def erase_said(engine: Database, space: int, names: set[str]) -> dict[str, int]:
    """Erase proposals and kept answers in which one of the names stands; how many of each."""
    gone: dict[str, int] = {}
    proposals = engine.rows("SELECT id, fields, why FROM proposals WHERE space = ?", space)
    for proposal, fields, why in proposals:
        if _says((json.loads(fields), why), names):
            engine.run("DELETE FROM proposals WHERE id = ?", proposal)
            gone["proposals"] = gone.get("proposals", 0) + 1
    answers = engine.rows("SELECT actor, key_digest, answer FROM answers WHERE space = ?", space)
    for actor, key, answer in answers:
        if _says(json.loads(answer), names):
            engine.run(
                "DELETE FROM answers WHERE space = ? AND actor = ? AND key_digest = ?",
                *(space, actor, key),
            )
            gone["answers"] = gone.get("answers", 0) + 1
    return gone


def _says(value: Any, names: set[str]) -> bool:
    """Whether a string anywhere in a JSON value says one of the names."""
    if isinstance(value, str):
        return any(says(value, name) for name in names)
    if isinstance(value, dict):
        return any(_says(part, names) for pair in value.items() for part in pair)
    return isinstance(value, list | tuple) and any(_says(part, names) for part in value)


def _names(engine: Database, nodes: list[int]) -> set[str]:
    """Every name these nodes go or went by."""
    sql = {
        NodeKind.TOPIC: "SELECT name FROM topics WHERE id = ?1",
        NodeKind.ENTITY: "SELECT name FROM entities WHERE id = ?1 "
        "UNION SELECT name FROM names WHERE entity = ?1",
    }
    return {row[0] for node in nodes for row in engine.rows(sql[NodeKind(node & 7)], node >> 3)}


def erase_space(engine: Database, write: Write, space: int) -> None:
    """Erase everything in a space."""
    for (topic,) in engine.rows("SELECT id FROM topics WHERE space = ?", space):
        _erase_topic(engine, write, topic)
    for (entity,) in engine.rows("SELECT id FROM entities WHERE space = ?", space):
        _erase_entity(engine, write, entity)
    for sql in (
        "DELETE FROM edges WHERE space = ?",
        "DELETE FROM merges WHERE space = ?",
        "DELETE FROM queries WHERE space = ?",
        "DELETE FROM matched WHERE space = ?",
        "DELETE FROM proposals WHERE space = ?",
        "DELETE FROM answers WHERE space = ?",
        "DELETE FROM changes WHERE space = ?",
    ):
        engine.run(sql, space)


def wipe(engine: Database) -> bool:
    """Leave no erased byte in the file or its log; False when readers still hold old pages.

    Deleted cells are overwritten, but cells that moved between pages leave copies in the
    unused part of a page: only writing the file anew (VACUUM) is sure to lose them.
    """
    if engine.in_transaction:
        engine.afterwards(lambda: wipe(engine))
        return False
    engine.run("VACUUM")
    busy = engine.row("PRAGMA wal_checkpoint(TRUNCATE)")
    return busy is not None and busy[0] == 0


def _erase_topic(engine: Database, write: Write, topic: int) -> dict[str, int]:
    node = topic << 3 | NodeKind.TOPIC
    chunks = [row[0] for row in engine.rows("SELECT id FROM chunks WHERE topic = ?", topic)]
    edges = _erase_edges(engine, write, node)
    met: set[int] = set()
    for chunk in chunks:
        edges += _erase_chunk(engine, write, chunk, met)
    for entity in met:
        _erase_orphan(engine, write, entity)
    for sql in (
        "DELETE FROM pending WHERE state IN (SELECT id FROM states WHERE topic = ?)",
        "DELETE FROM heads WHERE topic = ?",
        "DELETE FROM sources WHERE topic = ?",
    ):
        engine.run(sql, topic)
    engine.run("DELETE FROM embeddings WHERE node = ?", node)
    states = engine.run("DELETE FROM states WHERE topic = ?", topic).rowcount
    engine.run("DELETE FROM topics WHERE id = ?", topic)
    engine.run("INSERT INTO purged VALUES (?, ?)", write.change, node)
    return {"topics": 1, "states": states, "chunks": len(chunks), "edges": edges}


def _erase_chunk(engine: Database, write: Write, chunk: int, met: set[int]) -> int:
    """Erase a chunk and what was read in it; the entities it met are for the caller to look at."""
    node = chunk << 3 | NodeKind.CHUNK
    met |= {row[0] for row in engine.rows("SELECT entity FROM mentions WHERE chunk = ?", chunk)}
    for source, target in engine.rows("SELECT source, target FROM links WHERE chunk = ?", chunk):
        met |= {end >> 3 for end in (source, target) if end & 7 == NodeKind.ENTITY}
    edges = _erase_edges(engine, write, node)
    edges += engine.run("DELETE FROM edges WHERE chunk = ?", chunk).rowcount
    for sql in (
        "DELETE FROM mentions WHERE chunk = ?",
        "DELETE FROM links WHERE chunk = ?",
        "DELETE FROM presences WHERE chunk = ?",
        "DELETE FROM placements WHERE chunk = ?",
        "DELETE FROM chunks WHERE id = ?",
    ):
        engine.run(sql, chunk)
    engine.run("DELETE FROM embeddings WHERE node = ?", node)
    engine.run("INSERT INTO purged VALUES (?, ?)", write.change, node)
    return edges


def _erase_orphan(engine: Database, write: Write, entity: int) -> None:
    """Erase an entity that nothing speaks of any more, unless somebody named it."""
    node = entity << 3 | NodeKind.ENTITY
    named = engine.row("SELECT 1 FROM entities WHERE id = ? AND origin = 0", entity)
    introduced = engine.row(
        "SELECT 1 FROM mentions WHERE entity = ? AND introduces IS NOT NULL LIMIT 1", entity
    )
    if not named and not introduced and not engine.row(_TIED, node, entity):
        _erase_entity(engine, write, entity)


def _erase_entity(engine: Database, write: Write, entity: int) -> int:
    node = entity << 3 | NodeKind.ENTITY
    _erase_edges(engine, write, node)
    engine.run("DELETE FROM names WHERE entity = ?", entity)
    engine.run("DELETE FROM merges WHERE entity = ?1 OR target = ?1", entity)
    engine.run("DELETE FROM mentions WHERE entity = ?", entity)
    engine.run("DELETE FROM links WHERE source = ?1 OR target = ?1", node)
    engine.run("DELETE FROM embeddings WHERE node = ?", node)
    engine.run("UPDATE topics SET entity = NULL WHERE entity = ?", entity)
    gone = engine.run("DELETE FROM entities WHERE id = ?", entity).rowcount
    engine.run("INSERT INTO purged VALUES (?, ?)", write.change, node)
    return gone


def _erase_edges(engine: Database, write: Write, node: int) -> int:
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
