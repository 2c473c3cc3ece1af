"""Telemetry: the metrics of one server, and its traces where they are wanted."""

from __future__ import annotations

from starlette.types import ASGIApp

from hades.domain.answer import Recall
from hades.serve.executor.executor import Executor
from hades.serve.telemetry.metrics import ExecutorMetrics, Jobs, MemoryMetrics, Metrics
from hades.serve.telemetry.traces import Traces


class Telemetry:
    """One object for a server: the executor tells it of answers, the gate of calls."""

    def __init__(self, metrics: Metrics | None = None, traces: Traces | None = None) -> None:
        self.metrics = Metrics() if metrics is None else metrics
        self.traces = traces

    def watch(self, executor: Executor, jobs: Jobs | None = None) -> None:
        """Be told of an executor's answers, and ask how busy it is when somebody looks."""
        executor.on_recall = self.observe_recall
        self.metrics.registry.register(ExecutorMetrics(executor.standing, jobs))
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
