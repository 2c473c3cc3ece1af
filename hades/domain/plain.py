"""Plain: domain objects as JSON values, for `--json`, exports and servers."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from typing import Any

from hades.domain.answer import Answer, Citation, Recall, Sentence
from hades.domain.times import iso
from hades.domain.topics import Chunk, State

SHOWN_PROPERTIES: Mapping[type, tuple[str, ...]] = {
    State: ("id",),
    Chunk: ("id",),
    Sentence: ("label",),
    Citation: ("label",),
    Answer: ("text", "shortfall", "is_doubtful", "probability", "citations", "fallback"),
    Recall: ("question", "intent", "evidence", "mode", "wants", "time"),
}
"""The properties that are part of the plain form, before the fields."""
_AS_THEY_ARE = frozenset({str, int, float, bool, type(None)})


def plain(value: Any) -> Any:
    """Convert a value: dataclasses become dicts, times ISO strings, tuples lists."""
    kind: Any = type(value)
    return value if kind in _AS_THEY_ARE else _converter(kind)(value)


@cache  # an answer has hundreds of objects of a few types
def _converter(kind: type) -> Callable[[Any], Any]:
    if is_dataclass(kind):
        return _of_dataclass(kind)
    if issubclass(kind, datetime):
        return iso
    if issubclass(kind, Enum):
        return lambda value: value.value
    if issubclass(kind, Mapping):
        return lambda value: {str(key): plain(item) for key, item in value.items()}
    if issubclass(kind, list | tuple | set | frozenset):
        return lambda value: [plain(item) for item in value]
    return lambda value: value


def plain_without(value: Any, left_out: str) -> dict[str, Any]:
    """Convert a dataclass without one of its fields."""
    converted: dict[str, Any] = _of_dataclass(type(value), left_out)(value)
    return converted


def _of_dataclass(kind: type, left_out: str = "") -> Callable[[Any], Any]:
    own = (field.name for field in fields(kind) if field.name != left_out)
    names = (*SHOWN_PROPERTIES.get(kind, ()), *own)
    # Checking here saves a call for most values, which need no conversion.
    return lambda value: {
        name: item if type(item := getattr(value, name)) in _AS_THEY_ARE else plain(item)
        for name in names
    }


def one_line(name: str) -> str:
    """Replace line breaks and control characters, which could forge lines or steer a terminal.

    >>> one_line("a\\nb")
    'a\ufffdb'
    """
    if name.isprintable():
        return name
    return "".join(
        sign if sign.isprintable() or unicodedata.category(sign) == "Zs" else "\ufffd"
        for sign in name
    )


def counted(count: int, word: str) -> str:
    """Return a count with its noun, such as `1 passage` or `1,200 passages`."""
    return f"{count:,} {word}{'s' * (count != 1)}"
