"""`hades serve` as a process: started, overloaded, stopped, killed; no answered write is lost."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from process_making import Process, hades_serve
from served_making import STATES

import hades
from tests.callers import new_key
from tests.shell import run_hades

NO_TCP = "--no-tcp"
GRACE = "--grace=4"

# httpcore leaves a unix socket open that could not connect (to a server that has gone).
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Writers:
    """Clients that write as fast as they can, and remember what was answered."""

    def __init__(self, server: Process, name: str = "first", count: int = 4) -> None:
        self.written: set[str] = set()
        self.refused = 0
        self.enough = threading.Event()
        self._server = server
        self._threads = [
            threading.Thread(target=self._write, args=(f"{name}-{number}",))
            for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def _write(self, writer: str) -> None:
        with self._server.client() as client:
            for number in range(100_000):
                topic = f"{writer}-{number}"
                try:
                    answer = client.put(f"{STATES}/{topic}", json={"content": topic})
                except httpx.TransportError:
                    return  # the server has gone
                if answer.status_code == 201:
                    self.written.add(topic)
                    if len(self.written) > 60:
                        self.enough.set()
                else:
                    assert answer.status_code == 503
                    self.refused += 1

    def join(self) -> set[str]:
        for thread in self._threads:
            thread.join()
        return self.written


def _topics(path: Path) -> set[str]:
    with hades.open(path) as memory:
        assert memory.check() == []
        return {topic.name for topic in memory.topics()}


def test_every_answered_write_outlives_a_killed_and_a_stopped_server(path: Path) -> None:
    with hades_serve(path, NO_TCP) as server:
        writers = Writers(server)
        assert writers.enough.wait(60)
        assert server.stop(signal.SIGKILL) == -9
        written = writers.join()
    # The sockets the killed one left behind are no hindrance.
    with hades_serve(path, NO_TCP, GRACE) as server, server.client() as client:
        missing = [t for t in written if client.get(f"{STATES}/{t}").status_code != 200]
        assert missing == []
        writers = Writers(server, name="later")
        assert writers.enough.wait(60)
        assert server.stop() == 0
        later = writers.join()
        assert not Path(server.where("rw")).exists()
    there = _topics(path)
    assert written | later <= there
    # One write a client may have been done without its answer being heard.
    assert len(there - written - later) <= 8


def test_a_server_stopped_while_it_warms_ends_in_order(path: Path) -> None:
    with hades_serve(path, NO_TCP, GRACE) as server:
        assert server.stop(signal.SIGINT) == 0


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    """One process for those who only call it."""
    path = tmp_path_factory.mktemp("process") / "notes.hades"
    with hades_serve(path, "--port", "0") as running:
        yield running


def test_a_second_server_at_the_same_sockets_is_refused(server: Process) -> None:
    port = server.where("http").rpartition(":")[2]
    for options in (["--no-tcp", f"--rw-socket={server.where('rw')}"], ["--port", port]):
        again = run_hades("serve", "--memory", server.told["memory"], *options)
        assert again.exit_code == 2
        assert "Another" in again.stderr
        assert len(again.stderr.splitlines()) == 1
    with server.client("ro") as client:
        assert client.get("/v1").status_code == 200


def test_it_is_ready_once_it_is_warm(server: Process) -> None:
    with server.client("ro") as client:
        assert client.get("/healthz").status_code == 200
        until = time.monotonic() + 120
        while client.get("/readyz").status_code != 200:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_a_server_for_reading_only_writes_nothing(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "x")
    new_key(path, "reader", name="laptop")
    with (
        hades_serve(path, "--port", "0", "--read-only") as server,
        server.client("admin") as client,
    ):
        assert server.told["has_keys"]
        assert client.get(f"{STATES}/a").status_code == 200
        assert client.put(f"{STATES}/a", json={"content": "y"}).status_code == 503
    assert _topics(path) == {"a"}


def test_what_cannot_be_is_told_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for options, sentence in (
        (["--port=0", "--host", "0.0.0.0"], "--remote"),
        (["--no-tcp"], "nowhere to listen"),
        (["--port=0", "--memory", "http://127.0.0.1:1"], "name a memory file"),
        (["--port=0", "--memory", "no/such/folder/a.hades"], "folder"),
        (["--no-tcp", "--rw-socket", "x" * 120], "too long"),
        (["--port=0", "--allow-host", "a*.example"], "*.example.com"),
    ):
        done = run_hades("serve", "--memory", "a.hades", *options)
        assert done.exit_code == 2, options
        assert sentence in done.stderr
