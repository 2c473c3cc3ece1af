"""A connection: what uvicorn does for one client, and what else we know and bound of it.

It tells the gate by which way the client came and which user it is, and does not wait for
ever: for a request's head, for the rest of a body nobody reads, for more clients than the
process can hold.
"""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable, Mapping, Sized
from typing import Any

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from hades.serve.auth.listener import WAYS, Way
from hades.serve.auth.middleware import Scope
from hades.serve.auth.reply import Whole

HEAD_S = 10.0
HEAD_BYTES_AT_MOST = 64 * 1024
BESIDE_BYTES_AT_MOST = 64 * 1024
"""Of what comes after a head and is no body, one after the other: trailers, chunk extensions."""
READ_S = 60.0
"""A client who reads nothing of its answer for so long is let go."""
UNREAD_BYTES_AT_MOST = 128 * 2**20
"""Of all answers together that nobody reads: four of the longest texts one may send."""
LINGER_S = 2.0
"""A client that still sends what nobody wants has so long to read why."""
CONNECTIONS_AT_MOST = 800
"""Well below the 1,024 open files a process usually may have."""
AT_ONCE_IN_A_ROW = 50
"""One read may hold thousands of requests. Answering so many takes some milliseconds; the rest
takes turns with other clients."""

_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
_FULL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n"
_NOTHING_MORE = b"content-length: 0\r\nconnection: close\r\n\r\n"


class _Flow(FlowControl):
    """Nothing more is read while requests that came stand in line: they take memory."""

    def __init__(self, transport: asyncio.Transport, in_line: Sized) -> None:
        super().__init__(transport)
        self._in_line = in_line

    def resume_reading(self) -> None:
        if not self._in_line:
            super().resume_reading()


