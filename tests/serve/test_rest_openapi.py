"""The description of the REST interface: complete, and with examples that work."""

from __future__ import annotations

from rest_described import OPERATIONS, SHAPES

ANY_PROBLEM = {"400", "401", "403", "404", "409", "413", "415", "422", "500", "503", "504"}


def test_every_operation_is_described() -> None:
    for method, path, about in OPERATIONS:
        where = f"{method} {path}"
        assert about["summary"], where
        assert about["description"].endswith((".", "…")), where
        assert about["tags"], where
        assert set(about["responses"]) >= ANY_PROBLEM, where
        for status in ANY_PROBLEM:
            assert list(about["responses"][status]["content"]) == ["application/problem+json"]


def test_every_body_has_an_example() -> None:
    for method, path, about in OPERATIONS:
        content = about.get("requestBody", {}).get("content", {})
        if "application/json" not in content:
            continue
        schema = content["application/json"]["schema"]
        for option in schema.get("oneOf") or schema.get("anyOf") or [schema]:
            if "$ref" in option:
                shape = SHAPES[option["$ref"].rpartition("/")[2]]
                assert shape["examples"], f"{method} {path}"
                assert shape["additionalProperties"] is False, f"{method} {path}"


def test_every_write_takes_an_idempotency_key() -> None:
    for method, path, about in OPERATIONS:
        if method == "GET" or not path.startswith("/v1/spaces"):
            continue
        if "/jobs" in path or path.endswith(("/resolve", "/index")):
            continue  # done again, they change nothing
        if not path.endswith(("/search", "/recall", "/ask", "/rank", "/warm", "/context")):
            names = {parameter["name"] for parameter in about.get("parameters", [])}
            assert "Idempotency-Key" in names, path
