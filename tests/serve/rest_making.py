"""A server for tests of REST: the real app over a real executor, with a caller of one's choice."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import uvicorn

from hades.domain.times import Clock, system_clock
from hades.serve.app import build
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor import Executor

ADMIN = Caller("key:ann", Role.ADMIN)
WRITER = Caller("key:will", Role.WRITER, frozenset({"default"}))
READER = Caller("key:eve", Role.READER, frozenset({"default"}))
LOCAL = Caller("uid:0", Role.ADMIN, local=True)
S = "/v1/spaces/default"


@dataclass
class WithCaller:
    """Every request comes from `caller`: in place of the middleware."""

    app: Any
    caller: Caller | None = ADMIN

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and self.caller is not None:
            scope["hades.caller"] = self.caller
        await self.app(scope, receive, send)


@dataclass
class Asker:
    """Calls the app in this process, each call on one loop that stays."""

    app: WithCaller
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def __call__(self, method: str, path: str, **said: Any) -> httpx.Response:
        as_ = said.pop("caller", None)
        return self.loop.run_until_complete(self._ask(method, path, as_, said))

    async def _ask(
        self, method: str, path: str, caller: Caller | None, said: dict[str, Any]
    ) -> httpx.Response:
        app = self.app if caller is None else WithCaller(self.app.app, caller)
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://hades") as client:
            return await client.request(method, path, **said)

    def get(self, path: str, **said: Any) -> httpx.Response:
        return self("GET", path, **said)

    def put(self, path: str, json: Any, **said: Any) -> httpx.Response:
        return self("PUT", path, json=json, **said)

    def post(self, path: str, json: Any = None, **said: Any) -> httpx.Response:
        return self("POST", path, **({} if json is None else {"json": json}), **said)

    def delete(self, path: str, **said: Any) -> httpx.Response:
        return self("DELETE", path, **said)


@contextmanager
def asking(
    path: Path, *, clock: Clock = system_clock, caller: Caller = ADMIN, **options: Any
) -> Iterator[Asker]:
    """The app over a memory, opened with these options and asked in this process."""
    executor = Executor.open(path, clock=clock, **options)
    asker = Asker(WithCaller(build(executor), caller))
    try:
        yield asker
    finally:
        asker.loop.close()
        executor.close()


@contextmanager
def serving(executor: Executor, app: Any = None) -> Iterator[str]:
    """The app behind a real server at a real port; its address."""
    config = uvicorn.Config(
        app or WithCaller(build(executor)), port=0, log_config=None, loop="asyncio", ws="none"
    )
    server = uvicorn.Server(config)
    ready = threading.Event()
    startup = server.startup

    async def started(sockets: Any = None) -> None:
        await startup(sockets)
        ready.set()

    server.startup = started  # type: ignore[method-assign]
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(60)
        port = server.servers[0].sockets[0].getsockname()[1]
        yield f"http://127.0.0.1:{port}"
    finally:
        executor.leave()
        server.should_exit = True
        thread.join(60)
        executor.close()
