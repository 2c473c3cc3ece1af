"""A memory in PostgreSQL: walks over remote neighbours, vectors and words of the database.

HADES_BENCH_POSTGRES is the address of a memory, HADES_BENCH_QUESTIONS a file of questions (JSON
lines). Each way is compared with the local arrays of the same memory, in the same run.
"""

from __future__ import annotations

import json
import os
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hades
from bench.table import show
from hades.domain.times import NOW
from hades.graph.ppr import walk_many
from hades.recall.find import excerpts
from hades.recall.find.finder import name_keys
from hades.recall.query_context import QueryContext
from hades.recall.question.names import names_in
from hades.recall.warming import load_kernels
from hades.store.postgres.pgvector import PgVector

DAMPING, EPSILON = 0.5, 1e-5
ASKED = 30
ARCS_CACHED = 2_000_000
_ARCS = """
SELECT m.chunk * 2, m.entity * 2 + 1 FROM mentions m WHERE m.chunk = ANY(?1)
UNION ALL SELECT m.entity * 2 + 1, m.chunk * 2 FROM mentions m WHERE m.entity = ANY(?2)
AND NOT EXISTS (SELECT 1 FROM mentions h WHERE h.entity = m.entity OFFSET 5000)
"""


class RemoteNeighbours:
    """Neighbours fetched from the database, a round trip for many nodes, with a bounded cache."""

    def __init__(self, database: Any, cached: int) -> None:
        self._database, self._cached = database, cached
        self._kept: OrderedDict[int, list[int]] = OrderedDict()
        self._arcs = self.trips = 0

    def of(self, nodes: Sequence[int]) -> dict[int, list[int]]:
        found = {node: self._kept[node] for node in nodes if node in self._kept}
        new = [node for node in nodes if node not in found]
        if new:
            self.trips += 1
            fetched: dict[int, list[int]] = {node: [] for node in new}
            chunks = [node >> 1 for node in new if not node & 1]
            names = [node >> 1 for node in new if node & 1]
            for source, target in self._database.rows(_ARCS, chunks, names):
                fetched[source].append(target)
            found |= fetched
            if self._cached:
                self._kept |= fetched
                self._arcs += sum(map(len, fetched.values()))
                while self._arcs > self._cached:
                    self._arcs -= len(self._kept.popitem(last=False)[1])
        return found

    def push(self, seeds: Sequence[int]) -> dict[int, float]:
        """Personalised PageRank by local push, a round of fetches for all nodes that push."""
        rank: dict[int, float] = {}
        left = dict.fromkeys(seeds, 1 / max(1, len(seeds)))
        while True:
            front = [node for node, mass in left.items() if mass > EPSILON * 100]
            if not front:
                return rank
            around = self.of(front)
            for node in front:
                mass, near = left.pop(node), around[node]
                rank[node] = rank.get(node, 0.0) + (1 - DAMPING) * mass
                for other in near:
                    left[other] = left.get(other, 0.0) + DAMPING * mass / len(near)


def _ms(call: Callable[[Any], object], asked: Sequence[Any]) -> str:
    times = []
    for one in asked:
        start = time.perf_counter()
        call(one)
        times.append((time.perf_counter() - start) * 1e3)
    return f"{np.percentile(times, 50):.1f} / {np.percentile(times, 95):.1f}"


def _walks(memory: hades.Memory, query: QueryContext, asked: Sequence[str]) -> None:
    graph, database = query.graph, memory.inside.store.database
    named = [found for one in asked if len(found := names_in(one, graph, query.lookup))]

    def local(seeds: Any) -> None:
        at = graph.first_entity + seeds
        weights = np.full(len(at), 1 / len(at))
        walk_many(
            graph.adjacency, [(at, weights)], damping=DAMPING, epsilon=EPSILON, barred=graph.barred
        )

    rows = [("loaded arrays", _ms(local, named), "0")]
    for cached in (0, ARCS_CACHED):
        remote = RemoteNeighbours(database, cached)

        def push(seeds: Any, remote: RemoteNeighbours = remote) -> None:
            remote.push([int(one) * 2 + 1 for one in graph.entities[seeds]])

        for again in (False, True) if cached else (False,):
            remote.trips = 0
            spent = _ms(push, named)
            what = "push, fetched a round at a time" + (", cache" if cached else "")
            rows.append(
                (what + (" filled" if again else ""), spent, f"{remote.trips / len(named):.1f}")
            )
    show("Walks from the names of a question, ms p50 / p95", ("walk", "ms", "round trips"), rows)


