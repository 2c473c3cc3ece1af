"""What OpenAPI says of the whole: tags, the key, the problems any call may meet."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel

from hades.serve.problems import ProblemDetails
from hades.serve.rest.taking import IngestTexts, Resolve

DESCRIPTION = """
Every capability of HADES over HTTP. Names of spaces and topics are percent-encoded; every
read takes `as_of` and `known_at`; every write takes an `Idempotency-Key`; what goes wrong is
answered as `application/problem+json` with one sentence that says what to do.
"""

TAGS = [
    {"name": "states", "description": "What is remembered of topics, and its versions."},
    {"name": "edges", "description": "Relations, and facts that change."},
    {"name": "entities", "description": "Named things and the names they go by."},
    {"name": "questions", "description": "Search, recall and answers."},
    {"name": "graph", "description": "Paths and neighbourhoods."},
    {"name": "proposals", "description": "Changes that wait for approval."},
    {"name": "jobs", "description": "Ingestion and other long work."},
    {"name": "spaces", "description": "Isolated memories inside the file."},
    {"name": "admin", "description": "The whole memory and files; at the admin socket only."},
]

_UNSEEN: tuple[type[BaseModel], ...] = (ProblemDetails, IngestTexts, Resolve)
"""Models that no route names by itself."""
_BY_ID = ("State", "Chunk")
"""Shown with the id they are cited by, which is no field of theirs."""


def describe(app: FastAPI) -> None:
    """Complete the description FastAPI makes with what it cannot see."""
    made = app.openapi

    def complete() -> dict[str, Any]:
        if app.openapi_schema:
            return app.openapi_schema
        schema = made()
        components = schema["components"]
        shapes = components["schemas"]
        for model in _UNSEEN:
            shape = model.model_json_schema(ref_template="#/components/schemas/{model}")
            shapes |= shape.pop("$defs", {})
            shapes[model.__name__] = shape
        for unused in ("HTTPValidationError", "ValidationError"):
            shapes.pop(unused, None)
        for name in _BY_ID:
            shape = shapes[name]
            shape["properties"] = {"id": {"type": "string"}, **shape["properties"]}
        # A pair, which the description language of older tools cannot say.
        pair = {"type": "array", "minItems": 2, "maxItems": 2}
        shapes["Diff"]["properties"]["fields"]["additionalProperties"] = pair
        components["securitySchemes"] = {
            "key": {
                "type": "http",
                "scheme": "bearer",
                "description": "An API key, made by `hades keys create`. None over a unix socket.",
            }
        }
        schema["security"] = [{"key": []}]
        app.openapi_schema = schema
        return schema

    app.openapi = complete  # type: ignore[method-assign]
