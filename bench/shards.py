"""Shards, modelled: the statements of real questions and writes, replayed as if far away.

Every statement of `recall` and `remember` is recorded on a real PostgreSQL. The model: it takes
a round trip, a time of its own and one per row; the rest of a call is this process's work. A
write holds its memory's lock from BEGIN to COMMIT, and other writers of that memory queue. It
is checked in the same run, by calls it has not seen and by writers that race.

HADES_BENCH_MEMORY is the address of the memory to ask (`hades copy` makes one of a file).
Nothing is written to it: writes go to schemas beside it, which are dropped at the end.
"""

from __future__ import annotations

import heapq
import os
import random
import re
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, ClassVar
from unittest.mock import patch
from urllib.parse import urlencode

import numpy as np
import psycopg
from psycopg.conninfo import conninfo_to_dict

import hades
from bench.arxiv import busy
from bench.table import seconds, show
from hades.store.postgres import database
from hades.store.postgres.address import read_server_address

SEED = 13
CALLS, WARMING = 120, 10
HELD_BACK_MS = 5.0
WRITERS, WRITES, RACES = 8, 15, (1, 2, 4)
MODELLED_WRITERS, RACED = 32, 2_000
SHARDS, ROUND_TRIPS_MS = (1, 2, 4, 8, 16), (0.2, 1.0, 5.0)
COORDINATOR_MS = 0.6
"""What a statement takes more by way of Citus's coordinator (docs/lab/scale.md)."""
FAN_OUT_MS = 0.19
"""And for each shard, where all are asked: a row by its id took 0.45 ms in one, 6.4 in 32."""
FIGURES: dict[str, Callable[[list[Fetch]], float]] = {
    "statements": len,
    "rows": lambda sent: sum(one.rows for one in sent),
    "bytes": lambda sent: sum(one.size for one in sent),
    "ms in them": lambda sent: sum(one.ms for one in sent),
}
OF_COORDINATOR = r"^(BEGIN|SET|COMMIT|ROLLBACK|SAVEPOINT)|\b(meta|actors|spaces|relations)\b"


@dataclass(slots=True)
class Fetch:
    """One statement that was sent."""

    text: str
    ms: float
    rows: int
    size: int = 0
    """About how many bytes came back."""


Call = tuple[float, list[Fetch]]
"""The milliseconds of a call of a method, and its statements."""
Trip = Callable[[Fetch], float]
"""The milliseconds from a process to the rows of a statement and back."""


class RecordingCursor(psycopg.Cursor[Any]):
    """A cursor that notes what it sends."""

    held_back_s = 0.0
    sent: ClassVar[list[Fetch]] = []

    def execute(self, query: Any, params: Any = None, **more: Any) -> RecordingCursor:
        start = time.perf_counter()
        time.sleep(self.held_back_s)
        super().execute(query, params, **more)
        text = query.decode() if isinstance(query, bytes) else str(query)
        spent = (time.perf_counter() - start) * 1e3
        self.sent.append(Fetch(text, spent, max(0, self.rowcount)))
        return self

    def fetchall(self) -> list[Any]:
        found = super().fetchall()
        values = (value for row in found for value in row)
        self.sent[-1].size = sum(len(v) if isinstance(v, str | bytes) else 8 for v in values)
        return found


def record(call: Callable[[], object]) -> Call:
    """How long a call takes, and what it sends."""
    RecordingCursor.sent.clear()
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3, list(RecordingCursor.sent)


class Model:
    """How long calls take, learnt from some."""

    def __init__(self, calls: Sequence[Call], round_trip_ms: float) -> None:
        self.own_ms = [ms - sum(one.ms for one in sent) for ms, sent in calls]
        fetches = [one for _, sent in calls for one in sent]
        texts = sorted({one.text for one in fetches})
        known = np.array([[one.text == text for text in texts] + [one.rows] for one in fetches])
        spent = np.array([one.ms - round_trip_ms for one in fetches])
        self.row_ms = max(0.0, float(np.linalg.lstsq(known, spent, rcond=None)[0][-1]))
        self.alone_ms: dict[str, list[float]] = {}
        for one, ms in zip(fetches, spent, strict=True):
            times = self.alone_ms.setdefault(one.text, [])
            times.append(max(0.0, ms - self.row_ms * one.rows))

    def replay(self, call: Call, chance: random.Random, trip: Trip) -> tuple[float, float]:
        """The time of a call with times like the recorded ones, and how long it holds the lock."""
        own = chance.choice(self.own_ms)
        whole, held, holds = own, own, False
        for one in call[1]:
            alone = chance.choice(self.alone_ms.get(one.text, [0.0]))
            spent = trip(one) + alone + self.row_ms * one.rows
            whole += spent
            held += spent if holds else 0.0
            holds |= database.TURN in one.text
        return whole, held

    def percentiles(self, calls: Sequence[Call], trip: Trip, at_once: int = 1) -> list[float]:
        """What the median and the 95th percentile would be, of the latest of calls at once."""
        chance = random.Random(SEED)
        times = [
            max(self.replay(call, chance, trip)[0] for _ in range(at_once))
            for call in calls
            for _ in range(20)
        ]
        return [float(one) for one in np.percentile(times, (50, 95))]

    def race(self, calls: Sequence[Call], trip: Trip, writers: int, locks: int) -> float:
        """Writes a second of writers that write again at once, each to its memory."""
        chance, free = random.Random(SEED), [0.0] * locks
        ready = [(0.0, number) for number in range(writers)]
        for _ in range(RACED):
            came, number = heapq.heappop(ready)
            whole, held = self.replay(chance.choice(calls), chance, trip)
            ends = free[number % locks] = max(came + whole, free[number % locks] + held)
            heapq.heappush(ready, (ends, number))
        return RACED / max(free) * 1e3


