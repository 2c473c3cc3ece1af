"""The short way answers as the long way does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import remember_story

import hades
from hades.serve import quick
from hades.serve.app import build
from hades.serve.auth.caller import Caller, Role
from hades.serve.executor.executor import Executor
from hades.serve.telemetry.telemetry import Telemetry

ANN = Caller("key:ann", Role.WRITER, frozenset({"default", "gone"}))
QUESTION = {"question": "Why was approach X rejected?"}
OWN = {"ms", "telemetry", "conveyance"}
"""Times differ from one answer to the next."""


class Served:
    """One desk behind the app as it is, and behind the app without the short way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.desk = Executor.open(path)
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
    made = Served(path)
    yield made
    made.desk.close()


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


@pytest.mark.parametrize("space", ["gone", "secret"])
def test_a_space_that_is_not_there_or_not_theirs_is_told_alike(served: Served, space: str) -> None:
    short, long = served.both("POST", f"/v1/spaces/{space}/recall", json=QUESTION)
    assert short.status_code == long.status_code
    assert short.json() == long.json()


def test_unusual_headers_go_the_long_way(served: Served) -> None:
    headers = {"hades-hold": "nothing"}
    served.ask("POST", "/v1/spaces/default/recall", json=QUESTION, headers=headers)
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
