"""Erase a topic, an entity or a space, with everything derived from it.

Deleted bytes are overwritten in the file (secure_delete). The remaining work is recorded in the
same transaction (see `owed`), so a killed process, a full disk or a reader only delays it.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from hades.domain.graph import NodeKind
from hades.domain.proposal import SAID_ALREADY, SAID_NO_MORE
from hades.domain.summaries import KIND
from hades.domain.times import NOW
from hades.domain.topics import PROMOTION
from hades.errors import NotFound
from hades.language.names import says
from hades.store.archive import LOST
from hades.store.database import Database
from hades.store.entities import OTHER_NAME, Entities
from hades.store.owed import ARCHIVE, INDEXES, LEFTOVERS, LOG, REWRITE, owe
from hades.store.proposals import Proposals
from hades.store.records import Write
from hades.store.topics import Topics, json_or_none

_TIED = """
SELECT 1 FROM edges WHERE source = ?1 OR target = ?1
UNION ALL SELECT 1 FROM merges WHERE entity = ?2 OR target = ?2
UNION ALL SELECT 1 FROM derived_edges WHERE source = ?1 OR target = ?1
UNION ALL SELECT 1 FROM topics WHERE entity = ?2
"""
"""Finds rows that join an entity to something else."""
_STILL_KNOWN = f"""{_TIED}
UNION ALL SELECT 1 FROM mentions WHERE entity = ?2
UNION ALL SELECT 1 FROM names a JOIN entities e ON e.id = a.entity AND {OTHER_NAME}
  WHERE a.entity = ?2
