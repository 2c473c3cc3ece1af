"""Fixtures of a real server: `pytest_plugins = ["served_fixtures"]` in a file of tests.

No conftest.py: tests import the one above by that name.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from served_making import Served, Serving

from hades.serve.app import build
from hades.serve.auth.audit import Audit
from hades.serve.auth.keys import Keys
from hades.serve.auth.link import FirstLink
from hades.serve.auth.listener import WAYS
from hades.serve.auth.middleware import Gate, Limits
from hades.serve.auth.sockets import listen_tcp, listen_unix
from hades.serve.executor.executor import Executor
from hades.serve.listen import Server
from hades.serve.quick import Latest


@pytest.fixture
def serving(path: Path, tmp_path: Path) -> Serving:
    """Run a server: `with serving(limits=…) as served`."""

    @contextmanager
    def run(*, limits: Limits | None = None, app: Any = None, **options: Any) -> Iterator[Served]:
        desk = Executor.open(path)
        keys, audit = Keys(tmp_path / "notes.hades.keys"), Audit(tmp_path / "audit")
        listening = {
            name: listen_unix(tmp_path / f"{name}.sock", WAYS[name])
            for name in ("ro", "rw", "admin")
        }
        listening["http"] = listen_tcp("127.0.0.1", 0, remote=False)
        link = FirstLink(keys)
        app = app or build(desk, keys=keys, audit=audit)
        gate = Gate(app, keys, audit=audit, link=link, limits=limits, quick=Latest(desk))
        ready = threading.Event()
        server = Server(
            gate, list(listening.values()), at_once=gate.at_once, on_ready=ready.set, **options
        )
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
