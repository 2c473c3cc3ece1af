"""Health: three pages for monitoring.

`/healthz` answers while the process runs. `/readyz` says whether the server can serve calls: it
is warm, and the storage answers. `/metrics` is for Prometheus. They do not use the executor's
pools, so they also answer when the server is overloaded.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor
from hades.serve.telemetry.metrics import Metrics

STORAGE_TIMEOUT_S = 2.0
_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Readiness:
    """The conditions under which the server is ready for calls."""

    storage: Callable[[], object]
    """Reads from the storage; raises when it does not answer."""
    warm: bool = False
    """Set once kernels, encoder and indexes are loaded."""
    leaving: bool = False
    """Set when the server is stopping."""
    _probe: asyncio.Future[object] | None = None

    async def problems(self) -> dict[str, str]:
        """Return the unmet conditions, by part; empty if the server is ready."""
        problems = {}
        if self.leaving:
            problems["server"] = "shutting down"
        if not self.warm:
            problems["warm"] = "still loading"
        # One probe at a time: if the storage hangs, each probe would occupy a thread.
        if self._probe is None or self._probe.done():
            self._probe = asyncio.ensure_future(asyncio.to_thread(self.storage))
        probe = self._probe
        await asyncio.wait({probe}, timeout=STORAGE_TIMEOUT_S)
        if not probe.done():
            problems["storage"] = f"no answer in {STORAGE_TIMEOUT_S:g} s"
        elif error := probe.exception():
            # Details go to the log only, since this page needs no key.
            _log.error("The storage does not answer: %s", error)
            problems["storage"] = "cannot be read"
        return problems


def readiness_of(executor: Executor, *, warm: bool = False) -> Readiness:
    """Return the readiness of a server with this executor."""
    return Readiness(storage=lambda: executor.memory.change, warm=warm)


def health_routes(metrics: Metrics, readiness: Readiness) -> list[Route]:
    """Return the routes of the three pages."""

    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def readyz(_request: Request) -> Response:
        problems = await readiness.problems()
        body = {"status": "waiting" if problems else "ready", "problems": problems}
        return JSONResponse(body, 503 if problems else 200)

    # Not async, so that Starlette runs it in a thread: rendering counts rows of the store.
    def shown_metrics(request: Request) -> Response:
        caller = request.scope.get("hades.caller")
        # Metrics name spaces, so a key for some spaces is not enough.
        if not isinstance(caller, Caller) or caller.role < Role.READER or caller.spaces is not None:
            raise HTTPException(403, "Metrics need a key that may read every space.")
        return Response(metrics.render(), media_type=CONTENT_TYPE_LATEST)

    pages = {"/healthz": healthz, "/readyz": readyz, "/metrics": shown_metrics}
    return [Route(path, page, include_in_schema=False) for path, page in pages.items()]