LIMIT 1
"""
_IN_A_SPACE = (
    *("edges", "merges", "matched", "proposals", "idempotency", "changes"),
    *("query_logs", "feedback", "weight_snapshots", "hierarchies"),
)
MEMBERS_AT_LEAST = 5
"""The centroid of fewer chunks may reveal their texts, so a purge empties it."""


def erase(
    database: Database, entities: Entities, write: Write, space: int, name: str
) -> dict[str, int]:
    """Erase the topic and the entity of a name. Return the number of erased rows by kind.

    Proposals, stored answers and summaries that contain the name are erased too. Entities that were
    merged with it have names of their own and stay.
    """
    nodes = entities.own_nodes(space, name)
    gone = _erase_kept_texts(database, write, space, {name, *_names(database, nodes)})
    if not nodes and not gone:
        raise NotFound(f"There is no topic or entity {name!r} to purge.")
    topics = {node >> 3 for node in nodes if node & 7 == NodeKind.TOPIC}
    named = {node >> 3 for node in nodes if node & 7 == NodeKind.ENTITY}
    for entity in named:
        topics |= set(database.column("SELECT id FROM topics WHERE entity = ?", entity))
    topics |= _summaries(database, space, topics, {name, *_names(database, nodes)})
    _blank_named_clusters(database, write, space, {name, *_names(database, nodes)})
    texts = {database.value("SELECT name FROM topics WHERE id = ?", topic) for topic in topics}
    for topic in topics:
        gone.update(_erase_topic(database, write, topic))
    if texts:  # after the topics, so that entities known only by both are erased
        gone["edges"] += _erase_extracted(database, write, space, texts)
        _erase_sources(database, space, texts)
    for entity in named:
        gone["edges"] += _erase_edges(database, write, entity << 3 | NodeKind.ENTITY)
        gone["entities"] += _erase_entity(database, write, entity)
    # Questions and paths may contain any name, so the log is deleted whole.
    database.run("DELETE FROM query_logs WHERE space = ?", space)
    owe(database, REWRITE, LOG, INDEXES, LEFTOVERS)
    return dict(gone)


def erase_space(database: Database, write: Write, space: int) -> None:
    """Erase everything in a space, but not the space itself."""
    clusters = "SELECT c.id FROM clusters c JOIN hierarchies h ON h.id = c.hierarchy "
    clusters += "WHERE h.space = ?"
    database.run("DELETE FROM bridges WHERE space = ?", space)
    database.run(f"DELETE FROM memberships WHERE cluster IN ({clusters})", space)
    database.run(f"DELETE FROM clusters WHERE id IN ({clusters})", space)
    for (topic,) in database.rows("SELECT id FROM topics WHERE space = ?", space):
        _erase_topic(database, write, topic)
    for (entity,) in database.rows("SELECT id FROM entities WHERE space = ?", space):
        _erase_entity(database, write, entity)
    for table in _IN_A_SPACE:
        database.run(f"DELETE FROM {table} WHERE space = ?", space)
    owe(database, REWRITE, LOG, INDEXES, LEFTOVERS)


def _erase_kept_texts(
    database: Database, write: Write, space: int, names: set[str]
) -> Counter[str]:
    """Erase proposals and stored answers that contain one of the names. Return how many of each.

    A refused note that only repeats a purged topic is not erased: it waits for review.
    """
    gone: Counter[str] = Counter()
    known = Proposals(database)
    for proposal in known.find(space):
        repeats = proposal.status == "refused" and proposal.why.endswith(SAID_ALREADY)
        why_says = _says(proposal.why, names)
        if _says(dict(proposal.fields), names) or (why_says and not repeats):
            database.run("DELETE FROM proposals WHERE id = ?", proposal.id)
            gone["proposals"] += 1
        elif why_says:
            known.decide(write, proposal.id, "waiting", None, SAID_NO_MORE)
    kept = database.rows("SELECT actor, key_digest, answer FROM idempotency WHERE space = ?", space)
    for actor, key, answer in kept:
        if _says(json.loads(answer), names):
            database.run(
                "DELETE FROM idempotency WHERE space = ? AND actor = ? AND key_digest = ?",
                *(space, actor, key),
            )
            gone["answers"] += 1
    return gone


def _blank_clusters(database: Database, write: Write, which: str, *values: Any) -> None:
    """Empty labels and texts of clusters, given by a query, and of their parents.

    Call it before the memberships are deleted. Derived indexes read the clusters again.
    """
    clusters = set(database.column(which, *values))
    clusters |= set(
        database.column("SELECT parent FROM clusters WHERE id = ANY(?)", sorted(clusters))
    ) - {None}
    for cluster in sorted(clusters):
        database.run("UPDATE clusters SET label = '', text = '' WHERE id = ?", cluster)
        members = database.value(
            "SELECT count(DISTINCT m.chunk) FROM memberships m JOIN clusters c "
            "ON c.id = m.cluster WHERE c.id = ?1 OR c.parent = ?1",
            cluster,
        )
        if members <= MEMBERS_AT_LEAST:  # one of them is purged now
            database.run("UPDATE clusters SET centroid = ? WHERE id = ?", b"", cluster)
        database.run(
            "UPDATE hierarchies SET change = ? "
            "WHERE id = (SELECT hierarchy FROM clusters WHERE id = ?)",
            *(write.change, cluster),
        )


def _blank_named_clusters(database: Database, write: Write, space: int, names: set[str]) -> None:
    """Empty labels and texts of clusters that contain one of the names."""
    rows = database.rows(
        "SELECT c.id, c.label, c.text FROM clusters c JOIN hierarchies h ON h.id = c.hierarchy "
        "WHERE h.space = ?",
        space,
    )
    said = [cluster for cluster, *texts in rows if _says(texts, names)]
    _blank_clusters(database, write, "SELECT id FROM clusters WHERE id = ANY(?)", said)


def _summaries(database: Database, space: int, topics: set[int], names: set[str]) -> set[int]:
    """Return the topics of summaries made from topics, at all levels, or with one of the names."""
    read = Topics(database).history

    def say(summary: str) -> bool:
        try:
            return any(_says(state.content, names) for state in read(space, summary, NOW))
        except LOST:  # unreadable: erase it, so that it is made again
            return True

    rows = database.rows("SELECT id, name FROM topics WHERE space = ? AND kind = ?", space, KIND)
    found = {topic for topic, name in rows if say(name)}
    return found | set(
        database.column(
            "WITH RECURSIVE held(state) AS (SELECT id FROM states WHERE topic = ANY(?1) "
            "UNION SELECT o.summary FROM originals o JOIN held h ON h.state = o.state) "
            "SELECT DISTINCT s.topic FROM held h JOIN states s ON s.id = h.state "
            "WHERE s.topic <> ALL(?1)",
            sorted(topics | found),
        )
    )


def _says(value: Any, names: set[str]) -> bool:
    """Return whether a string or key in a JSON value has one of the names as whole words."""
    if isinstance(value, str):
        return any(says(value, name) for name in names)
    if isinstance(value, dict):
        return any(_says(part, names) for pair in value.items() for part in pair)
    return isinstance(value, list | tuple) and any(_says(part, names) for part in value)


def _names(database: Database, nodes: list[int]) -> set[str]:
    """Return every name that these nodes have or had."""
    sql = {
        NodeKind.TOPIC: "SELECT name FROM topics WHERE id = ?1",
        NodeKind.ENTITY: "SELECT name FROM entities WHERE id = ?1 "
        "UNION SELECT name FROM names WHERE entity = ?1",
    }
    return {name for node in nodes for name in database.column(sql[NodeKind(node & 7)], node >> 3)}


def _erase_topic(database: Database, write: Write, topic: int) -> dict[str, int]:
    node = topic << 3 | NodeKind.TOPIC
    chunks = database.column("SELECT id FROM chunks WHERE topic = ?", topic)
    edges = _erase_edges(database, write, node)
    met: set[int] = set()
    for chunk in chunks:
        edges += _erase_chunk(database, write, chunk, met)
    for entity in met:
        _erase_orphan(database, write, entity)
    states = "SELECT id FROM states WHERE topic = ?1"
    archived = f"SELECT DISTINCT object FROM archived WHERE state IN ({states})"
    for folder in {name.rpartition("/")[0] for name in database.column(archived, topic)}:
        owe(database, f"{ARCHIVE}{folder}/")
    for table in ("pending", "uses", "usefulness", "archived"):
        database.run(f"DELETE FROM {table} WHERE state IN ({states})", topic)
    database.run(f"DELETE FROM originals WHERE state IN ({states}) OR summary IN ({states})", topic)
    for table in ("heads", "sources"):
        database.run(f"DELETE FROM {table} WHERE topic = ?", topic)
    gone = database.run("DELETE FROM states WHERE topic = ?", topic)
    _erase_node(database, write, node)
    database.run("DELETE FROM topics WHERE id = ?", topic)
    return {"topics": 1, "states": gone, "chunks": len(chunks), "edges": edges}


def _erase_chunk(database: Database, write: Write, chunk: int, met: set[int]) -> int:
    """Erase a chunk and all data derived from it. Add its entities to `met`; count erased edges."""
    met |= set(database.column("SELECT entity FROM mentions WHERE chunk = ?", chunk))
    derived = database.rows("SELECT source, target FROM derived_edges WHERE chunk = ?", chunk)
    met |= {end >> 3 for ends in derived for end in ends if end & 7 == NodeKind.ENTITY}
    node = chunk << 3 | NodeKind.CHUNK
    edges = _erase_edges(database, write, node)
    _blank_clusters(database, write, "SELECT cluster FROM memberships WHERE chunk = ?", chunk)
    for table in ("mentions", "derived_edges", "presences", "placements", "memberships"):
        database.run(f"DELETE FROM {table} WHERE chunk = ?", chunk)
    _erase_node(database, write, node)
    database.run("DELETE FROM chunks WHERE id = ?", chunk)
    return edges


def _erase_orphan(database: Database, write: Write, entity: int) -> None:
    """Erase an entity that nothing refers to any more, unless a user named it."""
    node = entity << 3 | NodeKind.ENTITY
    named = database.row("SELECT 1 FROM entities WHERE id = ? AND origin = 0", entity)
    introduced = database.row(
        "SELECT 1 FROM mentions WHERE entity = ? AND introduces IS NOT NULL LIMIT 1", entity
    )
    if not named and not introduced and not database.row(f"{_TIED} LIMIT 1", node, entity):
        _erase_entity(database, write, entity)


def _erase_entity(database: Database, write: Write, entity: int) -> int:
    node = entity << 3 | NodeKind.ENTITY
    _erase_edges(database, write, node)
    database.run("DELETE FROM names WHERE entity = ?", entity)
    database.run("DELETE FROM mentions WHERE entity = ?", entity)
    database.run("DELETE FROM merges WHERE entity = ?1 OR target = ?1", entity)
    database.run("DELETE FROM derived_edges WHERE source = ?1 OR target = ?1", node)
    database.run("UPDATE topics SET entity = NULL WHERE entity = ?", entity)
    _erase_node(database, write, node)
    return database.run("DELETE FROM entities WHERE id = ?", entity)


def _erase_node(database: Database, write: Write, node: int) -> None:
    """Erase the vectors and bridges of a node, and record for derived indexes that it is gone.

    Call it before the node itself is deleted: the policies of a role limited to some spaces look
    at the node.
    """
    database.run("DELETE FROM embeddings WHERE node = ?", node)
    database.run("DELETE FROM bridges WHERE source = ?1 OR node = ?1 OR target = ?1", node)
    database.run("INSERT INTO purged VALUES (?, ?)", write.change, node)


def _erase_edges(database: Database, write: Write, node: int) -> int:
    """Erase the edges of a node, and entities known only by these. Return the edges' number."""
    return _erase_rows(
        *(database, write, node),
        database.rows(
            "SELECT id, source, target FROM edges WHERE source = ?1 OR target = ?1", node
        ),
    )


