"""The catalogue of tables: both engines have these tables, and a purge leaves none of its rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hades
from hades.domain.graph import NodeKind
from hades.domain.hierarchy import cluster_number
from hades.store.bridges import Bridge
from hades.store.catalogue import COUNTED, NODE_TABLES, TABLES
from hades.store.postgres.grants import _SHARED_BY_SPACES

SECRET = "Xyzzyplugh"
FIRM = f"{SECRET} Ltd"
TYPES = {"bigint": "INTEGER", "double precision": "REAL", "text": "TEXT", "bytea": "BLOB"}
OF_NO_TOPIC = {"migrations", "actors", "relations", "encoders", "spaces", "inverses", "meta"}
OF_NO_TOPIC |= {"owed", "matched", "feedback", "weight_snapshots"}
"""Tables that have nothing of a single topic."""


@pytest.fixture(params=["file", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres"))
    return str(tmp_path / "notes.hades")


def test_the_catalogue_describes_the_tables_of_a_file(path: Path) -> None:
    with hades.open(path) as memory:
        rows = memory.inside.store.database.rows
        made = {
            table: dict(rows(f"SELECT name, type FROM pragma_table_info('{table}')"))
            for (table,) in rows("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not table.startswith("sqlite_")
        }
        referring = {
            (table, column, target)
            for table in made
            for column, target in rows(
                f"""SELECT "from", "table" FROM pragma_foreign_key_list('{table}')"""
            )
        }
    assert made == {
        table: {name: column.type for name, column in about.columns.items()}
        for table, about in TABLES.items()
    }
    assert referring <= {
        (table, name, column.target)
        for table, about in TABLES.items()
        for name, column in about.columns.items()
    }


def test_the_catalogue_describes_the_tables_of_a_database(postgres: str) -> None:
    with hades.open(postgres) as memory:
        columns = memory.inside.store.database.rows(
            "SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c "
            "JOIN information_schema.tables t USING (table_schema, table_name) "
            "WHERE c.table_schema = current_schema AND t.table_type = 'BASE TABLE' "
            "AND c.table_name <> 'commits'"
        )
    assert {(table, name, TYPES[type]) for table, name, type in columns} == {
        (table, name, column.type)
        for table, about in TABLES.items()
        for name, column in about.columns.items()
    }


def test_every_row_belongs_to_a_space_or_its_policy_is_written_out() -> None:
    for table, about in TABLES.items():
        assert (table in _SHARED_BY_SPACES) or about.having("owner", "node"), table
    names = list(TABLES)
    for table, about in TABLES.items():
        for column in about.having("owner").values():
            assert names.index(column.target) < names.index(table), "a table comes after its owners"


def _fill(memory: hades.Memory) -> int:
    """Write a topic into every table; return its number."""
    memory.remember("rent", "The rent of the office is 900 euros.")
    for day in range(3):
        text = f"{SECRET} came on day {day}. Ann Lee of {FIRM} saw it.\n"
        plan = "".join(f"Part {part} of the plan was measured.\n" for part in range(99))
        memory.remember(SECRET, text + plan)
    memory.relate(SECRET, "works_at", "Globex", evidence=f"the paper of {SECRET}")
    memory.change_fact(SECRET, "works_at", to="Initech")
    memory.relate("Ann Lee", "knows", FIRM)
    memory.add_alias(FIRM, f"{SECRET} Limited")
    memory.relate("Ann Lee", "knows", "Bo Ek")
    memory.merge("Bo Ek", FIRM)
    memory.propose("rent", content=f"{SECRET} pays the rent.")
    memory.once("key", "request", lambda: {"said": f"{SECRET} paid"})
    memory.index()
    memory.organise()
    memory.feedback(memory.recall(f"When did {SECRET} come?").id, useful=["1"])
    memory.inside.store.query_log.write()
    memory.remember(SECRET, f"{text}{plan}{SECRET} waits to be indexed.")
    store, space, node = (
        memory.inside.store,
        memory.inside.space_id,
        memory.inside.named_node(SECRET),
    )
    database, topic = store.database, node >> 3
    (state, *_), (chunk, *_) = (
        database.column(f"SELECT max(id) FROM {table} WHERE topic = ?", topic)
        for table in ("states", "chunks")
    )
    other = database.column("SELECT id FROM states WHERE topic <> ? LIMIT 1", topic)[0]
    cluster = cluster_number(memory.hierarchy().clusters[-1].id)
    assert cluster is not None
    passage = NodeKind.CHUNK.node(chunk)
    with memory.inside.write("test") as write:
        store.derived_edges.add(
            write, chunk, node, "derived", node, weight=1, evidence=SECRET, components={}
        )
        store.bridges.replace(write, space, (), [Bridge(cluster, passage, node, passage, 0.5)])
        store.sources.put(space, SECRET, SECRET, SECRET.encode(), "note", "")
        database.insert("originals", summary=other, state=state)
        database.insert("originals", summary=state, state=other)
        database.insert("archived", state=state, object=f"archive/{topic}/{SECRET}")
        for table, values in (
            ("uses", {"count": 1, "last_used": 1}),
            ("usefulness", {"useful": 1, "useless": 0}),
        ):
            actor = database.actor_id("another")
            database.insert(table, state=state, actor=actor, **values)
    return topic


def _texts(value: Any) -> str:
    return (value.decode("latin-1") if isinstance(value, bytes) else str(value)).lower()


def test_a_purge_leaves_nothing_of_a_row_in_any_column(place: str) -> None:
    with hades.open(place, actor="ann") as memory:
        topic = _fill(memory)
        rows = memory.inside.store.database.rows

        def stored() -> dict[str, list[Any]]:
            named = {t: ", ".join(f'"{n}"' for n in TABLES[t].columns) for t in TABLES}
            return {table: rows(f"SELECT {named[table]} FROM {table}") for table in TABLES}

        before = stored()
        memory.purge(SECRET)
        memory.purge(FIRM)
        after = stored()
        unchanged = {table for table in TABLES if before[table] == after[table]}
        assert unchanged <= OF_NO_TOPIC
        assert SECRET.lower() in _texts(before)
    ids = {
        table: {row[list(TABLES[table].columns).index("id")] for row in after[table]}
        for table in {*COUNTED, "actors", "relations", "encoders"}
    }
    assert topic not in ids["topics"]
    for table, about in TABLES.items():
        for at, (name, column) in enumerate(about.columns.items()):
            values = {row[at] for row in after[table]} - {None}
            what = f"{table}.{name}"
            if column.role == "node":
                assert all(node >> 3 in ids[NODE_TABLES[NodeKind(node & 7)]] for node in values), (
                    what
                )
            elif column.target and column.role != "number":
                assert values <= ids[column.target], what
            elif column.type in ("TEXT", "BLOB"):
                assert not any(SECRET.lower() in _texts(value) for value in values), what
