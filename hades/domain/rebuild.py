"""Our objects from plain JSON values: `plain` the other way round.

How a type is rebuilt is read once from its annotations and kept. A field that a newer
server adds is passed over; one that an older server leaves out takes its default.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from hades.domain.trace import Diff, State
from hades.errors import InvalidInput

Made = TypeVar("Made")
Rebuild = Callable[[Any], Any]


def rebuild(kind: type[Made], value: Any) -> Made:
    """An object of that type from what `plain` made of one."""
    try:
        made: Made = _of(cast(Hashable, kind))(value)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InvalidInput(f"This is no {getattr(kind, '__name__', kind)}: {error}.") from error
    return made


@cache
def _of(kind: Any) -> Rebuild:
    if kind is Diff:
        return _diff
    if is_dataclass(kind):
        return _dataclass(kind)
    if kind is datetime:
        return datetime.fromisoformat
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _optional(inner)
    if origin is tuple:
        return _tuple(inner)
    if origin is list:
        one = _of(inner[0])
        return lambda value: [one(item) for item in value]
    if origin is not None and issubclass(origin, Mapping):
        one = _of(inner[1])
        return lambda value: {key: one(item) for key, item in value.items()}
    if kind is float:
        return float  # JSON of another writer may say 1 where we say 1.0
    return _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _dataclass(kind: Any) -> Rebuild:
    hints = get_type_hints(kind)
    parts = [
        (field.name, _of(hints[field.name]), _has_default(field))
        for field in fields(kind)
        if field.init
    ]

    def build(value: Any) -> Any:
        given = {
            name: make(value[name])
            for name, make, may_lack in parts
            if name in value or not may_lack
        }
        return kind(**given)

    return build


def _has_default(field: Any) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _optional(inner: tuple[Any, ...]) -> Rebuild:
    """`X | None`; a union of several types is of values that JSON has as they are."""
    others = [kind for kind in inner if kind is not type(None)]
    if len(others) > 1:
        return _as_it_is
    make = _of(others[0])
    return lambda value: None if value is None else make(value)


def _tuple(inner: tuple[Any, ...]) -> Rebuild:
    if len(inner) == 2 and inner[1] is Ellipsis:
        one = _of(inner[0])
        return lambda value: tuple(one(item) for item in value)
    makes = [_of(kind) for kind in inner]
    return lambda value: tuple(make(item) for make, item in zip(makes, value, strict=True))


def _diff(value: Any) -> Diff:
    """A difference's fields are a state's, so their types are there."""
    hints = get_type_hints(State)
    found: Diff = _dataclass(Diff)(value)
    typed = {
        name: (_of(hints[name])(before), _of(hints[name])(after))
        for name, (before, after) in found.fields.items()
    }
    return Diff(
        found.topic, found.before, found.after, found.text, found.added, found.removed, typed
    )
