"""The tables of a memory, created by numbered steps.

Each step runs once, in order, inside one transaction, and is recorded in the table `migrations`.
A released step is never edited: the next change is the next number. The scripts, in `steps/`, are
in the SQL of SQLite. `postgres/dialect.py` rewrites them for PostgreSQL.

Times are microseconds since 1970, UTC; an open end is NULL. A node of the graph is
one integer: its row id shifted left by three, with its kind (see NodeKind) in the low
bits. So edges can join topics, entities and chunks without a table of nodes.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from hades.domain.rules import CONTENT_BYTES_AT_MOST
from hades.domain.times import to_micros
from hades.errors import Unavailable
from hades.store.records import ANSWERS_SECRET


def _script(name: str) -> str:
    return Path(__file__).with_name("steps").joinpath(f"{name}.sql").read_text(encoding="utf-8")


STEPS: list[tuple[str, str]] = [
    ("the tables of the first release", _script("1_tables")),
    ("hierarchies of clusters", _script("2_hierarchies")),
    ("kinds that users set", _script("3_kinds")),
    ("learning from feedback", _script("4_learning")),
    ("an index of symbols", _script("5_symbols")),
    ("shares of actors", _script("6_shares")),
    ("bridges between communities", _script("7_bridges")),
]
"""Name and script of each migration, numbered from 1."""


def steps_done(place: str, migrations: Sequence[Sequence[object]]) -> int:
    """Return how many steps were run in a memory. Raise Unavailable if they differ from ours.

    `migrations` are the numbers and names that the memory recorded, in order.
    """
    known = [(number, name) for number, (name, _) in enumerate(STEPS, start=1)]
    if not migrations or [tuple(row) for row in migrations] != known[: len(migrations)]:
        raise Unavailable(
            f"{place} was written by another version of HADES, whose tables differ: run "
            "`hades export` with that version, and `hades import` what it wrote with this one."
        )
    return len(migrations)


def statements(script: str) -> list[str]:
    """Return the single statements of a script, so that they can share a transaction."""
    code = "\n".join(line for line in script.splitlines() if not line.lstrip().startswith("--"))
    return [part.strip() for part in code.split(";") if part.strip()]


def run_steps(
    run: Callable[..., object], define: Callable[[str], str], done: int, now: int
) -> None:
    """Run the migrations after the first `done`; give a new memory its secrets and first space.

    `run` takes a statement and its values. `define` returns a statement in the SQL of the engine.
    """
    for number, (name, script) in enumerate(STEPS[done:], start=done + 1):
        for statement in statements(script):
            run(define(statement))
        run("INSERT INTO migrations VALUES (?, ?, ?)", number, name, now)
    if not done:
        own = ("generation", secrets.token_hex(8), ANSWERS_SECRET, secrets.token_hex(32))
        run("INSERT INTO meta VALUES (?, ?), (?, ?)", *own)
        run("INSERT INTO spaces (name, created_at) VALUES ('default', ?)", now)


def columns_of(statement: str) -> tuple[str, dict[str, str]]:
    """Return the table that a statement creates ("" if none), and the type of each column."""
    table = re.match(r"CREATE TABLE (\w+) \((.*)\)", statement, re.S)
    if table is None:
        return "", {}
    return table[1], dict(re.findall(r'(?:^|,)\s*"?(\w+)"? (INTEGER|REAL|TEXT|BLOB)\b', table[2]))


COLUMNS = dict(
    columns_of(statement)
    for _, script in STEPS
    for statement in statements(script)
    if statement.startswith("CREATE TABLE")
)
"""By table: its columns and their types."""
COUNTED = {
    table: column
    for _, script in STEPS
    for table, column in re.findall(
        r"CREATE TABLE (\w+) \(\s+(\w+) INTEGER PRIMARY KEY AUTO", script
    )
}
"""By table: the column whose numbers are never assigned twice."""
REFERENCES = [
    (table, column, target)
    for _, script in STEPS
    for statement in statements(script)
    for table in re.findall(r"CREATE TABLE (\w+)", statement)
    for column, target in re.findall(r"(\w+) INTEGER[A-Z ]* REFERENCES (\w+)", statement)
]
"""The foreign keys: table, column, and the table that it refers to by `id`."""

Range = tuple[float, float]
_ROW: Range = (1, (1 << 56) - 1)
"""The row ids that an import may bring. A larger id would not fit into the id of a node."""
_NODE: Range = (1 << 3, (1 << 59) - 1)
_TIME: Range = (
    to_micros(datetime.min.replace(tzinfo=UTC)),
    to_micros(datetime.max.replace(tzinfo=UTC)),
)
_COUNT: Range = (0, (1 << 53) - 1)
_CHARACTERS: Range = (0, CONTENT_BYTES_AT_MOST)
_SHARE: Range = (0, 1)
_RANGE_OF = {
    name: limits
    for limits, names in (
        (_ROW, ("id", "row", "space", "topic", "entity", "state", "summary", "chunk", "relation")),
        (_ROW, ("encoder", "actor", "decided_by", "hierarchy", "cluster", "parent", "snapshot")),
        (_ROW, ("started_from", "superseded_by", "latest", "merges.target")),
        (_NODE, ("source", "target", "node", "subject")),
        (_TIME, ("at", "applied_at", "created_at", "recorded_at", "retired_at", "valid_from")),
        (_TIME, ("valid_to", "decided_at", "last_used", "adopted_at")),
        (_COUNT, ("number", "change", "versions", "count", "updates", "tested", "depth", "dims")),
        (_COUNT, ("matched.chunk", "matched.name")),
        (_CHARACTERS, ("start", "end", "tokens")),
        (_SHARE, ("confidence", "importance", "threshold", "accuracy", "accuracy_before")),
        (_SHARE, ("planned", "held_out")),
        ((0, 1e9), ("useful", "useless")),
        ((1e-9, 1e9), ("belief_a", "belief_b")),
        ((1, (1 << 31) - 1), ("version",)),
        ((0, (1 << 31) - 1), ("ordinal",)),
        ((0, (1 << 7) - 1), ("introduces", "origin", "phase", "encoding")),
        ((0, 3), ("states.level",)),
        ((1, 2), ("clusters.level",)),
        ((-1.001, 1.001), ("near",)),
        ((0, 1e30), ("weight",)),
        ((0, 1e12), ("ms",)),
    )
    for name in names
}
"""The minimum and maximum of each numeric column, in all tables or in one."""
RANGES = {
    table: {
        name: _RANGE_OF.get(f"{table}.{name}") or _RANGE_OF[name]
        for name, kind in columns.items()
        if kind in ("INTEGER", "REAL")
    }
    for table, columns in COLUMNS.items()
}
"""The minimum and maximum by table and numeric column."""
