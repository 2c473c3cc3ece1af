"""Ready routes read what FastAPI reads, and leave to it what they do not understand."""

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
from hades.serve.rest import bodies
from hades.serve.rest.routes import ReadyRoute
from hades.serve.rest.words import Body
from hades.serve.uploads import TooLarge


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


APPS = [_app(APIRoute), _app(ReadyRoute)]
SOME = st.sampled_from(["1", "5", "10", "0", "11", "true", "off", "", " 3", "x", "1.0", "é"])
JSONS = st.dictionaries(
    st.sampled_from(["text", "number", "share", "more"]),
    st.one_of(st.text(max_size=3), st.integers(), st.floats(), st.booleans(), st.none()),
)
BODIES = st.one_of(
    JSONS.map(lambda said: json.dumps({"text": "x", **said}).encode()),
    JSONS.map(lambda said: json.dumps(said).encode()),
    st.sampled_from([b"", b"{", b"[]", b"null", b'{"text": "\\ud800"}', b"\xff"]),
)
KINDS = st.sampled_from(["application/json", "application/json; charset=utf-8", "text/plain", ""])


@given(
    query=st.lists(st.tuples(st.sampled_from(["limit", "flag", "glob"]), SOME), max_size=4),
    who=st.none() | st.sampled_from(["", "me", "too long a name"]),
    body=BODIES,
    kind=KINDS,
)
def test_both_read_the_same(
    query: list[tuple[str, str]], who: str | None, body: bytes, kind: str
) -> None:
    headers = ({"content-type": kind} if kind else {}) | ({} if who is None else {"x-who": who})

    async def ask(app: FastAPI) -> tuple[int, Any]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://x") as client:
            response = await client.post("/things/a", params=query, content=body, headers=headers)
            return response.status_code, response.json()

    careful, quick = (asyncio.run(ask(app)) for app in APPS)
    assert quick == careful


def test_what_nobody_asks_for_is_told_and_not_passed_over() -> None:
    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(APPS[1])
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


LONG = b'{"text": "' + b'a, [b], {c}, \\"d\\"; ' * 50_000 + b'"'


@pytest.mark.parametrize(
    ("body", "url", "kind"),
    [
        (LONG + b"}", "/things/a", "application/json"),
        (LONG + b"}", "/things/a", "application/json; charset=utf-8"),
        (LONG + b"}", "/things/a", "text/plain"),
        (LONG + b"}", "/things/a?limit=11", "application/json"),
        (LONG + b', "number": "x"}', "/things/a", "application/json"),
        (LONG, "/things/a", "application/json"),
    ],
    ids=["fits", "charset", "no JSON", "query", "unfit", "cut off"],
)
def test_both_read_long_bodies_the_same(body: bytes, url: str, kind: str) -> None:
    plain, ready = (_sent(app, body, url, kind) for app in APPS)
    assert ready == plain


@pytest.mark.parametrize("url", ["/things/a", "/things/a?limit=11"])
def test_a_body_of_very_many_values_is_not_read(url: str) -> None:
    many = b'{"text": "x", "more": [' + b"[]," * bodies.VALUES_AT_MOST + b"[]]}"
    status, told = _sent(APPS[1], many, url)
    assert (status, told["detail"]) == (
        413,
        "A request holds at most 200,000 values: send it in parts.",
    )


def test_of_very_many_wrong_values_some_are_told() -> None:
    wrong = json.dumps({"text": "x", **{f"more{n}": n for n in range(1_000)}}).encode()
    status, told = _sent(APPS[1], wrong)
    assert (status, len(told["errors"])) == (422, problems.ERRORS_AT_MOST)


TEXTS = st.text('"\\,[{a', max_size=6)
VALUES = st.recursive(
    st.none() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
)


def _count(said: Any) -> int:
    """Values and containers, the way they are counted in what was sent."""
    inner = list(said.values()) if isinstance(said, dict) else said
    if not isinstance(inner, list):
        return 0
    return 1 + max(0, len(inner) - 1) + sum(_count(one) for one in inner)


@given(VALUES)
def test_values_are_counted_outside_of_strings(said: Any) -> None:
    raw, count = json.dumps(said).encode(), _count(said)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bodies, "VALUES_AT_MOST", count)
        bodies.check_values(raw)
        patch.setattr(bodies, "VALUES_AT_MOST", count - 1)
        with pytest.raises(TooLarge):
            bodies.check_values(raw)
