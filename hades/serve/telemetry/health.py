"""Health: three small pages for whoever watches over the server.

`/healthz` answers as long as the process does. `/readyz` says whether calls would be served:
it is warm, and the storage answers. `/metrics` is for Prometheus. None of
them stands in the line of calls: an overloaded server still says that it is.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any

from hades.serve.auth.caller import Caller, Role
from hades.serve.executor.executor import Executor
from hades.serve.telemetry.metrics import CONTENT_TYPE, Metrics

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOG = logging.getLogger(__name__)

PATHS = ("/healthz", "/readyz", "/metrics")
STORAGE_TIMEOUT_S = 2.0


@dataclass(slots=True)
class Readiness:
    """What has to hold before calls are served."""

    storage: Callable[[], object]
    """Touches the storage; raises when it does not answer."""
    warm: bool = False
    """Set once kernels, encoder and indexes are loaded."""
    leaving: bool = False
    """Set when the server was told to stop."""
    _look: asyncio.Future[object] | None = None

    async def problems(self) -> dict[str, str]:
        """What is missing, by part; empty: ready."""
        found = {}
        if self.leaving:
            found["server"] = "shutting down"
        if not self.warm:
            found["warm"] = "still loading"
        storage = await self._storage_problem()
        return {**found, "storage": storage} if storage else found

    async def _storage_problem(self) -> str:
        # One look at a time: a storage that hangs must not take a thread for every probe.
        if self._look is None or self._look.done():
            self._look = asyncio.ensure_future(asyncio.to_thread(self.storage))
        look = self._look
        await asyncio.wait({look}, timeout=STORAGE_TIMEOUT_S)
        if not look.done():
            return f"no answer in {STORAGE_TIMEOUT_S:g} s"
        error = look.exception()
        if error is None:
            return ""
        # What exactly is wrong is for the log: this page is open to anybody.
        LOG.error("The storage does not answer: %s", error)
        return "cannot be read"


class Pages:
    """The three pages as an ASGI app; `PATHS` are what it answers."""

    def __init__(self, metrics: Metrics, readiness: Readiness) -> None:
        self._metrics = metrics
        self._readiness = readiness

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one of them."""
        if scope["method"] not in ("GET", "HEAD"):
            await _answer(send, 405, b"", {"allow": "GET, HEAD"})
        elif scope["path"].endswith("/healthz"):
            await _tell(send, 200, {"status": "alive"})
        elif scope["path"].endswith("/readyz"):
            problems = await self._readiness.problems()
            told = {"status": "waiting" if problems else "ready", "problems": problems}
            await _tell(send, 503 if problems else 200, told)
        elif not may_look(scope):
            await _tell(send, 403, {"detail": "Metrics need a key that may read every space."})
        else:
            body = await asyncio.to_thread(self._metrics.render)
            await _answer(send, 200, body, {"content-type": CONTENT_TYPE})


def readiness_of(desk: Executor, *, warm: bool = False) -> Readiness:
    """Whether an executor would serve calls."""
    return Readiness(storage=lambda: desk.memory.change, warm=warm)


def may_look(scope: Mapping[str, Any]) -> bool:
    """Whether metrics are theirs to see: they name spaces, so a key for some is not enough."""
    caller = scope.get("hades.caller")
    return isinstance(caller, Caller) and caller.role >= Role.READER and caller.spaces is None


async def _tell(send: Send, status: int, what: Mapping[str, Any]) -> None:
    headers = {"content-type": "application/json", "cache-control": "no-store"}
    await _answer(send, status, json.dumps(what).encode(), headers)


async def _answer(send: Send, status: int, body: bytes, headers: Mapping[str, str]) -> None:
    told = [(name.encode(), value.encode()) for name, value in headers.items()]
    told.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": told})
    await send({"type": "http.response.body", "body": body})
