"""Rewrite statements for SQLite, where a list is passed as JSON."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import Any

_MARK = r"(\?\d*|:\w+)"
_RULES = (
    (re.compile(rf"= ANY\({_MARK}\)"), r"IN (SELECT value FROM json_each(\1))"),
    (re.compile(rf"<> ALL\({_MARK}\)"), r"NOT IN (SELECT value FROM json_each(\1))"),
    (
        re.compile(rf"json_has\(([\w.]+), {_MARK}\)"),
        r"EXISTS (SELECT 1 FROM json_each(\1) WHERE value = \2)",
    ),
)


@lru_cache(maxsize=1_024)
def rewrite(sql: str) -> tuple[str, bool]:
    """Return a statement in SQLite's SQL, and whether it takes a list."""
    text = sql
    for pattern, form in _RULES:
        text = pattern.sub(form, text)
    return text, "json_each" in text


def bound(values: Any) -> Any:
    """Return values for SQLite, in order or by name, with lists as JSON."""
    if isinstance(values, dict):
        return dict(zip(values, bound(values.values()), strict=True))
    return [json.dumps(value) if type(value) is list else value for value in values]
