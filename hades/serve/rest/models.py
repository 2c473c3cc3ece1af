"""Models: types of values in requests and responses, with their limits.

Limits that `Memory` checks itself are only described here, so that callers get its message.
"""

from __future__ import annotations

from typing import Annotated, Any, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json as json_bytes

from hades.domain.plain import plain
from hades.serve.wire import NAME

Item = TypeVar("Item")

JSON = "application/json"


class Body(BaseModel):
    """A request's body: unknown fields are refused, and values are not converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Number(Body):
    """One number."""

    value: int


class Page(BaseModel, Generic[Item]):
    """A part of a list: `next` is the cursor of the part after it, null at the end."""

    items: list[Item]
    next: str | None = None

    model_config = ConfigDict(json_schema_extra={"required": ["items", "next"]})


def example(**fields: Any) -> ConfigDict:
    """Return the configuration of a model with an example."""
    return ConfigDict(json_schema_extra={"examples": [fields]})


def to_json(value: Any) -> bytes:
    """Encode one of our objects as JSON; `hades.domain.rebuild` decodes it."""
    return json_bytes(plain(value))


def whole(items: list[Any]) -> dict[str, Any]:
    """Return a list as one page, without a next one."""
    return {"items": items, "next": None}


TIME = Field(max_length=100)

Name = Annotated[str, NAME]
