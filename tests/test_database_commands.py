"""`hades db`: a memory in PostgreSQL is made, looked at, and roles are let in."""

from __future__ import annotations

import json
from urllib.parse import parse_qsl, urlencode, urlsplit

import hades
from tests.shell import run_hades


def _db(*words: str) -> str:
    result = run_hades("db", *words)
    assert "Traceback" not in result.output
    assert result.exit_code == 0, result.output
    return result.output


def _refused(*words: str) -> str:
    result = run_hades("db", *words)
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr


def _schema(address: str) -> str:
    """The schema that an address of a memory names."""
    return dict(parse_qsl(urlsplit(address).query))["schema"]


def _server(address: str) -> str:
    """The address without its schema, which only HADES understands."""
    parts = urlsplit(address)
    kept = [(name, value) for name, value in parse_qsl(parts.query) if name != "schema"]
    return parts._replace(query=urlencode(kept)).geturl()


def test_init_makes_a_memory_once(new_postgres: str) -> None:
    assert json.loads(_db("init", new_postgres, "--json"))["made"]
    assert not json.loads(_db("init", new_postgres, "--json"))["made"]
    other = new_postgres.rpartition("=")[2] + "_other"
    assert "made" in _db("init", new_postgres, "--schema", other)


def test_init_says_what_is_wrong(new_postgres: str) -> None:
    import psycopg

    role = f"{_schema(new_postgres)}_nobody"
    with psycopg.connect(_server(new_postgres), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN")
        try:
            told = _refused("init", new_postgres.replace("postgres:@", f"{role}:@"))
        finally:
            admin.execute(f"DROP ROLE {role}")
    assert "permission denied" in told
    nowhere = urlsplit(new_postgres)._replace(path="/nowhere").geturl()
    assert "does not exist" in _refused("init", nowhere)
    assert "not the address" in _refused("init", "notes.hades")
    assert "cannot be a schema" in _refused("init", new_postgres, "--schema", "pg_x")
    assert "cannot be reached" in _refused("init", "postgresql://u@127.0.0.1:1/x")


def test_status_tells_of_server_and_tables(postgres: str) -> None:
    with hades.open(postgres) as memory:
        memory.remember("a", "one")
        memory.recall("one?")
        memory.remember("b", "two")
        found = json.loads(_db("status", "-m", postgres, "--json"))
        assert found["replication"] == "primary"
        assert found["pending"] == 1
        assert list(found["without_vectors"].values()) == [0]
        assert found["connections"] >= 2
        assert found["writers_waiting"] == 0
        assert found["change"] == memory.change
        assert found["tables"]["topics"]["bytes"] > 0
        assert "topics" in _db("status", "-m", postgres)


def test_grant(postgres: str) -> None:
    import psycopg

    _db("init", postgres)
    role = f"{_schema(postgres)}_reader"
    with psycopg.connect(_server(postgres), autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN")
        try:
            assert f"{role} may read in all spaces" in _db("grant", role, "--read", "-m", postgres)
            of_it = ("-m", postgres)
            told = json.loads(_db("grant", role, "--write", "-s", "default", "--json", *of_it))
            assert told == {"role": role, "may": "write", "spaces": ["default"]}
            assert json.loads(_db("status", "--json", *of_it))["granted"] == {
                role: "write, some spaces"
            }
            assert "may nothing" in _db("grant", role, "--none", *of_it)
            assert "one of --read" in _refused("grant", role, *of_it)
            assert "no role" in _refused("grant", "nobody_of_that_name", "--read", *of_it)
        finally:
            admin.execute(f"DROP OWNED BY {role}")
            admin.execute(f"DROP ROLE {role}")
