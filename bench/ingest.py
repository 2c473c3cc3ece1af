"""Ingestion and search: seconds by phase, and search against numpy and SQLite FTS5.

The 2Wiki corpus is found by HADES_DATA (a folder with `2wiki/corpus.jsonl`), else beside
the checkout in ../shared/data; without it that part is skipped and says so.
"""

from __future__ import annotations

import json
import os
import random
import resource
import sqlite3
import tempfile
import time
from pathlib import Path

import numpy as np

import hades
from bench.table import note, percentiles, seconds, show
from hades.domain.times import NOW
from hades.index.vectors import Vectors
from hades.models.encoder import load_encoder
from hades.store.port import Cut, Draft

DIMS = 384
QUESTIONS = 50
ROOT = Path(__file__).parent.parent
WORDS = [f"{a}{b}" for a in "bcdfghklmnprstvz" for b in ("ane", "ilo", "urt", "eck", "omi")]


def data_folder() -> Path | None:
    """Where the public question sets lie, if they are here."""
    for place in (os.environ.get("HADES_DATA"), ROOT.parent / "shared" / "data"):
        if place and (Path(place) / "2wiki" / "corpus.jsonl").exists():
            return Path(place)
    return None


def _corpus(folder: Path) -> None:
    data = data_folder()
    if data is None:
        print("2Wiki skipped: set HADES_DATA to a folder that holds 2wiki/corpus.jsonl.\n")
        return
    load_encoder("minilm").encode(["warm"])
    memory = hades.open(folder / "wiki.hades")
    start = time.perf_counter()
    done = memory.ingest(data / "2wiki" / "corpus.jsonl", on_progress=_told)
    cold = time.perf_counter() - start
    again = seconds(lambda: memory.ingest(data / "2wiki" / "corpus.jsonl"))
    memory.search("warm up")
    stats = memory.stats()
    memory.close()
    memory = hades.open(folder / "wiki.hades")
    memory._finder.encoder.encode(["warm"])
    first = seconds(lambda: memory.search("Who directed the film?"))
    lines = (data / "2wiki" / "questions.jsonl").read_text().splitlines()[:QUESTIONS]
    asked = [json.loads(line)["question"] for line in lines]
    search = percentiles(memory.search, asked)
    memory.close()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    note("")
    show(
        f"2Wiki: {done.added:,} passages, {stats['chunks']:,} chunks, {stats['entities']:,} names, "
        f"{stats['mentions']:,} mentions",
        ("what", "seconds", "aim"),
        [
            *((f"phase {phase}", f"{spent:.1f}", "") for phase, spent in done.seconds.items()),
            ("cold", f"{cold:.1f}", "≤ 120"),
            ("nothing changed", f"{again:.2f}", "≤ 3"),
            ("opening to the first answer", f"{first:.3f}", ""),
            ("a search, p50 / p99", f"{search[0] / 1e6:.4f} / {search[1] / 1e6:.4f}", ""),
            ("peak memory, MB", f"{peak:.0f}", ""),
        ],
    )


