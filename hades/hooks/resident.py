"""The resident: one process of this user that holds memories and encoder, and answers hooks.

It listens on a unix socket that only this user can reach, and ends after some time without a call
(the setting `hooks_idle_minutes`). Each call is one event: a head with fields that are separated by
zero bytes, then the payload. The client prints the answer unchanged.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hades.domain.address import is_address, is_server
from hades.errors import Denied, HadesError, InvalidInput
from hades.hooks import client as hook_client
from hades.serve.allocator import limit_arenas
from hades.serve.auth.sockets import LISTENERS, Listener, listen_unix, peer_uid

if TYPE_CHECKING:
    from hades.hooks.events import HookEvent
    from hades.hooks.handlers import HookResult
    from hades.memory import Memory

CALLS_AT_MOST = 16
"""Calls at once; others wait in the socket's queue."""
READING_S = 5.0
HEAD_FIELDS = 5
BUSY_TIMEOUT_S = 5.0
"""How long a write waits for another process that is writing to the memory."""
MEMORIES_AT_MOST = 8


def main() -> None:
    """Serve until the idle time has passed. If another resident listens already, end at once."""
    try:
        folder = Path(hook_client.private_folder())
        listener = listen_unix(Path(hook_client.socket_path()), LISTENERS["rw"])
    except (HadesError, OSError):
        return
    from hades.settings import load_settings

    limit_arenas()
    try:
        idle_s = load_settings().hooks_idle_minutes * 60
        Resident(folder, listener, idle_s).serve()
    except Exception as error:  # noqa: BLE001 - the edge of the process
        hook_client.log(str(folder), "-", "resident", f"failed: {error}")
    finally:
        listener.close()


