"""A memory that was written before there were hierarchies gets their tables when it is opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from roles_making import role_name, roles, sql

import hades
from hades.store import schema
from hades.store.sqlite import opening

__all__ = ["roles"]
NEW = {
    schema.columns_of(statement)[0]
    for _, script in schema.STEPS[1:]
    for statement in schema.statements(script)
    if statement.startswith("CREATE TABLE")
}
"""The tables that the first release did not have, or had with other columns."""
NEW_INDEXES = ("changes_kinds", "entities_symbols")
"""The indexes that later releases added to tables of the first."""


def test_an_older_file_is_brought_up_to_date(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr(opening, "STEPS", schema.STEPS[:1])
        older.setattr(schema, "STEPS", schema.STEPS[:1])
        opening._make_file(path, lambda: 1_700_000_000_000_000)
    with pytest.raises(hades.Unavailable, match="older HADES"):
        hades.open(path, read_only=True)
    with hades.open(path) as memory:
        memory.remember("tea", "Tea is ready.")
        assert memory.organise().made
        assert not memory.check()


def test_uses_and_verdicts_from_before_become_the_share_of_one_actor(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(opening, "STEPS", schema.STEPS[:5])
        older.setattr(schema, "STEPS", schema.STEPS[:5])
        with hades.open(path) as memory:
            memory.remember("tea", "Tea is ready.")
            database = memory.inside.store.database
            with database.transaction():
                database.run("INSERT INTO uses VALUES (1, 150, 1)")
                database.run("INSERT INTO usefulness VALUES (1, 30, 2)")
    with hades.open(path) as memory:
        tea = memory.get("tea")
        assert (tea.access_count, tea.usefulness) == (4, pytest.approx(1 / 3))
        assert memory.check() == []


def test_roles_of_an_older_database_keep_their_rights(
    postgres: str,
    roles: Callable[[str], str],
) -> None:
    from hades.store.postgres.address import read_server_address
    from hades.store.postgres.dialect import defined
    from hades.store.postgres.grants import grant

    address = read_server_address(postgres)
    ours, reader = roles("ours"), roles("reader")
    grant(address, role_name(ours), "write", "ours")
    grant(address, role_name(reader), "read", None)
    with hades.open(postgres) as memory:
        memory.in_space("ours").remember("tea", "Tea is ready.")
    for table in NEW:
        sql(postgres, f"DROP TABLE {table} CASCADE")
    for statement in schema.statements(schema.STEPS[0][1]):
        if schema.columns_of(statement)[0] in NEW:  # a later step replaces it
            sql(postgres, defined(statement))
    sql(postgres, "INSERT INTO uses SELECT id, 2, 1 FROM states")
    for index in NEW_INDEXES:
        sql(postgres, f"DROP INDEX {index}")
    sql(postgres, "DELETE FROM migrations WHERE number > 1")
    hades.open(postgres).close()
    with hades.open(ours, space="ours") as memory:
        assert memory.get("tea").access_count == 2
        memory.organise()
        assert memory.hierarchy().current is not None
    with hades.open(reader, space="ours") as memory:
        assert len(memory.hierarchy().clusters) == 2
    with pytest.raises(hades.NotFound):
        hades.open(ours, space="theirs")
