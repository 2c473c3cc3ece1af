"""MCP over HTTP (streamable, without sessions), at /mcp of `hades serve`.

Each request is authenticated by its key. `/mcp` lists the core tools, `/mcp?tools=all` every tool;
`/mcp?read_only=true` allows only reads, for any key.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mcp.server.transport_security import TransportSecuritySettings
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from hades.operations.inside import DEFAULT_SPACE
from hades.serve.auth.caller import Role, caller_of, name_call, record_call
from hades.serve.auth.limits import replayed
from hades.serve.executor import Executor
from hades.serve.mcp.call import AgentCall
from hades.serve.mcp.server import AgentServer

BODY_BYTES_AT_MOST = 4 * 1024 * 1024
"""The largest body of a request, enough for the longest text of a tool as UTF-8."""


class McpApp:
    """MCP over an executor, as an ASGI application; `sessions` must run while it serves."""

    def __init__(self, executor: Executor) -> None:
        def identify(request: Any) -> AgentCall:
            caller = caller_of(request)
            wanted = request.query_params
            if wanted.get("read_only") == "true":
                caller = replace(caller, role=Role.READER)
            return AgentCall(executor, caller, DEFAULT_SPACE, tools=wanted.get("tools", "core"))

        server = AgentServer(identify)
        server.streamable_http_app(
            stateless_http=True,
            max_request_body_size=BODY_BYTES_AT_MOST,
            # Our own middleware checks the host name of every request.
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self.sessions = server.session_manager
        """The SDK's manager, to `run` in the lifespan of the outer application."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        caller_of(scope)
        if scope["method"] != "POST":  # other methods are for sessions, which are not kept
            raise HTTPException(405, "Send requests to /mcp by POST.", {"allow": "POST"})
        # A request counts as a read; a tool that writes changes this.
        record_call(None, writes=False)
        name_call("MCP")
        # Read the whole body first, so that a disconnect does not raise an error in the SDK.
        body = await Request(scope, receive).body()
        await self.sessions.handle_request(scope, replayed(body, receive), send)
