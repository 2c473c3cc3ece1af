"""Roles in PostgreSQL: what one may read and write, tried by HADES and by an attacker's SQL."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from roles_making import COLUMNS, QUESTION, attacker, refused, role_name, roles, sql

import hades
from hades.store.postgres.address import read_server_address
from hades.store.postgres.grants import _POLICIES, grant

psycopg = pytest.importorskip("psycopg")

__all__ = ["attacker", "roles"]


def test_a_role_that_may_read_is_enough_for_reading(
    postgres: str, roles: Callable[[str], str]
) -> None:
    reader = roles("reader")
    with pytest.raises(hades.Denied):
        hades.open(reader)
    grant(read_server_address(postgres), role_name(reader), "read", None)
    with hades.open(reader, space="ours") as memory:
        assert memory.get("bridge").content == "The bridge was closed because of ours rust."
        assert [topic.name for topic in memory.topics()] == ["bridge"]
        assert len(memory.history("bridge")) == 1
        assert memory.search("bridge rust")
        assert "rust" in str(memory.recall(QUESTION))
        assert "rust" in str(memory.ask(QUESTION))
        assert memory.log()
        with pytest.raises(hades.Denied, match="reading only"):
            memory.remember("bridge", "mine now")
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        sql(reader, "DELETE FROM topics")


def test_a_role_that_may_write_needs_nothing_else(
    postgres: str, roles: Callable[[str], str]
) -> None:
    writer = roles("writer")
    grant(read_server_address(postgres), role_name(writer), "write", None)
    for separated in (False, True):  # roles of single spaces change nothing for it
        if separated:
            grant(read_server_address(postgres), role_name(roles("other")), "write", "ours")
        with hades.open(writer) as memory:
            memory.create_space(f"new{separated}")
            memory.remember("a note", "written by the writer")
            assert "written" in str(memory.recall("who wrote a note?"))
            assert memory.in_space("theirs").get("bridge")
            assert memory.purge("a note")["wiped"] == 0  # the owner writes the tables anew
    with hades.open(postgres) as memory:
        assert not memory.inside.store.owed()
    grant(read_server_address(postgres), role_name(writer), "none", None)
    with pytest.raises(hades.Denied):
        hades.open(writer)


def test_hades_works_within_the_spaces_of_a_role(
    postgres: str, roles: Callable[[str], str]
) -> None:
    ours = roles("ours")
    assert grant(read_server_address(postgres), role_name(ours), "write", "ours") == ["ours"]
    with hades.open(ours, space="ours", actor="theirs_person") as memory:
        assert [space.name for space in memory.spaces()] == ["ours"]
        memory.remember("ferry", "The ferry runs since the bridge was closed.")
        memory.relate("ferry", "closed_by_theirs", "bridge")
        memory.relate("ferry", "replaces", "bridge")
        memory.change_fact("ferry", "replaces", "bridge", new_relation="ran_beside")
        memory.remember("ferry", "The ferry runs twice a day.")
        assert len(memory.history("ferry")) == 2
        assert "rust" in str(memory.ask(QUESTION))
        assert "ferry" in str(memory.recall("What runs twice a day?"))
        assert "theirs rust" not in str(memory.recall(QUESTION))
        assert "theirs rust" not in str(memory.search("theirs rust"))
        assert {edge.relation for edge in memory.edges("ferry")} >= {"closed_by_theirs"}
        assert {change.actor for change in memory.log(upkeep=True)} == {
            "hades",
            "ours_person",
            "theirs_person",
        }
        assert memory.pending == 0
        memory.approve(memory.propose("tunnel", content="A tunnel was planned.").id)
        assert memory.purge("ferry")["topics"] == 1
        left = (
            "SELECT node FROM embeddings WHERE node & 7 = 2 AND node >> 3 NOT IN (SELECT id FROM "
        )
        assert not sql(postgres, left + "chunks)")
        for refused in (
            lambda: memory.create_space("mine"),
            lambda: memory.drop_space("ours"),
            lambda: memory.set_inverse("a", "b"),
            lambda: memory.reembed("other"),
        ):
            with pytest.raises(hades.HadesError):
                refused()
    with pytest.raises(hades.NotFound):
        hades.open(ours, space="theirs")
    with hades.open(postgres, space="theirs") as memory:
        assert "theirs rust" in str(memory.ask(QUESTION))
    # One space more.
    assert grant(read_server_address(postgres), role_name(ours), "write", "theirs") == [
        "ours",
        "theirs",
    ]
    with hades.open(ours, space="theirs") as memory:
        assert "theirs rust" in str(memory.ask(QUESTION))


# An attacker with a role of one space

OF_ALL = {"migrations", "inverses", "encoders", "purged", "owed"}
"""What is not of a space: settings of the whole memory, and bare numbers of erased nodes."""
POINTS = {"space", "topic", "latest", "state", "chunk", "entity", "node", "source", "target"}
POINTS |= {"summary", "hierarchy", "cluster", "parent"}
"""Columns by which a row belongs to another one."""


def _foreign(postgres: str, attacker: str, table: str) -> list[Any]:
    seen = sql(attacker, f"SELECT * FROM {table}")
    return [row for row in sql(postgres, f"SELECT * FROM {table}") if row not in seen]


def test_no_row_of_another_space_is_read_changed_or_deleted(postgres: str, attacker: str) -> None:
    assert set(_POLICIES) == {*COLUMNS, "commits"}
    before = {table: sql(postgres, f"SELECT * FROM {table}") for table in COLUMNS}
    for table, columns in COLUMNS.items():
        foreign = _foreign(postgres, attacker, table)
        assert bool(foreign) != (table in OF_ALL), table
        assert "theirs" not in str(sql(attacker, f"SELECT * FROM {table}")).lower(), table
        first = next(iter(columns))
        for attack in (
            f'UPDATE {table} SET "{first}" = "{first}"',
            f'UPDATE {table} SET "{first}" = "{first}" RETURNING *',
            f"DELETE FROM {table}",
            f"TRUNCATE {table}",
            f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY",
        ):
            with suppress(psycopg.errors.InsufficientPrivilege):
                sql(attacker, attack)
        assert not [row for row in foreign if row not in sql(postgres, f"SELECT * FROM {table}")]
    for table in OF_ALL - {"owed"}:
        assert sql(postgres, f"SELECT * FROM {table}") == before[table]


def test_no_row_of_ones_own_points_at_another_space(postgres: str, attacker: str) -> None:
    tried = set()
    for table, columns in COLUMNS.items():
        more = {"edges": {"relation", "id"}, "derived_edges": {"relation"}}.get(table, set())
        less = {"matched": {"chunk"}}.get(table, set())  # how far, not which
        for column in (columns.keys() & POINTS | more) - less:
            index = list(columns).index(column)
            own = [row for row in sql(attacker, f"SELECT * FROM {table}") if row[index]]
            theirs = [row[index] for row in _foreign(postgres, attacker, table) if row[index]]
            theirs = [one for one in theirs if one not in {row[index] for row in own}]
            if not own or not theirs:
                continue
            tried.add((table, column))
            if table != "changes":
                refused(attacker, f"UPDATE {table} SET {column} = %s", theirs[0])
            values = [theirs[0] if at == index else value for at, value in enumerate(own[0])]
            kept = [at for at, name in enumerate(columns) if at or name not in ("id", "row")]
            names = ", ".join(f'"{list(columns)[at]}"' for at in kept)
            refused(
                attacker,
                f"INSERT INTO {table} ({names}) VALUES ({', '.join(['%s'] * len(kept))})",
                *(values[at] for at in kept),
            )
    assert len(tried) >= 31, sorted(tried)


def test_what_all_spaces_share_cannot_be_spoilt(postgres: str, attacker: str) -> None:
    ours, theirs = (
        sql(postgres, "SELECT id FROM spaces WHERE name = %s", name)[0][0]
        for name in ("ours", "theirs")
    )
    number, at = sql(attacker, "SELECT * FROM last_change")[0]
    person = "SELECT id FROM actors WHERE name = %s"
    me, other = (sql(postgres, person, f"{one}_person")[0][0] for one in ("ours", "theirs"))
    topic = sql(postgres, "SELECT id FROM topics WHERE space = %s", theirs)[0][0]
    log = "INSERT INTO changes VALUES (%s, %s, %s, 'x', %s, %s)"
    for wrong in (
        (number + 1, at + 1, other, ours, None),  # to learn the name of a number
        (number + 1, at + 1, me, theirs, None),
        (number + 1, at + 1, me, ours, topic << 3),
        (number + 1, 1 << 55, me, ours, None),  # all later writes would be dated there
        (number + 1, at - 1, me, ours, None),
        (number + 9, at + 1, me, ours, None),
    ):
        refused(attacker, log, *wrong)
    assert sql(attacker, log, number + 1, at + 1, me, ours, None) == [1]
    for node in (topic << 3, 1 << 40):  # indexes would drop it, or what comes to be there
        refused(attacker, "INSERT INTO purged VALUES (%s, %s)", number + 2, node)
    for key in ("encoder", "generation", "embedded:minilm", f"history:{theirs}:y"):
        refused(attacker, "INSERT INTO meta VALUES (%s, 'x')", key)
    sql(attacker, "UPDATE meta SET value = 'x'")
    assert "x" not in dict(sql(postgres, "SELECT key, value FROM meta WHERE key = 'generation'"))
    sql(postgres, "INSERT INTO owed VALUES ('file', 'm') ON CONFLICT DO NOTHING")
    sql(attacker, "DELETE FROM owed")
    refused(attacker, "UPDATE owed SET what = 'log'")
    assert sql(postgres, "SELECT what FROM owed") == [("file",)]
    for attack in (
        "INSERT INTO spaces (name, created_at) VALUES ('x', 1)",
        "INSERT INTO actors (name) VALUES ('x')",
        "INSERT INTO inverses VALUES ('a', 'b')",
        "UPDATE encoders SET dims = 1",
        "SELECT setval('topics_id_seq', 1)",
        "CREATE TABLE mine (x INT)",
        "CREATE OR REPLACE FUNCTION is_erased(BIGINT) RETURNS BOOLEAN RETURN TRUE",
        "SET row_security TO off; SELECT * FROM topics",
        "SET ROLE postgres",
    ):
        refused(attacker, attack)
    sql(postgres, "ANALYZE topics")
    assert not sql(attacker, "SELECT * FROM pg_stats WHERE tablename = 'topics'")


def test_rights_are_given_one_way_only(postgres: str, roles: Callable[[str], str]) -> None:
    address, role = read_server_address(postgres), role_name(roles("one"))
    for wrong, kind in (
        (("postgres", "read", "ours"), hades.InvalidInput),  # it passes by row-level security
        (("nobody", "read", None), hades.NotFound),
        ((role, "read", "nowhere"), hades.NotFound),
    ):
        with pytest.raises(kind):
            grant(address, *wrong)
    grant(address, role, "write", None)
    assert grant(address, role, "read", "ours") == ["ours"]  # no longer the whole memory
    reader = roles("two")
    grant(address, role_name(reader), "read", "ours")
    with hades.open(reader, space="ours") as memory:
        assert "ours rust" in str(memory.ask(QUESTION))
        assert "closed_by_ours" in str(memory.edges())
    for attack in ("SELECT number_of_actors('x')", "UPDATE topics SET name = 'x'"):
        refused(reader, attack)
    assert sql(reader, "SELECT count(*) FROM topics WHERE name = 'bridge'") == [(1,)]
    with pytest.raises(hades.Conflict, match="read only"):
        grant(address, role, "write", "theirs")
    with pytest.raises(hades.Conflict, match="limited to some spaces"):
        grant(address, role, "read", None)
    assert grant(address, role, "none", None) == []
    assert grant(address, role, "write", "theirs") == ["theirs"]


def test_a_role_of_one_space_ages_its_own_and_sees_nothing_of_others(
    postgres: str, roles: Callable[[str], str], tmp_path: Path
) -> None:
    with hades.open(postgres) as memory:
        for space in ("ours", "theirs"):
            inside = memory.in_space(space)
            for day in range(1, 4):
                text = f"Maya works at {space}firm{day}."
                inside.remember("job", text, valid_from=f"2024-01-0{day}")
            inside.consolidate(at_least=1)
            inside.index()
            inside.archive(older_than="2030-01-01", keep_versions=1, to=str(tmp_path / "old"))
            inside.recall("Where does Maya work?")
    role = roles("ours")
    grant(read_server_address(postgres), role_name(role), "write", "ours")
    with hades.open(role, space="ours") as memory:
        for table in ("uses", "originals", "archived"):
            seen = sql(role, f"SELECT count(*) FROM {table}")[0][0]
            there = sql(postgres, f"SELECT count(*) FROM {table}")[0][0]
            assert 0 < seen < there
        assert memory.get("job", 1).content == "Maya works at oursfirm1."
        memory.remember("job", "Maya works at oursfirm9.")
        memory.extract()
        memory.consolidate(at_least=1)
        memory.promote("job", reason="She moved.")
        memory.recall("Where does Maya work?")
        told = (memory.quality(), memory.suggest(), memory.recall("What happened in January 2024?"))
        assert "theirs" not in str((told, memory.proposals("all"), memory.edges()))
        with pytest.raises(hades.NotFound):
            memory.in_space("theirs")
        memory.purge("job")
    with hades.open(postgres, space="theirs") as memory:
        assert memory.get("job", 1).content == "Maya works at theirsfirm1."
        assert memory.check() == []
