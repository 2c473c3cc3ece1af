"""Recall over arXiv papers: what a question costs, stage by stage, and as the memory grows.

Wall time is what a user waits; processor time is what a question costs whoever else uses the
machine. The peers are measured in the same run: our own plain search, and a product of the
question with all vectors in numpy, encoding included. `bench/headline.py` measures workers, notes
and commands.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hades
from bench.arxiv import busy, memory_of, papers_file, questions
from bench.table import note, show

ASKED, ASKED_SMALL = 200, 40
Times = list[tuple[float, float]]
"""Wall and processor milliseconds of each call."""


def run(*, small: bool = False) -> None:
    """Measure recall."""
    print("## Recall\n")
    papers = papers_file()
    if papers is None:
        print("Recall skipped: set HADES_DATA to a folder that holds arxiv/papers.jsonl.\n")
        return
    size = 1_000 if small else 10_000
    asked = questions(papers, ASKED_SMALL if small else ASKED)
    path = memory_of(papers, size)
    _warm_costs(path, asked, size)
    _growth(papers, asked[: ASKED // 2], small)


def timed(call: Callable[[str], Any], asked: Sequence[str]) -> Times:
    times = []
    for question in asked:
        wall, processor = time.perf_counter(), time.process_time()
        call(question)
        times.append(((time.perf_counter() - wall) * 1e3, (time.process_time() - processor) * 1e3))
    return times


def p50_p95(values: Sequence[float]) -> str:
    return f"{np.percentile(values, 50):.1f} / {np.percentile(values, 95):.1f}"


def row(what: str, times: Times) -> tuple[str, str, str]:
    return what, p50_p95([wall for wall, _ in times]), p50_p95([used for _, used in times])


def opened(path: Path, asked: Sequence[str]) -> hades.Memory:
    """The memory, warm: kernels loaded, indexes read, a few questions asked."""
    memory = hades.open(path)
    memory.warm()
    for question in asked[:5]:
        memory.ask(question)
    return memory


def by_numpy(memory: hades.Memory) -> Callable[[str], Any]:
    """The peer: one float32 matrix, one product a question, the ten nearest."""
    finder = memory.inside.finder
    everything = finder.indexes.vectors.full(np.arange(len(finder.indexes.vectors)))

    def ask(question: str) -> Any:
        near = everything @ finder.encoder.encode([question])[0]
        return np.argpartition(-near, 10)[:10]

    return ask


def _warm_costs(path: Path, asked: Sequence[str], size: int) -> None:
    stages: dict[str, list[float]] = {}
    with opened(path, asked) as memory:

        def recall(question: str) -> None:
            for stage in memory.recall(question).telemetry:
                stages.setdefault(stage.stage, []).append(stage.ms)

        calls: list[tuple[str, Callable[[str], Any]]] = [
            ("recall (aim 25 / 60)", recall),
            ("rank, full", memory.rank),
            ("ask", memory.ask),
            (
                "encoding the question",
                lambda question: memory.inside.finder.encoder.encode([question]),
            ),
            ("peer: our plain search", memory.search),
            ("peer: numpy cosine, brute force", by_numpy(memory)),
        ]
        rows = [row(what, timed(call, asked)) for what, call in calls]
    show(
        f"{len(asked)} questions over {size:,} papers, warm, ms p50 / p95; {busy()}",
        ("what", "wall", "processor"),
        rows,
    )
    show(
        "Stages of recall, wall ms p50 / p95",
        tuple(stages),
        [[p50_p95(values) for values in stages.values()]],
    )


def _growth(papers: Path, asked: Sequence[str], small: bool) -> None:
    rows = []
    for size in (100, 1_000) if small else (1_000, 10_000, 100_000):
        note(f"{size:,} papers")
        with opened(memory_of(papers, size), asked) as memory:
            stages: dict[str, list[float]] = {}

            def recall(question: str, memory: hades.Memory = memory) -> None:
                for stage in memory.recall(question).telemetry:
                    stages.setdefault(stage.stage, []).append(stage.ms)  # noqa: B023

            costs = row("recall", timed(recall, asked))
            with memory.inside.engine.query_context(memory.inside.scope()) as query:
                where = query.graph
            rows.append(
                (
                    *(
                        f"{size:,}",
                        f"{len(where.chunks):,}",
                        f"{len(where.adjacency.arcs()[0]):,}",
                    ),
                    *costs[1:],
                    *(f"{np.percentile(values, 50):.1f}" for values in stages.values()),
                    row("search", timed(memory.search, asked))[1],
                    row("numpy", timed(by_numpy(memory), asked))[1],
                )
            )
            names = tuple(stages)
    show(
        f"A question as the memory grows, ms p50 / p95 (stages: wall p50); {busy()}",
        (
            *("papers", "chunks", "arcs", "recall, wall", "recall, processor"),
            *names,
            *("plain search", "numpy cosine"),
        ),
        rows,
    )
