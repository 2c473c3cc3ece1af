"""Fresh at once: what a note costs the next question, and what eight writers cost a reader.

A note is remembered before a question: what this takes longer than without it. Half of that is
indexing the note itself (cutting, encoding, names), which a server may do beside the questions:
so it is measured as well with the note indexed before. Then eight processes remember a note a
second each while one asks as fast as it can. HADES_BEFORE may name another checkout, which is
measured in the same run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import hades
from bench.arxiv import busy, memory_of, papers_file, questions
from bench.table import show

ASKED, ASKED_SMALL = 40, 12
WRITERS, SECONDS, A_SECOND = 8, 8.0, 1.0


def run(*, small: bool = False) -> None:
    """Measure this checkout, and the one in HADES_BEFORE."""
    print("## Fresh at once\n")
    papers = papers_file()
    if papers is None:
        print("Skipped: set HADES_DATA to a folder that holds arxiv/papers.jsonl.\n")
        return
    size, asked = (1_000, ASKED_SMALL) if small else (10_000, ASKED)
    path = memory_of(papers, size)
    checkouts = {"now": Path(__file__).parents[1]}
    if "HADES_BEFORE" in os.environ:
        checkouts = {"before": Path(os.environ["HADES_BEFORE"]), **checkouts}
    found = {}
    for name, checkout in checkouts.items():
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "copy.hades"
            shutil.copyfile(path, copy)
            command = [sys.executable, __file__, "measure", str(copy), str(papers), str(asked)]
            given = os.environ | {"PYTHONPATH": str(checkout)}
            ran = subprocess.run(command, env=given, check=True, capture_output=True, cwd=checkout)
            found[name] = json.loads(ran.stdout.splitlines()[-1])
    rows = [(what, *(one[what] for one in found.values())) for what in found["now"]]
    show(
        f"A note and a question, {size:,} papers, ms p50 / p95 (processor); {busy()}",
        ("", *found),
        rows,
    )


def measure(path: Path, papers: Path, count: int) -> dict[str, str]:
    """What is measured of one checkout, by what it is."""
    asked = questions(papers, count)
    with hades.open(path) as memory:
        memory.warm()
        for question in asked:  # texts and names are kept from here on
            memory.recall(question)
        alone = np.array([_ms(lambda q=one: memory.recall(q)) for one in asked])
        found = {"recall, nothing written": _shown(alone)}
        for what, is_indexed in (("", False), (", the note indexed before", True)):
            times = np.array([_after_a_note(memory, one, is_indexed) for one in asked])
            found[f"the next recall after a note{what}"] = _shown(times[:, 1])
            found[f"added{what}"] = _shown(times[:, 1] - alone)
        found["remember"] = _shown(times[:, 0])
        found["questions a second, nobody writes"] = f"{_a_second(memory, asked):.1f}"
        work = [sys.executable, __file__, "write", str(path)]
        writers = [
            subprocess.Popen([*work, str(n)], stdout=subprocess.PIPE) for n in range(WRITERS)
        ]
        for writer in writers:
            assert writer.stdout is not None
            writer.stdout.readline()  # it has begun
        found[f"beside {WRITERS} writers"] = f"{_a_second(memory, asked):.1f}"
        written = sum(int(writer.communicate()[0]) for writer in writers)
        found["notes written a second meanwhile"] = f"{written / SECONDS:.1f}"
    return found


def write(path: Path, number: int) -> None:
    """Remember a note a second, as one of the writers."""
    with hades.open(path) as memory:
        print("begun", flush=True)
        ends, done = time.perf_counter() + SECONDS, 0
        while time.perf_counter() < ends:
            memory.remember(
                f"writer/{number}/{done}", f"Writer {number} saw Ada Byron {done} times."
            )
            done += 1
            time.sleep(A_SECOND)
    print(done)


def _after_a_note(memory: hades.Memory, question: str, is_indexed: bool) -> tuple[Any, Any]:
    """Milliseconds of remembering a note, and of the next recall."""
    name = f"note/{time.time_ns()}"
    remembered = _ms(lambda: memory.remember(name, f"Box {name} was packed by Ada."))
    if is_indexed:
        memory.index()
    return remembered, _ms(lambda: memory.recall(question))


def _a_second(memory: hades.Memory, asked: Sequence[str]) -> float:
    done, ends = 0, time.perf_counter() + SECONDS
    while time.perf_counter() < ends:
        memory.recall(asked[done % len(asked)])
        done += 1
    return done / SECONDS


def _ms(call: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of a call: wall and processor."""
    wall, processor = time.perf_counter(), time.process_time()
    call()
    return (time.perf_counter() - wall) * 1e3, (time.process_time() - processor) * 1e3


def _shown(times: np.ndarray) -> str:
    wall, processor = ("{:.1f} / {:.1f}".format(*np.percentile(t, (50, 95))) for t in times.T)
    return f"{wall} ({processor})"


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]), int(sys.argv[3]))
    else:
        print(json.dumps(measure(Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]))))
