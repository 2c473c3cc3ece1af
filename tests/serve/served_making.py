"""What tests of the server share: a real one at real sockets, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from hades.serve.app import build
from hades.serve.audit import Audit
from hades.serve.caller import Role
from hades.serve.desk import Desk
from hades.serve.gate import Gate, Limits
from hades.serve.keys import Keys
from hades.serve.link import FirstLink
from hades.serve.listen import Server
from hades.serve.sockets import Listening, listen_tcp, listen_unix
from hades.serve.way import WAYS

STATES = "/v1/spaces/default/states"


@dataclass
class Served:
    """A server that runs, and what it stands on."""

    desk: Desk
    keys: Keys
    audit: Audit
    listening: dict[str, Listening]
    link: FirstLink

    def by(self, way: str, token: str | None = None) -> httpx.Client:
        """A client that comes this way."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        place = self.listening[way].where
        if way == "http":
            return httpx.Client(base_url=place, headers=headers)
        transport = httpx.HTTPTransport(uds=place)
        return httpx.Client(transport=transport, base_url="http://hades", headers=headers)

    def key(self, role: Role, spaces: list[str] | None = None) -> str:
        """A new key."""
        name = f"{role.name.lower()}-{len(self.keys.listed())}"
        return self.keys.create(name, role, spaces)[1]


Serving = Callable[..., AbstractContextManager[Served]]


@pytest.fixture
def serving(path: Path, tmp_path: Path) -> Serving:
    """Run a server: `with serving(limits=…) as served`."""

    @contextmanager
    def run(*, limits: Limits | None = None, app: Any = None, **options: Any) -> Iterator[Served]:
        desk = Desk.open(path)
        keys, audit = Keys(tmp_path / "notes.hades.keys"), Audit(tmp_path / "audit")
        listening = {
            name: listen_unix(tmp_path / f"{name}.sock", WAYS[name])
            for name in ("ro", "rw", "admin")
        }
        listening["http"] = listen_tcp("127.0.0.1", 0, remote=False)
        link = FirstLink(keys)
        app = app or build(desk, keys=keys, audit=audit)
        gate = Gate(app, keys, audit=audit, link=link, limits=limits)
        ready = threading.Event()
        server = Server(gate, list(listening.values()), on_ready=ready.set, **options)
        thread = threading.Thread(target=server.run)
        thread.start()
        assert ready.wait(30)
        yield Served(desk, keys, audit, listening, link)
        server.should_exit = True
        thread.join()
        desk.close()
        audit.close()

    return run


@pytest.fixture
def served(serving: Serving) -> Iterator[Served]:
    with serving() as running:
        yield running
