"""Turns of writers in PostgreSQL: who gets one, who can hold it, and the marks they leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from urllib.parse import urlsplit, urlunsplit
from zlib import crc32

import pytest

import hades
from hades.store.postgres import database
from hades.store.postgres.address import read_server_address
from hades.store.postgres.grants import grant

psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")

LOCKS = (
    "SELECT pg_try_advisory_lock({number})",
    "LOCK TABLE {schema}.commits IN SHARE UPDATE EXCLUSIVE MODE",
    "LOCK TABLE {schema}.commits IN ACCESS SHARE MODE",
    "PREPARE a AS DELETE FROM {schema}.commits",
    "PREPARE b AS SELECT * FROM {schema}.commits FOR UPDATE",
    "PREPARE c AS INSERT INTO {schema}.commits VALUES (1)",
    "SELECT * FROM {schema}.commits FOR UPDATE",
    "CREATE INDEX ON {schema}.commits (mark)",
    "ANALYZE {schema}.commits",
)
"""What a role may try to keep others from writing."""


@pytest.fixture
def role(postgres: str) -> Iterator[Callable[[str], str]]:
    """Makes a role of a name and gives its address; the memory has the spaces a and b."""
    with hades.open(postgres) as memory:
        for space in ("a", "b"):
            memory.create_space(space)
    made = []
    with psycopg.connect(read_server_address(postgres).conninfo, autocommit=True) as admin:

        def make(name: str) -> str:
            name = f"{read_server_address(postgres).schema}_{name}"
            admin.execute(f"CREATE ROLE {name} LOGIN")
            made.append(name)
            parts = urlsplit(postgres)
            return urlunsplit(parts._replace(netloc=parts.netloc.replace("postgres:", f"{name}:")))

        yield make
        for name in made:
            admin.execute(f"DROP OWNED BY {name}")
            admin.execute(f"DROP ROLE {name}")


def _connected(address: str) -> psycopg.Connection:  # type: ignore[name-defined]
    return psycopg.connect(read_server_address(address).conninfo)


def test_no_role_that_may_not_write_stops_the_writers(
    postgres: str, role: Callable[[str], str]
) -> None:
    memory_address, name = read_server_address(postgres), lambda one: urlsplit(one).username or ""
    outsider, reader, of_space = role("outsider"), role("reader"), role("of_space")
    grant(memory_address, name(reader), "read", None)
    grant(memory_address, name(of_space), "read", "a")
    number = crc32(f"hades {memory_address.schema}".encode())
    with ExitStack() as held, hades.open(postgres, busy_timeout_s=2) as memory:
        for address in (outsider, reader, of_space):
            for lock in LOCKS:
                session = held.enter_context(_connected(address))
                with suppress(psycopg.errors.InsufficientPrivilege):
                    session.execute(lock.format(number=number, schema=memory_address.schema))
        memory.remember("a", "Nobody is in the way.")
        assert memory.get("a").version == 1


def test_a_role_that_may_write_gets_its_turn_and_gives_it_back(
    postgres: str, role: Callable[[str], str]
) -> None:
    writer = role("writer")
    address = read_server_address(postgres)
    grant(address, urlsplit(writer).username or "", "write", "a")
    with (
        hades.open(writer, space="a", busy_timeout_s=0.3) as tenant,
        hades.open(postgres, busy_timeout_s=0.3) as owner,
    ):
        with owner.batch():
            owner.remember("n", "The owner's turn.")
            with _connected(writer) as session:
                session.execute(f"SET search_path TO {address.schema}; SET lock_timeout TO 100")
                with pytest.raises(psycopg.errors.LockNotAvailable):
                    session.execute(database.TURN)
        tenant.remember("n", "The tenant's turn.")
        with _connected(writer) as session:
            session.execute(f"SET search_path TO {address.schema}")
            session.execute(database.TURN)
            with pytest.raises(hades.Unavailable, match="did not finish in time"):
                owner.remember("n", "Not now.")
        assert owner.remember("n", "Now.").version == 2


def test_a_role_of_a_space_sees_and_removes_no_mark_of_others(
    postgres: str, role: Callable[[str], str]
) -> None:
    writer = role("writer")
    address = read_server_address(postgres)
    grant(address, urlsplit(writer).username or "", "write", "a")
    with hades.open(postgres) as owner, hades.open(writer, space="a") as tenant:
        owner.remember("n", "By the owner.")
        tenant.remember("n", "By the tenant.")
        count = "SELECT count(*) FROM commits"
        of_all = owner.inside.store.database.value(count)
        of_tenant = tenant.inside.store.database.value(count)
        assert 0 < of_tenant < of_all
        with _connected(writer) as session:
            session.execute(f"SET search_path TO {address.schema}")
            assert session.execute("DELETE FROM commits").rowcount == 0
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute("INSERT INTO commits (mark, writer) VALUES (7, 'postgres')")
        assert owner.inside.store.database.value(count) == of_all


def test_marks_are_kept_for_an_hour(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with hades.open(postgres) as memory:
        marks = lambda: memory.inside.store.database.value("SELECT count(*) FROM commits")  # noqa: E731
        for number in range(3):
            memory.remember(f"n{number}", "Stored.")
        assert marks() == 3
        with _connected(postgres) as session:
            schema = read_server_address(postgres).schema
            session.execute(
                f"UPDATE {schema}.commits SET at = at - interval '2 h' "
                f"WHERE mark = (SELECT min(mark) FROM {schema}.commits)"
            )
        monkeypatch.setattr(database, "_DROPPED_EVERY", 1)
        memory.remember("n3", "Stored.")
        assert marks() == 3