class Connection(HttpToolsProtocol):
    """One client's connection."""

    ways: Mapping[str, Way] = {}
    """The ways of unix sockets, by path; a class of its own for each server has them."""
    head_s = HEAD_S
    read_s = READ_S
    unread_bytes_at_most = UNREAD_BYTES_AT_MOST
    at_once: Callable[[Scope], Whole | None] = staticmethod(lambda scope: None)
    """What answers some requests by GET as soon as their head is there; None: none of it."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._head_timer: asyncio.TimerHandle | None = None
        self._linger_timer: asyncio.TimerHandle | None = None
        self._read_timer: asyncio.TimerHandle | None = None
        self._unread_bytes = 0
        self._held_back: tuple[RequestResponseCycle, Any] | None = None
        self._head_bytes = 0
        self._beside_bytes = 0
        self._in_head = True
        self._is_answered = False
        self._at_once_left = AT_ONCE_IN_A_ROW
        self._way = WAYS["http"]
        self._peer: int | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody connected."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)
        if len(self.connections) > CONNECTIONS_AT_MOST:
            self._turn_away(_FULL)
            return
        found = transport.get_extra_info("socket")
        if found is not None and found.family == socket.AF_UNIX:
            # An unknown unix socket is nobody's: the gate refuses what has no way.
            self._way = self.ways.get(found.getsockname())  # type: ignore[assignment]
            self._peer = _peer_uid(found)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """They went, or were let go."""
        self._stop_timers()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """More of a request came."""
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > HEAD_BYTES_AT_MOST + self._allowed_body(data):
                self._turn_away(_TOO_LONG)
                return
        if self.transport.is_closing():
            return
        # A line without end is kept by its parser until it ends: what counts is what came.
        self._beside_bytes += 0 if self._in_head else len(data)
        self._at_once_left = AT_ONCE_IN_A_ROW
        super().data_received(data)
        if self._head_timer is None and (self._in_head or self._is_idle()):
            self._await_head()
        if self._beside_bytes > BESIDE_BYTES_AT_MOST:
            self.transport.abort()

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_head = True
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]
        scope["hades.way"] = self._way
        scope["hades.peer"] = self._peer

    def on_header(self, name: bytes, value: bytes) -> None:
        """A line of its head; the same lines after a body are nobody's, and are dropped."""
        if self._in_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        """A piece of its body."""
        self._beside_bytes = 0
        super().on_body(body)

    def on_headers_complete(self) -> None:
        """Its head is whole."""
        self._in_head, self._head_bytes, self._beside_bytes = False, 0, 0
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None
        if not self._answer_at_once():
            # An answer before it in the same read has set it; this one may take longer.
            self._unset_keepalive_if_required()
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        """All of it is here."""
        self._beside_bytes = 0
        if self._linger_timer is not None:
            self._linger_timer.cancel()
            self._linger_timer = None
        if self._is_answered:
            self._is_answered = False
        else:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """It is answered, whether all of it was read or not."""
        super().on_response_complete()
        self.flow.resume_reading()
        # The last request that came may be another one, whose body is only on its way.
        is_unread = self.cycle.response_complete and self.cycle.more_body
        if is_unread and not self.transport.is_closing():
            self._linger_timer = self.loop.call_later(LINGER_S, self.transport.abort)

    def shutdown(self) -> None:
        """The server stops: what has an end is finished, a stream of events ends here."""
        super().shutdown()
        scope: Any = None if self.cycle is None else self.cycle.scope
        reply = None if scope is None else scope.get("hades.reply")
        if reply is not None and reply.is_endless and not self.cycle.response_complete:
            self.transport.close()

    def pause_writing(self) -> None:
        """They do not read what they are sent."""
        super().pause_writing()
        self._read_timer = self.loop.call_later(self.read_s, self.transport.abort)
        # What is sent is kept whole until its last byte went: it counts as it is now.
        self._unread_bytes = self.transport.get_write_buffer_size()
        self._make_room()

    def resume_writing(self) -> None:
        """They read on."""
        if self._read_timer is not None:
            self._read_timer.cancel()
        self._unread_bytes = 0
        super().resume_writing()
        if self._held_back is not None:
            held_back, self._held_back = self._held_back, None
            self.flow.resume_reading()
            super()._start_asgi_task(*held_back)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        # A further answer would wait in memory beside the one they do not read.
        if self.flow.write_paused:
            self._held_back = (cycle, app)
            self.flow.pause_reading()
        else:
            super()._start_asgi_task(cycle, app)

    def _make_room(self) -> None:
        """Let go of those who leave most unread, as long as all together hold too much; who is
        sent an answer just now may still read it."""
        others = [one for one in self.connections if isinstance(one, Connection) and one != self]
        others.sort(key=lambda one: one._unread_bytes)
        held = self._unread_bytes + sum(one._unread_bytes for one in others)
        while others and held > self.unread_bytes_at_most:
            largest = others.pop()
            held -= largest._unread_bytes
            if largest._unread_bytes:
                largest._unread_bytes = 0
                largest.transport.abort()

    def _answer_at_once(self) -> bool:
        """Answer here and now, where that can be done: uvicorn's task, events and messages take
        longer than a look-up and its JSON. Whether it is done."""
        is_plain = (
            self.parser.get_method() == b"GET"
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
            and not self.parser.should_upgrade()
            and not self.expect_100_continue
            and not self.flow.write_paused
            and self._at_once_left > 0
            and (self.cycle is None or self.cycle.response_complete)
        )
        if not is_plain:
            return False
        scope: Scope = self.scope  # type: ignore[assignment]
        scope["method"], scope["path"], scope["raw_path"] = "GET", "", self.url
        found = type(self).at_once(scope)
        if found is None:
            return False
        body, headers = found
        lines = [b"HTTP/1.1 200 OK\r\n"]
        for name, value in (*self.server_state.default_headers, *headers):
            lines += (name, b": ", value, b"\r\n")
        self._is_answered = True
        self._at_once_left -= 1
        self.transport.write(b"".join((*lines, b"\r\n", body)))
        super().on_response_complete()
        return True

    def _allowed_body(self, data: bytes) -> int:
        # One read may hold a head and the beginning of a body: only the head is bounded.
        return len(data) if b"\r\n\r\n" in data else 0

    def _is_idle(self) -> bool:
        # What comes between requests, such as empty lines, must not keep a connection for ever.
        is_answered = self.cycle is None or self.cycle.response_complete
        return is_answered and self.timeout_keep_alive_task is None

    def _await_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_s, self._give_up_head)

    def _give_up_head(self) -> None:
        if self.flow.read_paused:
            self._await_head()  # it is us who do not read on
        else:
            self.transport.abort()

    def _turn_away(self, status: bytes) -> None:
        self.transport.write(status + _NOTHING_MORE)
        self.transport.close()

    def _stop_timers(self) -> None:
        for timer in (self._head_timer, self._linger_timer, self._read_timer):
            if timer is not None:
                timer.cancel()


def _peer_uid(found: Any) -> int | None:
    """The user at the other end of a unix socket, as the kernel knows them."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    credentials = found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _pid, uid, _gid = struct.unpack("3i", credentials)
    return int(uid)
