"""Lines: where they begin and end, and which one a position is on.

A line ends with `\n`, `\r\n` or `\r`, as editors count them; the other characters
that `str.splitlines` breaks at (form feed, U+2028 …) are part of the line.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache

LINE_TABLES_KEPT = 4
"""Passages are cited document by document: a few tables are enough, and each holds its text."""

_LINE_BREAK = re.compile(r"\r\n?|\n")


def line_spans(content: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Start and end of every line from `start` on, without its line break."""
    for match in _LINE_BREAK.finditer(content, start):
        yield start, match.start()
        start = match.end()
    if start < len(content):
        yield start, len(content)


def line_of(content: str, position: int) -> int:
    """The number of the line, from 1, that the character at `position` is on."""
    return bisect_right(_line_starts(content), position)


@lru_cache(maxsize=LINE_TABLES_KEPT)
def _line_starts(content: str) -> list[int]:
    return [0, *(match.end() for match in _LINE_BREAK.finditer(content))]
