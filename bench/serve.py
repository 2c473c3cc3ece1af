"""The server: what HTTP adds to a call, and what happens when ten times too many come.

Clients are a process of their own (`bench.load`), as many as named, each with one connection,
asking again as soon as it is answered. The same calls in process, with as many threads, are
measured in the same run. All share the machine: on two cores the clients take theirs too.
"""

from __future__ import annotations

import multiprocessing
import random
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hades
from bench.arxiv import busy, memory_of, papers_file, questions
from bench.growth import WORDS
from bench.load import Order, Result
from bench.served import Served, finished, probing, served, started, under_load
from bench.table import note, show
from hades.serve.executor import WAITING

CLIENTS = (1, 8, 64)
SECONDS, SECONDS_SMALL = 8.0, 3.0
ASKED = 100
TIMES_CAPACITY = 10
CROWD = 600
"""Clients of the overload: fewer than the connections a server takes (800)."""
WRITERS = 8
NOTES = 1_000
FIRST, LATEST = "latest state, first read", "latest state"
READ_AGAIN = 2_000
"""Topics that are read again and again; the server keeps answers until something is written."""


def run(*, small: bool = False) -> None:
    """Measure the server."""
    print("## Server\n")
    seconds = SECONDS_SMALL if small else SECONDS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path, asked = _memory(folder, small)
        with hades.open(path) as memory:
            topics = [one.name for one in memory.topics()]
        alone = {
            (kind, count): _in_process(path, kind, given, count, seconds)
            for kind, given in ((LATEST, topics[:READ_AGAIN]), ("recall", asked))
            for count in CLIENTS
        }
        alone = {(FIRST, count): alone[LATEST, count] for count in CLIENTS} | alone
        with served(path, folder) as server:
            _added(server, topics, asked, alone, seconds)
            _overload(server, asked, 5.0 if small else 15.0)


def _memory(folder: Path, small: bool) -> tuple[Path, list[str]]:
    """A copy of the memory of arXiv papers, else one of made-up notes; and questions."""
    path = folder / "served.hades"
    papers = papers_file()
    if papers is not None:
        with hades.open(memory_of(papers, 1_000 if small else 10_000)) as memory:
            memory.backup(path)
        asked = questions(papers, ASKED)
    else:
        chance = random.Random(5)
        with hades.open(path) as memory, memory.batch():
            for number in range(NOTES):
                memory.remember(f"note/{number}", " ".join(chance.choices(WORDS, k=40)))
        asked = [" ".join(chance.choices(WORDS, k=5)) for _ in range(ASKED)]
    with hades.open(path) as memory:
        memory.warm(lambda what, done, total: note(f"{what}: {done:,} of {total:,}"))
    return path, list(asked)


# What HTTP adds


@dataclass(frozen=True)
class Alone:
    """The same call in process."""

    per_s: float
    ms: list[float]


def _in_process(path: Path, kind: str, given: Sequence[str], threads: int, seconds: float) -> Alone:
    note(f"{kind} in process, {threads} threads")
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_calling, (path, kind, list(given), threads, seconds))


def _calling(path: Path, kind: str, given: list[str], threads: int, seconds: float) -> Alone:
    with hades.open(path, read_only=True) as memory:
        memory.warm()
        call: Callable[[str], Any] = memory.recall if kind == "recall" else memory.get
        for one in given[:10]:
            call(one)
        times: list[list[float]] = [[] for _ in range(threads)]
        ends = time.perf_counter() + seconds

        def ask(number: int) -> None:
            at = number * len(given) // threads
            while (begun := time.perf_counter()) < ends:
                call(given[at % len(given)])
                times[number].append((time.perf_counter() - begun) * 1000)
                at += 1

        running = [threading.Thread(target=ask, args=(n,)) for n in range(threads)]
        started_at = time.perf_counter()
        for one_thread in running:
            one_thread.start()
        for one_thread in running:
            one_thread.join()
        spent = time.perf_counter() - started_at
    ms = [one for part in times for one in part]
    return Alone(len(ms) / spent, ms)


