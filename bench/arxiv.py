"""Memories of arXiv papers for measuring, and questions about them.

They are made once and kept in HADES_BENCH_FOLDER, else in the cache. Up to 10,000 papers are
real and taken in by the real phases. A larger memory is the real one with copies of its
papers: the same text under another name with one sentence more, the vector a little off, and
mentions of the same names where the original has them. Reading names in 90,000 copies would
take longer than all the rest, so this phase is left out: names do not grow with the copies,
and each is mentioned that many times more often.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hades
from bench.ingest import ROOT
from bench.table import note
from hades.settings import load_settings
from hades.store.records import Draft
from hades.store.schema import STEPS

REAL_AT_MOST = 10_000
BATCH_PAPERS = 1_000
NOISE = 0.2
"""How far the vector of a copy is off: its cosine to the original's is about .98."""
OWN_QUESTIONS = (
    "Which papers propose hashing for fast similarity search?",
    "How do graph neural networks oversmooth?",
    "Who works on neural machine translation for low-resource languages?",
    "what is the difference between dropout and batch normalization",
    "Why do adversarial examples transfer between models?",
    "papers about quantum error correction codes",
    "How is BERT pretrained?",
    "Which data sets exist for visual question answering?",
    "When was the first work on recursive n-gram hashing published?",
    "Give me an overview of reinforcement learning from human feedback.",
)


def papers_file() -> Path | None:
    """The harvest of papers, if it is here."""
    for place in (os.environ.get("HADES_DATA"), ROOT.parent / "shared" / "data"):
        if place and (Path(place) / "arxiv" / "papers.jsonl").exists():
            return Path(place) / "arxiv" / "papers.jsonl"
    return None


def bench_folder() -> Path:
    """Where memories are kept from one run to the next."""
    kept = os.environ.get("HADES_BENCH_FOLDER")
    folder = Path(kept) if kept else load_settings().cache_folder() / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def memory_of(papers: Path, count: int) -> Path:
    """The memory of so many papers, made now unless it is there."""
    path = bench_folder() / f"recall-{count}-{len(STEPS)}.hades"  # other tables, another file
    ready = path.with_suffix(".ready")
    if ready.exists():
        return path
    if count <= REAL_AT_MOST:
        _take_in(papers, count, path)
    else:
        _copy(memory_of(papers, REAL_AT_MOST), path, count // REAL_AT_MOST)
    ready.touch()
    return path


def _take_in(papers: Path, count: int, path: Path) -> None:
    part = path.with_name(f"papers-{count}.jsonl")
    with papers.open(encoding="utf-8") as lines:
        part.write_text("".join(line for _, line in zip(range(count), lines, strict=False)))
    with hades.open(path) as memory:
        memory.ingest(part, on_progress=lambda what, done, of: note(f"{what}: {done} of {of}"))


def _copy(real: Path, path: Path, times: int) -> None:
    """The real papers, and all of them again so many times less one."""
    for leftover in path.parent.glob(f"{path.name}*"):
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    with hades.open(real) as memory:
        memory.backup(path)
    with hades.open(path) as memory:
        topics = [topic.name for topic in memory.topics()]
        for number in range(1, times):
            for first in range(0, len(topics), BATCH_PAPERS):
                _copy_some(memory, topics[first : first + BATCH_PAPERS], number)
                note(f"copying: {number * len(topics) + first:,} of {times * len(topics):,}")


def _copy_some(memory: hades.Memory, topics: Sequence[str], number: int) -> None:
    store, encoder = memory.inside.store, memory.inside.finder.encoder
    generator = np.random.default_rng(number)
    before: dict[str, list[Any]] = {}
    with store.transaction(), store.write("bench", "copy", 1) as write:
        for name in topics:
            before[f"{name}/{number}"] = list(memory.chunks(name))
            tail = f"\n\nThis is copy {number}."
            copy = f"{name}/{number}"
            store.topics.add(write, 1, copy, Draft(content=memory.get(name).content + tail))
            store.topics.set_kind(write, 1, copy, store.topics.kind(1, name) or "document")
        olds: list[int] = []
        news: list[int] = []
        for pending in store.chunks.pending(1, 1, len(topics)):
            own = store.chunks.of_topic(1, pending.topic.rpartition("/")[0])
            news += store.chunks.place(write, pending.state, before[pending.topic])
            olds += own
            store.chunks.advance(pending.state, None)
        _copy_what_was_read(memory, write, olds, news)
        vectors = memory.inside.engine.finder.indexes.vectors_of(_numbers(memory, olds))
        noise = generator.normal(size=vectors.shape) * NOISE / np.sqrt(vectors.shape[1])
        moved = vectors + noise
        moved = (moved / np.linalg.norm(moved, axis=1, keepdims=True)).astype(np.float16)
        rows = [(chunk << 3 | 2, row.tobytes()) for chunk, row in zip(news, moved, strict=True)]
        store.chunks.put_vectors(write, encoder.model, encoder.dims, rows)
        store.chunks.set_embedded(encoder.model)


def _copy_what_was_read(
    memory: hades.Memory, write: Any, olds: Sequence[int], news: Sequence[int]
) -> None:
    """The mentions of chunks, for their copies."""
    place = dict(zip(olds, news, strict=True))
    rows = memory.inside.store.database.rows(
        "SELECT chunk, entity, introduces, positions FROM mentions WHERE chunk = ANY(?)",
        list(olds),
    )
    copies = [(place[chunk], *rest, write.change) for chunk, *rest in rows]
    memory.inside.store.database.load("mentions", copies)


def _numbers(memory: hades.Memory, chunks: Sequence[int]) -> Any:
    return np.searchsorted(memory.inside.engine.finder.indexes.chunks["id"], np.array(chunks))


def questions(papers: Path, count: int) -> list[str]:
    """Questions about the first papers: titles, phrases of abstracts, and some of our own."""
    generator = random.Random(7)
    with papers.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line, _ in zip(lines, range(1_000), strict=False)]
    made = list(OWN_QUESTIONS)
    while len(made) < count:
        row = generator.choice(rows)
        words = row["abstract"].split()
        first = generator.randrange(max(1, len(words) - 14))
        phrase = " ".join(words[first : first + generator.randint(6, 14)])
        made.append(
            generator.choice(
                [f"What is known about {row['title']}?", row["title"], phrase, f"Why {phrase}?"]
            )
        )
    return made


def busy() -> str:
    """How busy the machine is, to be printed beside times."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    return f"load {load:.1f} on {os.cpu_count()} cores at {time.strftime('%H:%M')}"
