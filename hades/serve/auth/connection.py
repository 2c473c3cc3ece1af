"""A connection: uvicorn's HTTP/1.1, and what only the connection knows of its client.

It adds to each request which listener it came by and which user is at the other end of a unix
socket, and hangs up on clients that do not finish the head of a request. Other defences
against slow or greedy clients are for a reverse proxy: see deploy/nginx.conf.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter
from collections.abc import Mapping
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from hades.serve.auth.sockets import LISTENERS, ListenerKind

HEAD_S = 10.0
"""How long a client may take to send the head of a request."""
PLACES = {"http": 600, "ro": 100, "rw": 100, "admin": 32}
"""Connections at once, by the kind of listener: operators get in however many others are there.
Together well below the 1,024 open files a process usually may have."""


class HttpConnection(H11Protocol):
    """One client's connection."""

    unix_listeners: Mapping[str, ListenerKind] = {}
    """The unix sockets of a server, by path. Each server has a subclass of its own."""
    head_s = HEAD_S
    taken: Counter[str]
    """How many connections a server has, by the kind of listener."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._came_by = ""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Find out who connected."""
        super().connection_made(transport)
        kind: ListenerKind | None = LISTENERS["http"]
        peer_uid = None
        found = transport.get_extra_info("socket")
        if found is not None and found.family == socket.AF_UNIX:
            # Requests by an unknown unix socket are refused: they have no listener.
            kind = self.unix_listeners.get(found.getsockname())
            peer_uid = _peer_uid(found)
        app = self.app

        async def with_listener(scope: Any, receive: Any, send: Any) -> None:
            scope["hades.listener"], scope["hades.peer_uid"] = kind, peer_uid
            await app(scope, receive, send)

        self.app = with_listener
        self._came_by = "" if kind is None else kind.name
        self.taken[self._came_by] += 1
        if self.taken[self._came_by] > PLACES.get(self._came_by, 0):
            transport.abort()
        self._await_head()

    def data_received(self, data: bytes) -> None:
        """Take more of a request, and hang up when its head takes too long."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()  # the head is here
        elif self._head_timer is None:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._stop_timer()
        self.taken[self._came_by] -= 1
        super().connection_lost(exc)

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_s, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def _peer_uid(found: Any) -> int | None:
    """The user at the other end of a unix socket, as the kernel knows them."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    credentials = found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _pid, uid, _gid = struct.unpack("3i", credentials)
    return int(uid)
