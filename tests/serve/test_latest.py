"""A latest state is answered at once: as any other way would, to the same callers."""

from __future__ import annotations

import re
import socket
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest
from making import remember_story
from served_making import STATES, Served, Serving

import hades
from hades.serve.auth.caller import Caller, Role
from hades.serve.auth.middleware import Limits
from hades.serve.executor.breaker import FAILURES_IN_A_ROW
from hades.serve.executor.executor import Executor
from hades.serve.quick import LONG_BYTES, Latest

pytest_plugins = ["served_fixtures"]

X = "design/approach_x"
SHOWN = f'"topic":"{X}"'
CLOSE = "connection: close"
OWN = {"date", "x-request-id"}
TOPICS = [X, "a/ü b%2F", "long", "very long", "nobody", "x" * 5000, "ends"]


@pytest.fixture(autouse=True)
def story(path: Path) -> None:
    with hades.open(path) as memory:
        remember_story(memory)
        memory.remember("a/ü b%2F", "Odd.")
        memory.remember("long", "A long text. " * 500)
        memory.remember("very long", "The same again and again. " * 10_000)
        memory.remember("ends", "For now.")
        memory.remember("ends", "Later.", valid_from="2999")


def _both(client: httpx.Client, topic: str, **headers: str) -> tuple[httpx.Response, ...]:
    """The answer at once, the same as it is kept, and by the long way: it has a query."""
    address = f"{STATES}/{quote(topic)}"
    return tuple(client.get(a, headers=headers) for a in (address, address, f"{address}?"))


@pytest.mark.parametrize("topic", TOPICS)
@pytest.mark.parametrize("encoding", ["gzip", "identity"])
def test_it_is_the_same_both_ways(served: Served, topic: str, encoding: str) -> None:
    with served.by("ro") as client:
        first, kept, long = _both(client, topic, **{"accept-encoding": encoding})
    assert first.status_code == kept.status_code == long.status_code
    assert first.json() == kept.json() == long.json()
    if first.status_code == 200:
        said = [
            {name: value for name, value in one.headers.items() if name not in OWN}
            for one in (first, kept, long)
        ]
        assert said[0] == said[1] == said[2]
    calls = {line["call"] for line in served.audit.tail()}
    assert calls == {"GET /v1/spaces/{space:name}/states/{topic:topic}"}
    assert len(served.audit.tail()) == 3


def test_what_is_written_is_read_at_once_whoever_wrote_it(served: Served, path: Path) -> None:
    address = f"{STATES}/{X}"
    with served.by("rw") as client:
        for number in range(5):
            client.put(address, json={"content": f"By us {number}."}).raise_for_status()
            assert client.get(address).json()["content"] == f"By us {number}."
            with hades.open(path) as another:
                another.remember(X, f"By another {number}.")
            assert client.get(address).json()["content"] == f"By another {number}."
            assert client.get(address).json()["content"] == f"By another {number}."
        client.delete(address).raise_for_status()
        assert client.get(address).status_code == 404


def test_a_space_that_went_leaves_nothing_behind(served: Served, path: Path) -> None:
    with served.by("rw") as client, hades.open(path) as memory:
        memory.create_space("one")
        memory.in_space("one").remember("a", "Of one.")
        assert client.get("/v1/spaces/one/states/a").json()["content"] == "Of one."
        memory.drop_space("one")
        memory.create_space("two")
        assert client.get("/v1/spaces/one/states/a").status_code == 404
        assert client.get("/v1/spaces/two/states/a").status_code == 404


def test_what_was_mended_is_read_again(served: Served, path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("two", "First.")
        memory.remember("two", "Then.")
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "UPDATE topics AS t SET latest = "
            "(SELECT id FROM states WHERE topic = t.id AND version = 1) WHERE name = 'two'"
        )
    with served.by("admin") as client:
        assert client.get(f"{STATES}/two").json()["content"] == "First."
        client.post("/v1/admin/repair").raise_for_status()
        assert client.get(f"{STATES}/two").json()["content"] == "Then."


