"""Object storage: nothing is waited for or read without end, whatever the server does or holds."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from hang_guard import within_a_minute

import hades
from hades.store import objects
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


Answer = Callable[[BaseHTTPRequestHandler, threading.Event], None]


def drip(begun: bytes) -> Answer:
    """Begin an answer so, then send a byte now and then."""

    def answer(handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
        handler.wfile.write(begun)
        while not stop.wait(0.05):
            handler.wfile.write(b"a")

    return answer


def endless_list(handler: BaseHTTPRequestHandler, stop: threading.Event) -> None:
    """Answer with a page of a list that promises another."""
    body = b"""<ListBucketResult><IsTruncated>true</IsTruncated>
        <NextContinuationToken>more</NextContinuationToken><Contents><Key>texts/a/1.xz</Key>
        <Size>1</Size><LastModified>2030-01-01T00:00:00.000Z</LastModified></Contents>
        </ListBucketResult>"""
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


ENTITY = b'ETag: "x"\r\nLast-Modified: Tue, 01 Jan 2030 00:00:00 GMT\r\nContent-Length: 9999\r\n'

SLOW: dict[str, Answer] = {
    "head": drip(b"HTTP/1.1 200 OK\r\nX-Slow: "),
    "body": drip(b"HTTP/1.1 200 OK\r\n" + ENTITY + b"\r\n"),
    "silent": lambda handler, stop: (stop.wait(), None)[1],
}


@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Answer], str]]:
    """A function that starts a store of these answers and returns the place of an archive."""
    stop = threading.Event()
    servers: list[ThreadingHTTPServer] = []

    def serve(answer: Answer) -> str:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except OSError:  # the client had enough
                    self.close_connection = True

            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("content-length", 0)))
                answer(self, stop)

            do_PUT = do_POST = do_GET

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        for name, value in {
            "AWS_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        return "s3://old/texts"

    yield serve
    stop.set()
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("slow", SLOW, ids=SLOW)
def test_a_store_that_is_slow_is_given_up(
    serving: Callable[[Answer], str], monkeypatch: pytest.MonkeyPatch, slow: str
) -> None:
    monkeypatch.setattr(objects, "_ANSWER_S", 0.2)
    monkeypatch.setattr(objects, "_RETRIED_S", 0.2)
    bucket = objects.open_objects(serving(SLOW[slow]))
    calls: list[Callable[[], object]] = [
        lambda: bucket.get("a/1.xz"),
        lambda: bucket.size("a/"),
        lambda: bucket.remove("a/1.xz"),
    ]
    for call in calls:
        said = within_a_minute(call)
        assert isinstance(said, hades.Unavailable)
        assert "s3://old/texts cannot be used" in str(said)


def test_a_list_without_end_is_given_up(
    serving: Callable[[Answer], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "_LISTED_S", 0.5)
    bucket = objects.open_objects(serving(endless_list))
    said = within_a_minute(lambda: bucket.size("a/"))
    assert isinstance(said, hades.Unavailable)
    assert "listing it takes longer than 0.5 seconds" in str(said)
