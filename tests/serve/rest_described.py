"""What the description of the REST interface says: made once, from an app without a memory."""

from __future__ import annotations

from typing import Any

from hades.serve.app import build
from hades.serve.executor import Executor

OPENAPI = build(Executor(None, None)).openapi()  # type: ignore[arg-type]
SHAPES = OPENAPI["components"]["schemas"]
OPERATIONS: list[tuple[str, str, dict[str, Any]]] = [
    (method.upper(), path, about)
    for path, methods in OPENAPI["paths"].items()
    for method, about in methods.items()
]
"""Method, path and description of each operation."""
