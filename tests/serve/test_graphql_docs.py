"""What docs/api.md shows is asked, and answered as shown."""

from __future__ import annotations

import json
import re
from pathlib import Path

import hades
from hades.serve.graphql import app, fields, query
from tests.making import remember_story
from tests.serve.graphql_making import served

PAGE = Path(__file__).parents[2] / "docs" / "api.md"
SHOWN = re.compile(r"^```graphql\n(.*?)^```(?:\n\n```json\n(.*?)^```)?", re.MULTILINE | re.DOTALL)


def test_every_query_of_the_page_is_answered_as_shown(tmp_path: Path) -> None:
    path = tmp_path / "m.hades"
    with hades.open(path) as memory:
        remember_story(memory)
    shown = SHOWN.findall(PAGE.read_text(encoding="utf-8"))
    assert len(shown) >= 4
    with served(path) as client:
        for query, expected in shown:
            body = {"query": query, "variables": {"why": "Why was approach X rejected?"}}
            told = client.post("/graphql", json=body).json()
            if not expected:
                assert "errors" not in told, query
                continue
            wanted = json.loads(expected)
            assert told == (wanted if "data" in wanted else {"data": wanted}), query


def test_the_limits_are_those_of_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for number in (
        app.DEPTH_AT_MOST,
        app.ALIASES_AT_MOST,
        app.TOKENS_AT_MOST,
        app.BODY_BYTES_AT_MOST,
        app.SPREADS_AT_MOST,
        fields.FIRST_AT_MOST,
        fields.HOPS_AT_MOST,
        fields.NAMES_AT_MOST,
        query.ITEMS_AT_MOST,
        query.ITEMS_PER_QUESTION,
        query.CHARACTERS_AT_MOST,
        int(query.SECONDS_AT_MOST),
    ):
        assert re.search(rf"\b{number:,}\b", page), number
