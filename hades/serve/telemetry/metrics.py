"""Metrics for Prometheus: calls, recalls, sizes and costs of a server.

Each server has its own registry, so that two in one process do not mix. A test compares the
dashboard with the families. A label has a bounded number of values: further ones are counted as
`other`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    GCCollector,
    Histogram,
    Info,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

import hades
from hades.breaker import all_breakers
from hades.domain.answer import Recall
from hades.errors import HadesError
from hades.memory import Memory
from hades.models.chat import totals
from hades.serve.pool import Pool
from hades.serve.schedule import ScheduledTask
from hades.serve.telemetry.latencies import SECONDS, Latencies

SPACES_SHOWN = 10
"""How many spaces have series of their own, about 40 each; further spaces are `other`."""
CALLS_SHOWN = 160
"""How many calls have series of their own; there are fewer routes and tools than this."""
OTHER = "other"
SIZES_EVERY_S = 30.0
AT_MOST_ONE_OF = 100
"""Counting sizes takes at most 1/100 of the time, however large the memory is."""
SIZES = {
    "topics": "Topics of a space.",
    "states": "States of a space.",
    "chunks": "Passages of a space.",
    "vectors": "Vectors of a space.",
    "entities": "Entities of a space.",
    "edges": "Edges of a space.",
    "pending": "States of a space that wait to be indexed.",
}
"""Description of each size of a space, by name."""

SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
DOCUMENTS = (0, 10, 20, 40, 80, 120, 160, 320, 640)
"""Buckets for documents read; 160 is the `docs_max` of the default plan."""
TOKENS = (0, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000)
RATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Buckets for conveyance, which is per second: about 20 for an answer in 20 ms."""

COUNTERS = {
    "calls": ("Calls by name, mode RO or RW, and status.", "call", "mode", "status"),
    "recalls": ("Questions answered by recall.", "space", "intent", "mode"),
    "reasons": ("Diagnostics of recalls, by stage and reason.", "stage", "reason"),
    "stage_reads": ("Documents that a stage was the first to read.", "stage"),
    "stage_capped": ("Stages that a cap cut short.", "stage"),
    "stage_stopped": ("Stages that ended early.", "stage"),
}
"""Description and labels of each counter, by name; Prometheus names begin with `hades_`."""
HISTOGRAMS: dict[str, tuple[Sequence[float], str, Sequence[str]]] = {
    "call_seconds": (SECONDS, "Duration of a call, to the end of its answer.", ("call", "mode")),
    "recall_seconds": (SECONDS, "Duration of a question.", ("space",)),
    "recall_documents": (DOCUMENTS, "Documents read for a question.", ()),
    "recall_tokens": (TOKENS, "Tokens of a packed context.", ()),
    "recall_belief": (SHARES, "Belief that the context contains the answer.", ()),
    "stage_seconds": (SECONDS, "Duration of a stage of recall.", ("stage",)),
    "stage_coverage": (SHARES, "Share of the question covered so far.", ("stage",)),
    "stage_dedupe_rate": (SHARES, "Share of a stage's finds that were found before.", ("stage",)),
    "conveyance": (RATES, "Conveyance of a recall, per second.", ()),
    "conveyance_part": (SHARES, "The parts of conveyance, without time.", ("part",)),
}
"""Buckets, description and labels of each histogram, by name."""

JobCounts = Callable[[], Mapping[str, int]]
"""Returns the number of jobs by status."""

# The creation times of series would be a third of all lines, and nothing uses them.
disable_created_metrics()  # type: ignore[no-untyped-call]


