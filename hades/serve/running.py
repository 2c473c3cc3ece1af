"""Running a server: its sockets, its desk and app, put together, warmed, and closed again."""

from __future__ import annotations

import ipaddress
import logging
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.middleware.cors import CORSMiddleware

from hades.errors import HadesError, InvalidInput
from hades.serve.app import build
from hades.serve.auth.audit import Audit, audit_beside
from hades.serve.auth.keys import Keys, keys_beside
from hades.serve.auth.limits import BODY_BYTES_AT_MOST, REQUESTS_PER_S
from hades.serve.auth.link import PATH, VALID_S, FirstLink
from hades.serve.auth.listener import WAYS
from hades.serve.auth.middleware import LOOPBACK_NAMES, App, Gate, Limits
from hades.serve.auth.sockets import Listening, handed_sockets, listen_tcp, listen_unix
from hades.serve.executor.executor import READERS, TIMEOUT_S, WAITING, Executor
from hades.serve.listen import GRACE_S, Server, close_within
from hades.serve.telemetry.health import readiness_of
from hades.serve.telemetry.telemetry import Telemetry
from hades.serve.telemetry.traces import open_traces

HOST = "127.0.0.1"
PORT = 8674
FLUSH_EVERY_S = 60.0
_SENT = ("Authorization", "Content-Type", "If-Match", "If-None-Match", "Idempotency-Key")
_SHOWN = ("ETag", "Idempotent-Replayed", "Location", "Retry-After", "X-Request-ID")
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """What a server is told when it starts."""

    memory: Path
    host: str | None = None
    """Where to listen for TCP; None: at 127.0.0.1, unless sockets were handed over."""
    port: int | None = None
    tcp: bool = True
    remote: bool = False
    sockets: Mapping[str, Path] = field(default_factory=dict)
    """Unix sockets, by their way: ro, rw, admin."""
    group: str | None = None
    read_only: bool = False
    hosts: tuple[str, ...] = ()
    cors: tuple[str, ...] = ()
    requests_per_s: float = REQUESTS_PER_S
    body_bytes: int = BODY_BYTES_AT_MOST
    timeout_s: float = TIMEOUT_S
    readers: int = READERS
    waiting: int = WAITING
    grace_s: float = GRACE_S
    encoder: str | None = None
    busy_timeout_s: float | None = None
    otlp_endpoint: str | None = None
    trace_contents: bool = False


@dataclass(frozen=True, slots=True)
class Started:
    """What a server tells when it listens."""

    memory: str
    listening: list[dict[str, str]]
    audit: str
    link: str | None
    link_s: int = VALID_S


def run(options: Options, say: Callable[[Started], object]) -> None:
    """Serve until told to stop. What cannot be begun is a HadesError."""
    with ExitStack() as opened:
        listening = _listen(options, opened)
        desk = Executor.open(
            options.memory,
            read_only=options.read_only,
            encoder=options.encoder,
            readers=options.readers,
            waiting=options.waiting,
            timeout_s=options.timeout_s,
            busy_timeout_s=options.busy_timeout_s,
        )
        opened.callback(_leave, desk.close, options.grace_s)
        keys = Keys(keys_beside(options.memory))
        audit = Audit(audit_beside(options.memory))
        opened.callback(audit.close)
        opened.enter_context(_written_down(keys))
        _server(options, desk, keys, audit, listening, opened, say).run()


def _listen(options: Options, opened: ExitStack) -> list[Listening]:
    handed = handed_sockets(os.environ)
    for one in handed:
        opened.callback(one.close)
    listening = list(handed)
    for name, path in options.sockets.items():
        listening.append(listen_unix(path, WAYS[name], options.group if name == "ro" else None))
        opened.callback(listening[-1].close)
    # Whoever hands sockets over says where this server listens.
    asked = options.host is not None or options.port is not None
    if options.tcp and (asked or not handed):
        port = PORT if options.port is None else options.port
        listening.append(listen_tcp(options.host or HOST, port, remote=options.remote))
        opened.callback(listening[-1].close)
    if not listening:
        raise InvalidInput("There is nowhere to listen: give a socket, or leave out --no-tcp.")
    return listening


def _server(
    options: Options,
    desk: Executor,
    keys: Keys,
    audit: Audit,
    listening: list[Listening],
    opened: ExitStack,
    say: Callable[[Started], object],
) -> Server:
    traces = open_traces(options.otlp_endpoint, contents=options.trace_contents)
    telemetry = Telemetry(traces=traces)
    opened.callback(telemetry.close)
    readiness = readiness_of(desk)
    app = build(desk, telemetry=telemetry, readiness=readiness, keys=keys, audit=audit)
    by_key = any(one.way.by_key for one in listening)
    link = FirstLink(keys) if by_key and not keys.exist else None
    limits = Limits(
        requests_per_s=options.requests_per_s,
        body_bytes=options.body_bytes,
        hosts=_names(options, listening),
    )
    # Spans and other origins' headers are put around the app: nothing may go past them.
    gate: Any = Gate(
        app,
        keys,
        audit=audit,
        observe=telemetry.metrics.observe_call,
        link=link,
        limits=limits,
        quick=None,
    )

    def warm() -> None:
        try:
            _log.info("warm after %s", desk.warm())
        except HadesError as error:
            _log.warning("not warm, so first questions take longer: %s", error)
        readiness.warm = True

    # Not a daemon: one that ends inside the encoder's or numba's code ends the process with it.
    warming = threading.Thread(target=warm, name="hades-warm")

    def ready() -> None:
        say(_started(options, listening, audit, link))
        warming.start()
        # Given up on, it takes nothing along: that is no failure.
        opened.callback(_leave, warming.join, options.grace_s, status=0)

    def leave() -> None:
        readiness.leaving = True
        desk.leave()

    return Server(
        telemetry.around(_shared(gate, options.cors)),
        listening,
        grace_s=options.grace_s,
        at_once=gate.at_once,
        on_ready=ready,
        on_leaving=leave,
    )


def _shared(app: App, origins: tuple[str, ...]) -> Any:
    """The app, also for pages of these origins; a page of another's gets nothing."""
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=origins,
        allow_methods=("GET", "POST", "PUT", "DELETE"),
        allow_headers=(*_SENT, "Hades-Hold", "X-Request-ID"),
        expose_headers=_SHOWN,
    )


def _names(options: Options, listening: list[Listening]) -> frozenset[str] | None:
    """The names requests by TCP may be for; None: any, since who it is for is not known."""
    given = {name.lower() for name in options.hosts}
    places = [urlsplit(one.where).hostname or "" for one in listening if one.way.by_key]
    with suppress(ValueError):
        if not given and not all(ipaddress.ip_address(place).is_loopback for place in places):
            return None
    return frozenset(LOOPBACK_NAMES | given | set(places))


def _started(
    options: Options, listening: list[Listening], audit: Audit, link: FirstLink | None
) -> Started:
    places = [{"way": one.way.name, "where": one.where} for one in listening]
    url = next((one.where for one in listening if one.way.by_key), None)
    return Started(
        memory=str(options.memory),
        listening=places,
        audit=str(audit.folder),
        link=None if link is None else f"{url}{PATH}?token={link.token}",
    )


class _written_down:
    """When keys were last used, written down every minute and at the end."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hades-keys", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        over = False
        while not over:
            over = self._over.wait(FLUSH_EVERY_S)
            try:
                self._keys.flush()
            except HadesError as error:
                _log.warning("%s", error)


def _leave(close: Callable[[], object], grace_s: float, *, status: int = 1) -> None:
    if not close_within(close, grace_s):
        os._exit(status)  # a thread that does not end would keep the process for ever
