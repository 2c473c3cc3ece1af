"""Roles of a memory in PostgreSQL: an honest owner, and an attacker with SQL of his own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest

import hades
from hades.domain.graph import NodeKind, row_of
from hades.domain.hierarchy import cluster_number
from hades.store.bridges import Bridge
from hades.store.catalogue import TABLES
from hades.store.postgres.address import read_server_address
from hades.store.postgres.grants import grant

psycopg = pytest.importorskip("psycopg")

QUESTION = "Why was the bridge closed?"
COLUMNS = {
    table: {name: column.type for name, column in about.columns.items()}
    for table, about in TABLES.items()
}
"""By table: its columns and their types."""


@pytest.fixture
def roles(postgres: str) -> Iterator[Callable[[str], str]]:
    """A memory with two spaces; called with the name of a role, makes it and gives its address."""
    with hades.open(postgres, actor="owner") as memory:
        for space in ("ours", "theirs"):
            memory.create_space(space)
            inside = memory.in_space(space, actor=f"{space}_person")
            inside.remember("bridge", f"The bridge was closed because of {space} rust.")
            inside.relate("bridge", f"closed_by_{space}", f"{space} Office")
            inside.recall(QUESTION)
            inside.propose("bridge", content=f"{space}: open again")
            inside.once("key", "request", f"{space} answer".upper)
            inside.remember("secret", f"{space} secret")
            inside.purge("secret")
    made = []
    with psycopg.connect(read_server_address(postgres).conninfo, autocommit=True) as admin:

        def role(name: str) -> str:
            name = f"{read_server_address(postgres).schema}_{name}"
            admin.execute(f"CREATE ROLE {name} LOGIN")
            made.append(name)
            parts = urlsplit(postgres)
            return urlunsplit(parts._replace(netloc=parts.netloc.replace("postgres:", f"{name}:")))

        yield role
        for name in made:
            admin.execute(f"DROP OWNED BY {name}")
            admin.execute(f"DROP ROLE {name}")


def role_name(address: str) -> str:
    return urlsplit(address).username or ""


def sql(address: str, statement: str, *values: Any) -> list[Any]:
    """What an attacker gets who talks to the server himself."""
    found = read_server_address(address)
    with psycopg.connect(found.conninfo) as connection:
        connection.execute(f"SET search_path TO {found.schema}")
        cursor = connection.execute(statement, values)
        return list(cursor.fetchall()) if cursor.description else [cursor.rowcount]


def _store_bridge(memory: hades.Memory, name: str) -> None:
    """Store a bridge; a space of a few notes has no distant communities to find one between."""
    store, space = memory.inside.store, memory.inside.space_id
    passage = NodeKind.CHUNK.node(store.chunks.ever_of(row_of(memory.inside.named_node("long")))[0])
    cluster = cluster_number(memory.hierarchy().clusters[-1].id)
    assert cluster is not None
    bridge = Bridge(cluster, passage, memory.inside.named_node(name), passage, 0.5)
    with store.transaction(), store.write("ann", "refresh bridges", space) as write:
        store.bridges.replace(write, space, (), [bridge])


@pytest.fixture
def attacker(postgres: str, roles: Callable[[str], str]) -> str:
    """The address of a role that may write the space `ours`; every table has rows of both."""
    with hades.open(postgres) as memory:
        for space in ("ours", "theirs"):
            inside = memory.in_space(space)
            for number in range(3):
                inside.remember("long", f"{space} Water Works (WW{space[0]})\n" * 99 + str(number))
            inside.relate("long", f"seen_by_{space}", f"{space} Clerk")
            inside.merge(f"{space} Clerk", f"{space} Office")
            found = inside.recall(QUESTION)
            inside.feedback(found.id, useful=["1"])
            inside.weights_rollback(0)
            memory.inside.store.query_log.write()
            inside.organise()
            _store_bridge(inside, f"{space} Office")
            inside.remember("waits", f"{space} waits to be indexed")
            with inside.inside.write("test") as write:
                number, topic = inside.inside.space_id, inside.inside.named_node("long")
                chunk = memory.inside.store.database.value(
                    "SELECT id FROM chunks WHERE topic = ? LIMIT 1", topic >> 3
                )
                memory.inside.store.derived_edges.add(
                    *(write, chunk, topic, f"derived_{space}", topic),
                    weight=1,
                    evidence=space,
                    components={},
                )
                memory.inside.store.sources.put(number, "long", space, space.encode(), "note", "")
                memory.inside.store.set_meta(f"history:{number}:x", space)
                (state,) = memory.inside.store.database.column(
                    "SELECT max(id) FROM states WHERE topic = ?", topic >> 3
                )
                other = memory.inside.store.database.actor_id("other")
                memory.inside.store.database.insert(
                    "uses", state=state, actor=other, count=1, last_used=1
                )
                memory.inside.store.database.insert("originals", summary=state, state=state)
                memory.inside.store.database.insert(
                    "usefulness", state=state, actor=other, useful=1, useless=0
                )
                memory.inside.store.database.insert("archived", state=state, object=space)
    address = roles("attacker")
    grant(read_server_address(postgres), role_name(address), "write", "ours")
    return address


def refused(address: str, statement: str, *values: Any) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        sql(address, statement, *values)
