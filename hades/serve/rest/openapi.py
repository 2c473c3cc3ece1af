"""OpenAPI: FastAPI's description, with the few things it cannot derive."""

from __future__ import annotations

from typing import Any, get_type_hints

from fastapi import FastAPI
from pydantic import TypeAdapter

from hades.domain.plain import SHOWN_PROPERTIES
from hades.operations.declare import OPERATIONS
from hades.serve.problems import ProblemDetails

DESCRIPTION = """
Every capability of HADES over HTTP. Names of spaces and topics are percent-encoded; every
read takes `as_of` and `known_at`; every write takes an `Idempotency-Key`; errors are answered
as `application/problem+json` with one sentence that says what to do.
"""

TAGS = [
    {"name": "states", "description": "Topics, their states and versions."},
    {"name": "edges", "description": "Relations, and changes of facts."},
    {"name": "entities", "description": "Named things and their aliases."},
    {"name": "questions", "description": "Search, recall and answers."},
    {"name": "graph", "description": "Paths and neighbourhoods."},
    {"name": "proposals", "description": "Changes that wait for approval."},
    {"name": "jobs", "description": "Ingestion and other long work."},
    {"name": "spaces", "description": "Isolated memories inside the file."},
    {"name": "admin", "description": "The whole memory and files; at the admin socket only."},
]


def describe(app: FastAPI) -> None:
    """Add the model of problems to an app's OpenAPI, and the properties that `plain` writes."""
    generate = app.openapi

    def complete() -> dict[str, Any]:
        schemas = generate()["components"]["schemas"]
        if "ProblemDetails" not in schemas:
            problem = ProblemDetails.model_json_schema(ref_template="#/components/schemas/{model}")
            schemas |= {**problem.pop("$defs"), "ProblemDetails": problem}
            for kind, names in SHOWN_PROPERTIES.items():
                own = {name: get_type_hints(getattr(kind, name).fget)["return"] for name in names}
                schemas[kind.__name__]["properties"] |= {
                    name: _schema_of(shown) for name, shown in own.items()
                }
            for operation in OPERATIONS.values():
                if operation.detail:
                    schemas[operation.returns.__name__]["required"].remove(operation.detail)
            # Some tools do not know `prefixItems`, so describe a pair without it.
            pair = {"type": "array", "minItems": 2, "maxItems": 2}
            schemas["Diff"]["properties"]["fields"]["additionalProperties"] = pair
        return generate()

    app.openapi = complete  # type: ignore[method-assign]


def _schema_of(kind: Any) -> dict[str, Any]:
    """Return the schema of a type, whose classes are among the components already."""
    schema = TypeAdapter(kind).json_schema(ref_template="#/components/schemas/{model}")
    schema.pop("$defs", None)
    return schema
