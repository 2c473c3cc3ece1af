"""Over HTTP (streamable): a part of `hades serve`, mounted at /mcp.

The gate before it says who is asking; every request is answered as that caller, whichever
session it belongs to, and nobody can go on with a session of another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from hades.memory import DEFAULT_SPACE
from hades.serve.desk.desk import Desk
from hades.serve.gate import noted
from hades.serve.gate.caller import Caller, caller_of
from hades.serve.mcp.server import Context, build

SESSIONS_AT_MOST = 256
SESSION_IDLE_S = 30 * 60
BODY_BYTES_AT_MOST = 4 * 1024 * 1024
"""The longest text a tool takes, as UTF-8, and some more. It is parsed where all wait for it."""


class Mounted:
    """An ASGI application; `run` must be open while it serves."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._sessions = sessions

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Its lifespan: open it in that of the application it is mounted in."""
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._alone(receive, send)
            return
        caller = caller_of(scope)
        # Only a tool that writes makes it a write: most requests only ask what there is.
        noted.note(None, writes=False)
        noted.name("MCP")
        # The SDK lets a session be used only by the user who began it.
        token = AccessToken(token="", client_id=caller.name, scopes=[])
        if scope["method"] == "POST":
            receive = await _received(receive)
        await self._sessions.handle_request(
            {**scope, "user": AuthenticatedUser(token)}, receive, send
        )

    async def _alone(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self.run():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def mounted(
    desk: Desk,
    *,
    home: str | None = DEFAULT_SPACE,
    read_only: bool = False,
) -> Mounted:
    """The memory of a desk over MCP. `home` is the space of calls that name none."""
    server = build(desk, _caller, home=home, read_only=read_only)
    return Mounted(
        StreamableHTTPSessionManager(
            server,
            max_request_body_size=BODY_BYTES_AT_MOST,
            session_idle_timeout=SESSION_IDLE_S,
            max_sessions=SESSIONS_AT_MOST,
        )
    )


async def _received(receive: Receive) -> Receive:
    """The same body, when it is here; ClientDisconnect, which the SDK would take for an error."""
    messages = deque([await receive()])
    size = len(messages[-1].get("body", b""))
    while messages[-1].get("more_body", False) and size <= BODY_BYTES_AT_MOST:
        messages.append(await receive())
        size += len(messages[-1].get("body", b""))
    if messages[-1]["type"] == "http.disconnect":
        raise ClientDisconnect

    async def again() -> Message:
        return messages.popleft() if messages else await receive()

    return again


def _caller(ctx: Context) -> Caller:
    request: Any = ctx.request
    return caller_of(request)
