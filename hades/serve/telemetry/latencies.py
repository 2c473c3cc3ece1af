"""Latencies: how long questions and their stages took, minute by minute.

It is for the pages of the explorer; Prometheus keeps its own history. It holds the last minutes in
which somebody asked, each with a histogram for every stage.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from hades.domain.answer import Recall

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""From a look-up (13 µs in the store, about 1 ms by HTTP) to a question that runs out of time."""
MINUTES_KEPT = 1_440
QUESTION = "question"
"""The name under which the time of a whole question is kept, next to its stages."""


@dataclass(frozen=True, slots=True)
class Latency:
    """How long a stage took in some minutes: the median and the 95th percentile of its runs."""

    at: datetime
    """When the first of the minutes began."""
    count: int
    p50_s: float
    p95_s: float


class Latencies:
    """The minutes of one server in which questions were asked, at most `MINUTES_KEPT`."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._minutes: deque[tuple[int, dict[str, list[int]]]] = deque(maxlen=MINUTES_KEPT)
        self._using = threading.Lock()

    def add(self, recall: Recall) -> None:
        """Count a question and its stages."""
        minute = int(self._clock() // 60)
        stages = [(report.stage, report.ms) for report in recall.telemetry]
        with self._using:
            if not self._minutes or self._minutes[-1][0] != minute:
                self._minutes.append((minute, {}))
            counts = self._minutes[-1][1]
            for stage, ms in ((QUESTION, recall.ms), *stages):
                runs = counts.setdefault(stage, [0] * (len(SECONDS) + 1))
                runs[bisect_left(SECONDS, ms / 1000)] += 1

    def over_time(self, stage: str, last_s: float) -> list[Latency]:
        """Return the latencies of a stage for each minute with runs among the last seconds."""
        since = self._clock() - last_s
        with self._using:
            minutes = [(at, runs[stage]) for at, runs in self._minutes if stage in runs]
            return [_latency(at, [runs]) for at, runs in minutes if at * 60 >= since]

    def by_stage(self, last_s: float) -> dict[str, Latency]:
        """Return the latency of each stage in the last seconds; the whole question comes first."""
        since = self._clock() - last_s
        first = dict[str, int]()
        several: dict[str, list[list[int]]] = defaultdict(list)
        with self._using:
            for at, counts in self._minutes:
                for stage, runs in counts.items() if at * 60 >= since else ():
                    several[stage].append(runs)
                    first.setdefault(stage, at)
            return {stage: _latency(first[stage], runs) for stage, runs in several.items()}


def _latency(minute: int, several: Iterable[Sequence[int]]) -> Latency:
    runs = [sum(counts) for counts in zip(*several, strict=True)]
    p50, p95 = (_quantile(runs, share) for share in (0.5, 0.95))
    return Latency(datetime.fromtimestamp(minute * 60, UTC), sum(runs), p50, p95)


def _quantile(runs: Sequence[int], share: float) -> float:
    """Return a quantile of a histogram, assuming even values inside a bucket as Prometheus does."""
    wanted = sum(runs) * share
    low = 0.0
    for bound, count in zip(SECONDS, runs, strict=False):
        if count >= wanted:
            return low + (bound - low) * wanted / count
        low = bound
        wanted = wanted - count
    return low
