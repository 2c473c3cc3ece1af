"""Export and import: everything in a memory as plain records, without loss.

A record is a dict with its table under `table`. Contents are whole; actors, relations and encoders
are names instead of numbers; times are ISO strings. Loading into an empty memory gives an
identical one. Loading into a memory that is in use shifts the numbers and needs unused spaces.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from hades.domain.graph import NodeKind
from hades.domain.rules import clean_content, clean_name
from hades.domain.times import DAY_MICROSECONDS, from_micros, iso, to_micros
from hades.errors import Conflict, Corrupt, InvalidInput
from hades.store import check
from hades.store.archive import OWN_FACTS
from hades.store.catalogue import COUNTED, NODE_TABLES, TABLES, Column, Range, quoted
from hades.store.chunks import encoder_id
from hades.store.database import Database, Glob, intact
from hades.store.delta import checked, digest_of, pack, unpacked
from hades.store.records import EMBEDDED, SECRET, Phase, Write
from hades.store.topics import Topics

_AT_ONCE = 1_000
_GAP = """
SELECT t.name FROM topics t LEFT JOIN states s ON s.topic = t.id
GROUP BY t.id, t.name HAVING count(s.id) > 0 AND max(s.version) != count(s.id) LIMIT 1
"""
_TYPES = {"INTEGER": (int,), "REAL": (int, float), "TEXT": (str,), "BLOB": (bytes,)}
_ITS_OWN = ("generation", "schema", *OWN_FACTS)
_WHERE = {
    "meta": f"WHERE key NOT IN {_ITS_OWN} AND substr(key, 1, {len(EMBEDDED)}) <> '{EMBEDDED}' "
    f"AND substr(key, 1, {len(SECRET)}) <> '{SECRET}'"
}


def _fields(table: str) -> dict[str, Column]:
    """Return the fields of a record: its table's columns, and those of its lists after the name."""
    columns = dict(TABLES[table].columns)
    for listed in TABLES[table].having("list").values():
        columns |= dict(list(TABLES[listed.target].columns.items())[2:])
    return columns


_FIELDS = {table: _fields(table) for table, about in TABLES.items() if about.exported}
"""The fields that a record of each exported table may have."""


def _query(table: str) -> tuple[list[str], str]:
    """Return the fields of the records of a table, and the query for them."""
    shown: dict[str, str] = {}
    joins: list[str] = []
    for name, column in TABLES[table].columns.items():
        if column.role == "list":
            listed = f"l{len(joins)}"
            join = "LEFT JOIN" if column.optional else "JOIN"
            joins.append(f'{join} {column.target} {listed} ON {listed}.id = x."{name}"')
            _, known_as, *more = TABLES[column.target].columns
            shown |= {name: f"{listed}.{known_as}", **{one: f"{listed}.{one}" for one in more}}
        elif column.role != "derived":
            shown[name] = f'x."{name}"'
    listed = ", ".join(f'{sql} AS "{name}"' for name, sql in shown.items())
    return list(shown), (
        f"SELECT {listed} FROM {table} x {' '.join(joins)} {_WHERE.get(table, '')} "
        f"ORDER BY {quoted(TABLES[table].key)}"
    )


