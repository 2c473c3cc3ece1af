"""Sizes: what stands somewhere when somebody looks at the metrics.

The queues of calls are asked each time: they are numbers in memory. How much the memory
holds is counted by the store, so it is asked at most every `SIZES_EVERY_S`, rarer when
counting takes long, and only when something was written since.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from hades.errors import HadesError
from hades.memory import Memory
from hades.serve.executor.executor import ExecutorLoad
from hades.serve.telemetry.metrics import OTHER

SIZES_EVERY_S = 30.0
AT_MOST_ONE_OF = 100
"""Counting takes at most one part in so many of the time, however large the memory is."""
SIZES = ("topics", "states", "chunks", "vectors", "entities", "edges", "pending")
Jobs = Callable[[], Mapping[str, int]]
"""How many jobs there are, by status."""


class Standings(Collector):
    """The lines of calls, from the desk."""

    def __init__(self, standing: Callable[[], ExecutorLoad], jobs: Jobs | None = None) -> None:
        self._standing = standing
        self._jobs = jobs

    def collect(self) -> Iterable[Metric]:
        """Where the desk stands now."""
        now = self._standing()
        yield _gauges("hades_line_waiting", "Calls that stand in line.", "line", now.waiting)
        yield _gauges("hades_line_running", "Calls that have a thread.", "line", now.running)
        refused = CounterMetricFamily(
            "hades_refused", "Calls turned away: their line was full.", labels=["line"]
        )
        for line, count in now.refused.items():
            refused.add_metric([line], count)
        yield refused
        if self._jobs is not None:
            yield _gauges("hades_jobs", "Jobs, by status.", "status", self._jobs())


class Sizes(Collector):
    """How much a memory holds, and how its caches do."""

    def __init__(
        self,
        memory: Memory,
        shown: Callable[[str], str] = lambda space: space,
        *,
        every_s: float = SIZES_EVERY_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._memory = memory
        self._shown = shown
        self._every_s = every_s
        self._clock = clock
        self._counting = threading.Lock()
        self._counted: dict[str, Mapping[str, int]] = {}
        self._next_at = clock()
        self._stand = -1

    def collect(self) -> Iterable[Metric]:
        """The last numbers; counted anew when they are old and something was written."""
        try:
            change = self._memory.change
            counted = self._fresh(change)
        except HadesError:
            return  # /readyz says what is wrong; the other metrics are still worth having
        yield _gauge("hades_memory_change", "The number of the last committed write.", change)
        file_bytes = max((one.get("file_bytes", 0) for one in counted.values()), default=0)
        yield _gauge("hades_memory_file_bytes", "Size of the memory file.", file_bytes)
        for name in SIZES:
            family = GaugeMetricFamily(
                f"hades_memory_{name}", f"How many {name} a space has.", labels=["space"]
            )
            for space, numbers in counted.items():
                if name in numbers:
                    family.add_metric([space], numbers[name])
            yield family
        yield self._caches()

    def _fresh(self, change: int) -> dict[str, Mapping[str, int]]:
        with self._counting:
            begun = self._clock()
            if change != self._stand and begun >= self._next_at:
                self._counted, self._stand = self._count(), change
                ended = self._clock()
                self._next_at = ended + max(self._every_s, (ended - begun) * AT_MOST_ONE_OF)
            return self._counted

    def _count(self) -> dict[str, Mapping[str, int]]:
        counted: dict[str, Mapping[str, int]] = {}
        others = 0
        for space in self._memory.spaces():
            label = self._shown(space.name)
            if label == OTHER:
                others += space.topics
            else:
                counted[label] = self._memory.in_space(space.name).stats()
        if others:
            counted[OTHER] = {"topics": others}
        return counted

    def _caches(self) -> Metric:
        uses = CounterMetricFamily(
            "hades_cache_uses",
            "Look-ups in what is kept: found (kept), brought up to date (repaired), or made.",
            labels=["cache", "outcome"],
        )
        # A memory nobody asked yet has no engine, and looking at it must not load one.
        for engine in list(self._memory._engines.values()):
            for cache, outcomes in engine.cache_uses().items():
                for outcome, count in outcomes.items():
                    uses.add_metric([cache, outcome], count)
        return uses


def _gauge(name: str, what: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, what)
    family.add_metric([], value)
    return family


def _gauges(name: str, what: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, what, labels=[label])
    for value, count in values.items():
        family.add_metric([value], count)
    return family
