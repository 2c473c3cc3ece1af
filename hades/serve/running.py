"""Running a server: open its sockets, executor and app, warm it up, and close it again.

After the first signal it accepts no new connections, answers open requests, stops long work
at its next step, and closes the memory. Work that takes longer than the grace time is
abandoned, which cannot damage the store: a write is committed whole or not at all.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import uvicorn

from hades.errors import HadesError, InvalidInput
from hades.serve.allocator import limit_arenas
from hades.serve.app import build
from hades.serve.auth.audit import Audit, audit_beside
from hades.serve.auth.browsers import BrowserSessions, StartLinks
from hades.serve.auth.connection import HEAD_S, HttpConnection
from hades.serve.auth.keys import Keys, keys_beside
from hades.serve.auth.limits import BODY_BYTES_AT_MOST, LOOPBACK_NAMES, Limits
from hades.serve.auth.middleware import protected
from hades.serve.auth.sockets import (
    BACKLOG,
    LISTENERS,
    Listener,
    handed_sockets,
    listen_tcp,
    listen_unix,
)
from hades.serve.executor import Executor
from hades.serve.jobs import Jobs
from hades.serve.schedule import Schedule
from hades.serve.telemetry import Telemetry
from hades.serve.telemetry.health import Readiness, readiness_of
from hades.serve.telemetry.metrics import ScheduleMetrics
from hades.serve.telemetry.traces import open_traces
from hades.serve.uploads import Uploads
from hades.store.opening import files_of

if TYPE_CHECKING:
    from hades.ui.app import Explorer

HOST = "127.0.0.1"
PORT = 8674
GRACE_S = 10.0
KEEP_ALIVE_S = 15
HEAD_BYTES_AT_MOST = 64 * 1024
"""Limit for the bytes outside the body: headers, trailers, chunk extensions."""
SWITCH_S = 0.0005
"""The interpreter's switch interval. While a question computes, the event loop waits this long at
each step of every request. Python's default of 5 ms is too long for that."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """The settings of a server."""

    memory: str | Path
    executor: Mapping[str, Any]
    """How to open the memory: the named arguments of `Executor.open`."""
    host: str | None = None
    """The TCP address to listen on; None: 127.0.0.1, unless systemd handed over sockets."""
    port: int | None = None
    tcp: bool = True
    remote: bool = False
    sockets: Mapping[str, Path] = field(default_factory=dict)
    """Unix sockets, by the kind of listener: ro, rw, admin."""
    group: str | None = None
    hosts: tuple[str, ...] = ()
    body_bytes: int = BODY_BYTES_AT_MOST
    grace_s: float = GRACE_S
    otlp_endpoint: str | None = None
    trace_contents: bool = False
    every_hours: Mapping[str, float | None] = field(default_factory=dict)
    """How often the tasks of `hades.serve.schedule` run; None: only when a caller asks."""
    pages: Callable[..., Explorer] | None = None
    """Makes the pages of the explorer, which are served by TCP; None: no pages."""


@dataclass(frozen=True, slots=True)
class Started:
    """The report that a server prints once it listens."""

    memory: str
    listening: list[dict[str, str]]
    audit: str
    has_keys: bool
    """Whether an API key exists; without one nobody can use TCP."""
    pages: str = ""
    """The address of the explorer; "" without one."""


