"""Requests sent in a row, before their answers: none is cut off, and none is in others' way."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from served_making import STATES, Served, Serving

import hades
from hades.serve import listen
from hades.serve.auth import connection
from hades.serve.auth.connection import AT_ONCE_IN_A_ROW, Connection
from hades.serve.auth.middleware import Gate

pytest_plugins = ["served_fixtures"]

READ = f"GET {STATES}/a HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()
"""What is answered at once."""
CALL = b"GET /call HTTP/1.1\r\nhost: localhost\r\n\r\n"
"""What is not."""
SEND = b"POST /call HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n"


class Slow:
    """An app that answers everything after a while, and reads what it is sent first."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for kind in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{kind}.complete"})
            return
        body = b""
        while scope["method"] == "POST":
            message = await receive()
            body += message["body"]
            if not message["more_body"]:
                break
        await asyncio.sleep(self.seconds)
        body = b"said " + body
        length = (b"content-length", str(len(body)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [length]})
        await send({"type": "http.response.body", "body": body})


@pytest.fixture(autouse=True)
def one_state(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "What is read.")


@contextmanager
def _connected(served: Served) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(30)
        line.connect(served.listening["ro"].where)
        yield line


def _answers(line: socket.socket, count: int) -> int:
    """How many answers came, of those that should."""
    got = b""
    with suppress(ConnectionError):
        while len(found := re.findall(rb"HTTP/1.1 200 OK", got)) < count:
            piece = line.recv(65536)
            if not piece:
                break
            got += piece
    return len(found)


def test_a_long_call_after_a_short_one_is_waited_for(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "KEEP_ALIVE_S", 0.2)
    with serving(app=Slow(1.0)) as served, _connected(served) as line:
        line.sendall(READ + CALL)
        assert _answers(line, 2) == 2


def test_a_body_may_come_slowly_after_another_call(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LINGER_S", 0.2)
    with serving(app=Slow(0.3)) as served, _connected(served) as line:
        line.sendall(CALL + SEND + b"{")
        time.sleep(1.0)
        line.sendall(b"}")
        assert _answers(line, 2) == 2


def test_a_head_that_the_server_does_not_read_yet_is_not_late(serving: Serving) -> None:
    with serving(app=Slow(0.5), head_s=0.3) as served, _connected(served) as line:
        line.sendall(CALL + CALL + CALL[:20])
        time.sleep(0.1)  # so that these are two reads
        line.sendall(CALL[20:])
        assert _answers(line, 3) == 3


@pytest.mark.parametrize("call", [READ, CALL], ids=["at once", "the long way"])
def test_empty_lines_do_not_keep_a_connection(serving: Serving, call: bytes) -> None:
    with serving(app=Slow(), head_s=0.3) as served, _connected(served) as line:
        line.sendall(call)
        assert _answers(line, 1) == 1
        line.settimeout(10)
        with suppress(ConnectionError):
            for _ in range(5):
                line.sendall(b"\r\n")
                time.sleep(0.02)
            while line.recv(65536):
                pass


def test_what_stands_in_line_is_not_more_than_one_read(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_line = []
    on_headers = Connection.on_headers_complete

    def on_headers_complete(self: Connection) -> None:
        on_headers(self)
        in_line.append(len(self.pipeline))

    monkeypatch.setattr(Connection, "on_headers_complete", on_headers_complete)
    calls = 5000
    long_call = CALL.replace(b"\r\n\r\n", b"\r\nx: " + b"y" * 950 + b"\r\n\r\n")
    with serving(app=Slow()) as served, _connected(served) as line:
        sending = threading.Thread(target=line.sendall, args=(long_call * calls,))
        sending.start()
        assert _answers(line, calls) == calls
        sending.join()
    assert len(in_line) == calls
    assert max(in_line) < 600  # uvloop reads 256 kB at most; before it there may be a rest


def test_many_in_a_row_take_turns_with_others(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads = [0]
    received, at_once = Connection.data_received, Gate.at_once

    def data_received(self: Connection, data: bytes) -> None:
        reads.append(0)
        received(self, data)

    def counted(self: Gate, scope: Any) -> Any:
        found = at_once(self, scope)
        reads[-1] += found is not None
        return found

    monkeypatch.setattr(Connection, "data_received", data_received)
    monkeypatch.setattr(Gate, "at_once", counted)
    calls = 10 * AT_ONCE_IN_A_ROW
    with serving() as served, _connected(served) as line:
        line.sendall(READ * calls)
        assert _answers(line, calls) == calls
    assert max(reads) == AT_ONCE_IN_A_ROW
    assert len(served.audit.tail(2 * calls)) == calls
