"""Telemetry: metrics, traces, logs and health of a server."""

from __future__ import annotations

from starlette.types import ASGIApp

from hades.domain.answer import Recall
from hades.serve.executor import Executor
from hades.serve.telemetry.metrics import (
    ExecutorMetrics,
    JobCounts,
    MemoryMetrics,
    Metrics,
    ModelMetrics,
)
from hades.serve.telemetry.traces import Traces


class Telemetry:
    """The metrics of one server, and its traces if they are on."""

    def __init__(self, traces: Traces | None = None) -> None:
        self.metrics = Metrics()
        self.traces = traces

    def watch(self, executor: Executor, jobs: JobCounts) -> None:
        """Observe an executor's recalls, and register collectors for its load and memory."""
        executor.on_recall = self.observe_recall
        self.metrics.registry.register(ExecutorMetrics(executor.pools, jobs))
        self.metrics.registry.register(ModelMetrics())
        self.metrics.registry.register(MemoryMetrics(executor.memory, self.metrics.shown_space))

    def observe_recall(self, recall: Recall, space: str) -> None:
        """Record a recall; call it right after the recall, in the context of its request."""
        self.metrics.observe_recall(recall, space)
        if self.traces is not None:
            self.traces.recall(recall, space)

    def around(self, app: ASGIApp) -> ASGIApp:
        """Wrap the app in a span per request if traces are on; else return it unchanged."""
        return app if self.traces is None else self.traces.around(app)

    def close(self) -> None:
        """Send the last spans."""
        if self.traces is not None:
            self.traces.close()
