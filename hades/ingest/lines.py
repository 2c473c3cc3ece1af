"""Lines: where they begin and end.

A line ends with `\n`, `\r\n` or `\r`, as editors count them; the other characters
that `str.splitlines` breaks at (form feed, U+2028 …) are part of the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE_BREAK = re.compile(r"\r\n?|\n")


def line_spans(content: str, start: int = 0) -> Iterator[tuple[int, int]]:
    """Start and end of every line from `start` on, without its line break."""
    for match in _LINE_BREAK.finditer(content, start):
        yield start, match.start()
        start = match.end()
    if start < len(content):
        yield start, len(content)
