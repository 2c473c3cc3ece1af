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


def fits(value: dict[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Return whether the fields of a value pass a filter."""
    return all(_passes(value.get(name), condition) for name, condition in wanted.items())


def _passes(value: Any, condition: Any) -> bool:
    """Return whether a value equals a condition, or passes its operators, such as `$gt`."""
    if isinstance(condition, Mapping):
        if any(str(name).startswith("$") for name in condition):
            return all(_compares(value, sign, other) for sign, other in condition.items())
        return isinstance(value, dict) and fits(value, condition)
    if isinstance(condition, list | tuple):
        same_length = isinstance(value, list) and len(value) == len(condition)
        return same_length and all(map(_passes, value, condition))
    return bool(value == condition)


def _compares(value: Any, sign: str, other: Any) -> bool:
    if sign not in _COMPARISONS:
        raise InvalidInput(f"There is no filter {sign!r}: use {', '.join(_COMPARISONS)}.")
    try:
        return bool(_COMPARISONS[sign](value, other))
    except (TypeError, ValueError):  # not a number
        return False
