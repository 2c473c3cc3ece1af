"""Over HTTP (streamable): a part of `hades serve`, mounted at /mcp.

The gate before it says who is asking; every request is answered as that caller, whichever
session it belongs to, and nobody can go on with a session of another.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

from hades.memory import DEFAULT_SPACE
from hades.serve.auth.caller import Caller, caller_of, name_call, record_call
from hades.serve.executor import Executor, Overloaded
from hades.serve.mcp.server import Context, build
from hades.serve.problems import problem_of

SESSIONS_AT_MOST = 256
SESSIONS_OF_ONE_CALLER = 16
"""One more ends the one they used longest ago: nobody keeps all others out."""
SESSION_IDLE_S = 30 * 60
BODY_BYTES_AT_MOST = 4 * 1024 * 1024
"""The longest text a tool takes, as UTF-8, and some more. It is parsed where all wait for it."""

_SESSION = b"mcp-session-id"


class Mounted:
    """An ASGI application; `run` must be open while it serves."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._sessions = sessions
        self._of_caller: dict[str, dict[str, int]] = {}
        """How many requests each session of a caller is serving; the last used is last."""
        self._opening: dict[str, int] = {}

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
        record_call(None, writes=False)
        name_call("MCP")
        # The SDK lets a session be used only by the user who began it.
        token = AccessToken(token="", client_id=caller.name, scopes=[])
        if scope["method"] == "POST":
            receive = await _received(receive)
        scope = {**scope, "user": AuthenticatedUser(token)}
        headers = dict(reversed(scope["headers"]))  # of several the first, as the SDK does
        version = headers.get(b"mcp-protocol-version")
        if session := headers.get(_SESSION, b"").decode("latin-1"):
            await self._go_on(caller.name, session, scope, receive, send)
        elif version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._begin(caller.name, scope, receive, send)
        else:  # later versions have no sessions
            await self._sessions.handle_request(scope, receive, send)

    async def _begin(self, name: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request that begins a session, if its caller may have one more."""
        self._opening[name] = self._opening.get(name, 0) + 1
        is_opening = True

        def opened() -> None:
            nonlocal is_opening
            is_opening = False
            self._opening[name] -= 1
            if not self._opening[name]:
                del self._opening[name]

        try:
            if not await self._made_room(name, scope):
                full = Overloaded("All your sessions are busy: end one, or come back in a second.")
                await problem_of(full)(scope, receive, send)
                return

            async def noting(message: Message) -> None:
                # Before the client hears of it: it may ask for the next at once.
                if message["type"] == "http.response.start" and message["status"] < 400:
                    session = dict(message["headers"]).get(_SESSION, b"").decode("latin-1")
                    if session:
                        self._of_caller.setdefault(name, {})[session] = 0
                        opened()
                await send(message)

            await self._sessions.handle_request(scope, receive, noting)
        finally:
            if is_opening:
                opened()

    async def _go_on(
        self, name: str, session: str, scope: Scope, receive: Receive, send: Send
    ) -> None:
        """Serve a request of a session, which counts as used."""
        mine = self._of_caller.get(name, {})
        if session not in mine:  # ended, or of another: the SDK says so
            await self._sessions.handle_request(scope, receive, send)
            return
        mine[session] = mine.pop(session) + 1

        async def noting(message: Message) -> None:
            if message["type"] == "http.response.start":
                ended = scope["method"] == "DELETE" and message["status"] < 400
                if ended or message["status"] == 404:
                    self._forget(name, session)
            await send(message)

        try:
            await self._sessions.handle_request(scope, receive, noting)
        finally:
            if session in mine:
                mine[session] -= 1

    async def _made_room(self, name: str, scope: Scope) -> bool:
        """End the sessions a caller used longest ago until one more fits; False: all are busy."""
        while len(mine := self._of_caller.get(name, {})) + self._opening[name] > (
            SESSIONS_OF_ONE_CALLER
        ):
            idle = next((one for one, serving in mine.items() if not serving), None)
            if idle is None:
                return False
            self._forget(name, idle)
            headers = [(_SESSION, idle.encode("latin-1")), (b"accept", b"application/json")]
            ending = {**scope, "method": "DELETE", "headers": headers}
            with anyio.CancelScope(shield=True):
                await self._sessions.handle_request(ending, _nothing, _unheard)
        return True

    def _forget(self, name: str, session: str) -> None:
        mine = self._of_caller.get(name, {})
        mine.pop(session, None)
        if not mine:
            self._of_caller.pop(name, None)

    async def _alone(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self.run():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})


def mounted(
    desk: Executor,
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


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unheard(_message: Message) -> None:
    """For an answer nobody waits for."""