class BoundedLabel:
    """Keeps the first `most` values of a label, and replaces later ones by `other`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()
        self._adding = threading.Lock()

    def __call__(self, value: str) -> str:
        """Return the value, or `other` if there is no room for it."""
        if value in self._known:
            return value
        with self._adding:
            if len(self._known) < self._most:
                self._known.add(value)
        return value if value in self._known else OTHER


@dataclass(frozen=True, slots=True)
class Measurements:
    """The measurements that pages show, for all spaces."""

    latencies: Latencies
    caps: Mapping[str, float]
    """How often a cap cut a stage short, by stage."""
    caches: Mapping[str, Mapping[str, float]]
    """The uses of each cache, by outcome."""
    schedule: Mapping[str, Mapping[str, float]]
    """For each scheduled task, the runs `done` and `failed`, and when the last one ended."""


class Metrics:
    """The registry of one server, with its counters and histograms."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.latencies = Latencies()
        self.shown_space = BoundedLabel(SPACES_SHOWN)
        self._shown_call = BoundedLabel(CALLS_SHOWN)
        self._counters = {
            name: Counter(f"hades_{name}", what, labels, registry=self.registry)
            for name, (what, *labels) in COUNTERS.items()
        }
        self._histograms = {
            name: Histogram(f"hades_{name}", what, labels, registry=self.registry, buckets=buckets)
            for name, (buckets, what, labels) in HISTOGRAMS.items()
        }
        about = Info("hades", "The version that runs.", registry=self.registry)
        about.info({"version": hades.__version__})
        for standard in (ProcessCollector, PlatformCollector, GCCollector):
            standard(registry=self.registry)

    def count(self, name: str, *labels: str, by: float = 1) -> None:
        """Increase one of `COUNTERS`."""
        self._counters[name].labels(*labels).inc(by)

    def observe(self, name: str, value: float, *labels: str) -> None:
        """Add a value to one of `HISTOGRAMS`."""
        family = self._histograms[name]
        (family.labels(*labels) if labels else family).observe(value)

    def observe_recall(self, recall: Recall, space: str) -> None:
        """Record a recall: its stages, its diagnostics and its conveyance."""
        shown = self.shown_space(space)
        self.latencies.add(recall)
        self.count("recalls", shown, recall.intent.value, recall.mode.value)
        self.observe("recall_seconds", recall.ms / 1000, shown)
        for report in recall.telemetry:
            self.observe("stage_seconds", report.ms / 1000, report.stage)
            self.count("stage_reads", report.stage, by=report.reads)
            if report.coverage:
                self.observe("stage_coverage", report.coverage, report.stage)
            if report.found:
                self.observe("stage_dedupe_rate", report.dedupe_rate, report.stage)
            if report.capped:
                self.count("stage_capped", report.stage)
            if report.early_stop:
                self.count("stage_stopped", report.stage)
        for note in recall.reasons:
            self.count("reasons", note.stage, note.reason.value)
        self.observe("recall_documents", sum(report.reads for report in recall.telemetry))
        self.observe("recall_tokens", recall.tokens)
        self.observe("recall_belief", recall.belief.mean)
        for part in ("evidence", "context"):
            self.observe("conveyance_part", getattr(recall.conveyance, part), part)
        self.observe("conveyance", recall.conveyance.value)

    def observe_call(self, call: str, mode: str, status: int, seconds: float) -> None:
        """Record a call by its name (not its path), mode RO or RW, and status."""
        name = self._shown_call(call)
        mode = mode if mode in ("RO", "RW") else OTHER
        self.count("calls", name, mode, str(status) if 100 <= status <= 599 else OTHER)
        self.observe("call_seconds", seconds, name, mode)

    def measured(self) -> Measurements:
        """Return latencies, caps and uses of caches."""
        caps: dict[str, float] = {}
        caches: dict[str, dict[str, float]] = {}
        schedule: dict[str, dict[str, float]] = {}
        for sample in chain.from_iterable(family.samples for family in self.registry.collect()):
            if sample.name == "hades_stage_capped_total":
                caps[sample.labels["stage"]] = sample.value
            elif sample.name == "hades_cache_uses_total":
                uses = caches.setdefault(sample.labels["cache"], {})
                uses[sample.labels["outcome"]] = sample.value
            elif sample.name.startswith("hades_schedule_"):
                what = sample.name.removeprefix("hades_schedule_last_")
                runs = schedule.setdefault(sample.labels["task"], {})
                runs[sample.labels.get("outcome", what)] = sample.value
        return Measurements(self.latencies, caps, caches, schedule)

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


@dataclass(frozen=True, slots=True, eq=False)
class ExecutorMetrics(Collector):
    """The load of an executor's pools and jobs, read at each scrape."""

    pools: Mapping[str, Pool]
    jobs: JobCounts

    def collect(self) -> Iterable[Metric]:
        for name, family, what in (
            ("hades_pool_waiting", GaugeMetricFamily, "Calls that wait for a thread."),
            ("hades_pool_running", GaugeMetricFamily, "Calls that have a thread."),
            ("hades_refused", CounterMetricFamily, "Calls refused."),
        ):
            attribute = name.rpartition("_")[2]
            load = {pool: getattr(of, attribute) for pool, of in self.pools.items()}
            yield _family(family, name, what, "pool", load)
        yield _gauges("hades_jobs", "Jobs, by status.", "status", self.jobs())


