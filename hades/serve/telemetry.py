"""Telemetry: what one server counts and traces, and the outermost layer of its app.

One object for a server: handlers tell it of answers and the gate of calls. Whoever is not
given one tells nobody.
"""

from __future__ import annotations

import re
import secrets
from typing import Any

from hades.domain.answer import Recall
from hades.serve.desk import Desk
from hades.serve.health import App, Receive, Scope, Send
from hades.serve.logs import request_id
from hades.serve.metrics import Metrics
from hades.serve.sizes import Jobs, Sizes, Standings
from hades.serve.traces import Traces

REQUEST_ID = b"x-request-id"
_SANE = re.compile(r"[A-Za-z0-9._-]{1,64}")


class Telemetry:
    """The metrics of a server, and its traces where they are wanted."""

    def __init__(self, metrics: Metrics | None = None, traces: Traces | None = None) -> None:
        self.metrics = Metrics() if metrics is None else metrics
        self.traces = traces

    def watch(self, desk: Desk, jobs: Jobs | None = None) -> None:
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
        """An app whose requests have an id, in the log and the answer, and a span if wanted."""

        async def observed(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await app(scope, receive, send)
                return
            name = _given_id(scope) or secrets.token_hex(8)
            token = request_id.set(name)
            telling = _telling(send, name.encode())
            try:
                if self.traces is None:
                    await app(scope, receive, telling)
                else:
                    await self._traced(app, scope, receive, telling, self.traces)
            finally:
                request_id.reset(token)

        return observed

    def close(self) -> None:
        """Send the last spans."""
        if self.traces is not None:
            self.traces.close()

    @staticmethod
    async def _traced(app: App, scope: Scope, receive: Receive, send: Send, traces: Traces) -> None:
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


def _given_id(scope: Scope) -> str:
    """The id a caller or proxy gave, if it can stand in a log."""
    for name, value in scope["headers"]:
        if name == REQUEST_ID:
            text = value.decode("latin-1")
            return text if _SANE.fullmatch(text) else ""
    return ""


def _telling(send: Send, name: bytes) -> Send:
    async def telling(message: Any) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), (REQUEST_ID, name)]}
        await send(message)

    return telling
