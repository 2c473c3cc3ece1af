"""The wire: our objects as JSON. Servers write it, `hades.Client` rebuilds them from it.

Nothing is described twice: what is sent is `plain`, and `hades.domain.rebuild` reads it back from
the dataclasses themselves.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json as json_bytes

from hades.domain.plain import plain

Item = TypeVar("Item")

JSON = "application/json"


class Page(BaseModel, Generic[Item]):
    """A part of a list: `next` is the cursor of the part after it, null at the end."""

    items: list[Item]
    next: str | None = None

    model_config = ConfigDict(json_schema_extra={"required": ["items", "next"]})


def to_json(value: Any) -> bytes:
    """Any of our objects as JSON."""
    return json_bytes(plain(value))
