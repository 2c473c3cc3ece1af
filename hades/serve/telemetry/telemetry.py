"""Telemetry: what one server counts and traces, and the outermost layer of its app.

One object for a server: handlers tell it of answers and the gate of calls. Whoever is not
given one tells nobody.
"""

from __future__ import annotations

from typing import Any

from hades.domain.answer import Recall
from hades.serve.executor.executor import Executor
from hades.serve.telemetry.health import App, Receive, Scope, Send
from hades.serve.telemetry.metrics import Metrics
from hades.serve.telemetry.sizes import Jobs, Sizes, Standings
from hades.serve.telemetry.traces import Traces


class Telemetry:
    """The metrics of a server, and its traces where they are wanted."""

    def __init__(self, metrics: Metrics | None = None, traces: Traces | None = None) -> None:
        self.metrics = Metrics() if metrics is None else metrics
        self.traces = traces

    def watch(self, desk: Executor, jobs: Jobs | None = None) -> None:
        """Be told of a desk's answers, and ask it where it stands when somebody looks."""
        desk.on_recall = self.observe_recall
        self.metrics.watch(Standings(desk.standing, jobs))
        self.metrics.watch(Sizes(desk.memory, self.metrics.shown_space))

    def observe_recall(self, recall: Recall, space: str) -> None:
        """An answer was found: call it right after, in the context of its request."""
        self.metrics.observe_recall(recall, space)
        if self.traces is not None:
            self.traces.recall(recall, space)

    def observe_call(self, call: str, mode: str, status: int, seconds: float) -> None:
        """A call was answered: its name, RO or RW, the status, how long it took."""
        self.metrics.observe_call(call, mode, status, seconds)

    def around(self, app: App) -> App:
        """The app, with a span for every request where spans are wanted; else as it is."""
        traces = self.traces
        if traces is None:
            return app

        async def traced(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            status = 500  # what a server says of an app that says nothing

            async def noting(message: Any) -> None:
                nonlocal status
                if message["type"] == "http.response.start":
                    status = message["status"]
                await send(message)

            with traces.request(scope) as span:
                try:
                    await app(scope, receive, noting)
                finally:
                    traces.answered(span, scope, status)

        return traced

    def close(self) -> None:
        """Send the last spans."""
        if self.traces is not None:
            self.traces.close()
