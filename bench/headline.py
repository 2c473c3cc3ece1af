"""The headline: what a question, a note and a command cost, in one row for docs/lab/benchmarks.md.

Run it alone on a quiet machine before and after a change: `python -m bench headline`.
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import hades
from bench.arxiv import busy, memory_of, papers_file, questions
from bench.recall import Times, by_numpy, opened, p50_p95, timed
from bench.table import commit, note, processor, show

ASKED, ASKED_SMALL = 100, 40
"""More than the encoder keeps vectors of, so that each question is encoded."""
WORKERS, WORKED_S = 2, 10.0
NOTED = 20
COMMAND_RUNS = 5
HELD_AFTER = 50
INDEXED = 200
NOTES = (
    ("team/platform", "Dana leads the platform team."),
    ("office/coffee", "The coffee machine is on the second floor."),
    ("billing/port", "The billing service listens on port 8082."),
    ("plans/offsite", "The offsite is planned for the first week of May."),
)
QUESTION = "Which port does billing use?"


def run(*, small: bool = False) -> None:
    """Measure the headline figures."""
    print("## Headline\n")
    papers = papers_file()
    if papers is None:
        print("Headline skipped: set HADES_DATA to a folder that holds arxiv/papers.jsonl.\n")
        return
    size = 1_000 if small else 10_000
    asked = questions(papers, ASKED_SMALL if small else ASKED)
    note("building the memory")
    path = memory_of(papers, size)
    figures = [
        *_questions(path, asked),
        *_sizes(path, asked),
        *_rates(path, asked, 2.0 if small else WORKED_S),
        *_imports(1 if small else COMMAND_RUNS),
        *_commands(path, 1 if small else COMMAND_RUNS),
        *_indexing(papers, 20 if small else INDEXED),
    ]
    show(
        f"{size:,} papers, p50 / p95; {commit()}, {processor()}, {busy()}",
        ("what", "figure"),
        figures,
    )


def _questions(path: Path, asked: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield what questions cost, and the next question after a note."""
    with opened(path, asked) as memory:
        calls: list[tuple[str, Callable[[str], Any], Sequence[str]]] = [
            ("recall", memory.recall, asked),
            ("recall, questions about two papers", memory.recall, _of_two(asked)),
            ("ask", memory.ask, asked),
            ("plain search", memory.search, asked),
            ("numpy cosine", by_numpy(memory), asked),
        ]
        for what, call, given in calls:
            note(what)
            yield from _costs(what, timed(call, given))
    with _copied(path) as copy, opened(copy, asked) as memory:
        remembered, recalled, again = Times(), Times(), Times()
        for number, question in enumerate(asked[:NOTED]):
            text = f"We asked: {question}"
            remembered += timed(
                lambda name, text=text: memory.remember(name, text), [f"n/{number}"]
            )
            recalled += timed(memory.recall, [question])
            again += timed(memory.recall, [question])
    yield from _costs("remember", remembered)
    yield from _costs("the next recall after a note", recalled)
    yield from _costs("the recall after that", again)


def _of_two(asked: Sequence[str]) -> list[str]:
    """Return questions of which no passage has all words, so that recall reads on."""
    parts = [" ".join(question.rstrip("?").split()[-5:]) for question in asked]
    return [f"Which paper on {one} treats {two}?" for one, two in zip(parts, parts[7:])]  # noqa: B905


def _costs(what: str, times: Times) -> Iterator[tuple[str, str]]:
    yield f"{what}, wall ms", p50_p95([wall for wall, _ in times])
    yield f"{what}, processor ms", p50_p95([used for _, used in times])


