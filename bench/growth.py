"""Search as a memory grows: made-up chunks with random vectors, each size in fresh processes.

Filling a memory of a million takes minutes. HADES_BENCH_FOLDER names a folder in which
filled memories are kept and used again; the indexes are built anew each time.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import hades
from bench.table import note, percentiles, seconds, show
from hades.domain.times import NOW
from hades.domain.topics import Chunk
from hades.store.records import Draft

DIMS = 384
QUESTIONS = 20
BATCH_CHUNKS = 5_000
WORDS = [f"{a}{b}" for a in "bcdfghklmnprstvz" for b in ("ane", "ilo", "urt", "eck", "omi")]


def fill(path: Path, count: int) -> None:
    """So many chunks with random words and vectors, written as ingestion would."""
    with hades.open(path) as memory:
        for first in range(memory.stats()["chunks"], count, BATCH_CHUNKS):
            _fill_batch(memory, first, min(BATCH_CHUNKS, count - first))
            note(f"filling: {first:,} of {count:,} chunks")


def _fill_batch(memory: hades.Memory, first: int, count: int) -> None:
    store, encoder = memory.inside.store, memory.inside.finder.encoder
    vectors = _unit(np.random.default_rng(first), count).astype(np.float16)
    texts = [_text(number) for number in range(first, first + count)]
    with store.transaction(), store.write("bench", "fill", 1) as write:
        rows = []
        for number, text in enumerate(texts, start=first):
            store.topics.add(write, 1, f"t/{number}", Draft(content=text))
        for pending in store.chunks.pending(1, 1, count):
            text = texts[int(pending.topic[2:]) - first]
            cut = Chunk(pending.topic, 1, 0, text, 0, len(text), tokens=60)
            (chunk,) = store.chunks.place(write, pending.state, [cut])
            rows.append((chunk << 3 | 2, vectors[len(rows)].tobytes()))
            store.chunks.advance(pending.state, None)
        store.chunks.put_vectors(write, encoder.model, encoder.dims, rows)


def _text(number: int) -> str:
    return " ".join(random.Random(number).choices(WORDS, k=40))


def _unit(generator: np.random.Generator, count: int) -> np.ndarray:
    vectors = generator.normal(size=(count, DIMS)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def _asked() -> tuple[list[np.ndarray], list[str]]:
    generator = random.Random(11)
    words = [" ".join(generator.choices(WORDS, k=4)) for _ in range(QUESTIONS)]
    return list(_unit(np.random.default_rng(11), QUESTIONS)), words


def _build(path: Path) -> dict[str, float]:
    """Make the indexes anew."""
    shutil.rmtree(path.with_name(path.name + ".index"), ignore_errors=True)
    with hades.open(path) as memory:
        memory.inside.finder.encoder.encode(["warm"])
        spent = seconds(lambda: memory.search("build", 1))
    return {"build": spent, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def _found(path: Path) -> dict[str, float]:
    """Open what was built, and search it by every retriever."""
    vectors, words = _asked()
    load = hades.open(path).inside.finder.encoder
    load.encode(["warm"])
    start = time.perf_counter()
    memory = hades.open(path)
    memory.search("bane", 1)
    found = {"first": time.perf_counter() - start}
    from hades.index.vectors import kernel

    indexes = memory.inside.finder.indexes
    mask = indexes.visible(1, NOW)
    kernel.wait()
    found["meaning"] = _ms(lambda q: indexes.nearest(q, mask, 10), vectors)
    found["words"] = _ms(lambda q: indexes.words.best(q, *indexes.moment(NOW), 10), words)
    found["names"] = _ms(lambda q: memory.search(q, 10, retriever="names"), words)
    found["search"] = _ms(memory.search, words)
    return found | _memory()


def _peers(path: Path, size: int) -> dict[str, float]:
    """The usual means for the same questions."""
    vectors, words = _asked()
    return {"numpy": _by_numpy(path, vectors), "fts5": _by_fts5(words, size)}


def _by_numpy(path: Path, asked: list[np.ndarray]) -> float:
    """One float32 matrix in memory, one product a question."""
    with hades.open(path) as memory:
        found = memory.inside.finder.indexes.vectors
        full = np.empty((len(found), DIMS), np.float32)
        for first in range(0, len(full), 65_536):
            rows = np.arange(first, min(first + 65_536, len(full)))
            full[rows] = found.full(rows)
    return _ms(lambda q: np.argpartition(-(full @ q), 10)[:10], asked)


def _by_fts5(asked: list[str], size: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        db = sqlite3.connect(Path(folder) / "fts.sqlite")
        db.execute("CREATE VIRTUAL TABLE t USING fts5(text)")
        db.executemany("INSERT INTO t VALUES (?)", ((_text(n),) for n in range(size)))
        db.commit()
        spent = _ms(lambda q: _fts5(db, q), asked[: 5 if size > 300_000 else None])
        db.close()
    return spent


def _fts5(db: sqlite3.Connection, question: str) -> object:
    query = " OR ".join(question.split())
    return db.execute(
        "SELECT rowid FROM t WHERE t MATCH ? ORDER BY bm25(t) LIMIT 10", (query,)
    ).fetchall()


def _ms(call: Callable[[Any], object], asked: list[Any]) -> float:
    return percentiles(call, asked)[0] / 1000


def _memory() -> dict[str, float]:
    """Resident memory in MB, and how much of it no file could give back."""
    try:
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return {"resident": float("nan"), "anonymous": float("nan")}
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines}
    return {"resident": kilobytes["Rss"] / 1024, "anonymous": kilobytes["Anonymous"] / 1024}


def _alone(call: Callable[..., dict[str, float]], *given: object) -> dict[str, float]:
    """The result of a call in a process of its own, so that memory is that call's."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(call, given)


