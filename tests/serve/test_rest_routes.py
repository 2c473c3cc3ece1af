"""What every route of REST refuses before FastAPI reads the request."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import httpx
import pytest
from fastapi import APIRouter, Depends, FastAPI, Header, Query
from fastapi.routing import APIRoute
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from hades.serve import problems
from hades.serve.problems import TooLarge
from hades.serve.rest import routes
from hades.serve.rest.models import Body
from hades.serve.rest.routes import CheckedRoute


class Said(Body):
    """A body."""

    text: str
    number: int = 3
    share: float | None = None


async def told(who: Annotated[str | None, Header(alias="X-Who", max_length=5)] = None) -> Any:
    return who


async def answer(
    name: str,
    who: Annotated[Any, Depends(told)],
    body: Said,
    limit: Annotated[int, Query(ge=1, le=10)] = 5,
    flag: bool = False,
    glob: Annotated[str | None, Query(max_length=8)] = None,
) -> Response:
    return Response(json.dumps([name, who, limit, flag, glob, body.model_dump()]))


def _app(kind: type[APIRoute]) -> FastAPI:
    router = APIRouter(route_class=kind)
    router.post("/things/{name}")(answer)
    app = FastAPI()
    problems.install(app)
    app.router.routes.extend(router.routes)
    return app


APP = _app(CheckedRoute)


def test_what_nobody_asks_for_is_told_and_not_passed_over() -> None:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(APP)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.post("/things/a?limits=3", json={"text": "x"})

    answer = asyncio.run(ask())
    assert answer.status_code == 422
    told = "There is no parameter 'limits' here: flag, glob, limit."
    assert answer.json()["detail"] == told


def _sent(app: FastAPI, body: bytes, url: str = "/things/a", kind: str = "application/json") -> Any:
    async def sending() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            return await client.post(url, content=body, headers={"content-type": kind})

    sent = asyncio.run(sending())
    return sent.status_code, sent.json()


def test_a_long_text_is_read() -> None:
    text = 'a, [b], {c}, "d"; ' * 50_000
    status, told = _sent(APP, json.dumps({"text": text}).encode())
    assert (status, told[-1]["text"]) == (200, text)


@pytest.mark.parametrize("url", ["/things/a", "/things/a?limit=11"])
def test_a_body_of_very_many_values_is_not_read(url: str) -> None:
    many = b'{"text": "x", "more": [' + b"[]," * 2 * routes.VALUES_AT_MOST + b"[]]}"
    status, told = _sent(APP, many, url)
    assert (status, told["detail"]) == (
        413,
        "A request has at most 20,000 values: send it in parts.",
    )


def test_of_very_many_wrong_values_some_are_told() -> None:
    wrong = json.dumps({"text": "x", **{f"more{n}": n for n in range(1_000)}}).encode()
    status, told = _sent(APP, wrong)
    assert (status, len(told["errors"])) == (422, problems.ERRORS_AT_MOST)


TEXTS = st.text('"\\,[{a', max_size=6)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
)


def _count(said: Any) -> int:
    """Values and containers, as they are counted in what was sent."""
    inner = list(said.values()) if isinstance(said, dict) else said
    if not isinstance(inner, list):
        return 0
    return 1 + max(0, len(inner) - 1) + sum(_count(one) for one in inner)


@given(VALUES)
def test_values_are_counted_outside_of_strings(said: Any) -> None:
    raw, count = json.dumps(said).encode(), _count(said)
    routes.check_values(raw, count)
    with pytest.raises(TooLarge):
        routes.check_values(raw, count - 1)
