"""`hades serve` as a process: started, overloaded, stopped, killed; no answered write is lost."""

from __future__ import annotations

import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import httpx
import pytest
from hades.serve.listen import ONCE_S
from process_making import COMMAND, Process, environment, hades_serve
from served_making import STATES

import hades

NO_TCP = "--no-tcp"

# httpcore leaves a unix socket open that could not connect (to a server that has gone).
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


class Writers:
    """Clients that write as fast as they can, and remember what was answered."""

    def __init__(self, server: Process, count: int = 4) -> None:
        self.written: set[str] = set()
        self.refused = 0
        self.enough = threading.Event()
        self._server = server
        self._threads = [
            threading.Thread(target=self._write, args=(number,)) for number in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def _write(self, writer: int) -> None:
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


def test_every_answered_write_outlives_a_killed_server(path: Path) -> None:
    with hades_serve(path, NO_TCP) as server:
        writers = Writers(server)
        assert writers.enough.wait(60)
        assert server.stop(signal.SIGKILL) == -9
        written = writers.join()
    with hades_serve(path, NO_TCP) as server, server.client() as client:
        # The sockets the killed one left behind are no hindrance.
        missing = [t for t in written if client.get(f"{STATES}/{t}").status_code != 200]
        assert missing == []
        assert server.stop() == 0
    assert written <= _topics(path)


def test_a_server_told_to_stop_finishes_or_refuses(path: Path) -> None:
    with hades_serve(path, NO_TCP) as server:
        with server.client() as client:
            hold = client.post("/v1/spaces/default/holds", json={"kind": "batch"}).json()["hold"]
            client.put(
                f"{STATES}/undone", json={"content": "x"}, headers={"Hades-Hold": hold}
            ).raise_for_status()
            client.post(f"/v1/spaces/default/holds/{hold}/commit").raise_for_status()
            writers = Writers(server)
            assert writers.enough.wait(60)
            assert server.stop() == 0
        written = writers.join()
        assert not Path(server.where("rw")).exists()
    there = _topics(path)
    assert written <= there
    # One write a client may have been done without its answer being heard.
    assert len(there - written) <= 1 + 4


def test_a_batch_nobody_commits_is_undone_when_the_server_stops(path: Path) -> None:
    with hades_serve(path, NO_TCP) as server, server.client() as client:
        hold = client.post("/v1/spaces/default/holds", json={"kind": "batch"}).json()["hold"]
        client.put(
            f"{STATES}/undone", json={"content": "x"}, headers={"Hades-Hold": hold}
        ).raise_for_status()
        assert server.stop() == 0
    assert _topics(path) == set()


def test_overload_is_refused_and_passes(path: Path) -> None:
    with hades_serve(path, NO_TCP, "--waiting", "2") as server:
        statuses: list[int] = []
        waits: set[str | None] = set()

        def ask() -> None:
            with server.client() as client:
                for number in range(15):
                    answer = client.put(f"{STATES}/{number}", json={"content": str(number)})
                    statuses.append(answer.status_code)
                    if answer.status_code == 503:
                        waits.add(answer.headers.get("retry-after"))

        threads = [threading.Thread(target=ask) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) <= {200, 201, 503}
        assert statuses.count(503) > 0
        assert waits == {"1"}
        with server.client() as client:
            assert client.put(f"{STATES}/after", json={"content": "x"}).status_code == 201
        assert server.stop() == 0


@pytest.mark.parametrize("after_s", [0, 0.3, 0.6, 0.7, 0.9])
def test_a_server_stopped_while_it_warms_ends_in_order(path: Path, after_s: float) -> None:
    with hades_serve(path, NO_TCP) as server:
        time.sleep(after_s)
        assert server.stop() == 0


def test_a_second_server_at_the_same_sockets_is_refused(path: Path, tmp_path: Path) -> None:
    with hades_serve(path, "--port", "0") as server:
        port = server.where("http").rpartition(":")[2]
        for options in (
            ["--no-tcp", f"--rw-socket={server.where('rw')}"],
            ["--port", port],
        ):
            again = subprocess.run(
                [*COMMAND, "serve", "--memory", str(path), *options],
                env=environment(),
                capture_output=True,
                text=True,
            )
            assert again.returncode == 2
            assert "Another" in again.stderr
            assert len(again.stderr.splitlines()) == 1
        with server.client("ro") as client:
            assert client.get("/v1").status_code == 200


def test_first_start_gives_a_link_and_later_ones_do_not(path: Path) -> None:
    with hades_serve(path, "--port", "0") as server:
        given = httpx.get(server.told["link"]).json()
        bearer = {"Authorization": f"Bearer {given['key']}"}
        assert httpx.get(f"{server.where('http')}/v1", headers=bearer).json()["role"] == "admin"
        assert server.stop() == 0
    with hades_serve(path, "--port", "0") as server:
        assert server.told["link"] is None
        assert httpx.get(f"{server.where('http')}/v1", headers=bearer).status_code == 200


def test_it_is_ready_once_it_is_warm(path: Path) -> None:
    with hades_serve(path, NO_TCP) as server, server.client("ro") as client:
        assert client.get("/healthz").status_code == 200
        until = time.monotonic() + 120
        while client.get("/readyz").status_code != 200:
            assert time.monotonic() < until
            time.sleep(0.1)


def test_a_server_for_reading_only_writes_nothing(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "x")
    with hades_serve(path, NO_TCP, "--read-only") as server, server.client("admin") as client:
        assert client.get(f"{STATES}/a").status_code == 200
        assert client.put(f"{STATES}/a", json={"content": "y"}).status_code == 503
    assert _topics(path) == {"a"}


def test_pages_of_named_origins_may_call(path: Path) -> None:
    origin = "https://notes.example"
    with hades_serve(path, "--port", "0", "--cors-origin", origin) as server:
        asking = {"Origin": origin, "Access-Control-Request-Method": "PUT"}
        asked = httpx.options(f"{server.where('http')}{STATES}/a", headers=asking)
        assert asked.headers["access-control-allow-origin"] == origin
        other = httpx.options(
            f"{server.where('http')}{STATES}/a", headers={**asking, "Origin": "https://x.example"}
        )
        assert other.status_code == 400


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--host", "0.0.0.0"], "--remote"),
        (["--no-tcp"], "nowhere to listen"),
        (["--memory", "http://127.0.0.1:1"], "name a memory file"),
        (["--memory", "no/such/folder/a.hades"], "folder"),
        (["--no-tcp", "--rw-socket", "x" * 120], "too long"),
    ],
)
def test_what_cannot_be_is_told_in_a_sentence(
    tmp_path: Path, options: list[str], sentence: str
) -> None:
    done = subprocess.run(
        [*COMMAND, "serve", "--memory", str(tmp_path / "a.hades"), "--port=0", *options]
        if "--no-tcp" not in options
        else [*COMMAND, "serve", "--memory", str(tmp_path / "a.hades"), *options],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_a_second_signal_ends_a_server_that_still_waits(path: Path) -> None:
    with (
        hades_serve(path, NO_TCP, "--grace", "60") as server,
        socket.socket(socket.AF_UNIX) as slow,
    ):
        slow.connect(server.where("rw"))
        slow.sendall(
            f"PUT {STATES}/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            "Content-Length: 20\r\n\r\n{".encode()
        )
        time.sleep(0.5)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(ONCE_S + 0.5)
        assert server.process.poll() is None
        assert server.stop() == 128 + signal.SIGTERM
    assert _topics(path) == set()