def _measure(folder: Path, size: int) -> dict[str, float]:
    path = folder / f"many{size}.hades"
    fill(path, size)
    note("building the indexes")
    built = _alone(_build, path)
    index = path.with_name(path.name + ".index")
    on_disk = sum(file.stat().st_size for file in index.rglob("*") if file.is_file())
    found = built | _alone(_found, path) | _alone(_peers, path, size)
    note("")
    return found | {"index": on_disk / 1e6, "file": path.stat().st_size / 1e6}


def run(*, small: bool) -> None:
    """Measure search as a memory grows."""
    print("## Growth\n")
    kept = os.environ.get("HADES_BENCH_FOLDER")
    sizes = [10_000] if small else [10_000, 100_000, 1_000_000]
    with tempfile.TemporaryDirectory() as folder:
        found = {size: _measure(Path(kept or folder), size) for size in sizes}
    show(
        "Searching (aim: first answer ≤ 300 ms at 100,000); p50 in ms, peers in the same run",
        (
            *("chunks", "open to first answer", "meaning", "numpy float32", "words"),
            *("SQLite FTS5", "names", "search, both retrievers"),
        ),
        [
            (
                f"{size:,}",
                f"{one['first'] * 1000:.0f}",
                f"{one['meaning']:.1f}",
                f"{one['numpy']:.1f} ({one['numpy'] / one['meaning']:.1f}×)",
                f"{one['words']:.1f}",
                f"{one['fts5']:.1f} ({one['fts5'] / one['words']:.1f}×)",
                f"{one['names']:.1f}",
                f"{one['search']:.1f}",
            )
            for size, one in found.items()
        ],
    )
    show(
        "Memory in MB (aim: resident ≤ 1,500 at 1,000,000)",
        (
            *("chunks", "resident after searching", "of it anonymous", "peak while building"),
            *("build", "memory file", "index folder"),
        ),
        [
            (
                f"{size:,}",
                *(f"{one[what]:,.0f}" for what in ("resident", "anonymous", "peak")),
                f"{one['build']:.1f} s",
                *(f"{one[what]:,.0f}" for what in ("file", "index")),
            )
            for size, one in found.items()
        ],
    )