@dataclass(frozen=True, slots=True, eq=False)
class ScheduleMetrics(Collector):
    """The runs of scheduled tasks, read at each scrape."""

    tasks: Sequence[ScheduledTask]

    def collect(self) -> Iterable[Metric]:
        runs = CounterMetricFamily(
            "hades_schedule_runs", "Runs of scheduled tasks.", labels=["task", "outcome"]
        )
        for task in self.tasks:
            for outcome in ("done", "failed"):
                runs.add_metric([task.name, outcome], task.runs[outcome])
        yield runs
        for name, what in (
            ("ended_at", "When the last run of a task ended, in seconds since 1970."),
            ("seconds", "How long the last run of a task took."),
        ):
            last = {task.name: getattr(task, name) for task in self.tasks}
            yield _gauges(f"hades_schedule_last_{name}", what, "task", last)


class MemoryMetrics(Collector):
    """Sizes of a memory, and the use of its caches.

    Counting rows is slow, so sizes are counted at most every `SIZES_EVERY_S`, less often if
    counting takes long, and only after a write.
    """

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
        self._counted_at_change = -1

    def collect(self) -> Iterable[Metric]:
        """Yield the sizes, counted again if they are old and something was written."""
        try:
            change = self._memory.change
            counted = self._fresh(change)
        except HadesError:
            return  # /readyz reports the error; the other metrics are still useful
        yield GaugeMetricFamily(
            "hades_memory_change", "The number of the last committed write.", change
        )
        file_bytes = max((sizes.get("file_bytes", 0) for sizes in counted.values()), default=0)
        yield GaugeMetricFamily("hades_memory_file_bytes", "Size of the memory file.", file_bytes)
        for name, what in SIZES.items():
            sizes = {space: numbers[name] for space, numbers in counted.items() if name in numbers}
            yield _gauges(f"hades_memory_{name}", what, "space", sizes)
        yield self._caches()
        yield from self._tiers()

    def _fresh(self, change: int) -> dict[str, Mapping[str, int]]:
        with self._counting:
            begun = self._clock()
            if change != self._counted_at_change and begun >= self._next_at:
                self._counted = self._count()
                self._counted_at_change = change
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

    def _tiers(self) -> Iterable[Metric]:
        """Yield the sizes of the tiers in this process; stored data is counted by space."""
        engines = list(self._memory.inside.engines.values())
        tiers = [tier for engine in engines for tier in engine.tiers()]
        tiers += self._memory.inside.store.kept_tiers()
        for name, shown, what in (
            ("bytes", "bytes", "Bytes a tier holds."),
            ("bound", "bound_bytes", "Bytes a tier may hold."),
            ("items", "items", "Items a tier holds."),
        ):
            sizes = {tier.name: getattr(tier, name) for tier in tiers}
            known = {tier: size for tier, size in sizes.items() if size is not None}
            yield _gauges(f"hades_tier_{shown}", what, "tier", known)

    def _caches(self) -> Metric:
        uses = CounterMetricFamily(
            "hades_cache_uses",
            "Cache look-ups by outcome: kept (a hit), repaired (brought up to date) or made.",
            labels=["cache", "outcome"],
        )
        # Before the first question there is no engine, and metrics must not load one.
        for engine in list(self._memory.inside.engines.values()):
            for cache, outcomes in engine.cache_uses().items():
                for outcome, count in outcomes.items():
                    uses.add_metric([cache, outcome], count)
        return uses


class ModelMetrics(Collector):
    """Use of language models by this process, and servers that fail, read at each scrape."""

    def collect(self) -> Iterable[Metric]:
        """Yield calls, failures, tokens and cost so far, by model; breakers by server."""
        descriptions = {
            "calls": "Replies of language models.",
            "failures": "Calls of language models without a usable reply.",
            "prompt_tokens": "Tokens that language models read.",
            "completion_tokens": "Tokens that language models wrote.",
            "cost": "Cost of language models, by the prices of the settings.",
        }
        for name, what in descriptions.items():
            used = {model: getattr(use, name) for model, use in totals().items()}
            yield _family(CounterMetricFamily, f"hades_model_{name}", what, "model", used)
        is_open = {breaker.server: float(breaker.is_open) for breaker in all_breakers()}
        what = "1 if a server failed too often and is left alone for a while."
        yield _gauges("hades_breaker_open", what, "server", is_open)


def _gauges(name: str, what: str, label: str, values: Mapping[str, float]) -> Metric:
    return _family(GaugeMetricFamily, name, what, label, values)


def _family(kind: Any, name: str, what: str, label: str, values: Mapping[str, float]) -> Metric:
    family: Metric = kind(name, what, labels=[label])
    for value, number in values.items():
        family.add_metric([value], number)  # type: ignore[attr-defined]
    return family
