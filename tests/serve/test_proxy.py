"""deploy/nginx.conf: a real nginx with that file, in front of a real server."""

from __future__ import annotations

import re
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from debian import program
from served_making import PATIENCE_S, STATES, Served, running
from test_uploads import tar_of

import hades

pytestmark = pytest.mark.slow

CONF = Path(__file__).parent.parent.parent / "deploy" / "nginx.conf"
NAME = "hades.example"
JOBS = "/v1/spaces/default/jobs"
AROUND = """
daemon off; master_process off; pid nginx.pid; error_log error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path body; proxy_temp_path proxied; fastcgi_temp_path fast;
    uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    include {site};
}}
"""


@dataclass
class Proxied:
    """A server behind nginx."""

    served: Served
    port: int
    token: str

    def client(self) -> httpx.Client:
        headers = {"Host": NAME, "Authorization": f"Bearer {self.token}"}
        return httpx.Client(
            base_url=f"https://127.0.0.1:{self.port}",
            verify=False,
            headers=headers,
            timeout=PATIENCE_S,
        )

    def connected(self) -> ssl.SSLSocket:
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        raw = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)
        return context.wrap_socket(raw, server_hostname=NAME)

    def send_half(self, opened: ExitStack, request: str) -> ssl.SSLSocket:
        """Begin to send a body, and leave it at that."""
        raw: ssl.SSLSocket = opened.enter_context(self.connected())
        raw.sendall(
            f"PUT {STATES}/slow HTTP/1.1\r\nHost: {NAME}\r\nX-Request-ID: {request}\r\n"
            f"Authorization: Bearer {self.token}\r\nContent-Type: application/json\r\n"
            'Content-Length: 20\r\n\r\n{"con'.encode()
        )
        return raw


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _changed(text: str, **said: str) -> str:
    """The file with other values, each of which it must have."""
    for name, value in said.items():
        text, found = re.subn(rf"\b{name} [^;]+;", f"{name} {value};", text)
        assert found, name
    return text


@pytest.fixture(scope="module")
def proxied(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxied]:
    """nginx with the file as it is, but for places and for limits a test can reach quickly."""
    nginx = program("nginx", "nginx-light", "openssl")
    if nginx is None or shutil.which("openssl") is None:
        pytest.skip("nginx or openssl is not there and cannot be installed: apt-get install both")
    folder = tmp_path_factory.mktemp("nginx")
    certificate, key, port = folder / "cert.pem", folder / "key.pem", _free_port()
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
            *("-subj", f"/CN={NAME}", "-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    with running(folder, limits={"hosts": frozenset({NAME})}) as served:
        text = CONF.read_text(encoding="utf-8")
        upstream = served.listening["http"].where.removeprefix("http://")
        text = text.replace("server 127.0.0.1:8674;", f"server {upstream};")
        text = text.replace("client_max_body_size 32m;", "client_max_body_size 32k;")
        text = _changed(
            text,
            listen=f"127.0.0.1:{port} ssl",
            ssl_certificate=str(certificate),
            ssl_certificate_key=str(key),
            client_body_timeout="1s",
        )
        text = text.replace("limit_conn hades_connections 20;", "limit_conn hades_connections 3;")
        (folder / "site.conf").write_text(text)
        (folder / "nginx.conf").write_text(AROUND.format(site=folder / "site.conf"))
        process = subprocess.Popen([nginx, "-p", str(folder), "-c", str(folder / "nginx.conf")])
        try:
            _await(port, process, folder)
            yield Proxied(served, port, served.key("writer"))
        finally:
            process.terminate()
            process.wait(20)


def _await(port: int, process: subprocess.Popen[Any], folder: Path) -> None:
    for _ in range(200):
        assert process.poll() is None, (folder / "error.log").read_text()
        with socket.socket() as asking:
            if asking.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("nginx does not listen")


def test_calls_pass_and_names_stay_whole(proxied: Proxied) -> None:
    with proxied.client() as client:
        assert client.put(f"{STATES}/a%2Fb", json={"content": "x"}).status_code == 201
        assert client.get(f"{STATES}/a%2Fb").json()["topic"] == "a/b"
        del client.headers["authorization"]
        assert client.get("/v1").status_code == 401


def test_only_files_may_be_large(proxied: Proxied) -> None:
    with proxied.client() as client:
        assert client.put(f"{STATES}/big", json={"content": "x" * 40_000}).status_code == 413
        sent = client.post(
            f"{JOBS}?source=docs",
            content=tar_of(("a.md", b"A." * 30_000)),
            headers={"content-type": "application/x-tar"},
        )
        assert sent.status_code == 202


def test_a_slow_body_never_reaches_the_server(proxied: Proxied) -> None:
    with ExitStack() as opened:
        raw = proxied.send_half(opened, "drip")
        answer = raw.recv(4096)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 408 ")
    assert "drip" not in {line["request"] for line in proxied.served.audit.tail()}


@pytest.fixture
def go(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Lets the jobs end that `resolve` began."""
    event = threading.Event()
    monkeypatch.setattr(hades.Memory, "resolve", lambda *_a, **_k: event.wait(600))
    yield event
    event.set()


def test_one_client_has_few_connections(proxied: Proxied, go: threading.Event) -> None:
    with ExitStack() as opened, proxied.client() as client:
        job = client.post("/v1/spaces/default/resolve").json()
        events = [
            opened.enter_context(client.stream("GET", f"{JOBS}/{job['id']}/events")).iter_lines()
            for _ in range(3)
        ]
        assert [next(lines) for lines in events] == [": here"] * 3
        assert client.get("/v1").status_code == 429
        go.set()


def test_events_are_passed_on_as_they_come(proxied: Proxied, go: threading.Event) -> None:
    with proxied.client() as client:
        job = client.post("/v1/spaces/default/resolve").json()
        with client.stream("GET", f"{JOBS}/{job['id']}/events") as stream:
            lines = stream.iter_lines()
            assert next(lines) == ": here"  # while the job still runs
            go.set()
            assert any(line == "event: done" for line in lines)
