"""Tiers: what a kept answer saves under a load of questions, and what the archive costs.

Questions come as people ask: a few often, most once (Zipf). The peers are measured in the same
run: a dictionary that is never full, the same answer read from a file and from Redis.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import hades
from bench.table import show

NOTES, ASKED, DIFFERENT = 300, 1_000, 200
VERSIONS = 200
WORDS = [f"{a}{b}" for a in ("bar", "den", "fol", "gim", "hul", "kes") for b in ("ta", "ro", "ne")]


def run(*, small: bool = False) -> None:
    """Measure tiers."""
    print("## Tiers\n")
    asked = 300 if small else ASKED
    with tempfile.TemporaryDirectory() as folder:
        _answers(Path(folder), asked)
        _archive(Path(folder))


def _answers(folder: Path, asked: int) -> None:
    generator = random.Random(1)
    os.environ["HADES_ANSWER_CACHE_MB"] = "0"
    path, names = folder / "notes.hades", [f"{one} {generator.choice(WORDS)}" for one in WORDS * 20]
    with hades.open(path) as memory, memory.batch():
        for number, name in enumerate(names[:NOTES]):
            said = " ".join(generator.choices(WORDS, k=30))
            memory.remember(f"team/{number}", f"The {name} is run by {said}. It moved in May.")
    questions = [f"Who runs the {generator.choice(names)} {n}?" for n in range(DIFFERENT)]
    zipf = [1 / (rank + 1) for rank in range(DIFFERENT)]
    load = generator.choices(questions, zipf, k=asked)
    with hades.open(path) as memory:
        memory.index()
        for question in questions[:5]:
            memory.recall(question)
        cold = _times(_without_texts(memory), questions[:60])
        warm = _times(memory.recall, questions[:60])
    print(f"{NOTES} notes; {asked} questions, {DIFFERENT} different ones by Zipf's law.\n")
    rows = [["no answers kept", "0 %", "", _ms(warm), ""]]
    with _redis(folder) as url:
        for megabytes in (1, 16):
            os.environ["HADES_ANSWER_CACHE_MB"] = str(megabytes)
            with hades.open(path) as memory:
                memory.recall("warm up")
                times = [_asked(memory, question) for question in load]
                answers = memory.inside.engine.answers
                hit = answers.uses["kept"] / sum(answers.uses.values())
                held = f"{answers.kept.bytes / 2**20:.2f} of {megabytes} MB"
                fast = [ms for ms, stages in times if stages == 1]
                slow = [ms for ms, stages in times if stages > 1]
                rows.append([f"{megabytes} MB", f"{hit:.0%}", _ms(fast), _ms(slow), held])
        if url:
            os.environ["HADES_REDIS_URL"] = url
            with hades.open(path) as memory, hades.open(path) as other:
                for question in questions[:60]:
                    memory.recall(question)
                other.recall("warm up")
                shared = _times(other.recall, questions[:60])
                rows.append(["another process's, in Redis", "", _ms(shared), "", ""])
            del os.environ["HADES_REDIS_URL"]
    with hades.open(path) as memory:
        found = {question: memory.recall(question) for question in questions[:60]}
    packed = {question: pickle.dumps(one) for question, one in found.items()}
    for number, one in enumerate(packed.values()):
        (folder / f"{number}.answer").write_bytes(one)
    numbers = {question: number for number, question in enumerate(packed)}

    def from_file(question: str) -> Any:
        return pickle.loads((folder / f"{numbers[question]}.answer").read_bytes())

    rows.append(["peer: a dictionary", "", _ms(_times(found.__getitem__, list(found))), "", ""])
    rows.append(["peer: a file each", "", _ms(_times(from_file, list(found))), "", ""])
    show(
        "Kept answers", ["answers", "hits", "hit, p50 / p95 ms", "made, p50 / p95 ms", "held"], rows
    )
    gain = np.median(cold) - np.median(warm)
    print(
        f"With no text at hand a question takes {np.median(cold):.1f} ms, with all of them "
        f"{np.median(warm):.1f}: fetching texts beforehand could gain {gain:.1f} ms at most.\n"
    )


def _archive(folder: Path) -> None:
    generator = random.Random(2)
    path = folder / "grown.hades"
    lines = [" ".join(generator.choices(WORDS, k=12)) for _ in range(200)]
    with hades.open(path) as memory:
        with memory.batch():
            for _ in range(VERSIONS):
                lines[generator.randrange(200)] = " ".join(generator.choices(WORDS, k=12))
                memory.remember("plan", "\n".join(lines))
        with memory.inside.store.transaction():
            memory.inside.store.database.run("DELETE FROM pending")  # nobody asks here
        wanted = [generator.randrange(1, VERSIONS - 10) for _ in range(200)]
        before = memory.stats()["stored_bytes"]
        stored = _times(lambda version: memory.get("plan", version=version), wanted)
        begun = time.perf_counter()
        done = memory.archive(older_than="now", keep_versions=10)
        took = time.perf_counter() - begun
        archive = memory.inside.store.topics.archive

        def cold(version: int) -> None:
            archive.kept.clear()
            memory.get("plan", version=version)

        first = _times(cold, wanted)
        again = _times(lambda version: memory.get("plan", version=version), wanted)
        after = memory.stats()["stored_bytes"]
        print(
            f"{VERSIONS} versions of one text of {len(lines) * 60 // 1000} kB: {before:,} bytes in "
            f"the store, {after:,} after {done['states']} versions moved ({took:.2f} s), "
            f"{done['archived_bytes']:,} in {done['objects']} objects of the archive.\n"
        )
    show(
        "The archive",
        ["one old version", "p50 / p95 ms"],
        [
            ["in the store", _ms(stored)],
            ["in the archive, its object at hand", _ms(again)],
            ["in the archive, read from the folder", _ms(first)],
        ],
    )


def _asked(memory: hades.Memory, question: str) -> tuple[float, int]:
    """Milliseconds of a question, and how many stages it went through: of a kept answer, one."""
    begun = time.perf_counter()
    found = memory.recall(question)
    return (time.perf_counter() - begun) * 1e3, len(found.telemetry)


def _without_texts(memory: hades.Memory) -> Callable[[str], Any]:
    def ask(question: str) -> Any:
        memory.inside.store.chunks.kept.clear()
        return memory.recall(question)

    return ask


def _times(call: Callable[[Any], Any], asked: list[Any]) -> list[float]:
    found = []
    for one in asked:
        begun = time.perf_counter()
        call(one)
        found.append((time.perf_counter() - begun) * 1e3)
    return found


def _ms(times: list[float]) -> str:
    return f"{np.percentile(times, 50):.2f} / {np.percentile(times, 95):.2f}" if times else ""


@contextmanager
def _redis(folder: Path) -> Iterator[str | None]:
    server = shutil.which("redis-server")
    if server is None:
        print("Redis skipped: there is no redis-server.\n")
        yield None
        return
    socket = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", ""]
    running = subprocess.Popen([server, *options], stdout=subprocess.DEVNULL, cwd=folder)
    try:
        while not socket.exists():
            time.sleep(0.05)
        yield f"unix://{socket}"
    finally:
        running.terminate()
        running.wait(10)