class Server(uvicorn.Server):
    """uvicorn on several sockets, with callbacks when it is ready and when it must stop."""

    def __init__(
        self,
        app: Any,
        listeners: Sequence[Listener],
        *,
        grace_s: float = GRACE_S,
        head_s: float = HEAD_S,
        on_ready: Callable[[], object] = lambda: None,
        on_leaving: Callable[[], object] = lambda: None,
    ) -> None:
        unix = {listener.where: listener.kind for listener in listeners if not listener.kind.by_key}
        own = {"unix_listeners": unix, "head_s": head_s, "taken": Counter()}
        connection = type("Connection", (HttpConnection,), own)
        config = uvicorn.Config(
            app,
            loop="uvloop",
            http=connection,
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_keep_alive=KEEP_ALIVE_S,
            timeout_graceful_shutdown=max(1, round(grace_s)),
            h11_max_incomplete_event_size=HEAD_BYTES_AT_MOST,
        )
        super().__init__(config)
        self._listeners = listeners
        self._on_ready = on_ready
        self._on_leaving = on_leaving

    def run(self, sockets: list[socket.socket] | None = None) -> None:
        with _ignored_signals():
            super().run(sockets=sockets or [listener.socket for listener in self._listeners])
        for listener in self._listeners:
            listener.close()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start listening, then tell systemd and call `on_ready`."""
        await super().startup(sockets)
        if self.started:
            notify("READY=1")
            self._on_ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Begin to stop; a second Ctrl+C stops without waiting for open requests."""
        if not self.should_exit:
            notify("STOPPING=1")
            self._on_leaving()
        super().handle_exit(sig, frame)


def run(options: Options, say: Callable[[Started], object]) -> None:
    """Serve until a signal; call `say` once it listens. Raise a HadesError if it cannot start."""
    limit_arenas()
    with ExitStack() as opened:
        listeners = _listen(options, opened)
        executor = Executor.open(options.memory, **options.executor)
        opened.callback(_within, options.grace_s, executor.close, status=1)
        files = files_of(options.memory)
        keys = Keys(keys_beside(files))
        opened.callback(keys.flush)
        audit = Audit(audit_beside(files))
        opened.callback(audit.close)
        sys.setswitchinterval(SWITCH_S)
        _server(options, executor, keys, audit, listeners, opened, say).run()


def _listen(options: Options, opened: ExitStack) -> list[Listener]:
    listeners: list[Listener] = []

    def add(listener: Listener) -> None:
        listeners.append(listener)
        opened.callback(listener.close)

    handed = handed_sockets(os.environ)
    for listener in handed:
        add(listener)
    for name, path in options.sockets.items():
        add(listen_unix(path, LISTENERS[name], options.group if name == "ro" else None))
    # With sockets from systemd, open a TCP port only if a host or port is given too.
    wants_tcp = options.host is not None or options.port is not None
    if options.tcp and (wants_tcp or not handed):
        port = PORT if options.port is None else options.port
        add(listen_tcp(options.host or HOST, port, remote=options.remote))
    if not listeners:
        raise InvalidInput("There is nowhere to listen: give a socket, or leave out --no-tcp.")
    return listeners


def _server(
    options: Options,
    executor: Executor,
    keys: Keys,
    audit: Audit,
    listeners: list[Listener],
    opened: ExitStack,
    say: Callable[[Started], object],
) -> Server:
    telemetry = Telemetry(open_traces(options.otlp_endpoint, contents=options.trace_contents))
    opened.callback(telemetry.close)
    readiness = readiness_of(executor)
    urls = [listener.where for listener in listeners if listener.kind.by_key]
    limits = Limits(body_bytes=options.body_bytes, hosts=_hosts(options, urls))
    observe = telemetry.metrics.observe_call
    jobs = Jobs(executor)
    uploads = Uploads(executor.uploads)
    links = StartLinks(files_of(options.memory))
    explorer = None
    if options.pages and urls:
        parts = (executor, BrowserSessions(keys), audit, jobs, uploads, telemetry.metrics, keys)
        explorer = options.pages(parts, links)
    app = build(
        executor,
        telemetry=telemetry,
        readiness=readiness,
        audit=audit,
        jobs=jobs,
        uploads=uploads,
        pages=None if explorer is None else explorer.app,
    )
    opened.callback(uploads.close)
    schedule = Schedule(executor, options.every_hours)
    telemetry.metrics.registry.register(ScheduleMetrics(schedule.tasks))
    guarded = protected(
        app,
        keys,
        limits=limits,
        audit=audit,
        observe=observe,
        pages=None if explorer is None else explorer.gate,
    )

    def ready() -> None:
        if explorer is not None:
            _announce(links, urls[0], opened)
        say(
            Started(
                memory=executor.memory.inside.store.database.place,
                listening=[{"listener": at.kind.name, "where": at.where} for at in listeners],
                audit=str(audit.folder),
                has_keys=keys.exist,
                pages=urls[0] if explorer is not None else "",
            )
        )
        in_background = partial(_in_background, opened, options.grace_s)
        left = threading.Event()
        in_background(partial(keys.flush_until, left), "hades-keys")
        opened.callback(left.set)
        in_background(lambda: _warm(executor, readiness), "hades-warm")
        if schedule.tasks:
            in_background(schedule.run, "hades-schedule")
            opened.callback(schedule.leave)

    def leave() -> None:
        readiness.leaving = True
        executor.leave()

    return Server(
        telemetry.around(guarded),
        listeners,
        grace_s=options.grace_s,
        on_ready=ready,
        on_leaving=leave,
    )


