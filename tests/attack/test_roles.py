"""A role of one space that talks SQL itself: what HADES does later because of the rows it writes.

The attacker may write the space `ours`. Nothing it writes takes a text of the space `theirs`,
dates its notes, or keeps its questions from being answered.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import md5
from pathlib import Path
from typing import Any

import pytest
from roles_making import COLUMNS, QUESTION, attacker, refused, roles, sql

import hades
from hades.domain.times import system_clock
from hades.store.postgres import grants
from hades.store.postgres.address import read_server_address
from hades.store.postgres.grants import grant

psycopg = pytest.importorskip("psycopg")

__all__ = ["attacker", "roles"]

LONG = os.environ.get("HADES_ATTACK") == "long"
HOUR = 3_600_000_000
"""In microseconds."""


@pytest.fixture
def tenants(postgres: str, tmp_path: Path) -> Iterator[dict[str, str]]:
    """The addresses of two roles, each of a space of its name; both have archived texts."""
    schema, made = read_server_address(postgres).schema, {}
    with hades.open(postgres) as memory:
        for space in ("ours", "theirs"):
            memory.create_space(space)
            inside = memory.in_space(space, actor=space)
            for day in range(1, 4):
                inside.remember("job", f"{space}firm{day}", valid_from=f"2024-01-0{day}")
            with memory.inside.store.transaction():  # what waits to be indexed is not archived
                memory.inside.store.database.run("DELETE FROM pending")
            inside.archive(older_than="2030-01-01", keep_versions=1, to=str(tmp_path / "old"))
    with psycopg.connect(read_server_address(postgres).conninfo, autocommit=True) as admin:
        for space in ("ours", "theirs"):
            admin.execute(f"CREATE ROLE {schema}_{space} LOGIN")
            grant(read_server_address(postgres), f"{schema}_{space}", "write", space)
            made[space] = postgres.replace("postgres:@", f"{schema}_{space}:@")
        yield made
        for space in made:
            admin.execute(f"DROP OWNED BY {schema}_{space}; DROP ROLE {schema}_{space}")


def _archived(postgres: str, space: str) -> tuple[int, str]:
    """The number of the topic `job` of a space, and the object with its old versions."""
    ((topic, name),) = sql(
        postgres,
        "SELECT DISTINCT t.id, a.object FROM archived a JOIN states s ON s.id = a.state "
        "JOIN topics t ON t.id = s.topic JOIN spaces p ON p.id = t.space WHERE p.name = %s",
        space,
    )
    return topic, name


def _last_change(address: str) -> tuple[int, int]:
    ((number, at),) = sql(address, "SELECT number, at FROM last_change")
    return number, at


def _log(address: str, at: int) -> list[Any]:
    """Insert a change of the space `ours`, as the attacker may."""
    ((space, actor),) = sql(address, "SELECT space, actor FROM changes LIMIT 1")
    number = _last_change(address)[0] + 1
    values = (number, at, actor, "remember", space, None)
    return sql(address, "INSERT INTO changes VALUES (%s, %s, %s, %s, %s, %s)", *values)


def test_no_owed_row_removes_archived_texts_of_another_space(
    postgres: str, tenants: dict[str, str]
) -> None:
    topic, name = _archived(postgres, "theirs")
    archive_id = name.partition("/")[0]
    for what in (f"archive:{archive_id}/{topic}/", f"archive:{name}"):
        with suppress(psycopg.errors.InsufficientPrivilege):
            sql(tenants["ours"], "INSERT INTO owed VALUES (%s, 'm')", what)
    for address, space in ((tenants["ours"], "ours"), (postgres, "ours")):
        with hades.open(address, space=space) as memory:  # does what is owed
            memory.inside.finish_owed()
    with hades.open(tenants["theirs"], space="theirs") as memory:
        assert memory.get("job", 1).content == "theirsfirm1"


def test_what_another_role_owes_is_not_seen_nor_taken_back(
    postgres: str, tenants: dict[str, str], tmp_path: Path
) -> None:
    folder, away = tmp_path / "old", tmp_path / "away"
    _, name = _archived(postgres, "theirs")
    folder.rename(away)
    with hades.open(tenants["theirs"], space="theirs") as memory:
        memory.purge("job")
    for attack in ("SELECT * FROM owed", "DELETE FROM owed RETURNING *"):
        assert not sql(tenants["ours"], attack)
    assert sql(tenants["ours"], "UPDATE owed SET mark = 'x'") == [0]
    away.rename(folder)
    assert (folder / name).exists()
    with hades.open(tenants["theirs"], space="theirs"):
        assert (folder / name).exists()  # who sees one space cannot say what others need
    with hades.open(postgres) as memory:
        memory.inside.finish_owed()  # opening waits for no lock, and autovacuum may hold one
        assert not (folder / name).exists()
        assert not memory.inside.store.owed()


def test_no_change_is_dated_ahead_of_the_server(postgres: str, tenants: dict[str, str]) -> None:
    ours = tenants["ours"]
    for lead in (23 * HOUR, HOUR, 1_000_000):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            _log(ours, system_clock() + lead)
    assert _log(ours, system_clock()) == [1]
    with hades.open(ours, space="ours", clock=lambda: system_clock() + HOUR) as memory:
        memory.remember("note", "written where the clock is an hour fast")
    with hades.open(tenants["theirs"], space="theirs") as memory:
        state = memory.remember("job", "theirsfirm4")
    assert state.valid_from <= datetime.now(UTC)
    # Where somebody trusted wrote ahead of the server, the role goes on right behind.
    with hades.open(postgres, clock=lambda: system_clock() + HOUR) as memory:
        memory.remember("note", "written where the clock is an hour fast")
    with hades.open(ours, space="ours") as memory:
        memory.remember("note", "written all the same")
    assert _last_change(ours)[1] < system_clock() + HOUR


def test_no_row_takes_the_place_of_one_of_another_space(
    postgres: str, tenants: dict[str, str]
) -> None:
    ours, (_, name) = tenants["ours"], _archived(postgres, "theirs")
    ((state,),) = sql(ours, "SELECT max(id) FROM states")
    refused(ours, "INSERT INTO archived VALUES (%s, %s)", state, name)
    refused(ours, "UPDATE archived SET object = %s", name)
    # Numbers are given by the server: one that was chosen would be given out a second time.
    for table, column in ((table, next(iter(COLUMNS[table]))) for table in COLUMNS):
        if column in ("id", "row"):
            rights = "SELECT has_column_privilege(%s, %s, 'INSERT, UPDATE')"
            assert sql(ours, rights, table, column) == [(False,)], table
    ((last, space),) = sql(ours, "SELECT max(id), max(space) FROM topics")
    refused(ours, "INSERT INTO topics (id, space, name) VALUES (%s, %s, 'x')", last + 9, space)
    refused(ours, "UPDATE topics SET id = %s", last + 9)
    refused(ours, "INSERT INTO encoders (name, dims) VALUES ('mine', 3)")
    # A number that is nowhere may be of a row that somebody is about to commit.
    found = read_server_address(postgres)
    with psycopg.connect(found.conninfo) as other:
        row = other.execute(
            f"INSERT INTO {found.schema}.topics (space, name) SELECT id, 'new' "
            f"FROM {found.schema}.spaces WHERE name = 'theirs' RETURNING id"
        ).fetchone()
        purged = "INSERT INTO purged VALUES (%s, %s)"
        refused(ours, purged, _last_change(postgres)[0] + 1, row[0] << 3)


def test_the_secret_of_shared_answers_is_not_seen(
    postgres: str, tenants: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("redis", reason="the extra `redis` is not installed")
    monkeypatch.setenv("HADES_REDIS_URL", "unix:///none.sock")
    ours, secret = tenants["ours"], "SELECT value FROM meta WHERE starts_with(key, 'secret:')"
    assert sql(postgres, secret)
    assert not sql(ours, secret)
    refused(ours, "INSERT INTO meta VALUES ('secret:answers', 'x') ON CONFLICT DO NOTHING")
    for address, shares in ((postgres, True), (ours, False)):
        with hades.open(address, space="ours") as memory:
            assert (memory.inside.engine.answers.shared is not None) == shares


NOTED = "628ca92188565a4f816f7c73fe23590e"


def test_what_is_granted_is_known() -> None:
    """Grants that were made before a change need a migration that makes them again."""
    granted = repr((grants._POLICIES, grants._FUNCTIONS, grants._RIGHTS))
    assert md5(granted.encode()).hexdigest() == NOTED


# Nonsense in one's own space: what indexes of all spaces take in

WORST = {
    ("states", "body"): b"x",
    ("states", "tags"): "{x",
    ("heads", "body"): b"x",
    ("placements", "ordinal"): 1 << 33,
    ("entities", "origin"): 1 << 33,
    ("mentions", "introduces"): 1 << 33,
    ("mentions", "positions"): b"x",
    ("embeddings", "vector"): b"x",
    ("hierarchies", "details"): "{x",
}
"""By table and column, what made every question to another space fail."""


def _answers(postgres: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What the owner finds in `theirs`, by indexes of all spaces that are made anew."""
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    with hades.open(postgres, space="theirs") as memory:
        memory.index()
        passages, hits = memory.recall(QUESTION).passages, memory.search("rust")
        near = [(one.chunk.id, round(one.parts.get("meaning", 0), 3)) for one in passages]
        return [near, [one.chunk.id for one in hits]]


