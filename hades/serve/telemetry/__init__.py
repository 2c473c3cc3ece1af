"""Telemetry: what a server counts, traces, logs and says of its health."""

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
    """The metrics of one server, and its traces where they are wanted."""

    def __init__(self, traces: Traces | None = None) -> None:
        self.metrics = Metrics()
        self.traces = traces

    def watch(self, executor: Executor, jobs: JobCounts) -> None:
        """Be told of an executor's answers, and ask how busy it is when somebody looks."""
        executor.on_recall = self.observe_recall
        self.metrics.registry.register(ExecutorMetrics(executor.pools, jobs))
        self.metrics.registry.register(ModelMetrics())
        self.metrics.registry.register(MemoryMetrics(executor.memory, self.metrics.shown_space))

    def observe_recall(self, recall: Recall, space: str) -> None:
        """An answer was found: call it right after, in the context of its request."""
        self.metrics.observe_recall(recall, space)
        if self.traces is not None:
            self.traces.recall(recall, space)

    def around(self, app: ASGIApp) -> ASGIApp:
        """The app, with a span for every request where spans are wanted; else as it is."""
        return app if self.traces is None else self.traces.around(app)

    def close(self) -> None:
        """Send the last spans."""
        if self.traces is not None:
            self.traces.close()
