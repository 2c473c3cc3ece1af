"""Health: three small pages for whoever watches over the server.

`/healthz` answers as long as the process does. `/readyz` says whether calls would be served:
it is warm, and the storage answers. `/metrics` is for Prometheus. None of them waits for the
executor: an overloaded server still says that it is.
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
    """What has to be true before calls are served."""

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
        # One look at a time: a storage that hangs must not take a thread for every probe.
        if self._look is None or self._look.done():
            self._look = asyncio.ensure_future(asyncio.to_thread(self.storage))
        look = self._look
        await asyncio.wait({look}, timeout=STORAGE_TIMEOUT_S)
        if not look.done():
            found["storage"] = f"no answer in {STORAGE_TIMEOUT_S:g} s"
        elif error := look.exception():
            # What exactly is wrong is for the log: this page is open to anybody.
            _log.error("The storage does not answer: %s", error)
            found["storage"] = "cannot be read"
        return found


def readiness_of(executor: Executor, *, warm: bool = False) -> Readiness:
    """Whether an executor would serve calls."""
    return Readiness(storage=lambda: executor.memory.change, warm=warm)


def health_routes(metrics: Metrics, readiness: Readiness) -> list[Route]:
    """The three pages."""

    async def healthz(_request: Request) -> Response:
        return JSONResponse({"status": "alive"})

    async def readyz(_request: Request) -> Response:
        problems = await readiness.problems()
        told = {"status": "waiting" if problems else "ready", "problems": problems}
        return JSONResponse(told, 503 if problems else 200)

    # Not async, so that Starlette runs it in a thread: what is in the memory is counted here.
    def shown_metrics(request: Request) -> Response:
        caller = request.scope.get("hades.caller")
        # They name spaces, so a key for some spaces is not enough.
        if not isinstance(caller, Caller) or caller.role < Role.READER or caller.spaces is not None:
            raise HTTPException(403, "Metrics need a key that may read every space.")
        return Response(metrics.render(), media_type=CONTENT_TYPE_LATEST)

    pages = {"/healthz": healthz, "/readyz": readyz, "/metrics": shown_metrics}
    return [Route(path, page, include_in_schema=False) for path, page in pages.items()]
