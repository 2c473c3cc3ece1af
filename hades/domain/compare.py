"""The readable difference between two states."""

from __future__ import annotations

import re
from difflib import unified_diff
from typing import Any

from hades.domain.names import one_line
from hades.domain.topics import Diff, State

_CONTEXT_LINES = 3
_STARTS = re.compile(r"(?<=[-+])\d+")
_COMPARED_FIELDS = ("tags", "metadata", "confidence", "importance", "forgotten")


def compare(before: State, after: State) -> Diff:
    """What changed from one state to another."""
    old, new = before.content.split("\n"), after.content.split("\n")
    lines = _unified(old, new, one_line(before.id), one_line(after.id))
    fields: dict[str, tuple[Any, Any]] = {
        name: (getattr(before, name), getattr(after, name))
        for name in _COMPARED_FIELDS
        if getattr(before, name) != getattr(after, name)
    }
    body = lines[2:]
    return Diff(
        topic=before.topic,
        before=before.version,
        after=after.version,
        text="\n".join(lines),
        added=sum(line.startswith("+") for line in body),
        removed=sum(line.startswith("-") for line in body),
        fields=fields,
    )


def _unified(old: list[str], new: list[str], old_name: str, new_name: str) -> list[str]:
    """A unified difference; the common start and end are cut first, as matching is slow."""
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    if start == len(old) == len(new):
        return []
    skip = max(0, start - _CONTEXT_LINES)
    keep = max(0, end - _CONTEXT_LINES)
    parts = old[skip : len(old) - keep], new[skip : len(new) - keep]
    lines = unified_diff(*parts, old_name, new_name, lineterm="", n=_CONTEXT_LINES)
    # Line numbers count from the start of the whole text.
    return [
        _STARTS.sub(lambda at: str(int(at[0]) + skip), line) if line.startswith("@@ ") else line
        for line in lines
    ]
