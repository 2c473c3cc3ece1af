"""A server that fails again and again is left alone for a while, and found again by itself."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

import hades
from hades import breaker
from hades.breaker import Breaker, RefusedByServer, breaker_of
from hades.models.chat import open_chat_model
from hades.models.openai_encoder import OpenAIEncoder
from hades.store.objects import open_objects
from tests.models.chat_making import scripted, use


class Seconds:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> Seconds:
    seconds = Seconds()
    monkeypatch.setattr(breaker, "clock", seconds)
    return seconds


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _fail(of: Breaker, error: Exception) -> None:
    with pytest.raises(type(error)), of.guard():
        raise error


def test_it_opens_after_failures_in_a_row_and_names_the_reason(seconds: Seconds) -> None:
    server = Breaker("server", failures=2, seconds=30)
    _fail(server, hades.Unavailable("It did not answer."))
    with server.guard():
        pass  # one success forgets the failure
    _fail(server, hades.Unavailable("It did not answer."))
    assert not server.is_open
    _fail(server, hades.Unavailable("It burns."))
    assert server.is_open
    seconds.now = 10
    with pytest.raises(hades.Unavailable, match=r"server .* in 20 s\. .* It burns\."):
        server.guard().__enter__()


@pytest.mark.parametrize(
    "error",
    [hades.InvalidInput("bad request"), hades.Denied("key"), RefusedByServer("no"), OSError()],
)
def test_what_the_caller_did_wrong_opens_nothing(seconds: Seconds, error: Exception) -> None:
    server = Breaker("server", failures=1, seconds=30)
    _fail(server, error)
    with server.guard():
        pass


def test_one_call_tries_again_while_others_still_fail(seconds: Seconds) -> None:
    server = Breaker("server", failures=1, seconds=30)
    _fail(server, hades.Unavailable("away"))
    seconds.now = 30
    with server.guard(), pytest.raises(hades.Unavailable, match="by another call right now"):
        server.guard().__enter__()
    with server.guard(), server.guard():
        assert not server.is_open


def test_a_failed_or_interrupted_trial_keeps_it_open(seconds: Seconds) -> None:
    server = Breaker("server", failures=1, seconds=30)
    _fail(server, hades.Unavailable("away"))
    seconds.now = 30
    _fail(server, hades.Unavailable("still away"))
    with pytest.raises(hades.Unavailable, match=r"in 30 s.*still away"):
        server.guard().__enter__()
    seconds.now = 60
    with pytest.raises(KeyboardInterrupt), server.guard():
        raise KeyboardInterrupt
    assert server.is_open
    with server.guard():  # the next one tries
        pass
    assert not server.is_open


def test_many_threads_make_a_single_trial(seconds: Seconds) -> None:
    server = Breaker("server", failures=1, seconds=30)
    _fail(server, hades.Unavailable("away"))
    seconds.now = 31
    go, admitted, refused = threading.Barrier(8), list[int](), list[int]()
    over = threading.Event()

    def call(number: int) -> None:
        go.wait()
        try:
            with server.guard():
                admitted.append(number)
                over.wait(30)
        except hades.Unavailable:
            refused.append(number)
            if len(refused) == 7:
                over.set()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(admitted), len(refused)) == (1, 7)


def _goes_down_and_comes_back(
    call: Callable[[], object], is_asked: Callable[[], int], seconds: Seconds
) -> None:
    """`call` fails three times, then at once without asking, then tries again."""
    for _ in range(3):
        with pytest.raises(hades.Unavailable):
            call()
    asked = is_asked()
    for _ in range(3):
        with pytest.raises(hades.Unavailable, match="failed 3 times in a row and is tried again"):
            call()
    assert is_asked() == asked
    seconds.now += 30


def test_a_model_server(monkeypatch: pytest.MonkeyPatch, seconds: Seconds) -> None:
    port = _free_port()
    use(monkeypatch, f"http://127.0.0.1:{port}/v1")

    def ask() -> str:
        return open_chat_model().complete("Be brief.", "Why?", max_tokens=20)[0]

    _goes_down_and_comes_back(ask, lambda: 0, seconds)
    with scripted((503, b"{}"), "Because.", port=port) as server:
        with pytest.raises(hades.Unavailable):  # the trial fails
            ask()
        with pytest.raises(hades.Unavailable, match="in 30 s"):
            ask()
        assert len(server.requests) == 1
        seconds.now += 30
        assert ask() == "Because."
        server.say((400, b'{"error": {"message": "too long"}}'))
        for _ in range(4):  # a mistake of the caller
            with pytest.raises(hades.InvalidInput):
                ask()
        assert not breaker_of(server.url).is_open


def test_an_embedding_server(seconds: Seconds) -> None:
    async def sleep(_seconds: float) -> None:
        pass

    vectors = json.dumps({"data": [{"index": 0, "embedding": [1.0, 0.0]}]}).encode()
    with scripted((503, b"busy")) as server:
        encoder = OpenAIEncoder(server.url, "mini", sleep=sleep)
        _goes_down_and_comes_back(
            lambda: encoder.encode(["a"]), lambda: len(server.requests), seconds
        )
        server.say(vectors)
        assert encoder.encode(["a"]).shape == (1, 2)
        assert encoder.encode(["a"]).shape == (1, 2)


def test_an_object_store(monkeypatch: pytest.MonkeyPatch, seconds: Seconds) -> None:
    pytest.importorskip("obstore", reason="the extra `archive` is not installed")
    port = _free_port()
    keys = {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "eu-1"}
    for name, value in {
        "AWS_ENDPOINT": f"http://127.0.0.1:{port}",
        "AWS_ALLOW_HTTP": "true",
        **keys,
    }.items():
        monkeypatch.setenv(name, value)
    bucket = open_objects("s3://old/texts")
    _goes_down_and_comes_back(lambda: bucket.get("a/1.xz"), lambda: 0, seconds)
    with pytest.raises(hades.Unavailable, match="cannot be used"):  # the trial
        bucket.put("a/1.xz", b"text")
    with pytest.raises(hades.Unavailable, match="s3://old is not asked"):
        open_objects("s3://old/others").get("b/1.xz")
    statuses = [404, 403, 403, 403, 403, 404]

    class Store(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(statuses.pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    seconds.now += 30
    with HTTPServer(("127.0.0.1", port), Store) as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        assert bucket.get("a/1.xz") is None  # it is back
        for _ in range(4):  # a key without the right to read is not a failure of the store
            with pytest.raises(hades.Unavailable, match="403"):
                bucket.get("a/1.xz")
        assert bucket.get("a/1.xz") is None
        server.shutdown()
