"""Filters of stores: conditions on values and on namespaces, as LangGraph defines them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hades.errors import InvalidInput

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, other: value == other,
    "$ne": lambda value, other: value != other,
    "$gt": lambda value, other: float(value) > float(other),
    "$gte": lambda value, other: float(value) >= float(other),
    "$lt": lambda value, other: float(value) < float(other),
    "$lte": lambda value, other: float(value) <= float(other),
}


def matches(namespace: tuple[str, ...], end: str, path: tuple[str, ...]) -> bool:
    """Return whether a namespace has a `prefix` or `suffix`; `*` in it is any label."""
    start = max(len(namespace) - len(path), 0) if end == "suffix" else 0
    part = namespace[start : start + len(path)]
    return len(part) == len(path) and all(
        wanted in ("*", label) for label, wanted in zip(part, path, strict=True)
    )


def fits(value: Any, condition: Any) -> bool:
    """Return whether a value passes a filter: equal fields, or operators such as `$gt`."""
    if isinstance(condition, Mapping):
        if any(str(name).startswith("$") for name in condition):
            return all(_compares(value, sign, other) for sign, other in condition.items())
        return isinstance(value, dict) and all(
            fits(value.get(name), inner) for name, inner in condition.items()
        )
    if isinstance(condition, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(condition)
            and all(map(fits, value, condition))
        )
    return bool(value == condition)


def _compares(value: Any, sign: str, other: Any) -> bool:
    if sign not in _COMPARISONS:
        raise InvalidInput(f"There is no filter {sign!r}: use {', '.join(_COMPARISONS)}.")
    try:
        return bool(_COMPARISONS[sign](value, other))
    except (TypeError, ValueError):  # not a number
        return False