def _added(
    server: Served,
    topics: Sequence[str],
    asked: Sequence[str],
    alone: dict[tuple[str, int], Alone],
    seconds: float,
) -> None:
    read_first = iter(np.array_split([server.get(topic) for topic in topics], 2 * len(CLIENTS)))
    requests = {
        LATEST: [server.get(topic) for topic in topics[:READ_AGAIN]],
        "recall": [server.recall(question) for question in asked],
    }
    ways: dict[str, dict[str, Any]] = {
        "TCP": {"port": server.port},
        "unix socket": {"socket": str(server.socket)},
    }
    rows = []
    for (kind, count), peer in alone.items():
        rows.append((kind, count, "in process", f"{peer.per_s:,.0f}", *_shown(peer.ms), "", ""))
        for way, address in ways.items():
            note(f"{kind} by {way}, {count} clients")
            before = server.processor_s()
            given = next(read_first).tolist() if kind == FIRST else requests[kind]
            got = under_load(Order(given, count, seconds, once=kind == FIRST, **address))
            used_ms = (server.processor_s() - before) * 1000 / max(1, len(got.ms))
            added = float(np.median(got.ms) - np.median(peer.ms))
            rate = f"{got.per_s:,.0f} ({got.per_s / peer.per_s:.2f}×)"
            rows.append(
                (kind, count, way, rate, *_shown(got.ms), f"{added:+.2f}", f"{used_ms:.2f}")
            )
            _check_all_answered(got)
    show(
        f"Calls over HTTP, ms; {busy()}",
        (
            *("call", "clients", "way", "a second", "p50", "p95", "p99"),
            *("added at p50", "the server's processor, a call"),
        ),
        rows,
    )


def _shown(ms: Sequence[float]) -> tuple[str, ...]:
    return tuple(f"{np.percentile(ms, share):.2f}" for share in (50, 95, 99))


def _check_all_answered(got: Result) -> None:
    other = {status: count for status, count in got.statuses.items() if status != "200"}
    if other:
        print(f"Not answered with 200: {other}\n")


# Too many


def _overload(server: Served, asked: Sequence[str], seconds: float) -> None:
    """Normal load, ten times what can be answered, the same while others write, normal again."""
    reading = [server.recall(question) for question in asked]
    normal = Order(reading, 4, seconds, server.port)
    note("before the overload")
    rows = [_phase("before", server, normal)]
    capacity = under_load(Order(reading, 8, seconds, server.port)).per_s
    asking = CROWD - WAITING  # who stands in line does not ask again meanwhile
    pace_s = asking / (TIMES_CAPACITY * capacity)
    crowd = Order(reading, CROWD, seconds, server.port, paced_s=pace_s)
    writing = Order(_notes(server), WRITERS, seconds, server.port, once=True)
    note("the overload")
    rows.append(_phase(f"{TIMES_CAPACITY}× capacity", server, crowd))
    writers = started(writing)
    rows.append(_phase(f"the same while {WRITERS} write", server, crowd))
    written = finished(writers)
    note("after the overload")
    rows.append(_phase("after", server, normal))
    show(
        f"Overload: {capacity:.0f} recalls a second can be answered; {busy()}",
        (
            *("phase", "asked a second", "answered a second", "answered", "refused with 503"),
            *(
                "other",
                "p50 of answers",
                "p99",
                "p50 of refusals",
                "/healthz, worst",
                "resident MB",
            ),
        ),
        rows,
    )
    lost = _lost(server, written)
    refused = sum(written.statuses.values()) - len(written.done)
    print(
        f"Writes meanwhile: {len(written.done):,} acknowledged, {refused} refused, "
        f"{lost} acknowledged and not there (aim: 0).\n"
    )


def _phase(name: str, server: Served, order: Order) -> tuple[str, ...]:
    with probing(server.port) as alive:
        got = under_load(order)
    count = max(1, sum(got.statuses.values()))
    answered, refused = got.statuses.get("200", 0), got.statuses.get("503", 0)
    return (
        name,
        f"{count / order.seconds:,.0f}",
        f"{got.per_s:,.1f}",
        f"{answered / count:.1%}",
        f"{refused / count:.1%}",
        str(count - answered - refused),
        f"{np.percentile(got.ms, 50):.0f} ms",
        f"{np.percentile(got.ms, 99):.0f} ms",
        f"{np.percentile(got.refused_ms, 50):.0f} ms" if got.refused_ms else "",
        f"{max(alive, default=0):.0f} ms",
        f"{server.resident_mb():,.0f}",
    )


def _notes(server: Served) -> list[str]:
    return [server.remember(f"written/{n}", f"Note {n}.") for n in range(20_000)]


def _lost(server: Served, written: Result) -> int:
    """Writes that were acknowledged and are not in the file."""
    with hades.open(server.memory, read_only=True) as memory:
        there = {one.name for one in memory.topics("written/*")}
    return sum(f"written/{number}" not in there for number in written.done)