def _in_background(opened: ExitStack, grace_s: float, work: Callable[[], None], name: str) -> None:
    """Run work in a thread; a server that stops waits for it within the grace time."""
    # Not a daemon: a daemon thread killed inside the encoder or numba would crash the process.
    thread = threading.Thread(target=work, name=name)
    thread.start()
    # Abandoning it loses nothing, so the exit status is 0.
    opened.callback(_within, grace_s, thread.join, status=0)


def _warm(executor: Executor, readiness: Readiness) -> None:
    try:
        _log.info("loaded kernels, encoder and indexes: %s", executor.memory.warm())
    except HadesError as error:
        _log.warning("warming failed, so the first questions take longer: %s", error)
    readiness.warm = True


def _announce(links: StartLinks, url: str, opened: ExitStack) -> None:
    """Let `hades ui` find this server, as long as it runs."""

    def leave() -> None:
        with suppress(HadesError):
            links.leave(url)

    try:
        links.serve(url, os.getpid())
        opened.callback(leave)
    except HadesError as error:
        _log.warning("`hades ui` cannot find this server: %s", error)


def _hosts(options: Options, urls: list[str]) -> frozenset[str] | None:
    """Return the host names that TCP requests may name; None: any.

    Without --allow-host, a server that other machines reach allows any: it cannot know its names.
    """
    given = {name.lower() for name in options.hosts}
    if any("*" in name.removeprefix("*.") for name in given):
        raise InvalidInput("A host is a name, or *.example.com for all below one.")
    places = [urlsplit(url).hostname or "" for url in urls]
    with suppress(ValueError):
        if not given and not all(ipaddress.ip_address(place).is_loopback for place in places):
            return None
    return frozenset(LOOPBACK_NAMES | given | set(places))


@contextmanager
def _ignored_signals() -> Iterator[None]:
    """Ignore the signals that uvicorn raises again after it has stopped, before we can close."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    kinds = (signal.SIGINT, signal.SIGTERM)
    before = {kind: signal.signal(kind, lambda *_: None) for kind in kinds}
    try:
        yield
    finally:
        for kind, handler in before.items():
            signal.signal(kind, handler)


def _within(grace_s: float, close: Callable[[], object], *, status: int) -> None:
    """Call `close`; if it takes longer than the grace time, exit the process with this status."""
    closing = threading.Thread(target=close, name="hades-close", daemon=True)
    closing.start()
    closing.join(grace_s)
    if closing.is_alive():
        _log.error("work was not finished after %g s and is abandoned", grace_s)
        os._exit(status)  # a thread that does not end would keep the process alive


def notify(state: str) -> None:
    """Send the service's state to systemd (sd_notify(3)), if NOTIFY_SOCKET is set."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.sendto(state.encode(), address)
