"""Object storage: one deadline holds for each request, whatever the server does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hang_guard import within_a_minute

import hades
from hades.store import objects

pytest.importorskip("obstore", reason="the extra `archive` is not installed")

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
