"""MCP over HTTP (streamable, without sessions), at /mcp of `hades serve`.

Each request is authenticated by its key. `/mcp?tools=core` lists only the core tools,
`/mcp?tools=memgpt` those of MemGPT; `/mcp?read_only=true` allows only reads, for any key.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from hades.memory import DEFAULT_SPACE
from hades.serve.auth.caller import Role, caller_of, name_call, record_call
from hades.serve.executor import Executor
from hades.serve.mcp.call import AgentCall
from hades.serve.mcp.server import AgentServer

BODY_BYTES_AT_MOST = 4 * 1024 * 1024
"""Enough for the longest text of a tool, as UTF-8."""


class Mounted:
    """MCP as an ASGI application; `run` must be open while it serves."""

    def __init__(self, server: AgentServer) -> None:
        server.streamable_http_app(
            stateless_http=True,
            max_request_body_size=BODY_BYTES_AT_MOST,
            # Our own middleware checks the host name of every request.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._sessions = server.session_manager

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Run the SDK's session manager; use it in the lifespan of the outer application."""
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller_of(scope)
        if scope["method"] != "POST":  # other methods are for sessions, which we do not have
            raise HTTPException(405, "Send requests to /mcp by POST.", {"allow": "POST"})
        # A request counts as a read; a tool that writes changes this.
        record_call(None, writes=False)
        name_call("MCP")
        await self._sessions.handle_request(scope, await _received(scope, receive), send)


async def _received(scope: Scope, receive: Receive) -> Receive:
    """Read the body here, so that a disconnect is not an error of the SDK, and replay it."""
    first: Message | None = {
        "type": "http.request",
        "body": await Request(scope, receive).body(),
        "more_body": False,
    }

    async def replay() -> Message:
        nonlocal first
        message, first = first, None
        return await receive() if message is None else message

    return replay


def mounted(executor: Executor, *, home: str | None = DEFAULT_SPACE) -> Mounted:
    """Return an executor's memory over MCP. `home` is the space of calls that name no space."""

    def identify(request: Any) -> AgentCall:
        caller = caller_of(request)
        wanted = request.query_params
        if wanted.get("read_only") == "true":
            caller = replace(caller, role=Role.READER)
        return AgentCall(executor, caller, home, tools=wanted.get("tools", "all"))

    return Mounted(AgentServer(identify))
