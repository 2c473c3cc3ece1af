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
from hades.store.catalogue import NODE_TABLES, TABLES, referring
from hades.store.database import Database, intact
from hades.store.entities import OTHER_NAME, Entities
from hades.store.owed import ARCHIVE, INDEXES, LEFTOVERS, LOG, REWRITE, owe
from hades.store.proposals import Proposals
from hades.store.records import Write
from hades.store.topics import Topics, json_or_none

_TIED = f"""
SELECT 1 FROM edges WHERE source = e.id << 3 | {NodeKind.ENTITY}
UNION ALL SELECT 1 FROM edges WHERE target = e.id << 3 | {NodeKind.ENTITY}
UNION ALL SELECT 1 FROM merges WHERE entity = e.id OR target = e.id
UNION ALL SELECT 1 FROM derived_edges WHERE source = e.id << 3 | {NodeKind.ENTITY}
UNION ALL SELECT 1 FROM derived_edges WHERE target = e.id << 3 | {NodeKind.ENTITY}
UNION ALL SELECT 1 FROM topics WHERE entity = e.id
"""
"""SQL: rows that join an entity to something else."""
_UNKNOWN = f"""SELECT e.id FROM entities e WHERE e.id = ANY(?) AND NOT EXISTS ({_TIED}
UNION ALL SELECT 1 FROM mentions WHERE entity = e.id
UNION ALL SELECT 1 FROM names a WHERE a.entity = e.id AND {OTHER_NAME})"""
"""SQL: entities that were known only by their edges."""
_ORPHANED = f"""SELECT e.id FROM entities e WHERE e.id = ANY(?) AND e.origin <> 0
AND NOT EXISTS ({_TIED}
UNION ALL SELECT 1 FROM mentions WHERE entity = e.id AND introduces IS NOT NULL)"""
"""SQL: entities that no user named and that nothing refers to any more."""
_MET = f"""SELECT entity FROM mentions WHERE chunk = ANY(?1)
UNION SELECT source >> 3 FROM derived_edges
WHERE chunk = ANY(?1) AND source & 7 = {NodeKind.ENTITY}
UNION SELECT target >> 3 FROM derived_edges
WHERE chunk = ANY(?1) AND target & 7 = {NodeKind.ENTITY}"""
"""SQL: the entities in chunks."""
_ENDS = f"""SELECT source FROM edges WHERE id = ANY(?1) AND source & 7 = {NodeKind.ENTITY}
UNION SELECT target FROM edges WHERE id = ANY(?1) AND target & 7 = {NodeKind.ENTITY}"""
"""SQL: the entities that edges join, as nodes."""
_SMALL = """SELECT c.id FROM clusters c WHERE c.id = ANY(?1) AND (
SELECT count(DISTINCT m.chunk) FROM memberships m JOIN clusters k ON k.id = m.cluster
WHERE (k.id = c.id OR k.parent = c.id) AND m.chunk <> ALL(?2)) < ?3"""
MEMBERS_AT_LEAST = 5
"""The centroid of fewer chunks may reveal their texts, so a purge empties it."""
_NODE_COLUMNS = [(table, name) for table, about in TABLES.items() for name in about.having("node")]
_WITH_PARTS = {
    column.target for about in TABLES.values() for column in about.having("owner", "link").values()
}
"""Tables whose rows have rows that belong to them, or links to them."""


def erase(
    database: Database, entities: Entities, write: Write, space: int, name: str
) -> dict[str, int]:
    """Erase the topic and the entity of a name. Return the number of erased rows by kind.

    Proposals, stored answers and summaries that contain the name are erased too. Entities that were
    merged with it have names of their own and stay.
    """
    nodes = entities.own_nodes(space, name)
    names = {name, *_names(database, nodes)}
    eraser = _Eraser(database, write, space)
    kept_texts = eraser.erase_kept_texts(names)
    if not nodes and not kept_texts:
        raise NotFound(f"There is no topic or entity {name!r} to purge.")
    named = [node >> 3 for node in nodes if node & 7 == NodeKind.ENTITY]
    topics = {node >> 3 for node in nodes if node & 7 == NodeKind.TOPIC}
    topics |= set(database.column("SELECT id FROM topics WHERE entity = ANY(?)", named))
    topics |= _summaries(database, space, topics, names)
    eraser.blank_clusters([cluster for (cluster,) in eraser.quoting("clusters", names)], [])
    kinds: list[str] = []
    if topics:
        eraser.erase_topics(sorted(topics))
        kinds += ["topics", "states", "chunks", "edges"]
    if named:
        # One of them may have been erased with the topics.
        named = database.column("SELECT id FROM entities WHERE id = ANY(?)", named)
        eraser.erase("entities", named)
        kinds += ["edges", "entities"]
    # Questions and paths may contain any name, so the log is deleted whole.
    database.run("DELETE FROM query_logs WHERE space = ?", space)
    owe(database, REWRITE, LOG, INDEXES, LEFTOVERS)
    return kept_texts | {kind: eraser.gone[kind] for kind in kinds}


