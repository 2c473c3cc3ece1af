"""What tests of the server share: a real one at real sockets, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from hades.serve.app import build
from hades.serve.auth.audit import Audit
from hades.serve.auth.keys import Keys
from hades.serve.auth.limits import Limits
from hades.serve.auth.middleware import protected
from hades.serve.auth.sockets import LISTENERS, Listener, listen_tcp, listen_unix
from hades.serve.executor import Executor
from hades.serve.running import Server
from tests.callers import keys_of, new_key

STATES = "/v1/spaces/default/states"
PATIENCE_S = 60.0
"""How long a machine busy with other tests may take."""


@dataclass
class Served:
    """A server that runs, and what it stands on."""

    memory: Path
    executor: Executor
    keys: Keys
    audit: Audit
    listening: dict[str, Listener]

    def by(self, listener: str, token: str | None = None) -> httpx.Client:
        """A client at this listener."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        place = self.listening[listener].where
        if listener == "http":
            return httpx.Client(base_url=place, headers=headers, timeout=PATIENCE_S)
        transport = httpx.HTTPTransport(uds=place)
        return httpx.Client(
            transport=transport, base_url="http://hades", headers=headers, timeout=PATIENCE_S
        )

    def key(self, role: str, *spaces: str, name: str = "") -> str:
        """A new key, for all spaces or for some."""
        return new_key(self.memory, role, *spaces, name=name)


Serving = Callable[..., AbstractContextManager[Served]]


@contextmanager
def running(
    folder: Path, *, limits: Mapping[str, Any] | None = None, app: Any = None, **options: Any
) -> Iterator[Served]:
    """A server over a new memory, in a thread of its own; `limits` are those of a request."""
    memory = folder / "notes.hades"
    executor = Executor.open(memory)
    keys = keys_of(memory)
    audit = Audit(folder / "audit")
    listening = {
        name: listen_unix(folder / f"{name}.sock", LISTENERS[name])
        for name in ("ro", "rw", "admin")
    }
    listening["http"] = listen_tcp("127.0.0.1", 0, remote=False)
    app = app or build(executor, audit=audit)
    guarded = protected(app, keys, limits=Limits(**(limits or {})), audit=audit)
    ready = threading.Event()
    server = Server(guarded, list(listening.values()), on_ready=ready.set, **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(PATIENCE_S)
        yield Served(memory, executor, keys, audit, listening)
    finally:
        executor.leave()
        server.should_exit = True
        thread.join()
        executor.close()
        audit.close()
