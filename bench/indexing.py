"""Indexing: the same papers by HADES and by vector stores that use its encoder, in one run.

Each system runs alone, in a process of its own, on all cores. The stores make one vector of each
paper and read at most 256 tokens of it; HADES cuts papers into passages, and also finds names,
links and words. `bench/peers/requirements.txt` lists the stores; one that is not installed is
skipped.
"""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil

import hades
from bench.arxiv import papers_file, questions
from bench.peers.sets import FOUND, Passage
from bench.peers.systems import SYSTEMS, TITLES
from bench.recall import p50_p95, timed
from bench.table import note, show
from hades.evals.sets import EvalQuestion
from hades.models.encoder import load_encoder

PAPERS, PAPERS_SMALL = 1_000, 50
QUESTIONS = 30
STORES = ("chroma", "lancedb", "txtai")


@dataclass(frozen=True, slots=True)
class Indexed:
    """What indexing took in one system, and what it left."""

    title: str
    seconds: float
    asked: str
    """The time of a question, p50 / p95 in ms."""
    resident_mb: int
    disk_mb: float
    phases: str = ""


def run(*, small: bool = False) -> None:
    """Index papers by HADES and by each store that is installed."""
    print("## Indexing\n")
    papers = papers_file()
    if papers is None:
        print("Indexing skipped: set HADES_DATA to a folder that holds arxiv/papers.jsonl.\n")
        return
    with papers.open(encoding="utf-8") as lines:
        count = PAPERS_SMALL if small else PAPERS
        rows = [json.loads(line) for line, _ in zip(lines, range(count), strict=False)]
    asked = questions(papers, QUESTIONS)
    results = []
    for name in ("hades", *STORES):
        note(name)
        if importlib.util.find_spec(SYSTEMS[name].module) is None:
            print(f"{TITLES[name]} skipped: {SYSTEMS[name].module} is not installed.\n")
            continue
        with multiprocessing.get_context("spawn").Pool(1) as own_process:
            results.append(own_process.apply(_indexed, (name, rows, asked)))
    text_mb = sum(len(f"{row['title']}\n{row['abstract']}".encode()) for row in rows) / 1e6
    ours = results[0]
    head = ("what", "papers a second", "ratio", "a question, ms", "resident MB", "disk, × the text")
    show(
        f"{len(rows):,} papers",
        head,
        [
            (
                one.title,
                f"{len(rows) / one.seconds:.0f}",
                f"{one.seconds / ours.seconds:.2f}×",
                one.asked,
                one.resident_mb,
                f"{one.disk_mb / text_mb:.1f}",
            )
            for one in results
        ],
    )
    print(f"HADES: {ours.phases}. The ratio is of times, to HADES's.\n")


def _indexed(name: str, rows: list[dict[str, Any]], asked: list[str]) -> Indexed:
    load_encoder().encode(["warm", "up"])
    with tempfile.TemporaryDirectory() as folder:
        index = _by_hades if name == "hades" else partial(_by_store, name)
        seconds, ask, close, phases = index(Path(folder), rows)
        asked_ms = p50_p95([wall for wall, _ in timed(ask, asked)])
        resident = psutil.Process().memory_info().rss >> 20
        close()
        files = [path for path in Path(folder).rglob("*") if path.is_file()]
        disk = sum(path.stat().st_size for path in files if path.suffix != ".jsonl")
    title = TITLES["hades-search" if name == "hades" else name]
    return Indexed(title, seconds, asked_ms, resident, disk / 1e6, phases)


Index = tuple[float, Callable[[str], object], Callable[[], None], str]
"""The seconds until the first answer, how to ask and to close, and the seconds of each phase."""


def _by_hades(folder: Path, rows: list[dict[str, Any]]) -> Index:
    source = folder / "papers.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    memory = hades.open(folder / "papers.hades")
    begun = time.perf_counter()
    done = memory.ingest(source)
    memory.search("What is known about this?")
    took = time.perf_counter() - begun
    phases = ", ".join(f"{phase} {seconds:.1f} s" for phase, seconds in done.seconds.items())
    return took, memory.search, memory.close, phases


def _by_store(name: str, folder: Path, rows: list[dict[str, Any]]) -> Index:
    passages = [
        Passage(str(number), f"{row['title']}\n{row['abstract']}")
        for number, row in enumerate(rows)
    ]
    system = SYSTEMS[name](folder, "corpus")

    def find(question: str) -> list[str]:
        return system.find(EvalQuestion("", question, frozenset()), FOUND)

    begun = time.perf_counter()
    system.index(passages)
    find("What is known about this?")
    return time.perf_counter() - begun, find, system.close, ""
