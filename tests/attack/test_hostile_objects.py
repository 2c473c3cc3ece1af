"""What lies in the archive is not what was put there: nothing is waited for or read without end."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import hades
from hades.store.objects import BYTES_AT_MOST, open_objects

HANG_S = 60.0
TOO_LARGE = 300 << 20


@pytest.fixture
def archived(path: Path) -> Iterator[tuple[hades.Memory, Path]]:
    """A memory, and the object in which its old version lies."""
    with hades.open(path) as memory:
        for day in (1, 2):
            memory.remember("plan", f"the plan of day {day}", valid_from=f"2024-01-0{day}")
        with memory.inside.store.transaction():  # what waits to be indexed is not archived
            memory.inside.store.database.run("DELETE FROM pending")
        memory.archive(older_than="2030-01-01", keep_versions=1)
        (found,) = path.with_name("notes.hades.archive").rglob("*.xz")
        yield memory, found


def _large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(TOO_LARGE)  # takes no room on the disk


HOSTILE: dict[str, tuple[Callable[[Path], None], str]] = {
    "a pipe nobody writes to": (os.mkfifo, "not a regular file"),
    "a device without an end": (lambda path: path.symlink_to("/dev/zero"), "not a regular file"),
    "a folder": (Path.mkdir, "not a regular file"),
    "300 MB": (_large, "is 300 MB, more than the limit of an object"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_an_object_that_is_none_is_refused_at_once(
    archived: tuple[hades.Memory, Path], what: str
) -> None:
    memory, path = archived
    put, said = HOSTILE[what]
    path.unlink()
    put(path)
    told: list[str] = []

    def read() -> None:
        try:
            memory.get("plan", version=1)
        except hades.Corrupt as error:
            told.append(str(error))

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(HANG_S)
    assert told, "it is still being read"
    assert said in told[0]
    assert [said in problem.what for problem in memory.check()] == [True]
    assert memory.get("plan").content == "the plan of day 2"


class _Endless(BaseHTTPRequestHandler):
    """An object store that promises a large object, and sends as much of it as is taken."""

    sent = 0

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(TOO_LARGE))
        self.send_header("Last-Modified", "Mon, 01 Jan 2024 00:00:00 GMT")
        self.send_header("ETag", '"x"')
        self.end_headers()
        part = b"x" * (1 << 20)
        try:
            while _Endless.sent < TOO_LARGE:
                self.wfile.write(part)
                _Endless.sent += len(part)
        except OSError:
            pass  # nobody reads on

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_large_object_of_a_store_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore", reason="the extra `archive` is not installed")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Endless)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    for name, value in {
        "AWS_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(hades.Corrupt, match="is 300 MB, more than the limit of an object"):
        open_objects("s3://old/texts").get("object")
    server.shutdown()
    server.server_close()
    assert _Endless.sent < BYTES_AT_MOST // 4
