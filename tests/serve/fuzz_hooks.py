"""How schemathesis sends what is no JSON: as the bytes they are."""

from __future__ import annotations

from typing import Any

import schemathesis


@schemathesis.serializer("application/x-tar", "application/gzip", "application/x-ndjson")
def as_they_are(_context: Any, value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
