"""A focus: the same calls on it and on the memory itself, in the same run.

Notes of projects, each with a few versions and joined with others. A focus is set on one of them,
all others around it are explored once; then each is read and asked about in turn. Questions are
such as a focus answers: about one topic that it names, in words that stand there. How many
questions of everyday sets are such is told in docs/lab/measurements.md.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import hades
from bench.table import show
from hades.lifecycle.focus import HERE

TOPICS, VERSIONS, ROUNDS = 200, 4, 3
PEOPLE = ("Ann Lee", "Ben Holm", "Cleo Lind", "Dora Berg", "Emil Winter")


def run(*, small: bool = False) -> None:
    """Measure get and recall."""
    print("## A focus\n")
    topics = [f"project/p{number}" for number in range(TOPICS // 4 if small else TOPICS)]
    with (
        tempfile.TemporaryDirectory() as folder,
        hades.open(Path(folder) / "m.hades") as memory,
    ):
        _fill(memory, topics)
        begun = time.perf_counter()
        with memory.focus(topics[0]) as focus:
            opened = (time.perf_counter() - begun) * 1e3
            for topic in topics:
                focus.get(topic)
            questions = [f"What does {topic.split('/')[1]} cost in euros?" for topic in topics]
            rows = []
            for call, asked in (("get", topics), ("recall", questions)):
                before = focus.answered[HERE]
                own = _times(getattr(focus, call), asked * ROUNDS)
                here = (focus.answered[HERE] - before) / len(asked) / ROUNDS
                peer = _times(getattr(memory, call), asked)
                p50s = [np.percentile(one[:, 0], 50) for one in (own, peer)]
                ratio = f"{p50s[1] / p50s[0]:.1f}×"
                rows.append((call, f"{here:.0%}", _shown(own), _shown(peer), ratio))
            show(
                f"{len(topics)} topics of {VERSIONS} states, {focus.bytes / 2**20:.1f} MiB, "
                f"opened in {opened:.0f} ms; ms p50 / p95 (processor p50)",
                ("", "answered here", "focus", "memory", "ratio of p50"),
                rows,
            )


def _fill(memory: hades.Memory, topics: Sequence[str]) -> None:
    with memory.batch():
        for version in range(VERSIONS):
            for number, topic in enumerate(topics):
                name, other = topic.split("/")[1], topics[(number * 7 + 1) % len(topics)]
                memory.remember(
                    topic,
                    f"Project {name} costs {1_000 * (number + version + 1):,} euros. "
                    f"{PEOPLE[number % len(PEOPLE)]} leads it, with a team of {version + 2}. "
                    f"It waits for {other}, and its next review is planned with the customer.",
                )
    memory.relate(topics[0], "waits_for", topics[1])
    memory.warm()


def _times(call: Callable[[str], object], asked: Sequence[str]) -> np.ndarray:
    """Milliseconds of each call: wall and processor."""
    found = []
    for one in asked:
        wall, processor = time.perf_counter(), time.thread_time()
        call(one)
        found.append((time.perf_counter() - wall, time.thread_time() - processor))
    return np.array(found) * 1e3


def _shown(times: np.ndarray) -> str:
    wall = "{:.3f} / {:.3f}".format(*np.percentile(times[:, 0], (50, 95)))
    return f"{wall} ({np.percentile(times[:, 1], 50):.3f})"
