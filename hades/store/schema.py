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
from pathlib import Path

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
    """Return how many steps were run in a memory. Raise Unavailable if they are not the steps known
    here.

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
        run("INSERT INTO meta VALUES (?, ?)", "generation", secrets.token_hex(8))
        run("INSERT INTO meta VALUES (?, ?)", ANSWERS_SECRET, secrets.token_hex(32))
        run("INSERT INTO spaces (name, created_at) VALUES ('default', ?)", now)


def columns_of(statement: str) -> tuple[str, dict[str, str]]:
    """Return the table that a statement creates ("" if none), and its columns with their SQL."""
    table = re.match(r"CREATE TABLE (\w+) \((.*)\)", statement, re.S)
    if table is None:
        return "", {}
    columns = re.findall(r'(?:^|,)\s*"?(\w+)"? ((?:INTEGER|REAL|TEXT|BLOB)\b[\w ]*)', table[2])
    return table[1], dict(columns)