def _synthetic(memory: hades.Memory, count: int, generator: random.Random) -> list[str]:
    """So many chunks with random words and vectors, written as ingestion would."""
    store = memory._store
    rng = np.random.default_rng(7)
    texts: list[str] = []
    while len(texts) < count:
        batch = [" ".join(generator.choices(WORDS, k=40)) for _ in range(min(5_000, count))]
        vectors = rng.normal(size=(len(batch), DIMS)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        with store.transaction(), store.write("bench", "fill", 1) as write:
            rows = []
            for number, text in enumerate(batch, start=len(texts)):
                store.traces.add(write, 1, f"t/{number}", Draft(content=text))
            for pending in store.passages.pending(1, 1, len(batch)):
                text = batch[int(pending.topic[2:]) - len(texts)]
                cut = Cut(0, len(text), text, 60)
                ((chunk, _),) = store.passages.place(write, pending.state, [cut])
                rows.append((chunk << 3 | 2, vectors[len(rows)].astype(np.float16).tobytes()))
                store.passages.advance(pending.state, None)
            model = memory._finder.encoder.model
            store.passages.put_vectors(write, model, DIMS, rows)
        texts += batch
        note(f"filling: {len(texts):,} of {count:,} chunks")
    return texts


def _search(folder: Path, sizes: list[int]) -> None:
    rows = []
    for size in sizes:
        generator = random.Random(size)
        memory = hades.open(folder / f"many{size}.hades")
        texts = _synthetic(memory, size, generator)
        note("building the indexes")
        build = seconds(lambda: memory.search("build", 1))  # noqa: B023
        memory.close()
        memory = hades.open(folder / f"many{size}.hades")
        memory._finder.encoder.encode(["warm"])
        first = seconds(lambda: memory.search("bane", 1))  # noqa: B023
        catalogue = memory._finder.catalogue
        mask = catalogue.visible(1, NOW)
        rng = np.random.default_rng(11)
        questions = [rng.normal(size=DIMS).astype(np.float32) for _ in range(QUESTIONS)]
        for question in questions[:3]:
            catalogue.nearest(question, mask, 10)
        if catalogue.vectors._kernel is not None:
            catalogue.vectors._kernel.join()
        meaning = percentiles(lambda q: catalogue.nearest(q, mask, 10), questions)  # noqa: B023
        brute = _brute(catalogue.vectors, questions)
        asked = [" ".join(generator.choices(WORDS, k=4)) for _ in range(QUESTIONS)]
        words = percentiles(lambda q: catalogue.saying(q, 1, NOW, 10, None), asked)  # noqa: B023
        fts = _fts5(folder / f"many{size}.fts", texts)
        peer = percentiles(lambda q: _fts5_ask(fts, q), asked)  # noqa: B023
        fts.close()
        resident = _resident_mb()
        rows.append(
            (
                f"{size:,}",
                f"{build:.1f} s",
                f"{first * 1000:.0f} ms",
                f"{meaning[0] / 1000:.1f} ms",
                f"{brute[0] / 1000:.1f} ms ({brute[0] / meaning[0]:.1f}×)",
                f"{words[0] / 1000:.1f} ms",
                f"{peer[0] / 1000:.1f} ms ({peer[0] / words[0]:.1f}×)",
                f"{resident:.0f} MB",
            )
        )
        memory.close()
    note("")
    show(
        "Search as a memory grows (aim: first answer ≤ 300 ms at 100,000)",
        (
            *("chunks", "build indexes", "open to first answer", "meaning p50", "numpy float32"),
            *("words p50", "SQLite FTS5", "resident"),
        ),
        rows,
    )


def _brute(vectors: Vectors, questions: list[np.ndarray]) -> tuple[float, float]:
    """The peer: one float32 matrix in memory, one product a question."""
    full = vectors.full(np.arange(len(vectors)))
    return percentiles(lambda q: np.argpartition(-(full @ q), 10)[:10], questions)


def _fts5(path: Path, texts: list[str]) -> sqlite3.Connection:
    db = sqlite3.connect(path)
    db.execute("CREATE VIRTUAL TABLE t USING fts5(text)")
    db.executemany("INSERT INTO t VALUES (?)", ((text,) for text in texts))
    db.commit()
    return db


def _fts5_ask(db: sqlite3.Connection, question: str) -> object:
    query = " OR ".join(question.split())
    return db.execute(
        "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 10", (query,)
    ).fetchall()


def _resident_mb() -> float:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return float("nan")
    return pages * resource.getpagesize() / 1e6


def _told(what: str, done: int, total: int) -> None:
    note(f"{what}: {done:,} of {total:,}")


def run(*, small: bool) -> None:
    """Measure ingestion and search."""
    print("## Ingestion and search\n")
    with tempfile.TemporaryDirectory() as folder:
        _search(Path(folder), [10_000] if small else [10_000, 100_000])
        _corpus(Path(folder))