class Resident:
    """A server for hooks, one thread for each call."""

    def __init__(self, folder: Path, listener: Listener, idle_s: float) -> None:
        from hades.hooks.handlers import Handlers

        self._folder = folder
        self._listener = listener
        self._idle_s = idle_s
        self._memories: dict[str, tuple[int, Memory]] = {}
        """The open memories by place, each with the inode of its file."""
        self._opening = threading.Lock()
        self._places = threading.BoundedSemaphore(CALLS_AT_MOST)
        self._handlers = Handlers(folder / "sessions")
        self._calls: set[threading.Thread] = set()

    def serve(self) -> None:
        """Answer calls until there was none for the idle time."""
        last = time.monotonic()
        while self._calls or time.monotonic() - last < self._idle_s:
            self._calls = {call for call in self._calls if call.is_alive()}
            ready, _, _ = select.select([self._listener.socket], [], [], min(1.0, self._idle_s))
            if not ready or not self._places.acquire(timeout=1.0):
                continue
            last = time.monotonic()
            try:
                connection, _ = self._listener.socket.accept()
            except OSError:
                self._places.release()
                continue
            # Not a daemon: a thread that is stopped inside the encoder would crash the process.
            call = threading.Thread(target=self._call, args=(connection,), name="hades-hook")
            self._calls.add(call)
            call.start()
        self._listener.close()
        for _, memory in self._memories.values():
            with suppress(HadesError):
                memory.close()

    def _call(self, connection: socket.socket) -> None:
        from hades.hooks.events import encode_answer

        began = time.perf_counter()
        client = name = "-"
        try:
            with connection:
                received = self._received(connection)
                if not received:
                    return  # `hades hooks status` only checks whether the resident runs
                client, name, memory, config, payload = _parsed(received)
                try:
                    event, result = self._handled(client, name, memory, config, payload)
                except BaseException:
                    with suppress(OSError):  # the client is gone
                        connection.sendall(hook_client.ANSWERED)
                    raise
                with suppress(BrokenPipeError, ConnectionResetError):  # the client is gone
                    connection.sendall(hook_client.ANSWERED + encode_answer(event, result.context))
            added = f"added {len(result.context)} characters"
            self._log(client, name, f"{_ms(began)} ms, {added}, {result.report}")
            if result.later is not None and (report := result.later()):
                self._log(client, name, f"later {_ms(began)} ms: {report}")
        except Exception as error:  # noqa: BLE001 - the edge of a call: the next one must be answered
            reason = str(error) or type(error).__name__
            self._log(client, name, f"failed after {_ms(began)} ms: {reason}")
        finally:
            self._places.release()

    def _received(self, connection: socket.socket) -> bytes:
        connection.settimeout(READING_S)
        if peer_uid(connection) not in (os.geteuid(), None):
            raise Denied("the caller is another user")
        received = bytearray()
        while part := connection.recv(1 << 16):
            received += part
            if len(received) > hook_client.PAYLOAD_BYTES_AT_MOST + 65536:
                raise InvalidInput("the payload is too large")
        return bytes(received)

    def _handled(
        self, client: str, name: str, given: str, config: str, payload: bytes
    ) -> tuple[HookEvent, HookResult]:
        from hades.hooks.events import read_event
        from hades.hooks.handlers import HookResult

        if name not in hook_client.EVENTS:
            raise InvalidInput("there is no such event")
        event = read_event(client, name, given, config, payload)
        try:
            place, memory = self._opened(event)
        except Denied as error:
            if name != "session-start":
                raise
            # only the user can tell whose memory it is
            context = f"HADES remembers nothing here. Tell the user, and do nothing else: {error}"
            return event, HookResult(context, f"refused: {error}")
        return event, self._handlers.handle(event, memory, place)

    def _opened(self, event: HookEvent) -> tuple[str, Memory]:
        """Return the place of the memory for an event, and the memory.

        It is the one given at the installation, else the project's.
        """
        from hades.opening import open_with_settings
        from hades.project import check_outside_work_trees, make_project_folder, project_memory

        root = None if event.memory else repository_of(event)
        place = event.memory if root is None else str(project_memory(root))
        if not is_address(place) and not is_server(place):
            check_outside_work_trees(place)
        with self._opening:
            # Another inode: the file was removed and made again.
            inode, memory = self._memories.get(place, (None, None))
            if memory is None or inode != _inode(place):
                if len(self._memories) >= MEMORIES_AT_MOST:
                    self._memories.pop(next(iter(self._memories)))
                if root is not None:
                    make_project_folder(root)
                memory = open_with_settings(place, busy_timeout_s=BUSY_TIMEOUT_S)
                self._memories[place] = _inode(place), memory
            return place, memory

    def _log(self, client: str, name: str, message: str) -> None:
        with suppress(OSError):
            hook_client.log(str(self._folder), client, name, message)


def repository_of(event: HookEvent) -> Path:
    """Return the root of the repository in which an event happened, or raise InvalidInput."""
    from hades.project import project_root

    if not os.path.isabs(event.cwd) or not os.path.isdir(event.cwd):
        raise InvalidInput("the payload names no folder")
    root = project_root(Path(event.cwd))
    if not (root / ".git").exists():
        raise InvalidInput(f"{root} is not a repository")
    return root


def _parsed(received: bytes) -> tuple[str, str, str, str, bytes]:
    """Return client, event, memory, the client's folder and the payload of a call."""
    fields = received.split(b"\0", HEAD_FIELDS)
    if len(fields) <= HEAD_FIELDS or os.fsdecode(fields[0]) != hook_client.PROTOCOL:
        raise InvalidInput("the call is not of this version's client")
    client, name, memory, config = (os.fsdecode(field) for field in fields[1:HEAD_FIELDS])
    return client, name, memory, config, fields[HEAD_FIELDS]


def _ms(began: float) -> int:
    return round((time.perf_counter() - began) * 1000)


def _inode(place: str) -> int:
    """Return the inode of a memory file; 0 for a database or a server."""
    try:
        return os.stat(place).st_ino
    except OSError:
        return 0