def test_a_damaged_topic_counts_once_each_time_it_is_read(served: Served, path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(
            "UPDATE states SET body = x'00' WHERE topic = (SELECT id FROM topics WHERE name = ?)",
            (X,),
        )
    with served.by("ro") as client:
        for _ in range(FAILURES_IN_A_ROW - 1):
            assert client.get(f"{STATES}/{X}").status_code == 500
        assert client.get(f"{STATES}/long").status_code == 200


def test_what_is_kept_is_only_for_who_may_read_it(served: Served, path: Path) -> None:
    address = f"{STATES}/{X}"
    with served.by("ro") as client:
        assert client.get(address).status_code == 200
    with hades.open(path) as memory:
        memory.create_space("other")
    key = served.key(Role.READER)
    with served.by("http", served.key(Role.READER, ["other"])) as client:
        assert client.get(address).status_code == 403
    with served.by("http") as client:
        assert client.get(address).status_code == 401
    with served.by("http", key) as client:
        assert client.get(address).status_code == 200
        assert client.get(address, headers={"host": "evil.example"}).status_code == 421
        served.keys.revoke("reader-0")
        assert client.get(address).status_code == 401
    statuses = [line["status"] for line in reversed(served.audit.tail())]
    assert statuses == [200, 403, 401, 200, 421, 401]


@pytest.mark.parametrize("mark", ["?", "#"])
def test_what_comes_after_a_path_is_no_part_of_a_name(
    served: Served, path: Path, mark: str
) -> None:
    with hades.open(path) as memory:
        memory.create_space(f"one{mark}")
        memory.in_space(f"one{mark}").remember("a", "Of another space.")
    got = _raw(served, f"GET /v1/spaces/one{mark}/states/a HTTP/1.1\r\nconnection: close\r\n\r\n")
    kept = _raw(served, f"GET /v1/spaces/one{mark}/states/a HTTP/1.1\r\n\r\n" + _get(X, CLOSE))
    for one in (got, kept):
        assert one.startswith("HTTP/1.1 405 ")
        assert "Of another space." not in one


def test_what_goes_wrong_at_once_is_logged_and_answered_the_long_way(
    served: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(Latest, "_read", fail)
    with served.by("ro") as client:
        assert client.get(f"{STATES}/{X}").status_code == 200
        assert client.get(f"{STATES}/nobody").status_code == 404
    assert [one.exc_info[0] for one in caplog.records if one.exc_info] == [ZeroDivisionError] * 2


def test_too_many_are_refused(serving: Serving) -> None:
    with serving(limits=Limits(requests_per_s=2)) as served:
        with served.by("http", served.key(Role.READER)) as client:
            statuses = [client.get(f"{STATES}/{X}").status_code for _ in range(6)]
        assert statuses[:4] == [200] * 4
        assert 429 in statuses


def test_a_state_that_ends_by_itself_is_not_kept(path: Path) -> None:
    desk = Executor.open(path)
    latest, ann = Latest(desk), Caller("key:ann", Role.READER)

    def read(topic: str) -> None:
        scope = {"raw_path": f"{STATES}/{topic}".encode(), "headers": []}
        assert latest(ann, scope) is not None

    read("ends")
    assert latest._kept == {}
    read(X)
    assert [topic for _, topic, _ in latest._kept] == [X]
    desk.close()


def test_what_is_long_is_read_in_a_thread_from_then_on(path: Path) -> None:
    desk = Executor.open(path)
    latest = Latest(desk)
    scope = {"raw_path": f"{STATES}/very%20long".encode(), "headers": []}
    assert latest(Caller("key:ann", Role.READER), scope) is None
    assert latest._long == {("default", "very long")}
    assert latest._kept == {}
    assert len("The same again and again. " * 10_000) > LONG_BYTES
    desk.close()


def _raw(served: Served, sent: str) -> str:
    """What comes back for these bytes until the server closes."""
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(30)
        line.connect(served.listening["ro"].where)
        line.sendall(sent.encode())
        got = b""
        while piece := line.recv(65536):
            got += piece
    return got.decode()


def _get(topic: str, *headers: str, version: str = "1.1") -> str:
    lines = [f"GET {STATES}/{topic} HTTP/{version}", "host: localhost", *headers, "", ""]
    return "\r\n".join(lines)


def test_requests_sent_in_a_row_are_answered_in_a_row(served: Served) -> None:
    row = [X, "nobody", X, "long", "nobody", X]
    got = _raw(served, "".join(_get(topic) for topic in row) + _get(X, CLOSE))
    statuses = re.findall(r"HTTP/1.1 (\d+)", got)
    assert statuses == ["200", "404", "200", "200", "404", "200", "200"]
    assert got.count(SHOWN) == 4


@pytest.mark.parametrize(
    "request_text",
    [
        _get(X, CLOSE),
        _get(X, version="1.0"),
        _get(X, "connection: keep-alive", version="1.0"),
        _get(X, "content-length: 2", CLOSE) + "{}",
        _get(X, "expect: 100-continue", CLOSE),
    ],
    ids=["close", "1.0", "1.0, kept", "a body", "expect"],
)
def test_the_unusual_is_answered_too(served: Served, request_text: str) -> None:
    got = _raw(served, request_text)
    assert "HTTP/1.1 200 OK" in got
    assert "connection: close" in got
    assert got.count(SHOWN) == 1
    assert len(served.audit.tail()) == 1


def test_a_request_in_pieces_is_answered(served: Served) -> None:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(30)
        line.connect(served.listening["ro"].where)
        for _ in range(3):
            for sign in _get(X):
                line.sendall(sign.encode())
            got = b""
            while SHOWN.encode() not in got:
                got += line.recv(65536)
            assert got.startswith(b"HTTP/1.1 200 OK\r\n")
