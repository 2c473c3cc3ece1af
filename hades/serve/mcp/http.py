"""Over HTTP (streamable, without sessions): a part of `hades serve`, at /mcp.

Every request says by its key who asks. `/mcp?tools=core` lists the core tools alone,
`/mcp?tools=memgpt` those of MemGPT, and `/mcp?read_only=true` only those that read, whatever the
key may do.
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
"""The longest text a tool takes, as UTF-8, and some more."""


class Mounted:
    """An ASGI application; `run` must be open while it serves."""

    def __init__(self, server: AgentServer) -> None:
        server.streamable_http_app(
            stateless_http=True,
            max_request_body_size=BODY_BYTES_AT_MOST,
            # The server before it knows its own names, and checks them for every page.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._sessions = server.session_manager

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Its lifespan: open it in that of the application it is mounted in."""
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller_of(scope)
        if scope["method"] != "POST":  # there is no session to listen to, or to end
            raise HTTPException(405, "Send requests to /mcp by POST.", {"allow": "POST"})
        # Only a tool that writes makes it a write: most requests only ask what there is.
        record_call(None, writes=False)
        name_call("MCP")
        await self._sessions.handle_request(scope, await _received(scope, receive), send)


async def _received(scope: Scope, receive: Receive) -> Receive:
    """The same request, once its body is here: a client that goes before is no error of ours."""
    first: Message | None = {
        "type": "http.request",
        "body": await Request(scope, receive).body(),
        "more_body": False,
    }

    async def again() -> Message:
        nonlocal first
        told, first = first, None
        return await receive() if told is None else told

    return again


def mounted(executor: Executor, *, home: str | None = DEFAULT_SPACE) -> Mounted:
    """The memory of an executor over MCP. `home` is the space of calls that name none."""

    def identify(request: Any) -> AgentCall:
        caller = caller_of(request)
        wanted = request.query_params
        if wanted.get("read_only") == "true":
            caller = replace(caller, role=Role.READER)
        return AgentCall(executor, caller, home, tools=wanted.get("tools", "all"))

    return Mounted(AgentServer(identify))