def _words(memory: hades.Memory, query: QueryContext, asked: Sequence[str]) -> None:
    database, words = memory.inside.store.database, query.indexes.words
    valid, known = query.indexes.moment(NOW)
    if database.value("SELECT to_regclass('bench_texts')") is None:
        database.run("CREATE TABLE bench_texts (chunk bigint, said tsvector)")
        ids = query.indexes.chunks["id"].tolist()
        for first in range(0, len(ids), 2_000):
            texts = memory.inside.store.chunks.texts(ids[first : first + 2_000])
            database.run_many(
                "INSERT INTO bench_texts VALUES (?, to_tsvector('english', ?))", list(texts.items())
            )
        database.run("CREATE INDEX ON bench_texts USING gin (said)")
        database.run("VACUUM ANALYZE bench_texts")

    def full_text(question: str) -> list[int]:
        return database.column(
            "SELECT chunk FROM bench_texts, (SELECT CAST(replace(CAST("
            "plainto_tsquery('english', ?) AS text), '&', '|') AS tsquery) AS q) s WHERE said @@ q "
            "ORDER BY ts_rank_cd(said, q, 1) DESC, chunk LIMIT 100",
            question,
        )

    def tantivy(question: str) -> list[int]:
        return [chunk for chunk, _ in words.best(question, valid, known, 100)]

    both = [(tantivy(one)[:10], full_text(one)[:10]) for one in asked]
    same = np.mean([len({*one} & {*other}) / max(1, len(one)) for one, other in both])
    size = database.value("SELECT pg_total_relation_size('bench_texts')")
    show(
        "Words, the best 100, ms p50 / p95",
        ("way", "ms", "bytes a chunk", "of tantivy's ten best"),
        [
            ("tantivy, local", _ms(tantivy, asked), "see `spaces`", "1.00"),
            ("PostgreSQL full text, ts_rank_cd", _ms(full_text, asked),
             f"{size / max(1, len(query.indexes.chunks)):.0f}", f"{same:.2f}"),
        ],
    )  # fmt: skip


def _vectors(memory: hades.Memory, query: QueryContext, asked: Sequence[str]) -> None:
    index = PgVector(memory.inside.store.database, memory.inside.finder.encoder.model)
    if not index.is_ready:
        print("Vectors skipped: `hades warm` with a small memory_mb makes the index.\n")
        return
    vectors = memory.inside.finder.encoder.encode(list(asked))
    valid, known = query.indexes.moment(NOW)

    def local(vector: Any) -> list[int]:
        return [chunk for chunk, _ in query.indexes.nearest(vector, query.mask, 100)]

    def remote(vector: Any) -> list[int]:
        return index.nearest(vector.tolist(), 100, 1, valid, known, None)

    same = np.mean([len({*local(one)} & {*remote(one)}) / 100 for one in vectors])
    show(
        "The nearest 100, ms p50 / p95",
        ("way", "ms", "of the exact 100"),
        [
            ("int8 codes, exact, local", _ms(local, vectors), "1.00"),
            ("pgvector, HNSW over halfvec", _ms(remote, vectors), f"{same:.3f}"),
        ],
    )


def _excerpts(memory: hades.Memory, query: QueryContext, asked: Sequence[str]) -> None:
    database, words, finder = (
        memory.inside.store.database,
        query.indexes.words,
        memory.inside.finder,
    )
    trips, rows = [0], type(database).rows

    def counted(self: Any, *given: Any, **named: Any) -> Any:
        trips[0] += 1
        return rows(self, *given, **named)

    type(database).rows = counted  # type: ignore[method-assign]

    def gather(question: str) -> None:
        excerpts.gather(
            memory.inside.store,
            finder.encoder,
            words,
            1,
            NOW,
            question,
            name_keys(question),
            (),
            None,
        )

    spent = _ms(gather, asked)
    type(database).rows = rows  # type: ignore[method-assign]
    show(
        "Choosing an excerpt and reading its mentions, ms p50 / p95",
        ("ms", "round trips"),
        [(spent, f"{trips[0] / len(asked):.0f}")],
    )


def run(*, small: bool = False) -> None:
    """Measure what a memory in PostgreSQL costs where its arrays are not at hand."""
    print("## Remote\n")
    address, file = (os.environ.get(f"HADES_BENCH_{one}") for one in ("POSTGRES", "QUESTIONS"))
    if not address or not file:
        print("Skipped: set HADES_BENCH_POSTGRES and HADES_BENCH_QUESTIONS.\n")
        return
    lines = Path(file).read_text().splitlines()[: 10 if small else ASKED]
    asked = [json.loads(line)["question"] for line in lines]
    load_kernels()
    with (
        hades.open(address) as memory,
        memory.inside.engine.query_context(memory.inside.scope()) as query,
    ):
        print(f"{len(query.mask):,} chunks, load {os.getloadavg()[0]:.1f}\n")
        _vectors(memory, query, asked)
        _walks(memory, query, asked)
        _excerpts(memory, query, asked)
    with hades.open(address) as memory:
        with memory.inside.engine.query_context(memory.inside.scope()) as query:
            pass
        _words(memory, query, asked)
