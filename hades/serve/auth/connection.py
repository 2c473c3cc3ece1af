"""A connection: uvicorn's HTTP/1.1, with the listener and the peer's user.

It adds the listener, and the user at the other end of a unix socket, to each request. It closes
connections whose client does not finish the head of a request. A reverse proxy must defend
against other slow or greedy clients: see deploy/nginx.conf.
"""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Mapping
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from hades.serve.auth.sockets import LISTENERS, ListenerKind, peer_uid

HEAD_S = 10.0
"""How long a client may take to send the head of a request."""
PLACES = {"http": 600, "ro": 100, "rw": 100, "admin": 32}
"""The most simultaneous connections for each kind of listener, so that operators can always
connect. Together they are well below the usual limit of 1,024 open files."""


class HttpConnection(H11Protocol):
    """One client's connection."""

    unix_listeners: Mapping[str, ListenerKind] = {}
    """The kinds of the server's unix sockets, by path. Each server makes its own subclass."""
    head_s = HEAD_S
    taken: Counter[str]
    """How many connections a server has, by the kind of listener."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._came_by = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Find the listener and the peer's user; abort if its kind of listener has too many."""
        super().connection_made(transport)
        kind: ListenerKind | None = LISTENERS["http"]
        user = None
        accepted = transport.get_extra_info("socket")
        if accepted is not None and accepted.family == socket.AF_UNIX:
            # An unknown unix socket has no listener, and its requests are refused.
            kind = self.unix_listeners.get(accepted.getsockname())
            user = peer_uid(accepted)
        app = self.app

        async def with_listener(scope: Any, receive: Any, send: Any) -> None:
            scope["hades.listener"] = kind
            scope["hades.peer_uid"] = user
            await app(scope, receive, send)

        self.app = with_listener
        self._came_by = "" if kind is None else kind.name
        self.taken[self._came_by] += 1
        if self.taken[self._came_by] > PLACES.get(self._came_by, 0):
            transport.abort()
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Process received bytes; a timer closes the connection if the head takes too long."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()  # the head is complete
        elif self._head_timer is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self.taken[self._came_by] -= 1
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_s, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
