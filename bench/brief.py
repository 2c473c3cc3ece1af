"""A brief: the first one of a process, and one after each write.

Short notes of four areas, some with the tag `decision` or `todo`, and as many facts. Nothing is
indexed, because a brief needs no index.
"""

from __future__ import annotations

import random
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

import hades
from bench.table import show

NOTES, NOTES_SMALL, WRITES = 50_000, 2_000, 10
AT_ONCE = 5_000
AREAS = ("infra", "home", "team", "plant")
THINGS = [
    "pump",
    "valve",
    "queue",
    "worker",
    "rack",
    "server",
    "boiler",
    "tank",
    "report",
    "contract",
]
ENDINGS = ("it works", "still open: the seal", "TODO: tell Ann", "nothing else")


def run(*, small: bool = False) -> None:
    """Measure briefs of the whole space, and of one area."""
    print("## Briefs\n")
    notes, rows = NOTES_SMALL if small else NOTES, []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.hades"
        with hades.open(path) as memory:
            _fill(memory, notes)
        for topic in (None, AREAS[0]):
            with hades.open(path) as memory:
                times = np.array([_brief(memory, topic, number) for number in range(WRITES + 1)])
            after = "{:.0f} ({:.0f})".format(*np.percentile(times[1:], 50, axis=0))
            rows.append((topic or "the space", "{:.0f} ({:.0f})".format(*times[0]), after))
    what = f"{notes:,} notes and facts; ms (processor ms)"
    show(what, ("", "first", "after a write, p50"), rows)


def _brief(memory: hades.Memory, topic: str | None, number: int) -> tuple[float, float]:
    """Return the wall and processor milliseconds of a brief, then write something."""
    wall, processor = time.perf_counter(), time.process_time()
    memory.brief(topic)
    took = (time.perf_counter() - wall) * 1e3, (time.process_time() - processor) * 1e3
    if number % 2:
        memory.remember("infra/bench", f"We decided on number {number}.")
    else:
        memory.relate("bench", "runs_on", f"rack {number}")
    return took


def _fill(memory: hades.Memory, notes: int) -> None:
    chosen, begin = random.Random(1), datetime(2024, 1, 1, tzinfo=UTC)
    for first in range(0, notes, AT_ONCE):
        with memory.batch():
            for number in range(first, min(notes, first + AT_ONCE)):
                thing, at = chosen.choice(THINGS), begin + timedelta(minutes=25 * number)
                memory.remember(
                    f"{chosen.choice(AREAS)}/{thing}-{number}",
                    f"We checked the {thing} {number}; {chosen.choice(ENDINGS)}.",
                    tags=["decision"] if not number % 400 else None,
                    valid_from=at,
                )
                memory.relate(f"thing {number % 3000}", "near", f"place {number % 499}")
