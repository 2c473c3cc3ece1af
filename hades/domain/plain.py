"""Any of our objects as plain JSON values: what `--json`, exports and servers print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from hades.domain.times import iso
from hades.domain.trace import Chunk, State


def plain(value: Any) -> Any:
    """Dataclasses become dicts, times ISO strings, tuples lists."""
    if is_dataclass(value) and not isinstance(value, type):
        shown = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return {"id": value.id, **shown} if isinstance(value, State | Chunk) else shown
    if isinstance(value, datetime):
        return iso(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(item) for item in value]
    return value