def _erase_extracted(database: Database, write: Write, space: int, names: set[str]) -> int:
    """Erase the edges that were extracted from topics. Extraction then starts over."""
    rows = [
        row[:3]
        for row in database.rows(
            "SELECT id, source, target, metadata FROM edges "
            "WHERE space = ? AND metadata LIKE '%\"extracted_from\"%'",
            space,
        )
        if str(json.loads(row[3]).get("extracted_from")).rpartition("@")[0] in names
    ]
    database.run("DELETE FROM meta WHERE key LIKE ?", f"history:{space}:extracted:%")
    return _erase_rows(database, write, None, rows)


def _erase_sources(database: Database, space: int, names: set[str]) -> None:
    """Remove versions of topics from the sources that other topics' promotions list."""
    for state, text in database.rows(
        "SELECT s.id, s.metadata FROM states s JOIN topics t ON t.id = s.topic "
        "WHERE t.space = ? AND s.metadata LIKE ?",
        *(space, f'%"{PROMOTION}"%'),
    ):
        metadata = json.loads(text)
        kept = {**metadata, PROMOTION: _without(metadata.get(PROMOTION), names)}
        if kept != metadata:
            database.run("UPDATE states SET metadata = ? WHERE id = ?", json_or_none(kept), state)


def _without(value: Any, names: set[str]) -> Any:
    """Return a JSON value with each string emptied that cites a version of one of the names."""
    if isinstance(value, dict):
        return {key: _without(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_without(part, names) for part in value]
    cites = isinstance(value, str) and any(f"{name}@" in value for name in names)
    return "" if cites else value


def _erase_rows(database: Database, write: Write, node: int | None, rows: list[Any]) -> int:
    """Erase edges, and entities other than `node` known only by them. Return the edges' number."""
    edges = {row[0] for row in rows}
    for edge in edges:
        _erase_node(database, write, edge << 3 | NodeKind.EDGE)
        database.run("DELETE FROM edges WHERE id = ?", edge)
        database.run("UPDATE edges SET superseded_by = NULL WHERE superseded_by = ?", edge)
    for other in {end for row in rows for end in row[1:] if end != node}:
        if other & 7 == NodeKind.ENTITY and not database.row(_STILL_KNOWN, other, other >> 3):
            _erase_entity(database, write, other >> 3)
    return len(edges)
