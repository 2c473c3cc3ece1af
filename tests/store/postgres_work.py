"""What processes do to one database: the work of tests, and a load to run by hand."""

from __future__ import annotations

import random
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import hades

COUNTERS = 32


def introduce(address: str, number: int) -> None:
    """Open a memory others open too, and write something."""
    with hades.open(address) as memory:
        memory.remember(f"by/{number}", f"Process {number} was here.")


def write(address: str, who: int, times: int) -> None:
    """Four writes, many times: a topic, an edge, a fact that changes, a topic all write to."""
    with hades.open(address) as memory:
        for number in range(times):
            memory.remember(f"{who}/{number}", f"Note {number} of {who}.")
            memory.relate(f"person {who}", "knows", f"person {number}")
            memory.change_fact(f"person {who}", "lives in", to=f"town {number}")
            memory.remember("shared", f"{who} says {number}.")


def watch(address: str, until: int) -> None:
    """Read the change numbers as they appear: none is seen before the one before it."""
    with hades.open(address, read_only=True) as memory:
        seen, ends = 0, time.monotonic() + 60
        while seen < until:
            assert time.monotonic() < ends, f"only {seen}"
            new = memory.inside.store.database.column(
                "SELECT number FROM changes WHERE number > ? ORDER BY number", seen
            )
            assert new == list(range(seen + 1, seen + 1 + len(new))), (seen, new)
            seen += len(new)
            time.sleep(0.002)


def _increment(memory: hades.Memory, topic: str) -> int:
    """Add one to a number others add to as well; how often somebody was faster."""
    for lost in range(1_000):
        state = memory.get(topic)
        try:
            memory.remember(
                topic, str(int(state.content) + 1), expect_version=state.version, kind="document"
            )
            return lost
        except hades.Conflict:
            continue
    raise TimeoutError


def count(address: str, times: int) -> None:
    """Add one many times."""
    with hades.open(address) as memory:
        for _ in range(times):
            _increment(memory, "counter")


def mixed(
    address: str, seconds: float, threads: int, seed: int, searching: float = 0.0
) -> dict[str, list[float]]:
    """Read or search, and one time in ten add one; the milliseconds of each."""
    spent: dict[str, list[float]] = {"write": [], "read": [], "search": []}
    with hades.open(address) as memory:

        def work(seed: int) -> None:
            choose, ends = random.Random(seed), time.monotonic() + seconds
            while time.monotonic() < ends:
                topic = f"counter/{choose.randrange(COUNTERS)}"
                at, begun = choose.random(), time.perf_counter()
                kind = "write" if at < 0.1 else "search" if at < 0.1 + searching else "read"
                if kind == "write":
                    _increment(memory, topic)
                elif kind == "search":
                    memory.search(f"number {choose.randrange(100)}", limit=5)
                else:
                    memory.get(topic)
                spent[kind].append((time.perf_counter() - begun) * 1000)

        with ThreadPoolExecutor(threads) as workers:
            for one in [workers.submit(work, 1_000 * seed + n) for n in range(threads)]:
                one.result()
    return spent


def main() -> None:
    """The long form of mixed load: `python postgres_work.py DATABASE SECONDS [ADDRESS …]`.

    32 clients in four processes write to the database itself, or to the servers of it that
    are named; then no update may be missing.
    """
    database, seconds, *servers = sys.argv[1:]
    with hades.open(database) as memory:
        for number in range(COUNTERS):
            memory.remember(f"counter/{number}", "0", kind="document")
        places = [(servers or [database])[n % max(1, len(servers))] for n in range(4)]
        with ProcessPoolExecutor(4, get_context("spawn")) as processes:
            started = [
                processes.submit(mixed, place, float(seconds), 8, seed, 0.1 if servers else 0.0)
                for seed, place in enumerate(places)
            ]
            found = [one.result() for one in started]
        for kind in found[0]:
            times = sorted(ms for one in found for ms in one[kind])
            if times:
                p50, p95 = times[len(times) // 2], times[int(len(times) * 0.95)]
                rate = len(times) / float(seconds)
                print(f"{kind}: {rate:.0f} a second, p50 {p50:.1f} ms, p95 {p95:.1f} ms")
        written = sum(len(one["write"]) for one in found)
        counted = sum(int(memory.get(f"counter/{number}").content) for number in range(COUNTERS))
        print(f"{written} updates, {written - counted} lost")
        assert written == counted


if __name__ == "__main__":
    main()
