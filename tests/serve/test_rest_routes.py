"""Ready routes read what FastAPI reads, and leave to it what they do not understand."""

from __future__ import annotations

import asyncio
import json
from typing import Annotated, Any

import httpx
from fastapi import APIRouter, Depends, FastAPI, Header, Query
from fastapi.routing import APIRoute
from hypothesis import given
from hypothesis import strategies as st
from starlette.responses import Response

from hades.serve import problems
from hades.serve.rest.routes import ReadyRoute
from hades.serve.rest.words import Body


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