def dump(database: Database, topics: Topics) -> Iterator[dict[str, Any]]:
    """Yield every record, in the order of loading. Damage raises Corrupt. Call it in a snapshot."""
    if damaged := database.damage():
        raise Corrupt(f"{damaged[0].where} is damaged: run `hades check`; nothing was exported.")
    content: bytes | None = None
    names_of: dict[int, str] = {}
    for table in _FIELDS:
        names, sql = _query(table)
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
    """Return a record as JSON values. Empty fields are left out, except a missing content."""
    shown = {name: it for name, it in record.items() if it is not None or name == "content"}
    for name, column in _FIELDS[record["table"]].items():
        if name in shown and column.role in ("known", "valid"):
            shown[name] = iso(from_micros(shown[name]))
        elif name in shown and column.type == "BLOB":
            shown[name] = base64.b64encode(shown[name]).decode()
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
            if table != "spaces"
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
        """Load one record. Changes, purges, stored answers and the query log are skipped unless all
        numbers stay the same."""
        row = dict(record)
        table = row.pop("table")
        if table not in _FIELDS:
            raise InvalidInput(f"There is no such kind of record as {table!r:.60}.")
        if not TABLES[table].shifted and not self._identical:
            return
        if table in ("uses", "usefulness"):
            row.setdefault("actor", "unknown")  # exports of 1.0.0 name none
        for name, value in row.items():
            if column := _FIELDS[table].get(name):
                row[name] = self._converted(table, name, column, value)
        if table == "pending":
            row["phase"] = int(Phase(row["phase"]))
        self._move(table, row)
        put = {
            "spaces": self._space,
            "states": self._state,
            "embeddings": self._embedding,
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
        for table, column, _ in check.orphans(database, self._shift):
            raise InvalidInput(
                f"A record of {table} refers by {column!r} to a record that is missing."
            )
        if faulty := check.faulty_records(database):
            raise InvalidInput(f"{faulty[0].where} cannot be imported: {faulty[0].what}.")
        check.repair_pointers(database)
        check.repair_heads(database, topics)
        # Loaded chunks may lack vectors although their numbers are below the recorded progress.
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

    def _converted(self, table: str, name: str, column: Column, value: Any) -> Any:
        """Return the value of a field as it is stored in this memory, with its numbers."""
        if column.role in ("known", "valid"):
            value = to_micros(datetime.fromisoformat(value))
            if column.role == "known" and value > self._latest:
                raise InvalidInput(f"A record of {table} is dated later than the clock.")
        elif column.type == "BLOB":
            value = base64.b64decode(value, validate=True)
            if column.indexed and len(value) % 4:
                raise InvalidInput(f"The field {name!r} of a record of {table} is cut off.")
        elif column.target == "actors":
            return self._database.actor_id(clean_name(value, "actor"))
        elif column.target == "relations":
            return self._database.relation_id(value)
        if column.range and isinstance(value, int | float):
            _check_range(table, name, column.range, value)
        if column.share_at_most is not None:
            value = min(value, column.share_at_most)
        if column.read:
            column.read(value)
        if column.role == "node":
            return value + (self._shift[NODE_TABLES[NodeKind(value & 7)]] << 3)
        target = table if column.role == "itself" else column.target
        return value + self._shift[target] if target in self._shift else value

    def _move(self, table: str, row: dict[str, Any]) -> None:
        """Give a row the numbers of its space here and of this write."""
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

    def _inverse(self, row: dict[str, Any]) -> None:
        self._database.run(
            "INSERT INTO inverses VALUES (?, ?) ON CONFLICT DO NOTHING",
            row["relation"],
            row["inverse"],
        )

    def _meta(self, row: dict[str, Any]) -> None:
        """Load a fact about the memory. A memory in use keeps its own facts.

        The reading progress of a repository's history is loaded with its space. An encoder that is
        an address is skipped: an imported file must not decide where texts are sent.
        """
        self._check_fields("meta", row)
        key = row["key"]
        value = row["value"]
        if key.startswith("history:"):
            _, space, rest = key.split(":", 2)
            key = f"history:{self._spaces[int(space)]}:{rest}"
        elif (
            not self._fresh
            or key in _ITS_OWN
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
        columns = TABLES[table].columns
        for name, value in row.items():
            if name not in columns:
                raise InvalidInput(f"A record of {table} has no field {name!r:.60}.")
            if value is not None and not isinstance(value, _TYPES[columns[name].type]):
                raise InvalidInput(f"The field {name!r} of a record of {table} is of a wrong type.")


def _check_range(table: str, name: str, range: Range, number: float) -> None:
    """Raise InvalidInput if a number cannot be in its column; NaN is in no range."""
    least, most = range
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
    """Load records and return their number by table. On an error the caller must undo the write.

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
