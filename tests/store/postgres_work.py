"""What processes do to one database: those of the tests, and of `bench.processes`."""

from __future__ import annotations

import random
import threading
import time

import hades


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
            new = memory._store.database.column(
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


def mixed(address: str, seconds: float, threads: int, seed: int) -> dict[str, list[float]]:
    """Read, and one time in ten add one; the milliseconds of each."""
    spent: dict[str, list[float]] = {"write": [], "read": []}
    with hades.open(address) as memory:

        def work(seed: int) -> None:
            choose, ends = random.Random(seed), time.monotonic() + seconds
            while time.monotonic() < ends:
                topic = f"counter/{choose.randrange(4)}"
                kind = "write" if choose.random() < 0.1 else "read"
                begun = time.perf_counter()
                if kind == "write":
                    _increment(memory, topic)
                else:
                    memory.get(topic)
                spent[kind].append((time.perf_counter() - begun) * 1000)

        workers = [
            threading.Thread(target=work, args=(1_000 * seed + number,))
            for number in range(threads)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return spent
