"""Metrics for Prometheus: calls, recalls, sizes and costs of a server.

Each server has its own registry, so that two in one process do not mix. The names are in
`docs/operations.md`, and a test compares the dashboard with them. A label has a bounded number
of values: further ones are counted as `other`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence

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
from hades.domain.answer import Recall
from hades.errors import HadesError
from hades.memory import Memory
from hades.models.chat import totals
from hades.serve.pool import Pool

SPACES_SHOWN = 10
"""Spaces with their own series; later ones are `other`. Each space has about 40 series."""
CALLS_SHOWN = 160
"""Calls with their own series; there are fewer routes and tools than this."""
OTHER = "other"
SIZES_EVERY_S = 30.0
AT_MOST_ONE_OF = 100
"""Counting sizes takes at most 1/100 of the time, however large the memory is."""
SIZES = ("topics", "states", "chunks", "vectors", "entities", "edges", "pending")

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""From a look-up (13 µs in the store, about 1 ms by HTTP) to a question that runs out of time."""
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
DOCUMENTS = (0, 10, 20, 40, 80, 120, 160, 320, 640)
"""160 is the default plan's `docs_max`."""
TOKENS = (0, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000)
RATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Conveyance is per second: about 20 for an answer in 20 ms."""

COUNTERS = {
    "calls": ("Calls by name, mode RO or RW, and status.", "call", "mode", "status"),
    "recalls": ("Questions answered.", "space", "intent", "mode"),
    "reasons": ("What was trimmed or replaced.", "stage", "reason"),
    "stage_reads": ("Documents read first in a stage.", "stage"),
    "stage_capped": ("Stages that a cap cut short.", "stage"),
    "stage_stopped": ("Stages that ended early.", "stage"),
}
"""Description and labels of each counter, by name; Prometheus names begin with `hades_`."""
HISTOGRAMS: dict[str, tuple[Sequence[float], str, Sequence[str]]] = {
    "call_seconds": (SECONDS, "A call, from its head to the end of its answer.", ("call", "mode")),
    "recall_seconds": (SECONDS, "A question.", ("space",)),
    "recall_documents": (DOCUMENTS, "Documents read for a question.", ()),
    "recall_tokens": (TOKENS, "Tokens of a context.", ()),
    "recall_belief": (SHARES, "Belief that the answer is there.", ()),
    "stage_seconds": (SECONDS, "A stage of recall.", ("stage",)),
    "stage_coverage": (SHARES, "Share of the question covered so far.", ("stage",)),
    "stage_dedupe_rate": (SHARES, "Share of what a stage met that was met before.", ("stage",)),
    "conveyance": (RATES, "How much a recall conveyed a second.", ()),
    "conveyance_part": (SHARES, "Its parts but time.", ("part",)),
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


class Metrics:
    """The registry of one server, with its counters and histograms."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
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
        self.count("recalls", shown, recall.intent.value, recall.mode.value)
        self.observe("recall_seconds", recall.ms / 1000, shown)
        for one in recall.telemetry:
            self.observe("stage_seconds", one.ms / 1000, one.stage)
            self.count("stage_reads", one.stage, by=one.reads)
            if one.coverage:
                self.observe("stage_coverage", one.coverage, one.stage)
            if one.found:
                self.observe("stage_dedupe_rate", one.dedupe_rate, one.stage)
            if one.capped:
                self.count("stage_capped", one.stage)
            if one.early_stop:
                self.count("stage_stopped", one.stage)
        for note in recall.reasons:
            self.count("reasons", note.stage, note.reason.value)
        self.observe("recall_documents", sum(one.reads for one in recall.telemetry))
        self.observe("recall_tokens", recall.tokens)
        self.observe("recall_belief", recall.belief.mean)
        for part in ("what", "where", "how", "context", "external", "compatibility"):
            self.observe("conveyance_part", getattr(recall.conveyance, part), part)
        self.observe("conveyance", recall.conveyance.value)

    def observe_call(self, call: str, mode: str, status: int, seconds: float) -> None:
        """Record a call by its name (not its path), mode RO or RW, and status."""
        name, mode = self._shown_call(call), mode if mode in ("RO", "RW") else OTHER
        self.count("calls", name, mode, str(status) if 100 <= status <= 599 else OTHER)
        self.observe("call_seconds", seconds, name, mode)

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class ExecutorMetrics(Collector):
    """The load of an executor's pools and jobs, read at each scrape."""

    def __init__(self, pools: Mapping[str, Pool], jobs: JobCounts) -> None:
        self._pools = pools
        self._jobs = jobs

    def collect(self) -> Iterable[Metric]:
        """Yield the current numbers of calls and jobs."""
        waiting = GaugeMetricFamily(
            "hades_pool_waiting", "Calls that wait for a thread.", labels=["pool"]
        )
        running = GaugeMetricFamily(
            "hades_pool_running", "Calls that have a thread.", labels=["pool"]
        )
        refused = CounterMetricFamily("hades_refused", "Calls refused.", labels=["pool"])
        for name, pool in self._pools.items():
            waiting.add_metric([name], pool.waiting)
            running.add_metric([name], pool.running)
            refused.add_metric([name], pool.refused)
        yield from (waiting, running, refused)
        yield _gauges("hades_jobs", "Jobs, by status.", "status", self._jobs())


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
        for name in SIZES:
            sizes = {space: numbers[name] for space, numbers in counted.items() if name in numbers}
            yield _gauges(f"hades_memory_{name}", f"How many {name} a space has.", "space", sizes)
        yield self._caches()
        yield from self._tiers()

    def _fresh(self, change: int) -> dict[str, Mapping[str, int]]:
        with self._counting:
            begun = self._clock()
            if change != self._counted_at_change and begun >= self._next_at:
                self._counted, self._counted_at_change = self._count(), change
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
        engines = list(self._memory._engines.values())
        tiers = [tier for engine in engines for tier in engine.tiers()]
        tiers += self._memory._store.kept_tiers()
        bytes_of = {tier.name: tier.bytes for tier in tiers if tier.bytes is not None}
        bounds = {tier.name: tier.bound for tier in tiers if tier.bound is not None}
        yield _gauges("hades_tier_bytes", "Bytes a tier holds.", "tier", bytes_of)
        yield _gauges("hades_tier_bound_bytes", "Bytes a tier may hold.", "tier", bounds)
        items = {tier.name: tier.items for tier in tiers if tier.items is not None}
        yield _gauges("hades_tier_items", "What a tier holds.", "tier", items)

    def _caches(self) -> Metric:
        uses = CounterMetricFamily(
            "hades_cache_uses",
            "Look-ups in what is kept: found (kept), brought up to date (repaired), or made.",
            labels=["cache", "outcome"],
        )
        # Before the first question there is no engine, and metrics must not load one.
        for engine in list(self._memory._engines.values()):
            for cache, outcomes in engine.cache_uses().items():
                for outcome, count in outcomes.items():
                    uses.add_metric([cache, outcome], count)
        return uses


class ModelMetrics(Collector):
    """Use of language models by this process, read at each scrape."""

    def collect(self) -> Iterable[Metric]:
        """Yield calls, failures, tokens and cost so far, by model."""
        descriptions = {
            "calls": "Replies of language models.",
            "failures": "Calls of language models without a usable reply.",
            "prompt_tokens": "Tokens that language models read.",
            "completion_tokens": "Tokens that language models wrote.",
            "cost": "Cost of language models, by the prices of the settings.",
        }
        for name, what in descriptions.items():
            family = CounterMetricFamily(f"hades_model_{name}", what, labels=["model"])
            for model, used in totals().items():
                family.add_metric([model], getattr(used, name))
            yield family


def _gauges(name: str, what: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(name, what, labels=[label])
    for value, count in values.items():
        family.add_metric([value], count)
    return family
