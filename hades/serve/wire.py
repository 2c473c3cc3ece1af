"""The wire: our objects as JSON and back. Servers write it, `hades.Client` reads it.

Nothing is described twice: what is sent is `plain`, what is read is checked against the
dataclasses themselves.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic_core import to_json as json_bytes

from hades.domain.plain import plain
from hades.errors import Unavailable

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


def from_plain(kind: type[Item], value: Any) -> Item:
    """One of our objects from what `plain` made of it, fit for what was read from JSON."""
    try:
        result: Item = _adapter(cast(Any, kind)).validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "it"
        raise Unavailable(
            f"The server's answer is not what this version reads ({where}: {first['msg']}): "
            "use the same version on both sides."
        ) from error
    return result


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
