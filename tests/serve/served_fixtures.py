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
from hades.serve.auth.limits import Limits
from hades.serve.auth.link import FirstLink
from hades.serve.auth.listener import LISTENERS
from hades.serve.auth.middleware import protected
from hades.serve.auth.sockets import listen_tcp, listen_unix
from hades.serve.executor.executor import Executor
from hades.serve.running import Server


@contextmanager
def running(
    folder: Path, *, limits: Limits | None = None, app: Any = None, **options: Any
) -> Iterator[Served]:
    """A server over a new memory, in a thread of its own."""
    executor = Executor.open(folder / "notes.hades")
    keys, audit = Keys(folder / "notes.hades.keys"), Audit(folder / "audit")
    listening = {
        name: listen_unix(folder / f"{name}.sock", LISTENERS[name])
        for name in ("ro", "rw", "admin")
    }
    listening["http"] = listen_tcp("127.0.0.1", 0, remote=False)
    link = FirstLink(keys)
    app = app or build(executor, keys=keys, audit=audit, link=link)
    guarded = protected(app, keys, limits=limits, audit=audit)
    ready = threading.Event()
    server = Server(guarded, list(listening.values()), on_ready=ready.set, **options)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        assert ready.wait(30)
        yield Served(executor, keys, audit, listening, link)
    finally:
        executor.leave()
        server.should_exit = True
        thread.join()
        executor.close()
        audit.close()
        for one in listening.values():
            one.close()


@pytest.fixture
def serving(tmp_path: Path) -> Serving:
    """Run a server with options of one's own: `with serving(limits=…) as served`."""
    return lambda **options: running(tmp_path, **options)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for all tests of a file."""
    with running(tmp_path_factory.mktemp("served")) as server:
        yield server
