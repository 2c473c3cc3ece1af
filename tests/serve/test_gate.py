"""The gate: by each way in one may do what that way is for, and nothing more."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from served_making import STATES, Served, Serving

from hades.serve.auth import connection
from hades.serve.auth.caller import Role
from hades.serve.auth.keys import Keys
from hades.serve.auth.limits import Buckets
from hades.serve.auth.link import FirstLink
from hades.serve.auth.middleware import Limits

pytest_plugins = ["served_fixtures"]

CALLS: dict[str, tuple[str, str, Any]] = {
    "read": ("GET", "/v1/spaces/default/topics", None),
    "write": ("PUT", f"{STATES}/new", {"content": "x"}),
    "purge": ("DELETE", f"{STATES}/old?purge=true", None),
    "admin": ("GET", "/v1/admin/keys", None),
}


def _statuses(client: httpx.Client) -> dict[str, int]:
    with client:
        return {
            name: client.request(method, path, json=body).status_code
            for name, (method, path, body) in CALLS.items()
        }


@pytest.mark.parametrize(
    ("way", "expected"),
    [
        ("ro", {"read": 200, "write": 403, "purge": 403, "admin": 404}),
        ("rw", {"read": 200, "write": 201, "purge": 403, "admin": 404}),
        ("admin", {"read": 200, "write": 201, "purge": 200, "admin": 200}),
    ],
)
def test_a_socket_is_for_what_it_is_for(served: Served, way: str, expected: dict[str, int]) -> None:
    with served.by("admin") as operator:
        operator.put(f"{STATES}/old", json={"content": "x"}).raise_for_status()
    assert _statuses(served.by(way)) == expected


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Role.READER, {"read": 200, "write": 403, "purge": 403, "admin": 404}),
        (Role.WRITER, {"read": 200, "write": 201, "purge": 403, "admin": 404}),
        (Role.ADMIN, {"read": 200, "write": 201, "purge": 200, "admin": 404}),
    ],
    ids=["reader", "writer", "admin"],
)
def test_a_key_is_for_its_role_and_never_for_files_of_this_machine(
    served: Served, role: Role, expected: dict[str, int]
) -> None:
    with served.by("admin") as operator:
        operator.put(f"{STATES}/old", json={"content": "x"}).raise_for_status()
    assert _statuses(served.by("http", served.key(role))) == expected


def test_by_tcp_a_key_is_needed_and_at_a_socket_it_gives_no_more(served: Served) -> None:
    assert set(_statuses(served.by("http")).values()) == {401}
    assert set(_statuses(served.by("http", "hades_00000000_" + "0" * 64)).values()) == {401}
    assert set(_statuses(served.by("rw", "nonsense")).values()) == {401}
    assert _statuses(served.by("ro", served.key(Role.ADMIN)))["write"] == 403
    assert _statuses(served.by("admin", served.key(Role.READER)))["admin"] == 404


def test_a_key_opens_its_spaces_only(served: Served) -> None:
    with served.by("admin") as operator:
        operator.post("/v1/spaces", json={"name": "theirs"}).raise_for_status()
    with served.by("http", served.key(Role.WRITER, ["theirs"])) as client:
        assert client.get("/v1/spaces/theirs/topics").status_code == 200
        assert client.get("/v1/spaces/default/topics").status_code == 403
        assert client.put(f"{STATES}/a", json={"content": "x"}).status_code == 403


def test_keys_made_and_revoked_are_known_at_once(served: Served) -> None:
    _, token = served.keys.create("laptop", Role.READER)
    others = Keys(served.keys.path)  # as another process has it
    with served.by("http", token) as client:
        assert client.get("/v1").json()["caller"] == "key:laptop"
        others.revoke("laptop")
        refused = client.get("/v1")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        _, token = others.create("laptop", Role.READER)
        assert client.get("/v1").status_code == 401
        client.headers["Authorization"] = f"Bearer {token}"
        assert client.get("/v1").status_code == 200
    served.keys.flush()
    assert others.listed()[0].used_at is not None


def test_keys_others_could_have_read_are_not_trusted(served: Served) -> None:
    token = served.key(Role.ADMIN)
    served.keys.path.chmod(0o644)
    with served.by("http", token) as client:
        assert client.get("/v1").status_code == 503
        served.keys.path.chmod(0o600)
        assert client.get("/v1").status_code == 200


def test_the_first_link_gives_one_key_once(served: Served) -> None:
    with served.by("http") as client:
        assert client.get("/link", params={"token": "wrong"}).status_code == 401
        assert client.head("/link", params={"token": served.link.token}).status_code == 405
        given = client.get("/link", params={"token": served.link.token})
        assert given.headers["cache-control"] == "no-store"
        client.headers["Authorization"] = f"Bearer {given.json()['key']}"
        assert client.get("/v1").json()["role"] == "admin"
        assert client.get("/link", params={"token": served.link.token}).status_code == 401


def test_of_some_who_open_the_first_link_at_once_one_gets_the_key(path: Path) -> None:
    def slow() -> float:
        time.sleep(0.05)
        return 0.0

    link = FirstLink(Keys(path.with_suffix(".keys")), clock=slow)
    with ThreadPoolExecutor(4) as threads:
        given = list(threads.map(link.exchange, [link.token] * 4))
    assert sum(one is not None for one in given) == 1


def test_the_first_link_is_good_for_a_while_and_while_there_are_no_keys(path: Path) -> None:
    now = [0.0]
    keys = Keys(path.with_suffix(".keys"))
    late = FirstLink(keys, valid_s=60, clock=lambda: now[0])
    now[0] = 61
    assert late.exchange(late.token) is None
    link = FirstLink(keys, clock=lambda: now[0])
    keys.create("laptop", Role.READER)
    assert link.exchange(link.token) is None


def test_a_key_that_asks_too_often_waits(serving: Serving) -> None:
    with serving(limits=Limits(requests_per_s=2)) as served:
        eager, other = served.key(Role.READER), served.key(Role.READER)
        with served.by("http", eager) as client:
            answers = [client.get("/v1") for _ in range(30)]
        refused = [one for one in answers if one.status_code == 429]
        assert answers[0].status_code == 200
        assert refused[-1].headers["retry-after"] == "1"
        assert refused[-1].json()["code"] == "Unavailable"
        with served.by("http", other) as client:
            assert client.get("/v1").status_code == 200
        with served.by("rw") as client:
            assert {client.get("/v1").status_code for _ in range(30)} == {200}


def test_guessing_keys_is_slowed_down(served: Served) -> None:
    with served.by("http", "hades_00000000_0") as client:
        statuses = {client.get("/v1").status_code for _ in range(60)}
    assert statuses == {401, 429}


def test_tokens_come_back_with_time() -> None:
    now = [0.0]
    buckets = Buckets(2, burst=4, clock=lambda: now[0])
    assert [buckets.take("a") for _ in range(5)] == [0, 0, 0, 0, 0.5]
    now[0] = 0.5
    assert buckets.take("a") == 0
    assert buckets.take("a") == 0.5
    assert buckets.take("b") == 0


def _pieces(pieces: int) -> Iterator[bytes]:
    for _ in range(pieces):
        yield b"x" * 10_000


def test_too_much_is_refused_whether_its_length_is_told_or_not(serving: Serving) -> None:
    with serving(limits=Limits(body_bytes=50_000)) as served, served.by("rw") as client:
        told = client.put(f"{STATES}/a", json={"content": "x" * 60_000})
        assert (told.status_code, told.json()["code"]) == (413, "InvalidInput")
        untold = client.put(
            f"{STATES}/a", content=_pieces(100), headers={"Content-Type": "application/json"}
        )
        assert (untold.status_code, untold.json()["title"]) == (413, "Request Entity Too Large")
        assert client.get(f"{STATES}/a").status_code == 404
        assert client.put(f"{STATES}/a", json={"content": "x" * 40_000}).status_code == 201


def _connected(served: Served, way: str = "rw") -> socket.socket:
    raw = socket.socket(socket.AF_UNIX)
    raw.settimeout(20)
    raw.connect(served.listening[way].where)
    return raw


@pytest.mark.parametrize("call", ["ask", "rank", "recall", "search"])
def test_a_question_is_no_book(served: Served, call: str) -> None:
    with served.by("ro") as client:
        asked = {"question": "x" * 1_100_000}
        answer = client.post(f"/v1/spaces/default/{call}", json=asked)
        assert answer.status_code == 413
        assert answer.json()["detail"] == "A request has at most 1,048,576 bytes: send it in parts."


@pytest.mark.parametrize(
    "call", ["PUT /v1/spaces/default/states/a", "POST /v1/spaces/default/recall", "POST /mcp"]
)
def test_a_client_that_goes_is_no_error(
    served: Served, call: str, caplog: pytest.LogCaptureFixture
) -> None:
    with _connected(served) as raw:
        head = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        raw.sendall(f"{call} HTTP/1.1\r\nHost: x\r\n{head}Content-Length: 99\r\n\r\n{{".encode())
        time.sleep(0.1)
    for _ in range(100):
        if served.audit.tail():
            break
        time.sleep(0.05)
    assert [one["status"] for one in served.audit.tail()] == [400]
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []


def test_a_body_that_drips_is_not_waited_for(serving: Serving) -> None:
    with serving(limits=Limits(body_patience_s=0.3)) as served:
        with _connected(served) as raw:
            raw.sendall(
                f"PUT {STATES}/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                'Content-Length: 20\r\n\r\n{"con'.encode()
            )
            assert raw.recv(4096).startswith(b"HTTP/1.1 408 ")
        with served.by("rw") as client:
            assert client.get(f"{STATES}/a").status_code == 404


@pytest.mark.parametrize("beginning", [b"", b"GET /v1 HTTP/1.1\r\nHost: x\r\nX-Slow: "])
def test_a_head_that_drips_is_hung_up_on_and_others_are_served(
    serving: Serving, beginning: bytes
) -> None:
    with serving(head_s=0.5) as served:
        slow = [_connected(served) for _ in range(50)]
        over = threading.Event()

        def drip() -> None:
            while not over.is_set():
                for raw in slow:
                    try:
                        raw.sendall(beginning[:1] or b"")
                    except OSError:
                        return
                time.sleep(0.05)

        for raw in slow:
            raw.sendall(beginning)
        dripping = threading.Thread(target=drip)
        dripping.start()
        with served.by("rw") as client:
            assert client.get("/v1").status_code == 200
        for raw in slow:
            with suppress(ConnectionError):
                assert raw.recv(1024) == b""
            raw.close()
        over.set()
        dripping.join()


def test_an_answer_nobody_reads_is_not_kept_for_ever(serving: Serving) -> None:
    with serving(read_s=0.3) as served:
        with served.by("rw") as client:
            client.put(f"{STATES}/long", json={"content": "x" * 4_000_000}).raise_for_status()
        with _connected(served) as raw:
            raw.sendall(f"GET {STATES}/long HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            time.sleep(1.5)
            read = 0
            with suppress(ConnectionError):
                while piece := raw.recv(100_000):
                    read += len(piece)
        assert read < 4_000_000


def _ask(raw: socket.socket, path: str, times: int = 1) -> None:
    """Ask without reading more of the answer than that it began."""
    raw.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * times)
    raw.recv(1, socket.MSG_PEEK)


def _rest(raw: socket.socket, at_most: int) -> int:
    read = 0
    with suppress(ConnectionError):
        while read < at_most and (piece := raw.recv(100_000)):
            read += len(piece)
    return read


def test_answers_nobody_reads_are_bounded_all_together(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection.Connection, "unread_bytes_at_most", 6_000_000)
    with serving() as served:
        with served.by("rw") as client:
            client.put(f"{STATES}/long", json={"content": "x" * 4_000_000}).raise_for_status()
        with _connected(served) as first, _connected(served) as second, _connected(served) as third:
            for raw in (first, second, third):
                _ask(raw, f"{STATES}/long")
            assert _rest(third, 4_000_000) >= 4_000_000
            assert _rest(second, 4_000_000) < 1_000_000
            assert _rest(first, 4_000_000) < 1_000_000


def test_who_does_not_read_is_answered_nothing_more(serving: Serving) -> None:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    asked = []

    async def long(request: Request) -> PlainTextResponse:
        asked.append(request.url.query)
        return PlainTextResponse("x" * 4_000_000)

    with serving(app=Starlette(routes=[Route("/long", long)])) as served:
        with _connected(served, "ro") as raw, served.by("ro") as client:
            _ask(raw, "/long", times=3)
            assert len(client.get("/long?other").text) == 4_000_000
            assert asked == ["", "other"]
            assert _rest(raw, 12_000_000) >= 12_000_000
        assert asked == ["", "other", "", ""]


def test_a_stream_of_events_does_not_keep_a_server_from_stopping(serving: Serving) -> None:
    from starlette.applications import Starlette
    from starlette.responses import StreamingResponse
    from starlette.routing import Route

    async def events(_request: Any) -> StreamingResponse:
        async def told() -> Any:
            while True:
                yield b"data: still here\n\n"
                await asyncio.sleep(0.01)

        return StreamingResponse(told(), media_type="text/event-stream")

    app = Starlette(routes=[Route("/events", events)])
    with serving(app=app, grace_s=3600) as served:
        client = served.by("ro")
        stream = client.stream("GET", "/events")
        assert next(stream.__enter__().iter_lines()) == "data: still here"
    with suppress(httpx.TransportError):
        stream.__exit__(None, None, None)
    client.close()


def test_a_head_without_end_is_refused(served: Served) -> None:
    with _connected(served) as raw:
        raw.sendall(b"GET /v1 HTTP/1.1\r\nHost: x\r\nX-Long: ")
        with suppress(OSError):
            for _ in range(connection.HEAD_BYTES_AT_MOST // 10_000 + 20):
                raw.sendall(b"y" * 10_000)
        assert raw.recv(4096).startswith(b"HTTP/1.1 431 ")


CHUNKED = (
    b"POST /v1/spaces/default/recall HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
)


@pytest.mark.parametrize(
    ("begins", "goes_on"),
    [
        (b"0\r\n", b"x-1: " + b"a" * 10_000 + b"\r\n"),
        (b"0\r\nx-1: ", b"a" * 10_000),
        (b"2;a=", b"a" * 10_000),
    ],
    ids=["trailers", "one long trailer", "a chunk extension"],
)
def test_what_comes_after_a_body_does_not_come_for_ever(
    served: Served, begins: bytes, goes_on: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "LINGER_S", 3600)
    with _connected(served) as raw:
        raw.sendall(CHUNKED + begins)
        with pytest.raises(OSError, match=r"reset|pipe"):
            raw.sendall(goes_on * 10_000)


def test_trailers_are_dropped_and_the_connection_goes_on(served: Served) -> None:
    with _connected(served) as raw:
        for _ in range(3):
            raw.sendall(CHUNKED + b"0\r\nHades-Hold: x\r\nx-1: " + b"a" * 30_000 + b"\r\n\r\n")
            answer = b""
            while not answer.endswith(b"}]}"):
                answer += raw.recv(4096)
            assert answer.startswith(b"HTTP/1.1 422 ")


def test_more_clients_than_fit_are_told_to_come_back(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CONNECTIONS_AT_MOST", 2)
    with serving() as served:
        first, second = _connected(served), _connected(served)
        with served.by("rw") as client:
            full = client.get("/v1")
            assert (full.status_code, full.headers["retry-after"]) == (503, "1")
            first.close()
            second.close()
            for _ in range(100):
                if client.get("/v1").status_code == 200:
                    break
                time.sleep(0.05)
            assert client.get("/v1").status_code == 200


def test_another_name_for_this_machine_is_not_answered(served: Served) -> None:
    with served.by("http", served.key(Role.READER)) as client:
        for name in ("localhost:8674", "127.0.0.1", "[::1]:8674", "LOCALHOST"):
            assert client.get("/v1", headers={"Host": name}).status_code == 200
        for name in ("evil.example", "localhost.evil.example:8674", "127.0.0.1.evil.example", ""):
            assert client.get("/v1", headers={"Host": name}).status_code == 421


def test_answers_are_safe_for_browsers_and_have_an_id(served: Served) -> None:
    with served.by("http", served.key(Role.READER)) as client:
        headers = client.get("/v1", headers={"Origin": "https://page.example"}).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["content-security-policy"] == "default-src 'none'"
        assert headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers
        given = client.get("/v1", headers={"X-Request-ID": "order-66"})
        assert given.headers["x-request-id"] == "order-66"
        odd = client.get("/v1", headers={"X-Request-ID": "a b\tc"})
        assert len(odd.headers["x-request-id"]) == 16


def test_whoever_watches_over_the_server_needs_no_key(served: Served) -> None:
    with served.by("http") as client:
        assert [client.get(page).status_code for page in ("/healthz", "/readyz")] == [200] * 2
        # Metrics name every space, and who else is on this machine is not known.
        assert client.get("/metrics").status_code == 401
        assert client.get("/openapi.json").status_code == 401
    with served.by("http", served.key(Role.READER)) as client:
        assert client.get("/metrics").status_code == 200
    with served.by("ro") as client:
        assert client.get("/metrics").status_code == 200


def test_what_no_gate_let_in_is_refused(served: Served) -> None:
    from hades.serve.auth.middleware import Gate

    said: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        said.append(message)

    async def app(*_: Any) -> None:
        raise AssertionError("reached")

    async def receive() -> Any:
        raise AssertionError("read")

    scope = {"type": "http", "method": "GET", "path": "/v1", "headers": [], "query_string": b""}
    asyncio.run(Gate(app, served.keys)(scope, receive, send))
    assert said[0]["status"] == 403


def test_an_app_that_breaks_gives_a_problem_not_a_trace(serving: Serving) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            for step in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{step}.complete"})
            return
        raise RuntimeError("secret of the house")

    with serving(app=broken) as served, served.by("rw") as client:
        answer = client.get("/v1")
    assert answer.status_code == 500
    assert "secret" not in answer.text


def test_the_audit_log_names_the_user_at_a_socket(served: Served) -> None:
    with served.by("rw") as client:
        client.put(f"{STATES}/about%2Fsecrets", json={"content": "the treasure"})
    line = served.audit.tail(1)[0]
    assert line["who"] == f"uid:{os.getuid()}"
    assert (line["mode"], line["space"], line["status"]) == ("RW", "default", 201)
    assert "secrets" not in json.dumps(line)
