"""The description of the REST interface: complete, and with examples that work."""

from __future__ import annotations

from typing import Any

import pytest
from test_rest_roles import OPERATIONS, SHAPES, _named

ANY_PROBLEM = {"400", "401", "403", "404", "409", "413", "415", "422", "429", "500", "503", "504"}


@pytest.mark.parametrize("one", OPERATIONS, ids=_named)
def test_every_operation_is_described(one: tuple[str, str, dict[str, Any]]) -> None:
    about = one[2]
    assert about["summary"]
    assert about["description"].endswith((".", "…"))
    assert about["tags"]
    assert set(about["responses"]) >= ANY_PROBLEM
    for status in ANY_PROBLEM:
        assert list(about["responses"][status]["content"]) == ["application/problem+json"]


@pytest.mark.parametrize("one", OPERATIONS, ids=_named)
def test_every_body_has_an_example(one: tuple[str, str, dict[str, Any]]) -> None:
    content = one[2].get("requestBody", {}).get("content", {})
    if "application/json" in content:
        schema = content["application/json"]["schema"]
        for option in schema.get("oneOf", [schema]):
            shape = SHAPES[option["$ref"].rpartition("/")[2]]
            assert shape["examples"]
            assert shape["additionalProperties"] is False


def test_every_read_takes_both_times() -> None:
    for method, path, about in OPERATIONS:
        if method != "GET" or not path.startswith("/v1/spaces/{space}/"):
            continue
        names = {parameter["name"] for parameter in about.get("parameters", [])}
        assert names >= {"as_of", "known_at"}, path


def test_every_write_takes_an_idempotency_key() -> None:
    held = ("/holds", "/search", "/recall", "/ask", "/rank", "/warm")
    for method, path, about in OPERATIONS:
        if method == "GET" or not path.startswith("/v1/spaces") or "/holds" in path:
            continue
        if not path.endswith(held):
            names = {parameter["name"] for parameter in about.get("parameters", [])}
            assert "Idempotency-Key" in names, path