def way(round_trip_ms: float, shards: int, by_space: bool, one: Fetch) -> float:
    """By a coordinator to the worker of a memory, or to those of rows that are spread by space."""
    if shards == 1 or re.search(OF_COORDINATOR, one.text):
        return round_trip_ms
    asks_all = by_space and not re.search(r"\bspace\b", one.text)
    return 2 * round_trip_ms + COORDINATOR_MS + FAN_OUT_MS * shards * asks_all


@contextmanager
def opened(text: str) -> Iterator[list[hades.Memory]]:
    """The memory to ask, and empty ones beside it, whose statements are recorded."""
    address, configure = read_server_address(text), database._configure
    query = urlencode(conninfo_to_dict(address.conninfo))
    made = [f"bench_shards_{number}" for number in range(max(RACES))]
    places = [f"postgresql://@/?{query}&schema={schema}" for schema in (address.schema, *made)]

    def recording(*given: Any) -> None:
        configure(*given)
        given[-1].cursor_factory = RecordingCursor

    with psycopg.connect(address.conninfo, autocommit=True) as connection, ExitStack() as stack:
        for schema in made:
            drop = f"DROP SCHEMA IF EXISTS {schema} CASCADE".encode()
            connection.execute(drop)
            stack.callback(connection.execute, drop)
        stack.enter_context(patch.object(database, "_configure", recording))
        yield [stack.enter_context(hades.open(place)) for place in places]


def writes_a_second(memories: list[hades.Memory]) -> float:
    """Measured: writers that write again at once, each to its memory, statements held back."""
    RecordingCursor.held_back_s = HELD_BACK_MS / 1e3

    def write(number: int) -> None:
        for written in range(WRITES):
            name = f"race/{len(memories)}/{number}/{written}"
            memories[number % len(memories)].remember(name, "A note of a few words.")

    with ThreadPoolExecutor(WRITERS) as pool:
        return WRITERS * WRITES / seconds(lambda: list(pool.map(write, range(WRITERS))))


def run(*, small: bool = False) -> None:
    """Record, check the model, and tell of shards."""
    print("## Shards\n")
    address, count = os.environ.get("HADES_BENCH_MEMORY"), CALLS // 3 if small else CALLS
    if address is None:
        print("Shards skipped: set HADES_BENCH_MEMORY to a memory in PostgreSQL.\n")
        return
    with opened(address) as (asked, *notes):
        names = [topic.name for topic in asked.topics(limit=5_000)]
        names = random.Random(SEED).sample(names, count + WARMING)
        texts = [" ".join(asked.get(name).content.split()[:12]) for name in names]
        ping = partial(asked.inside.store.database.value, "SELECT 1")
        trip_ms = float(np.median([record(ping)[1][0].ms for _ in range(200)]))
        asks = [record(partial(asked.recall, text)) for text in texts][WARMING:]
        notes_of = [partial(notes[0].remember, *one) for one in zip(names, texts, strict=True)]
        writes = [record(call) for call in notes_of][WARMING:]
        raced = [writes_a_second(notes[:memories]) for memories in RACES]
    calls = {"recall": asks, "remember": writes}
    models = {what: Model(some[::2], trip_ms) for what, some in calls.items()}
    means = [
        (what, *(f"{np.mean([of(sent) for _, sent in some]):,.1f}" for of in FIGURES.values()))
        for what, some in calls.items()
    ]
    show(f"A call, round trip {trip_ms:.2f} ms; {busy()}", ("call", *FIGURES), means)
    checks = []
    for what, some in calls.items():
        measured = np.percentile([ms for ms, _ in some[1::2]], (50, 95))
        predicted = models[what].percentiles(some[1::2], partial(way, trip_ms, 1, False))
        checks += zip((f"{what}, p50 ms", f"{what}, p95 ms"), predicted, measured, strict=True)
    for memories, rate in zip(RACES, raced, strict=True):
        what = f"{WRITERS} writers held back {HELD_BACK_MS:.0f} ms, memories: {memories}; writes/s"
        far = partial(way, trip_ms + HELD_BACK_MS, 1, False)
        checks.append((what, models["remember"].race(writes, far, WRITERS, memories), rate))
    rows = [(what, f"{p:.1f}", f"{m:.1f}", f"{p / m - 1:+.0%}") for what, p, m in checks]
    show("The model, checked", ("what", "predicted", "measured", "error"), rows)
    rows = []
    for trip, placed in product(ROUND_TRIPS_MS, ("by memory", "by space", "library")):
        cells = []
        for shards in SHARDS:
            # A library asks its volumes at once, each as a memory of its own. What the excerpt
            # takes is not in it.
            one = partial(way, trip, 1 if placed == "library" else shards, placed == "by space")
            locks = 1 if placed == "by space" else shards
            rate = models["remember"].race(writes, one, MODELLED_WRITERS, locks)
            at_once = shards if placed == "library" else 1
            median = models["recall"].percentiles(asks, one, at_once)[0]
            cells.append(f"{median:.0f} ms, {rate:.0f}/s")
        rows.append((f"{trip} ms", placed, *cells))
    title = f"Modelled: recall p50, and writes a second of {MODELLED_WRITERS} writers; by shards"
    show(title, ("round trip", "placed", *map(str, SHARDS)), rows)