def _spoil(address: str, table: str, column: str, value: Any) -> None:
    """Put a value into all of one's rows, or as many as may have it."""
    for which in ("", f" WHERE ctid = (SELECT ctid FROM {table} LIMIT 1)"):
        with suppress(psycopg.Error):
            sql(address, f'UPDATE {table} SET "{column}" = %s{which}', value)
            return


ORPHANS = (
    "INSERT INTO chunks (topic, digest, tokens, change) SELECT max(id), 'x', 1, 1 FROM topics",
    "INSERT INTO presences (chunk, valid_from, recorded_at, change) "
    "SELECT max(id), 1, 1, 1 FROM chunks",
    "INSERT INTO mentions SELECT (SELECT max(id) FROM chunks), max(id), 0, NULL, 1 FROM entities",
    "INSERT INTO embeddings SELECT c.id << 3 | 2, e.id, 1, "
    "decode(repeat('00', (2 * dims)::int), 'hex') FROM chunks c, encoders e "
    "ON CONFLICT (node, encoder) DO UPDATE SET vector = excluded.vector",
    "DELETE FROM chunks",
)
"""What leaves rows behind that belong to nothing: in an index their place is that of another
space's chunk, or behind all chunks."""


@pytest.mark.slow
def test_nonsense_in_one_space_keeps_no_other_from_its_answers(
    postgres: str, attacker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _answers(postgres, tmp_path / "before", monkeypatch)
    assert all(before)
    for number, ((table, column), value) in enumerate(WORST.items(), 1):
        _spoil(attacker, table, column, value)
        if LONG or number == len(WORST):
            folder = tmp_path / f"{table}-{column}"
            assert _answers(postgres, folder, monkeypatch) == before, (table, column)
    for statement in ORPHANS:
        sql(attacker, statement)
    assert _answers(postgres, tmp_path / "orphans", monkeypatch) == before


NONSENSE: dict[str, tuple[Any, ...]] = {
    "INTEGER": (-1, 1 << 33, 1 << 62),
    "REAL": (float("nan"), 1e308),
    "TEXT": ("{x",),
    "BLOB": (b"x", b"\xff" * 8, b"\xff" * 768),
}


@pytest.mark.skipif(not LONG, reason="every column takes minutes: `make attack`")
def test_no_value_in_any_column_keeps_another_space_from_its_answers(
    postgres: str, attacker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = _answers(postgres, tmp_path / "before", monkeypatch)
    tried = [(table, column, value) for table in COLUMNS for column in COLUMNS[table]
             for value in NONSENSE[COLUMNS[table][column]]]  # fmt: skip
    for number, (table, column, value) in enumerate(tried):
        names = ", ".join(f'"{name}"' for name in COLUMNS[table])
        rows = sql(postgres, f"SELECT {names} FROM {table}")
        _spoil(attacker, table, column, value)
        if sql(postgres, f"SELECT {names} FROM {table}") == rows:
            continue  # refused
        folder = tmp_path / str(number)
        assert _answers(postgres, folder, monkeypatch) == before, (table, column, value)
        shutil.rmtree(folder)
        marks = ", ".join(["%s"] * len(COLUMNS[table]))
        sql(postgres, f"DELETE FROM {table}")
        for row in rows:
            sql(postgres, f"INSERT INTO {table} ({names}) VALUES ({marks})", *row)
        sql(postgres, "UPDATE meta SET value = gen_random_uuid() WHERE key = 'generation'")
