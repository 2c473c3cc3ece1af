"""What docs/graphql.md shows is asked, and answered as shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import hades
from hades.serve.executor.executor import Executor
from tests.making import remember_story
from tests.serve.graphql_making import refused, served

PAGE = Path(__file__).parents[2] / "docs" / "graphql.md"
SHOWN = re.compile(r"^```graphql\n(.*?)^```(?:\n\n```json\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def test_every_query_of_the_page_is_answered_as_shown(tmp_path: Path) -> None:
    path = tmp_path / "m.hades"
    with hades.open(path) as memory:
        remember_story(memory)
    shown = SHOWN.findall(PAGE.read_text(encoding="utf-8"))
    assert len(shown) >= 5
    with served(Executor.open(path)) as client:
        for query, expected in shown:
            body = {"query": query, "variables": {"why": "Why was approach X rejected?"}}
            told = client.post("/", json=body).json()
            if not expected:
                assert "errors" not in told, query
                continue
            wanted = json.loads(expected)
            assert told == (wanted if "data" in wanted else {"data": wanted}), query


def test_the_limits_are_those_of_the_page(tmp_path: Path) -> None:
    from hades.serve.graphql import asgi, limits, reading

    page = PAGE.read_text(encoding="utf-8")
    for number in (
        limits.COST_AT_MOST,
        limits.DEPTH_AT_MOST,
        limits.ALIASES_AT_MOST,
        limits.TOKENS_AT_MOST,
        limits.CHARACTERS_AT_MOST,
        asgi.BODY_BYTES_AT_MOST,
        limits.FRAGMENTS_AT_MOST,
        limits.FIRST_AT_MOST,
        limits.HOPS_AT_MOST,
        limits.INTROSPECTION_COST,
        int(reading.SECONDS_AT_MOST),
        reading.CHARACTERS_AT_MOST,
    ):
        assert re.search(rf"\b{number:,}\b", page), number
    wide = "edges(first: 50) { items { target { " * 3 + "name" + " } } }" * 3
    with served(Executor.open(tmp_path / "m.hades")) as client:
        said = refused(client, f'{{ space {{ node(name: "a") {{ {wide} }} }} }}')
    assert said in page
