"""A server for measuring: `hades serve` in a process of its own, and what it uses."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import quote

from bench.load import Order, Result

START_S = 120.0
_HADES = [sys.executable, "-c", "from hades.cli import main; main()"]


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    memory: Path
    port: int
    socket: Path
    key: str
    process: subprocess.Popen[bytes]

    def get(self, topic: str) -> str:
        """The request for the latest state of a topic."""
        return self._request("GET", f"/v1/spaces/default/states/{quote(topic)}")

    def recall(self, question: str) -> str:
        """The request for a recall."""
        return self._request("POST", "/v1/spaces/default/recall", {"question": question})

    def remember(self, topic: str, content: str) -> str:
        """The request for a write."""
        body = {"content": content}
        return self._request("PUT", f"/v1/spaces/default/states/{quote(topic)}", body)

    def _request(self, method: str, path: str, body: dict[str, str] | None = None) -> str:
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {self.key}\r\n"
        )
        if body is None:
            return head + "\r\n"
        text = json.dumps(body)
        return f"{head}content-type: application/json\r\ncontent-length: {len(text)}\r\n\r\n{text}"

    def resident_mb(self) -> float:
        """What it holds in memory; 0 where the system does not say."""
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            return 0.0
        line = next(one for one in status.read_text().splitlines() if one.startswith("VmRSS"))
        return int(line.split()[1]) / 1024

    def processor_s(self) -> float:
        """The processor time it has used; 0 where the system does not say."""
        stat = Path(f"/proc/{self.process.pid}/stat")
        if not stat.exists():
            return 0.0
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def served(memory: Path, folder: Path) -> Iterator[Served]:
    """A server over a memory, warm, without a limit of requests; stopped in the end."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    made = [*_HADES, "keys", "create", "bench", "--role", "writer", "--memory", str(memory)]
    key = subprocess.run(made, env=environment, check=True, capture_output=True, text=True).stdout
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    place = folder / "rw.sock"
    command = [*_HADES, "serve", "--memory", str(memory), "--port", str(port)]
    command += ["--rw-socket", str(place), "--log-level", "error"]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    try:
        _wait_until_ready(port)
        yield Served(memory, port, place, key.strip(), process)
    finally:
        process.terminate()
        process.wait(60)


def _wait_until_ready(port: int) -> None:
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        if _status(port, "/readyz") == 200:
            return
        time.sleep(0.1)
    raise RuntimeError("The server was not ready in time.")


def _status(port: int, path: str) -> int:
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        asking.request("GET", path)
        return asking.getresponse().status
    except OSError:
        return 0
    finally:
        asking.close()


def under_load(order: Order) -> Result:
    """What a client process saw."""
    return finished(started(order))


def started(order: Order) -> subprocess.Popen[str]:
    """A client process that begins now."""
    client = subprocess.Popen(
        [sys.executable, "-m", "bench.load"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert client.stdin is not None
    client.stdin.write(json.dumps(asdict(order)))
    client.stdin.close()
    client.stdin = None
    return client


def finished(client: subprocess.Popen[str]) -> Result:
    """Its result, when it is done."""
    out, _ = client.communicate()
    return Result(**json.loads(out))


@contextmanager
def probing(port: int) -> Iterator[list[float]]:
    """Ask /healthz ten times a second meanwhile; the milliseconds of each answer."""
    times: list[float] = []
    over = threading.Event()

    def probe() -> None:
        while not over.wait(0.1):
            begun = time.perf_counter()
            if _status(port, "/healthz") == 200:
                times.append((time.perf_counter() - begun) * 1000)

    asking = threading.Thread(target=probe)
    asking.start()
    try:
        yield times
    finally:
        over.set()
        with contextlib.suppress(RuntimeError):
            asking.join()