def erase_space(database: Database, write: Write, space: int) -> None:
    """Erase a space and everything in it."""
    _Eraser(database, write, space).erase("spaces", [space])
    owe(database, REWRITE, LOG, INDEXES, LEFTOVERS)


class _Eraser:
    """Erases rows of a space with everything that belongs to them."""

    def __init__(self, database: Database, write: Write, space: int) -> None:
        self._database = database
        self._write = write
        self._space = space
        self.gone: Counter[str] = Counter()
        """How many rows of each table were erased by their ids."""

    def erase(self, table: str, rows: list[int]) -> None:
        """Erase rows by their ids, with the rows that belong to them; empty links to them.

        The policies of a role limited to some spaces look at the owners of a row, so what belongs
        to a row is erased before it.
        """
        if not rows:
            return
        run = self._database.run
        for kind in (kind for kind, name in NODE_TABLES.items() if name == table):
            self._erase_nodes(kind, rows)
        if table == "chunks":
            clusters = "SELECT DISTINCT cluster FROM memberships WHERE chunk = ANY(?)"
            self.blank_clusters(self._database.column(clusters, rows), rows)
        if table == "states":
            archived = "SELECT DISTINCT object FROM archived WHERE state = ANY(?)"
            names = self._database.column(archived, rows)
            folders = {name.rpartition("/")[0] for name in names}
            owe(self._database, *(f"{ARCHIVE}{folder}/" for folder in folders))
        for part, column in referring(table, "owner"):
            if part in _WITH_PARTS:
                of_them = f"SELECT DISTINCT id FROM {part} WHERE {column} = ANY(?)"
                self.erase(part, self._database.column(of_them, rows))
            else:
                run(f"DELETE FROM {part} WHERE {column} = ANY(?)", rows)
        for other, column in referring(table, "link"):
            run(f"UPDATE {other} SET {column} = NULL WHERE {column} = ANY(?)", rows)
        run(f"DELETE FROM {table} WHERE id = ANY(?)", rows)
        self.gone[table] += len(rows)

    def _erase_nodes(self, kind: NodeKind, rows: list[int]) -> None:
        """Erase what belongs to nodes, and record for derived indexes that they are gone."""
        nodes = [row << 3 | kind for row in rows]
        edges = "SELECT DISTINCT id FROM edges WHERE source = ANY(?1) OR target = ANY(?1)"
        self._erase_edges(self._database.column(edges, nodes), set(nodes))
        for table, column in _NODE_COLUMNS:
            self._database.run(f"DELETE FROM {table} WHERE {column} = ANY(?)", nodes)
        purged = [(self._write.change, node) for node in nodes]
        self._database.run_many("INSERT INTO purged VALUES (?, ?)", purged)

    def _erase_edges(self, edges: list[int], but: set[int] | None = None) -> None:
        """Erase edges, and the entities (except the nodes `but`) that were known only by them."""
        ends = set(self._database.column(_ENDS, edges)) - (but or set())
        self.erase("edges", edges)
        entities = [node >> 3 for node in sorted(ends)]
        self.erase("entities", self._database.column(_UNKNOWN, entities))

    def erase_topics(self, topics: list[int]) -> None:
        """Erase topics, what was extracted from them, and entities that nothing else mentions."""
        read = self._database.column
        texts = set(read("SELECT name FROM topics WHERE id = ANY(?)", topics))
        met = read(_MET, read("SELECT id FROM chunks WHERE topic = ANY(?)", topics))
        self.erase("topics", topics)
        self.erase("entities", read(_ORPHANED, met))
        self._erase_extracted(texts)
        self._erase_sources(texts)

    def _erase_extracted(self, names: set[str]) -> None:
        """Erase the edges that were extracted from topics. Extraction then starts over."""
        rows = self._database.rows(
            "SELECT id, metadata FROM edges "
            "WHERE space = ? AND metadata LIKE '%\"extracted_from\"%'",
            self._space,
        )
        extracted = {
            edge
            for edge, metadata in rows
            if str(json.loads(metadata).get("extracted_from")).rpartition("@")[0] in names
        }
        pattern = f"history:{self._space}:extracted:%"
        self._database.run("DELETE FROM meta WHERE key LIKE ?", pattern)
        self._erase_edges(sorted(extracted))

    def _erase_sources(self, names: set[str]) -> None:
        """Remove versions of topics from the sources that other topics' promotions list."""
        for state, text in self._database.rows(
            "SELECT s.id, s.metadata FROM states s JOIN topics t ON t.id = s.topic "
            "WHERE t.space = ? AND s.metadata LIKE ?",
            self._space,
            f'%"{PROMOTION}"%',
        ):
            metadata = json.loads(text)
            kept = {**metadata, PROMOTION: _without(metadata.get(PROMOTION), names)}
            if kept != metadata:
                update = "UPDATE states SET metadata = ? WHERE id = ?"
                self._database.run(update, json_or_none(kept), state)

    def quoting(self, table: str, names: set[str]) -> list[tuple[Any, ...]]:
        """Return the keys of the rows of a table that quote one of the names."""
        key = TABLES[table].key
        columns = TABLES[table].columns
        quotes = {name: column.read or str for name, column in columns.items() if column.quotes}
        rows = self._database.rows(
            f"SELECT {', '.join((*key, *quotes))} FROM {table} WHERE {_in_space(table)}",
            self._space,
        )
        with intact(f"A row of {table}"):
            return [
                tuple(row[: len(key)])
                for row in rows
                if any(
                    text is not None and _says(read(text), names)
                    for read, text in zip(quotes.values(), row[len(key) :], strict=True)
                )
            ]

    def erase_kept_texts(self, names: set[str]) -> dict[str, int]:
        """Erase proposals and stored answers that quote one of the names; return how many of each.

        A refused note that only repeats a purged topic is not erased: it waits for review.
        """
        gone: Counter[str] = Counter()
        proposals = Proposals(self._database)
        for (number,) in self.quoting("proposals", names):
            proposal = proposals.get(self._space, number)
            repeats = proposal.status == "refused" and proposal.why.endswith(SAID_ALREADY)
            if repeats and not _says(dict(proposal.fields), names):
                proposals.decide(self._write, number, "waiting", None, SAID_NO_MORE)
                continue
            self._database.run("DELETE FROM proposals WHERE id = ?", number)
            gone["proposals"] += 1
        for key in self.quoting("idempotency", names):
            self._database.run(
                "DELETE FROM idempotency WHERE space = ? AND actor = ? AND key_digest = ?", *key
            )
            gone["answers"] += 1
        return dict(gone)

    def blank_clusters(self, clusters: list[int], chunks: list[int]) -> None:
        """Empty labels and texts of clusters and of their parents, before chunks are erased.

        Derived indexes read the clusters again.
        """
        read = self._database.column
        run = self._database.run
        parents = read("SELECT parent FROM clusters WHERE id = ANY(?)", clusters)
        both = sorted({*clusters, *parents} - {None})
        run("UPDATE clusters SET label = '', text = '' WHERE id = ANY(?)", both)
        small = read(_SMALL, both, chunks, MEMBERS_AT_LEAST)
        run("UPDATE clusters SET centroid = ? WHERE id = ANY(?)", b"", small)
        run(
            "UPDATE hierarchies SET change = ? "
            "WHERE id IN (SELECT hierarchy FROM clusters WHERE id = ANY(?))",
            self._write.change,
            both,
        )


