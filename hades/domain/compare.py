"""The readable difference between two states."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from difflib import unified_diff
from typing import Any

from hades.domain.plain import one_line
from hades.domain.topics import Diff, State

LINE_CHARACTERS_SHOWN = 60
_CONTEXT_LINES = 3
_STARTS = re.compile(r"(?<=[-+])\d+")
_COMPARED_FIELDS = ("tags", "metadata", "confidence", "importance", "forgotten")


def compare(before: State, after: State) -> Diff:
    """Return the difference of two states of a topic: of their contents and other fields."""
    old = before.content.split("\n")
    new = after.content.split("\n")
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


def in_one_line(before: State | None, after: State) -> str:
    """Return a line on what a state changed: its commit, lines added and removed, one of each.

    Lines are counted as a multiset, not matched in order, so that large texts stay fast.
    """
    commit = commit_of(after)
    is_new = commit and (before is None or commit != commit_of(before))
    words = [f"{after.valid_from:%Y-%m-%d} {commit}"] if is_new else []
    if after.forgotten:
        return "; ".join([*words, "forgotten"])
    old = Counter(before.content.splitlines() if before and not before.forgotten else ())
    new = Counter(after.content.splitlines())
    came = new - old
    went = old - new
    counts = [f"{sign}{some.total()}" for sign, some in (("+", came), ("−", went)) if some]
    samples = [line for line in (_shown(went), _shown(came)) if line]
    words.append(f"{' '.join(counts)} lines: {' → '.join(samples)}" if counts else "the same lines")
    return "; ".join(words)


def commit_of(state: State) -> str:
    """Return the commit that a state was read from, in one line; "" if it has none."""
    commit, author, message = (state.metadata.get(key) for key in ("commit", "author", "message"))
    # A merge's first line only names branches, so the lines after it come first.
    lines = sorted(str(message).split("\n"), key=lambda line: line.startswith("Merge "))
    return one_line(f"{str(commit)[:10]} {author}: {_shown(lines)}") if commit else ""


def _shown(lines: Iterable[str]) -> str:
    """Return the first line that is not blank, cut short."""
    line = next((line for line in lines if line.strip()), "")
    return one_line(" ".join(line.split()))[:LINE_CHARACTERS_SHOWN]


def _unified(old: list[str], new: list[str], old_name: str, new_name: str) -> list[str]:
    """Return a unified diff; the common start and end are cut first, because matching is slow."""
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
