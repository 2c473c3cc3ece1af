"""Export and import: everything in a memory as plain records, without loss.

A record is a dict with its table under `table`. Contents are whole; actors, relations and encoders
are names instead of numbers; times are ISO strings. Loading into an empty memory gives an
identical one. Loading into a memory that is in use shifts the numbers and needs unused spaces.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from hades.domain.feedback import ACTOR_DAYS_AT_MOST, read_judgement
from hades.domain.graph import NodeKind
from hades.domain.rules import clean_content, clean_metadata, clean_name, clean_share, clean_tags
from hades.domain.times import DAY_MICROSECONDS, from_micros, iso, to_micros
from hades.domain.weights import read_weighting
from hades.errors import Conflict, Corrupt, InvalidInput
from hades.store import check
from hades.store.archive import OWN_FACTS
from hades.store.chunks import encoder_id
from hades.store.database import Database, Glob, intact
from hades.store.delta import checked, digest_of, pack, unpacked
from hades.store.hierarchies import checked_details
from hades.store.records import EMBEDDED, SECRET, Phase, Write
from hades.store.schema import COLUMNS, COUNTED, RANGES, REFERENCES, Range
from hades.store.topics import Topics


def _all_of(table: str, alias: str = "x") -> str:
    """Return the columns of a table, in order, as SQL."""
    return ", ".join(f'{alias}."{name}"' for name in COLUMNS[table])


def _in_order(table: str, *by: str) -> str:
    return f"SELECT {_all_of(table)} FROM {table} x ORDER BY {', '.join(by)}"


def _by_actor(table: str, *by: str) -> str:
    return (
        f"SELECT {_all_of(table)}, a.name AS actor_name FROM {table} x "
        f"JOIN actors a ON a.id = x.actor ORDER BY {', '.join(by)}"
    )


_TABLES = {
    "spaces": _in_order("spaces", "id"),
    "changes": "SELECT c.number, c.at, a.name AS actor, c.action, c.space, c.subject "
    "FROM changes c JOIN actors a ON a.id = c.actor ORDER BY c.number",
    "inverses": _in_order("inverses", "relation"),
    "meta": f"SELECT key, value FROM meta WHERE key NOT IN {('generation', 'schema', *OWN_FACTS)} "
    f"AND substr(key, 1, {len(EMBEDDED)}) <> '{EMBEDDED}' "
    f"AND substr(key, 1, {len(SECRET)}) <> '{SECRET}' ORDER BY key",
    "entities": _in_order("entities", "id"),
    "names": _in_order("names", "id"),
    "topics": "SELECT id, space, name, entity, kind, title FROM topics ORDER BY id",
    "sources": _in_order("sources", "topic"),
    "states": _in_order("states", "topic", "version"),
    "pending": _in_order("pending", "state"),
    "uses": _by_actor("uses", "x.state", "a.name"),
    "usefulness": _by_actor("usefulness", "x.state", "a.name"),
    "originals": _in_order("originals", "summary", "state"),
    "chunks": _in_order("chunks", "id"),
    "placements": _in_order("placements", "state", "ordinal"),
    "presences": _in_order("presences", "id"),
    "mentions": _in_order("mentions", "chunk", "entity"),
    "derived_edges": f"SELECT {_all_of('derived_edges', 'l')}, r.name AS relation_name "
    "FROM derived_edges l "
    "JOIN relations r ON r.id = l.relation ORDER BY l.id",
    "matched": _in_order("matched", "space"),
    "merges": _in_order("merges", "id"),
    "edges": f"SELECT {_all_of('edges', 'e')}, r.name AS relation_name FROM edges e "
    "JOIN relations r ON r.id = e.relation ORDER BY e.row",
    "embeddings": "SELECT v.node, e.name AS encoder, e.dims, v.change, v.vector "
    "FROM embeddings v JOIN encoders e ON e.id = v.encoder ORDER BY v.node, e.name",
    "hierarchies": _in_order("hierarchies", "id"),
    "clusters": _in_order("clusters", "id"),
    "memberships": _in_order("memberships", "id"),
    "bridges": _in_order("bridges", "id"),
    "purged": _in_order("purged", "change", "node"),
    "proposals": f"SELECT {_all_of('proposals', 'p')}, a.name AS actor_name, "
    "d.name AS decider_name FROM proposals p "
    "JOIN actors a ON a.id = p.actor LEFT JOIN actors d ON d.id = p.decided_by ORDER BY p.id",
    "idempotency": _by_actor("idempotency", "x.space", "a.name", "x.key_digest"),
    "query_logs": _in_order("query_logs", "id"),
    "weight_snapshots": _in_order("weight_snapshots", "id"),
    "feedback": _by_actor("feedback", "x.id"),
}
_KNOWN_TIMES = frozenset(
    ("recorded_at", "retired_at", "at", "decided_at", "created_at", "last_used", "adopted_at")
)
_TIMES = _KNOWN_TIMES | {"valid_from", "valid_to"}
_BLOBS = frozenset(
    (
        *("vector", "digest", "outline", "fingerprint", "positions", "key_digest"),
        *("request_digest", "centroid"),
    )
)
_OF_FOUR_BYTES = frozenset(("positions", "centroid"))
"""Columns of numbers of four bytes each."""
_NODES = frozenset(("source", "target", "node", "subject"))
_KINDS = dict(zip(NodeKind, ("topics", "entities", "chunks", "edges"), strict=True))
_BY_NAME = {"relation": "relation_name", "actor": "actor_name", "decided_by": "decider_name"}
"""Columns that are numbers in the tables, and the column of the query with the name."""
_REFERENCES = {
    "topic": "topics",
    "entity": "entities",
    "state": "states",
    "summary": "states",
    "chunk": "chunks",
    "superseded_by": "edges",
    "hierarchy": "hierarchies",
    "cluster": "clusters",
    "parent": "clusters",
    "snapshot": "weight_snapshots",
    "started_from": "weight_snapshots",
}
_SHARES = {"count": ACTOR_DAYS_AT_MOST, "useful": 1, "useless": 1}
"""The most that one actor adds to the uses and the usefulness of a state."""
_JSON: dict[str, Callable[[str], object]] = {
    "details": checked_details,
    "verdicts": read_judgement,
    "config": read_weighting,
}
"""Columns of JSON, and the function that reads each. It raises an error for a value that HADES does
not write."""
_NEED_NUMBERS = ("changes", "purged", "idempotency", "query_logs")
"""Tables with numbers inside texts or digests, which cannot be shifted."""
_FORMER_PHASES = {2: Phase.EDGES}
"""Phases in exports of older versions, which made vectors before names."""
_AT_ONCE = 1_000
_GAP = """
SELECT t.name FROM topics t LEFT JOIN states s ON s.topic = t.id
GROUP BY t.id, t.name HAVING count(s.id) > 0 AND max(s.version) != count(s.id) LIMIT 1
"""
_DANGLING = (
    "SELECT 1 FROM {table} x WHERE x.{column} > ? "
    "AND NOT EXISTS (SELECT 1 FROM {target} o WHERE o.id = x.{column}) LIMIT 1"
)
"""Finds a row that refers to a missing row. Numbers of loaded rows are greater than the shift."""
_TYPES = {"INTEGER": (int,), "REAL": (int, float), "TEXT": (str,), "BLOB": (bytes,)}


def dump(database: Database, topics: Topics) -> Iterator[dict[str, Any]]:
    """Yield every record, in the order of loading. Damage raises Corrupt. Call it in a snapshot."""
    if damaged := database.damage():
        raise Corrupt(f"{damaged[0].where} is damaged: run `hades check`; nothing was exported.")
    content: bytes | None = None
    names_of: dict[int, str] = {}
    for table, sql in _TABLES.items():
        listed = sql.removeprefix("SELECT ").partition(" FROM")[0].split(", ")
        names = [column.rpartition(" ")[2].rpartition(".")[2].strip('"') for column in listed]
        with intact(f"A record of {table}"):
            for row in (row for rows in database.batches(_AT_ONCE, sql) for row in rows):
                record = {"table": table, **dict(zip(names, row, strict=True))}
                if table == "topics":
                    names_of[record["id"]] = record["name"]
                if table == "states":
                    topics.archive.fill(record)
                    content = _whole(record, names_of[record["topic"]], content)
                yield _readable(record)


def _whole(record: dict[str, Any], topic: str, parent: bytes | None) -> bytes | None:
    """Replace the body in a record of `states` by its content, check its hash, and return it."""
    encoding, body, digest = (record.pop(name) for name in ("encoding", "body", "digest"))
    del record["depth"]
    content = None
    if encoding is not None:
        content = unpacked(topic, record["version"], encoding, body, parent)
        checked(topic, record["version"], content, digest)
    for name in ("tags", "metadata"):
        json.loads(record[name] or "null")  # damaged JSON could not be imported again
    record["content"] = None if content is None else content.decode()
    return content


def _readable(record: dict[str, Any]) -> dict[str, Any]:
    for number, name in _BY_NAME.items():
        if name in record:
            record[number] = record.pop(name)
    shown = {}
    for name, value in record.items():
        if value is None and name != "content":
            continue
        if value is not None and name in _TIMES:
            value = iso(from_micros(value))
        elif value is not None and name in _BLOBS:
            value = base64.b64encode(value).decode()
        shown[name] = value
    return shown


class Loader:
    """Writes records to a memory, with numbers shifted past those in use."""

    def __init__(self, database: Database, write: Write, rename: str | None) -> None:
        self._database = database
        self._write = write
        self._rename = rename
        self._fresh = write.change == 1 and not any(
            database.row(f"SELECT 1 FROM {table} LIMIT 1")
            for table in ("topics", "entities", "edges")
        )
        self._identical = self._fresh and rename is None
        """Whether all records keep their numbers: the memory is empty and no space is renamed."""
        self._shift = {
            table: 0 if self._fresh else database.last_id(table, column)
            for table, column in COUNTED.items()
        }
        self._latest = database.clock() + DAY_MICROSECONDS
        self._spaces: dict[int, int] = {}
        self._used: set[int] = set()
        self._last_state: tuple[int, bytes | None, int] = (0, None, 0)
        """Topic, content and depth of the last state that was loaded."""
        self.counts: dict[str, int] = {}
        if self._identical:
            write.logged = False
            database.run("DELETE FROM spaces")
            database.run("DELETE FROM inverses")

    def take(self, record: dict[str, Any]) -> None:
        """Load one record. Skip changes, purges, stored answers and the query log unless all
        numbers stay."""
        row = dict(record)
        table = row.pop("table")
        if table not in _TABLES:
            raise InvalidInput(f"There is no such kind of record as {table!r:.60}.")
        if table in _NEED_NUMBERS and not self._identical:
            return
        for name in row.keys() & _ranges(table).keys():
            if isinstance(row[name], int | float):
                _check_range(table, name, row[name])
        self._convert(table, row)
        for name in row.keys() & _JSON.keys():
            _JSON[name](row[name])
        put = {
            "spaces": self._space,
            "states": self._state,
            "embeddings": self._embedding,
            "proposals": self._proposal,
            "inverses": self._inverse,
            "meta": self._meta,
        }.get(table)
        if put is None:
            self._insert(table, row)
        else:
            put(row)
        self.counts[table] = self.counts.get(table, 0) + 1

    def finish(self, topics: Topics) -> dict[str, int]:
        """Check the rows, and derive pointers and heads. Return the number of records by table."""
        database = self._database
        gap = database.value(_GAP)
        if gap is not None:
            raise InvalidInput(f"The topic {gap!r} lacks some of its versions.")
        for table, column, target in REFERENCES:
            find = _DANGLING.format(table=table, column=column, target=target)
            if target in COUNTED and database.row(find, self._shift[target]):
                raise InvalidInput(
                    f"A record of {table} refers by {column!r} to a record that is missing."
                )
        if faulty := check.faulty_records(database):
            raise InvalidInput(f"{faulty[0].where} cannot be imported: {faulty[0].what}.")
        check.repair_pointers(database)
        check.repair_heads(database, topics)
        # Loaded chunks may lack vectors and have numbers below the recorded embedding progress.
        database.run("DELETE FROM meta WHERE key GLOB ?", Glob(EMBEDDED + "*"))
        database.keep_ids()
        return self.counts

    def refuse_mixing(self) -> None:
        """Raise Conflict if a space to load into is in use: two histories cannot be merged."""
        if self._fresh:
            return
        for space in set(self._spaces.values()):
            for table in ("topics", "entities"):
                if self._database.row(f"SELECT 1 FROM {table} WHERE space = ? LIMIT 1", space):
                    name = self._database.value("SELECT name FROM spaces WHERE id = ?", space)
                    raise Conflict(
                        f"The space {name!r} is in use here: import into a new one with `--into`."
                    )

    def _convert(self, table: str, row: dict[str, Any]) -> None:
        """Convert the fields of a record to the types and numbers of the tables."""
        for name in row.keys() & _TIMES:
            row[name] = to_micros(datetime.fromisoformat(row[name]))
            _check_range(table, name, row[name])
            if name in _KNOWN_TIMES and row[name] > self._latest:
                raise InvalidInput(f"A record of {table} is dated later than the clock.")
        for name in row.keys() & _BLOBS:
            row[name] = base64.b64decode(row[name], validate=True)
            if name in _OF_FOUR_BYTES and len(row[name]) % 4:
                raise InvalidInput(f"The field {name!r} of a record of {table} is cut off.")
        if table in ("uses", "usefulness"):
            row.setdefault("actor", "unknown")  # exports of 1.0.0 name none
            for name in row.keys() & _SHARES.keys():
                row[name] = min(row[name], _SHARES[name])
        for name in row.keys() & {"actor", "decided_by"}:
            row[name] = self._database.actor_id(clean_name(row[name], "actor"))
        if table in ("edges", "derived_edges"):
            row["relation"] = self._database.relation_id(row["relation"])
        if table == "pending":
            row["phase"] = int(Phase(_FORMER_PHASES.get(row["phase"], row["phase"])))
        self._shift_numbers(table, row)
        if table in ("topics", "entities", "proposals"):
            self._used.add(row["space"])
            if self._rename is not None and len(self._used) > 1:
                raise InvalidInput(
                    "Several spaces of this export hold something: import it without `--into`."
                )
        if "space" in row and table != "changes":
            row["space"] = self._spaces.get(row["space"])
        if "change" in row and not self._identical:
            row["change"] = self._write.change

    def _shift_numbers(self, table: str, row: dict[str, Any]) -> None:
        for name in row.keys() & _REFERENCES.keys():
            row[name] += self._shift[_REFERENCES[name]]
        for name in row.keys() & _NODES:
            if table == "merges":  # names entities, not nodes
                row[name] += self._shift["entities"]
            else:
                kind = NodeKind(row[name] & 7)
                row[name] += self._shift[_KINDS[kind]] << 3
        if table == "matched":
            row["name"] += self._shift["names"]
        if table == "edges":
            row["row"] += self._shift["edges"]
        if "id" in row and table != "spaces":
            row["id"] += self._shift[table]

    def _space(self, row: dict[str, Any]) -> None:
        self._check_fields("spaces", row)
        if self._identical:
            self._insert("spaces", row)
            self._spaces[row["id"]] = row["id"]
            return
        name = self._rename or row["name"]
        known = self._database.value("SELECT id FROM spaces WHERE name = ?", name)
        self._spaces[row["id"]] = known or self._database.insert(
            "spaces", name=name, created_at=row["created_at"]
        )

    def _state(self, row: dict[str, Any]) -> None:
        text = row.pop("content")
        if text is not None:
            clean_content(text)
        clean_share(row.get("confidence"), "confidence")
        clean_share(row.get("importance"), "importance")
        clean_tags(json.loads(row.get("tags", "[]")))
        clean_metadata(json.loads(row.get("metadata", "{}")), bytes_at_most=None)
        topic, parent, depth = self._last_state
        content = None if text is None else text.encode()
        before = parent if topic == row["topic"] else None
        encoding, depth, body = pack(content, before, depth)
        name = self._database.value("SELECT name FROM topics WHERE id = ?", row["topic"])
        if name is None:
            raise InvalidInput(f"The state of topic {row['topic']!s:.60} comes before its topic.")
        digest = b"" if content is None else digest_of(name, row["version"], content)
        row |= {"encoding": encoding, "body": body, "depth": depth, "digest": digest}
        self._last_state = (row["topic"], content, depth)
        self._insert("states", row)

    def _proposal(self, row: dict[str, Any]) -> None:
        clean_metadata(json.loads(row["fields"]), bytes_at_most=None)
        clean_share(row["confidence"], "confidence")
        clean_share(row["threshold"], "threshold")
        self._insert("proposals", row)

    def _inverse(self, row: dict[str, Any]) -> None:
        self._database.run(
            "INSERT INTO inverses VALUES (?, ?) ON CONFLICT DO NOTHING",
            *(row["relation"], row["inverse"]),
        )

    def _meta(self, row: dict[str, Any]) -> None:
        """Load a fact about the memory. A memory in use keeps its own facts.

        The reading progress of a repository's history is loaded with its space. An encoder that is
        an address is skipped: an imported file must not decide where texts are sent.
        """
        self._check_fields("meta", row)
        key, value = row["key"], row["value"]
        if key.startswith("history:"):
            _, space, rest = key.split(":", 2)
            key = f"history:{self._spaces[int(space)]}:{rest}"
        elif (
            not self._fresh
            or key in ("generation", *OWN_FACTS)
            or "://" in value
            or key.startswith((EMBEDDED, SECRET))
        ):
            return
        self._database.run("INSERT INTO meta VALUES (?, ?) ON CONFLICT DO NOTHING", key, value)

    def _embedding(self, row: dict[str, Any]) -> None:
        dims = row.pop("dims")
        row["encoder"] = encoder_id(self._database, row["encoder"], dims)
        if not row["vector"] or len(row["vector"]) % (2 * dims):
            raise InvalidInput(f"A vector of an encoder of {dims} dimensions is cut off.")
        self._check_fields("embeddings", row)
        self._database.upsert("embeddings", ("node", "encoder"), **row)

    def _insert(self, table: str, row: dict[str, Any]) -> None:
        self._check_fields(table, row)
        self._database.insert(table, **row)

    def _check_fields(self, table: str, row: dict[str, Any]) -> None:
        """Raise InvalidInput for an unknown field, a wrong type or an invalid name."""
        if isinstance(row.get("name"), str):
            clean_name(row["name"], table)
        types = COLUMNS[table]
        for name, value in row.items():
            if name not in types:
                raise InvalidInput(f"A record of {table} has no field {name!r:.60}.")
            if value is not None and not isinstance(value, _TYPES[types[name]]):
                raise InvalidInput(f"The field {name!r} of a record of {table} is of a wrong type.")


def _ranges(table: str) -> dict[str, Range]:
    """Return the least and the greatest value of each number of a record."""
    return RANGES[table] | ({"dims": RANGES["encoders"]["dims"]} if table == "embeddings" else {})


def _check_range(table: str, name: str, number: float) -> None:
    """Raise InvalidInput if a number cannot be in its column; NaN is in no range."""
    least, most = _ranges(table)[name]
    if isinstance(number, bool) or not least <= number <= most:
        raise InvalidInput(
            f"The field {name!r} of a record of {table} is out of range: {number!s:.60}."
        )


def load(
    database: Database,
    topics: Topics,
    write: Write,
    records: Iterable[dict[str, Any]],
    rename: str | None,
) -> dict[str, int]:
    """Load records and return their number by table. If it raises, the caller undoes the write.

    `rename` is another name for their space; only one space may then hold anything.
    """
    loader = Loader(database, write, rename)
    in_spaces = True
    for record in records:
        if in_spaces and record.get("table") != "spaces":
            in_spaces = False
            loader.refuse_mixing()
        loader.take(record)
    return loader.finish(topics)
