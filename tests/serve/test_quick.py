"""The short way answers as the long way does."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import remember_story

import hades
from hades.serve import quick
from hades.serve.app import build
from hades.serve.desk.desk import Desk
from hades.serve.gate.caller import Caller, Role
from hades.serve.watch.telemetry import Telemetry

ANN = Caller("key:ann", Role.WRITER, frozenset({"default", "gone"}))
QUESTION = {"question": "Why was approach X rejected?"}
OWN = {"ms", "telemetry", "conveyance"}
"""Times differ from one answer to the next."""


class Served:
    """One desk behind the app as it is, and behind the app without the short way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.desk = Desk.open(path)
        self.telemetry = Telemetry()
        self.app = build(self.desk, telemetry=self.telemetry)
        self.took: list[str] = []

    def ask(self, method: str, url: str, *, long: bool = False, **given: Any) -> httpx.Response:
        async def gated(scope: Any, receive: Any, send: Any) -> None:
            scope["hades.caller"] = ANN
            if long:  # an empty query is still a query: the same call, but unusual
                scope["query_string"] = b"&"
            await self.app(scope, receive, send)
            self.took.append(type(scope.get("route")).__name__)

        async def asking() -> httpx.Response:
            transport = httpx.ASGITransport(gated)
            async with httpx.AsyncClient(transport=transport, base_url="http://hades") as client:
                return await client.request(method, url, **given)

        return asyncio.run(asking())

    def both(self, method: str, url: str, **given: Any) -> list[httpx.Response]:
        """The answer by the short way and by the long way."""
        return [self.ask(method, url, long=long, **given) for long in (False, True)]


@pytest.fixture
def served(path: Path) -> Iterator[Served]:
    with hades.open(path) as memory:
        remember_story(memory)
        memory.remember("a/ü b%2F", "Odd.")
        memory.remember("long", "A long text. " * 500)
    made = Served(path)
    yield made
    made.desk.close()


@pytest.mark.parametrize("topic", ["design/approach_x", "a/ü b%2F", "long", "nobody", "x" * 5000])
def test_a_state_is_the_same_both_ways(served: Served, topic: str) -> None:
    short, long = served.both("GET", f"/v1/spaces/default/states/{quote(topic)}")
    assert served.took[0] == "_Route"
    assert served.took[1] != "_Route"
    assert short.status_code == long.status_code
    assert short.json() == long.json()
    if short.status_code == 200:
        assert dict(short.headers) == dict(long.headers)


def test_what_is_long_is_compressed_and_then_read_in_a_thread(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, gzipped = [], gzip.compress

    def compress(*given: Any, **named: Any) -> bytes:
        threads.append(threading.current_thread())
        return gzipped(*given, **named)

    monkeypatch.setattr(quick.gzip, "compress", compress)
    at_once = []
    monkeypatch.setattr(
        served.desk,
        "read_at_once",
        lambda *given: at_once.append(given[1]) or Desk.read_at_once(served.desk, *given),
    )
    with hades.open(served.path) as memory:
        memory.remember("very long", "The same again and again. " * 10_000)
    first, second = (served.ask("GET", "/v1/spaces/default/states/very%20long") for _ in range(2))
    assert first.headers["content-encoding"] == "gzip"
    assert first.content == second.content
    assert dict(first.headers) == dict(second.headers)
    assert len(threads) == 2
    assert threading.main_thread() not in threads
    assert at_once == ["default"]


@pytest.mark.parametrize("space", ["gone", "secret"])
def test_a_space_that_is_not_there_or_not_theirs_is_told_alike(served: Served, space: str) -> None:
    short, long = served.both("GET", f"/v1/spaces/{space}/states/a")
    assert short.status_code == long.status_code
    assert short.json() == long.json()


def test_an_answer_is_the_same_both_ways(served: Served) -> None:
    short, long = served.both("POST", "/v1/spaces/default/recall", json=QUESTION)
    assert short.status_code == long.status_code == 200
    kept = [{k: v for k, v in one.json().items() if k not in OWN} for one in (short, long)]
    assert kept[0] == kept[1]
    assert short.headers["content-encoding"] == long.headers["content-encoding"] == "gzip"
    plain = served.ask(
        "POST", "/v1/spaces/default/recall", json=QUESTION, headers={"accept-encoding": "identity"}
    )
    assert "content-encoding" not in plain.headers
    assert plain.json()["question"] == QUESTION["question"]


@pytest.mark.parametrize(
    "given",
    [
        {"content": b"{not json", "headers": {"content-type": "application/json"}},
        {"content": b"\xff\xfe", "headers": {"content-type": "application/json"}},
        {"content": b"[" * 10_000, "headers": {"content-type": "application/json"}},
        {"json": {"question": "x", "unknown": 1}},
        {"json": {"question": 5}},
        {"json": []},
        {"json": {"question": ""}},
        {"json": {"question": "x", "budget": 1}},
        {"json": {"question": "x", "as_of": "never"}},
        {"json": {**QUESTION, "as_of": "2024-01-15"}},
        {"json": {**QUESTION, "plan": {"nonsense": 1}}},
        {"content": b"{}", "headers": {"content-type": "text/plain"}},
    ],
    ids=lambda given: str(given)[:50],
)
def test_what_does_not_fit_is_told_alike(served: Served, given: dict[str, Any]) -> None:
    short, long = served.both("POST", "/v1/spaces/default/recall", **given)
    assert short.status_code == long.status_code
    if short.status_code != 200:
        assert short.json() == long.json()


@pytest.mark.parametrize(
    "headers", [{"if-none-match": "*"}, {"hades-hold": "nothing"}], ids=lambda given: str(given)
)
def test_unusual_headers_go_the_long_way(served: Served, headers: dict[str, str]) -> None:
    served.ask("GET", "/v1/spaces/default/states/design/approach_x", headers=headers)
    assert served.took == ["ReadyRoute"]


def test_answers_by_the_short_way_are_counted(served: Served) -> None:
    served.both("POST", "/v1/spaces/default/recall", json=QUESTION)
    assert served.took == ["_Route", "ReadyRoute"]
    assert b'hades_recall_seconds_count{space="default"} 2.0' in served.telemetry.metrics.render()


@given(st.lists(st.binary(max_size=50), min_size=1, max_size=5))
def test_a_body_handed_on_is_whole(pieces: list[bytes]) -> None:
    last = len(pieces) - 1
    sent = [
        {"type": "http.request", "body": piece, "more_body": n < last}
        for n, piece in enumerate(pieces)
    ]

    async def run() -> list[dict[str, Any]]:
        left = iter([*sent, {"type": "http.disconnect"}])

        async def receive() -> Any:
            return next(left)

        messages = await quick._received(receive)
        again = quick._again(messages, receive)
        return [await again() for _ in range(len(sent) + 1)]

    assert asyncio.run(run()) == [*sent, {"type": "http.disconnect"}]
