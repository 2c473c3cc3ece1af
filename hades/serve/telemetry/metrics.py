"""Metrics: what a server did and cost, for Prometheus.

Every server has a registry of its own, so two in one process do not mix. The names are in
`docs/operations.md`; a test holds the dashboard to them. A label never takes more than a
bounded set of values: what goes beyond is counted under `other`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.gc_collector import GCCollector
from prometheus_client.metrics_core import Metric
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

import hades
from hades.domain.answer import Recall

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

SPACES_SHOWN = 10
"""Spaces with series of their own; later ones are `other`. Each costs some 40 series."""
CALLS_SHOWN = 160
"""Calls with series of their own: more than the endpoints and tools there are."""
OTHER = "other"

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""From a look-up (13 µs in the store, about 1 ms by HTTP) to a question that runs out of time."""
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
DOCUMENTS = (0, 10, 20, 40, 80, 120, 160, 320, 640)
"""160 is the default plan's `docs_max`."""
TOKENS = (0, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000)
RATES = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
"""Conveyance is per second: about 20 for an answer in 20 ms."""


class Bounded:
    """The first so many values of a label; any other is `other`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()
        self._adding = threading.Lock()

    def __call__(self, value: str) -> str:
        """The value itself while there is room."""
        if value in self._known:
            return value
        with self._adding:
            if len(self._known) < self._most:
                self._known.add(value)
        return value if value in self._known else OTHER


class Metrics:
    """The registry of one server, and what is counted as calls come."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._space = Bounded(SPACES_SHOWN)
        self._call = Bounded(CALLS_SHOWN)
        self._series: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._recall_families()
        self._call_families()
        about = self._gauge("hades_info", "The version that runs; always 1.", "version")
        about.labels(hades.__version__).set(1)
        for standard in (ProcessCollector, PlatformCollector, GCCollector):
            standard(registry=self.registry)

    def observe_recall(self, recall: Recall, space: str) -> None:
        """Count an answer: its stages, what was trimmed, what it conveyed."""
        shown = self._space(space)
        self.recalls.labels(shown, recall.intent.value, recall.mode.value).inc()
        self.recall_seconds.labels(shown).observe(recall.ms / 1000)
        for one in recall.telemetry:
            self.stage_seconds.labels(one.stage).observe(one.ms / 1000)
            self.stage_reads.labels(one.stage).inc(one.reads)
            if one.coverage:
                self.stage_coverage.labels(one.stage).observe(one.coverage)
            if one.capped:
                self.stage_capped.labels(one.stage).inc()
            if one.early_stop:
                self.stage_stopped.labels(one.stage).inc()
        for note in recall.reasons:
            self.reasons.labels(note.stage, note.reason.value).inc()
        self.documents.observe(sum(one.reads for one in recall.telemetry))
        self.tokens.observe(recall.tokens)
        self.belief.observe(recall.belief.mean)
        conveyed = recall.conveyance
        for part in ("what", "where", "how", "context"):
            self.conveyance_part.labels(part).observe(getattr(conveyed, part))
        self.conveyance.observe(conveyed.value)

    def observe_call(self, call: str, mode: str, status: int, seconds: float) -> None:
        """Count a call by name (never by path), mode RO or RW, and the status it got."""
        series = self._series.get((call, mode, status))
        if series is None:
            name, mode = self._call(call), mode if mode in ("RO", "RW") else OTHER
            code = str(status) if 100 <= status <= 599 else OTHER
            series = self.calls.labels(name, mode, code), self.call_seconds.labels(name, mode)
            if name != OTHER and code != OTHER and mode != OTHER:
                # Looking them up anew takes longer than counting.
                self._series[call, mode, status] = series
        series[0].inc()
        series[1].observe(seconds)

    def watch(self, collector: Collector) -> None:
        """Ask this too whenever somebody looks: what stands somewhere rather than happens."""
        self.registry.register(collector)

    def shown_space(self, space: str) -> str:
        """The label of a space."""
        return self._space(space)

    def render(self) -> bytes:
        """Everything as Prometheus reads it."""
        return generate_latest(_WithoutBirthdays(self.registry))

    def _recall_families(self) -> None:
        make = self._counter
        self.recalls = make("hades_recalls", "Questions answered.", "space", "intent", "mode")
        self.stage_reads = make("hades_stage_reads", "Documents read first in a stage.", "stage")
        self.stage_capped = make("hades_stage_capped", "Stages that a cap cut short.", "stage")
        self.stage_stopped = make("hades_stage_stopped", "Stages that ended early.", "stage")
        self.reasons = make(
            "hades_reasons", "What was trimmed or done another way.", "stage", "reason"
        )
        of = self._histogram
        self.recall_seconds = of("hades_recall_seconds", "A question.", SECONDS, "space")
        self.stage_seconds = of("hades_stage_seconds", "A stage of recall.", SECONDS, "stage")
        self.documents = of("hades_recall_documents", "Documents read for a question.", DOCUMENTS)
        self.stage_coverage = of(
            "hades_stage_coverage", "Share of the question covered so far.", SHARES, "stage"
        )
        self.belief = of("hades_recall_belief", "Belief that the answer is there.", SHARES)
        self.tokens = of("hades_recall_tokens", "Tokens of a context.", TOKENS)
        self.conveyance = of("hades_conveyance", "How much a recall conveyed a second.", RATES)
        self.conveyance_part = of(
            "hades_conveyance_part",
            "Its parts but time: what, where, how, context.",
            SHARES,
            "part",
        )

    def _call_families(self) -> None:
        self.calls = self._counter(
            "hades_calls", "Calls by name, mode RO or RW, and status.", "call", "mode", "status"
        )
        self.call_seconds = self._histogram(
            "hades_call_seconds", "A call, from its head to the end of its answer.", SECONDS,
            "call", "mode",
        )  # fmt: skip

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(name, what, labels, registry=self.registry)

    def _gauge(self, name: str, what: str, *labels: str) -> Gauge:
        return Gauge(name, what, labels, registry=self.registry)

    def _histogram(
        self, name: str, what: str, buckets: tuple[float, ...], *labels: str
    ) -> Histogram:
        return Histogram(name, what, labels, registry=self.registry, buckets=buckets)


class _WithoutBirthdays(Collector):
    """A registry without the times its series were made: a third of all lines, read by nobody."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        for metric in self._registry.collect():
            metric.samples = [one for one in metric.samples if not one.name.endswith("_created")]
            yield metric
