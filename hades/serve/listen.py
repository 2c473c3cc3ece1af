"""Listening: one process at several sockets, from its first line to its last answer.

A first signal lets it finish: no new connections, what is under way is answered, long work
stops where it stands, then the memory is closed. What takes longer than the grace time, or a
second signal, ends it there; the store is safe either way, since a write is whole or not there.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import uvicorn

from hades.serve.auth.connection import HEAD_S, READ_S, Connection
from hades.serve.auth.middleware import App, Scope
from hades.serve.auth.reply import Whole
from hades.serve.auth.sockets import BACKLOG, Listening

GRACE_S = 10.0
KEEP_ALIVE_S = 15
ONCE_S = 1.0
"""A shell or a wrapper may pass on one wish to stop twice: it counts once."""
SWITCH_S = 0.0005
"""How long a thread that computes keeps the interpreter when the loop wants it. Python's own
5 ms would be waited for at every step of every request while questions are answered."""
_log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """uvicorn, at sockets that say who comes through them."""

    def __init__(
        self,
        app: App,
        listening: Sequence[Listening],
        *,
        grace_s: float = GRACE_S,
        head_s: float = HEAD_S,
        read_s: float = READ_S,
        at_once: Callable[[Scope], Whole | None] | None = None,
        on_ready: Callable[[], object] | None = None,
        on_leaving: Callable[[], object] | None = None,
    ) -> None:
        ways = {one.socket.getsockname(): one.way for one in listening if not one.way.by_key}
        about: dict[str, Any] = {"ways": ways, "head_s": head_s, "read_s": read_s}
        if at_once is not None:
            about["at_once"] = staticmethod(at_once)
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=type("Connection", (Connection,), about),
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=max(1, round(grace_s)),
        )
        super().__init__(config)
        self._listening = listening
        self._on_ready = on_ready
        self._on_leaving = on_leaving
        self._told_at = 0.0

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve until told to stop."""
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH_S)
        try:
            super().run(sockets=sockets or [one.socket for one in self._listening])
        finally:
            sys.setswitchinterval(before)
            for one in self._listening:
                one.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, then say so."""
        await super().startup(sockets)
        if self.started:
            notify("READY=1")
            if self._on_ready is not None:
                self._on_ready()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals here; none is raised again afterwards, since the stop was asked for."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        kinds = (signal.SIGINT, signal.SIGTERM)
        before = {kind: signal.signal(kind, self.handle_exit) for kind in kinds}
        try:
            yield
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def handle_exit(self, sig: int, frame: FrameType | None = None) -> None:
        """Stop: gracefully at first, at once when told again."""
        if self.should_exit:
            if time.monotonic() - self._told_at > ONCE_S:
                os._exit(128 + sig)
            return
        self.should_exit, self._told_at = True, time.monotonic()
        notify("STOPPING=1")
        if self._on_leaving is not None:
            self._on_leaving()


def close_within(close: Callable[[], object], grace_s: float) -> bool:
    """Close something in so many seconds; whether that was enough."""
    closing = threading.Thread(target=close, name="hades-close", daemon=True)
    closing.start()
    closing.join(grace_s)
    if closing.is_alive():
        _log.error("what is under way does not finish in %g s: leaving it", grace_s)
    return not closing.is_alive()


def notify(state: str) -> None:
    """Tell systemd how the service stands (sd_notify(3)), where it asked to be told."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as telling:
        telling.sendto(state.encode(), address)
