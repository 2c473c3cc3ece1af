"""A server for tests: a real one, on a real socket, over an executor that can be changed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from hades.domain.times import Clock, system_clock
from hades.serve.app import build
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor
from hades.serve.uploads import Uploads

ANN = Caller("ann", Role.ADMIN, local=True)


class InTurn:
    """One executor after the other. An app takes longer to make than most tests to run."""

    now: Executor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.now, name)


class Server:
    """The server of a test run. Whom it takes callers for, and its memory, can be changed."""

    def __init__(self, socket: Path) -> None:
        self.address = f"unix://{socket}"
        self.caller = ANN
        self._socket = socket
        self._app: Any = None
        self._executor = InTurn()
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            scope["hades.caller"] = self.caller
        await self._app(scope, receive, send)

    def start(self) -> None:
        """Listen, and return when it does."""
        up = threading.Event()

        class Told(uvicorn.Server):
            async def startup(self, sockets: Any = None) -> None:
                await super().startup(sockets)
                up.set()

        config = uvicorn.Config(self, uds=str(self._socket), lifespan="off", log_config=None)
        self._server = Told(config)
        self._thread = threading.Thread(target=asyncio.run, args=(self._server.serve(),))
        self._thread.start()
        assert up.wait(60), "the server did not start"

    def stop(self) -> None:
        """Stop listening, and close every connection."""
        if self._server is not None and self._thread is not None:
            self._server.should_exit = self._server.force_exit = True
            self._thread.join(60)
            self._server = self._thread = None

    @contextmanager
    def serving(self, path: Path, clock: Clock = system_clock, **given: Any) -> Iterator[Executor]:
        """Serve a memory for a while."""
        executor = self._executor.now = Executor.open(path, clock=clock, **given)
        if self._app is None:
            self._app = build(self._executor)  # type: ignore[arg-type]
        self._app.state.uploads = uploads = Uploads(executor.uploads)
        try:
            yield executor
        finally:
            self.caller = ANN
            uploads.close()
            executor.close()