def _in_space(table: str) -> str:
    """Return the SQL condition that a row belongs to a space, given as a value."""
    owners = TABLES[table].having("owner")
    if "space" in owners:
        return "space = ?"
    name, column = next(iter(owners.items()))
    return f"{name} IN (SELECT id FROM {column.target} WHERE {_in_space(column.target)})"


def _summaries(database: Database, space: int, topics: set[int], names: set[str]) -> set[int]:
    """Return the topics of summaries made from topics, at all levels, or with one of the names."""
    read = Topics(database).history

    def say(summary: str) -> bool:
        try:
            return any(_says(state.content, names) for state in read(space, summary, NOW))
        except LOST:  # unreadable: erase it, so that it is made again
            return True

    rows = database.rows("SELECT id, name FROM topics WHERE space = ? AND kind = ?", space, KIND)
    naming = {topic for topic, name in rows if say(name)}
    return naming | set(
        database.column(
            "WITH RECURSIVE held(state) AS (SELECT id FROM states WHERE topic = ANY(?1) "
            "UNION SELECT o.summary FROM originals o JOIN held h ON h.state = o.state) "
            "SELECT DISTINCT s.topic FROM held h JOIN states s ON s.id = h.state "
            "WHERE s.topic <> ALL(?1)",
            sorted(topics | naming),
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


def _without(value: Any, names: set[str]) -> Any:
    """Return a JSON value in which each string that cites a version of one of the names is
    empty."""
    if isinstance(value, dict):
        return {key: _without(part, names) for key, part in value.items()}
    if isinstance(value, list):
        return [_without(part, names) for part in value]
    cites = isinstance(value, str) and any(f"{name}@" in value for name in names)
    return "" if cites else value