@contextmanager
def _copied(path: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.hades"
        with hades.open(path) as memory:
            memory.backup(copy)
        yield copy


def _sizes(path: Path, asked: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield the memory of a process that answers questions, and what lies on disk."""
    note("memory")
    with multiprocessing.get_context("spawn").Pool(1) as own_process:
        resident, own = own_process.apply(_held, (path, list(asked[:HELD_AFTER])))
    yield f"resident after {HELD_AFTER} questions, without mapped files, MB", f"{resident} / {own}"
    source = path.with_name(f"papers-{path.stem.split('-')[1]}.jsonl")
    files = [path, *Path(f"{path}.index").rglob("*")]
    size = sum(file.stat().st_size for file in files if file.is_file())
    yield "disk, × the text", f"{size / source.stat().st_size:.1f}"


def _held(path: Path, asked: Sequence[str]) -> tuple[int, int]:
    with opened(path, asked) as memory:
        for question in asked:
            memory.recall(question)
        held = psutil.Process().memory_info()
    return held.rss >> 20, held.rss - held.shared >> 20


def _rates(path: Path, asked: Sequence[str], seconds: float) -> Iterator[tuple[str, str]]:
    """Yield questions a second of two workers, each with one thread on a core of its own."""
    one_thread = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "HADES_THREADS")
    before = dict(os.environ)
    os.environ.update(dict.fromkeys(one_thread, "1"))
    try:
        for what in ("recall", "search"):
            note(f"{what}, two workers")
            parts = [(path, list(asked[n::WORKERS]), seconds, what) for n in range(WORKERS)]
            with multiprocessing.get_context("spawn").Pool(WORKERS) as pool:
                done = sum(pool.map(_work, parts, chunksize=1))
            yield f"{what}, two workers, a second", f"{done / seconds:.1f}"
    finally:
        os.environ.clear()
        os.environ.update(before)


def _work(given: tuple[Path, list[str], float, str]) -> int:
    path, asked, seconds, what = given
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        number = multiprocessing.current_process()._identity[0] - 1
        os.sched_setaffinity(0, {cores[number % len(cores)]})
    with opened(path, asked) as memory:
        call, done, ends = getattr(memory, what), 0, time.perf_counter() + seconds
        while time.perf_counter() < ends:
            call(asked[done % len(asked)])
            done += 1
    return done


def _imports(runs: int) -> Iterator[tuple[str, str]]:
    """Yield what an import takes in a fresh process, without the start of Python."""
    for what in ("import hades", "from hades import open, Memory"):
        code = f"import time; s = time.perf_counter(); {what}; print(time.perf_counter() - s)"
        given, times = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, []
        for _ in range(runs + 1):
            command = [sys.executable, "-c", code]
            done = subprocess.run(command, env=given, check=True, capture_output=True, text=True)
            times.append(float(done.stdout))
        yield f"`{what}`, ms, median", f"{np.median(times[1:]) * 1e3:.0f}"


def _commands(path: Path, runs: int) -> Iterator[tuple[str, str]]:
    """Yield what commands take in a fresh process, with compiled kernels on disk."""
    with tempfile.TemporaryDirectory() as folder:
        little = Path(folder) / "notes.hades"
        with hades.open(little) as memory:
            for topic, text in NOTES:
                memory.remember(topic, text)
            memory.ask(QUESTION)
        for what, memory_path, arguments in (
            ("--help", None, ["--help"]),
            ("get", little, ["get", NOTES[0][0]]),
            ("recall, four notes", little, ["recall", QUESTION]),
            ("ask, four notes", little, ["ask", QUESTION]),
            ("recall, papers", path, ["recall", "How do graph neural networks oversmooth?"]),
        ):
            note(what)
            command = [sys.executable, "-c", "from hades.cli import main; main()", *arguments]
            command += [] if memory_path is None else ["--memory", str(memory_path)]
            given, times = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, []
            for _ in range(runs + 1):
                start = time.perf_counter()
                subprocess.run(command, env=given, check=True, capture_output=True)
                times.append(time.perf_counter() - start)
            yield f"`hades {what}`, s, median", f"{np.median(times[1:]):.2f}"


def _indexing(papers: Path, count: int) -> Iterator[tuple[str, str]]:
    """Yield passages a second of a first index, and the encoder's share of the time."""
    note("indexing")
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "papers.jsonl"
        with papers.open(encoding="utf-8") as lines:
            part.write_text("".join(line for line, _ in zip(lines, range(count), strict=False)))
        with hades.open(Path(folder) / "index.hades") as memory:
            encoder, spent = memory.inside.finder.encoder, 0.0
            encoder.encode(["warm", "up"])
            encode = encoder.encode

            def measured(texts: Sequence[str]) -> Any:
                nonlocal spent
                start = time.perf_counter()
                vectors = encode(texts)
                spent += time.perf_counter() - start
                return vectors

            encoder.encode = measured  # type: ignore[method-assign]
            start = time.perf_counter()
            memory.ingest(part)
            memory.index()
            took = time.perf_counter() - start
            chunks = int(memory.stats()["chunks"])
        yield "first index, passages a second", f"{chunks / took:.0f}"
        yield "… of it waiting for the encoder", f"{100 * spent / took:.0f} %"
