"""Who gets in: keys, and what one may do at each listener."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import pytest
from served_making import STATES, Served, Serving
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import hades
from hades.serve.auth import keys as stored_keys
from hades.serve.auth.caller import Caller, Role
from hades.serve.auth.keys import Keys, keys_beside
from hades.serve.auth.middleware import AuthMiddleware
from tests.shell import run_hades

pytest_plugins = ["served_fixtures"]

CALLS: dict[str, tuple[str, str, Any]] = {
    "read": ("GET", "/v1/spaces/default/topics", None),
    "write": ("PUT", f"{STATES}/new", {"content": "x"}),
    "purge": ("POST", "/v1/spaces/default/purge", {"name": "old"}),
    "admin": ("GET", "/v1/admin/audit", None),
}


def _statuses(client: httpx.Client) -> dict[str, int]:
    with client:
        return {
            name: client.request(method, path, json=body).status_code
            for name, (method, path, body) in CALLS.items()
        }


MAY: dict[str, dict[str, int]] = {
    "ro": {"read": 200, "write": 403, "purge": 403, "admin": 404},
    "rw": {"read": 200, "write": 201, "purge": 403, "admin": 404},
    "admin": {"read": 200, "write": 201, "purge": 200, "admin": 200},
}


def _with_old(served: Served) -> None:
    with served.by("admin") as operator:
        for topic in ("old", "new"):
            operator.post("/v1/spaces/default/purge", json={"name": topic})
        operator.put(f"{STATES}/old", json={"content": "x"}).raise_for_status()


def test_a_socket_is_for_what_it_is_for(served: Served) -> None:
    for listener, expected in MAY.items():
        _with_old(served)
        assert _statuses(served.by(listener)) == expected, listener


def test_a_key_is_for_its_role_and_never_for_files_of_this_machine(served: Served) -> None:
    for role, listener in {"reader": "ro", "writer": "rw", "admin": "admin"}.items():
        _with_old(served)
        expected = MAY[listener] | {"admin": 404}
        assert _statuses(served.by("http", served.key(role))) == expected, role


def test_by_tcp_a_key_is_needed_and_at_a_socket_it_gives_no_more(served: Served) -> None:
    assert set(_statuses(served.by("http")).values()) == {401}
    assert set(_statuses(served.by("http", "hades_00000000_" + "0" * 64)).values()) == {401}
    assert set(_statuses(served.by("rw", "nonsense")).values()) == {401}
    assert _statuses(served.by("ro", served.key("admin")))["write"] == 403
    assert _statuses(served.by("admin", served.key("reader")))["admin"] == 404


def test_a_key_opens_its_spaces_only(served: Served) -> None:
    with served.by("admin") as operator:
        operator.post("/v1/spaces", json={"name": "theirs"}).raise_for_status()
    with served.by("http", served.key("writer", "theirs")) as client:
        assert client.get("/v1/spaces/theirs/topics").status_code == 200
        assert client.get("/v1/spaces/default/topics").status_code == 403
        assert client.put(f"{STATES}/a", json={"content": "x"}).status_code == 403


def test_keys_made_and_revoked_are_known_at_once(served: Served) -> None:
    token = served.key("reader", name="laptop")
    others = Keys(served.keys.path)  # as another process has it
    with served.by("http", token) as client:
        assert client.get("/v1").json()["caller"] == "key:laptop"
        others.revoke("laptop")
        refused = client.get("/v1")
        assert (refused.status_code, refused.headers["www-authenticate"]) == (401, "Bearer")
        token = served.key("reader", name="laptop")
        assert client.get("/v1").status_code == 401
        client.headers["Authorization"] = f"Bearer {token}"
        assert client.get("/v1").status_code == 200
    served.keys.flush()
    assert {key.name: key.used_at is not None for key in others.listed()}["laptop"]


def test_keys_others_could_have_read_are_not_trusted(served: Served) -> None:
    token = served.key("admin")
    served.keys.path.chmod(0o644)
    with served.by("http", token) as client:
        assert client.get("/v1").status_code == 503
        served.keys.path.chmod(0o600)
        assert client.get("/v1").status_code == 200


def _pieces(pieces: int) -> Iterator[bytes]:
    for _ in range(pieces):
        yield b"x" * 10_000


def test_too_much_is_refused_whether_its_length_is_told_or_not(serving: Serving) -> None:
    with serving(limits={"body_bytes": 50_000}) as served, served.by("rw") as client:
        told = client.put(f"{STATES}/a", json={"content": "x" * 60_000})
        assert (told.status_code, told.json()["code"]) == (413, "InvalidInput")
        untold = client.put(
            f"{STATES}/a", content=_pieces(100), headers={"Content-Type": "application/json"}
        )
        assert (untold.status_code, untold.json()["title"]) == (413, HTTPStatus(413).phrase)
        assert client.get(f"{STATES}/a").status_code == 404
        assert client.put(f"{STATES}/a", json={"content": "x" * 40_000}).status_code == 201


def _connected(served: Served, listener: str = "rw") -> socket.socket:
    raw = socket.socket(socket.AF_UNIX)
    raw.settimeout(60)
    raw.connect(served.listening[listener].where)
    return raw


def test_a_question_is_no_book(served: Served) -> None:
    with served.by("ro") as client:
        for call in ("ask", "rank", "recall", "search"):
            asked = {"question": "x" * 1_100_000}
            answer = client.post(f"/v1/spaces/default/{call}", json=asked)
            assert answer.status_code == 413, call
            sentence = "A request has at most 1,048,576 bytes: send it in parts."
            assert answer.json()["detail"] == sentence


def test_files_may_be_larger_than_what_is_read_into_memory(serving: Serving) -> None:
    limits = {"body_bytes": 20_000, "upload_bytes": 50_000}
    jobs = "/v1/spaces/default/jobs?source=docs"
    with serving(limits=limits) as served, served.by("rw") as client:

        def status(size: int, kind: str) -> int:
            return client.post(
                jobs, content=b"x" * size, headers={"content-type": kind}
            ).status_code

        assert [status(30_000, "application/x-tar"), status(60_000, "application/x-tar")] == [
            422,
            413,
        ]
        untold = client.post(
            jobs, content=_pieces(6), headers={"content-type": "application/x-tar"}
        )
        assert untold.status_code == 413


CALLS_CUT_OFF = (
    *("PUT /v1/spaces/default/states/a", "POST /v1/spaces/default/recall"),
    *("POST /mcp", "POST /v1/spaces/default/jobs?source=docs"),
)


def test_a_client_that_goes_is_no_error(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    for number, call in enumerate(CALLS_CUT_OFF):
        request = f"gone-{number}"
        kind = "application/x-tar" if "jobs" in call else "application/json"
        head = f"Content-Type: {kind}\r\nAccept: application/json, text/event-stream\r\n"
        with _connected(served) as raw:
            raw.sendall(
                f"{call} HTTP/1.1\r\nHost: x\r\nX-Request-ID: {request}\r\n{head}"
                "Content-Length: 99\r\n\r\n{".encode()
            )
        assert _logged(served, request)["status"] == 400, call
    assert [one.getMessage() for one in caplog.records if one.levelno >= logging.WARNING] == []


def _logged(served: Served, request: str) -> dict[str, Any]:
    """What the audit log says of a request, once it does."""
    for _ in range(400):
        for line in served.audit.tail():
            if line["request"] == request:
                return line
        time.sleep(0.05)
    raise AssertionError(f"{request} is not in the audit log")


def test_a_head_that_drips_is_hung_up_on_and_others_are_served(serving: Serving) -> None:
    with serving(head_s=1) as served:
        # The second request of a connection has the same limit.
        second = _connected(served)
        second.sendall(b"GET /v1 HTTP/1.1\r\nHost: x\r\n\r\n")
        assert second.recv(4096).startswith(b"HTTP/1.1 200 ")
        second.sendall(b"GET /v1 HTTP/1.1\r\nHost: ")
        silent, slow = (_connected(served) for _ in range(2))
        slow.sendall(b"GET /v1 HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        with served.by("rw") as client:
            assert client.get("/v1").status_code == 200
        for raw in (silent, slow, second):
            with suppress(ConnectionError):
                while raw.recv(4096):
                    pass
            raw.close()


def test_an_answer_may_take_longer_than_a_head(serving: Serving) -> None:
    async def late(_request: Any) -> PlainTextResponse:
        await asyncio.sleep(0.6)
        return PlainTextResponse("late")

    app = Starlette(routes=[Route("/late", late)])
    with serving(app=app, head_s=0.5) as served, served.by("ro") as client:
        assert [client.get("/late").text for _ in range(2)] == ["late", "late"]


def test_what_is_no_body_is_bounded(served: Served) -> None:
    chunked = (
        b"POST /v1/spaces/default/recall HTTP/1.1\r\nHost: localhost\r\n"
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n"
    )
    for begins, goes_on in (
        (b"GET /v1 HTTP/1.1\r\nHost: x\r\nX-Long: ", b"y" * 10_000),
        (chunked + b"0\r\n", b"x-1: " + b"a" * 10_000 + b"\r\n"),
        (chunked + b"0\r\nx-1: ", b"a" * 10_000),
        (chunked + b"2;a=", b"a" * 10_000),
    ):
        with _connected(served) as raw:
            raw.sendall(begins)
            with pytest.raises(OSError, match=r"reset|pipe"):
                raw.sendall(goes_on * 10_000)


def test_another_name_for_this_machine_is_not_answered(served: Served) -> None:
    with served.by("http", served.key("reader")) as client:
        for name in ("localhost:8674", "127.0.0.1", "[::1]:8674", "LOCALHOST"):
            assert client.get("/v1", headers={"Host": name}).status_code == 200, name
        for name in ("evil.example", "localhost.evil.example:8674", "127.0.0.1.evil.example", ""):
            assert client.get("/v1", headers={"Host": name}).status_code == 400, name


def test_answers_are_safe_for_browsers_and_have_an_id(served: Served) -> None:
    with served.by("http", served.key("reader")) as client:
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
    with served.by("http", served.key("reader")) as client:
        assert client.get("/metrics").status_code == 200
    with served.by("ro") as client:
        assert client.get("/metrics").status_code == 200


def test_a_request_by_no_known_listener_is_refused(path: Path) -> None:
    said: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        said.append(message)

    async def never(*_: Any) -> Any:
        raise AssertionError("reached")

    scope = {"type": "http", "method": "GET", "path": "/v1", "headers": [], "query_string": b""}
    asyncio.run(AuthMiddleware(never, Keys(path.with_suffix(".keys")))(scope, never, send))
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


@pytest.fixture
def keys(path: Path) -> Keys:
    return Keys(keys_beside(path))


def test_a_key_is_found_by_its_words_only(keys: Keys) -> None:
    key, token = keys.create("laptop", Role.WRITER, ["work", "home"])
    found = keys.find(token)
    assert found is not None
    assert found.caller == Caller("key:laptop", Role.WRITER, frozenset({"home", "work"}))
    for wrong in ("", "hades_", token[:-1], token + "0", f"hades_{key.id}_", key.digest, "é\udcff"):
        assert keys.find(wrong) is None


def test_the_file_is_private_and_has_no_key_in_it(keys: Keys) -> None:
    before = os.umask(0)
    _, token = keys.create("laptop", Role.ADMIN)
    os.umask(before)
    assert stat.S_IMODE(keys.path.stat().st_mode) == 0o600
    assert token.rpartition("_")[2] not in keys.path.read_text()
    assert [one.name for one in keys.path.parent.iterdir()] == [keys.path.name]


def test_a_file_others_may_read_is_refused(keys: Keys) -> None:
    _, token = keys.create("laptop", Role.ADMIN)
    keys.path.chmod(0o640)
    for call in (keys.listed, lambda: keys.find(token), lambda: keys.create("a", Role.READER)):
        with pytest.raises(hades.Denied, match="chmod 600"):
            call()


def test_a_damaged_file_lets_nobody_in(keys: Keys) -> None:
    _, token = keys.create("laptop", Role.ADMIN)
    for content in ("", "[]", '{"keys": [{}]}', '{"keys": [{"role": "god"}]}'):
        keys.path.write_text(content)
        with pytest.raises(hades.Corrupt, match="not a key file"):
            keys.find(token)


def test_names_are_told_apart(keys: Keys) -> None:
    first, _ = keys.create("laptop", Role.READER)
    with pytest.raises(hades.Conflict, match="already"):
        keys.create("laptop", Role.ADMIN)
    assert keys.revoke(first.id).name == "laptop"
    with pytest.raises(hades.NotFound, match="no key"):
        keys.revoke("laptop")


def test_keys_made_at_once_are_all_there(keys: Keys) -> None:
    def make(number: int) -> None:
        Keys(keys.path).create(f"key-{number}", Role.READER)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys.listed()) == 12


def test_writing_down_their_use_brings_no_revoked_key_back(keys: Keys) -> None:
    _, token = keys.create("laptop", Role.READER)
    keys.create("phone", Role.READER)
    assert keys.find(token) is not None
    Keys(keys.path).revoke("laptop")
    keys.flush()
    assert [key.name for key in keys.listed()] == ["phone"]


def test_the_commands(path: Path) -> None:
    def hades_(*words: str) -> str:
        done = run_hades("keys", *words, "--memory", str(path))
        assert done.exit_code == 0, done.output
        return done.stdout

    made = json.loads(
        hades_("create", "laptop", "--role", "writer", "--space", "a", "--space", "b", "--json")
    )
    assert (made["role"], made["spaces"]) == ("writer", ["a", "b"])
    assert hades_("create", "phone").startswith("hades_")
    listed = json.loads(hades_("list", "--json"))
    assert [one["name"] for one in listed] == ["laptop", "phone"]
    assert "key" not in listed[0]
    assert "sha256" not in listed[0]
    assert "never" in hades_("list")
    assert json.loads(hades_("revoke", "laptop", "--json"))["name"] == "laptop"
    assert "revoked phone" in hades_("revoke", "phone")
    refused = run_hades("keys", "create", "x", "--role", "god", "-m", str(path))
    assert refused.exit_code == 2


def test_the_last_use_is_the_last_one(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_keys, "FLUSH_EVERY_S", 0.1)
    made, token = keys.create("laptop", Role.READER)
    assert keys.find(token) is not None
    (first,) = keys.listed()  # in the process that saw the use, as the page asks
    keys.known(made.id)  # a request of a page that the key signed in
    left = threading.Event()
    writing = threading.Thread(target=keys.flush_until, args=(left,))
    writing.start()
    try:
        for _ in range(600):
            (others,) = Keys(keys.path).listed()  # as another process reads it
            if others.used_at != first.used_at:
                break
            left.wait(0.1)
    finally:
        left.set()
        writing.join()
    assert first.used_at is not None
    assert others.used_at is not None
    assert others.used_at > first.used_at
