"""Plain: code that is not worth parsing, cut into runs of lines.

Generated data and minified bundles have no symbols a reader would ask for, and their
trees cost more than they tell. Their text is still kept and found by its words.
"""

from __future__ import annotations

import re

from hades.ingest.document import Block

MOST_PARSED_CHARS = 5_000_000
LONGEST_LINE_CHARS = 20_000
MEAN_LINE_CHARS = 250
"""Hand-written files of the standard library stay under 60 characters a line."""
SMALLEST_MINIFIED_CHARS = 5_000
RUN_LINES = 40

_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def why_plain(text: str) -> str:
    """`huge`, `minified`, or nothing when the text should be parsed."""
    if len(text) > MOST_PARSED_CHARS:
        return "huge"
    lines = text.split("\n")
    if max(map(len, lines)) > LONGEST_LINE_CHARS:
        return "minified"
    if len(text) > SMALLEST_MINIFIED_CHARS and len(text) / len(lines) > MEAN_LINE_CHARS:
        return "minified"
    return ""


def plain_blocks(text: str, heading: str) -> tuple[Block, ...]:
    """Runs of at most RUN_LINES lines, ending early at an empty line in their second half."""
    blocks: list[Block] = []
    start = lines = 0
    for line in _LINE.finditer(text):
        lines += 1
        empty = not line.group().strip()
        if lines >= RUN_LINES or (empty and lines >= RUN_LINES // 2):
            _add(blocks, text, start, line.end(), heading)
            start, lines = line.end(), 0
    _add(blocks, text, start, len(text), heading)
    return tuple(blocks)


def _add(blocks: list[Block], text: str, start: int, end: int, heading: str) -> None:
    part = text[start:end]
    if kept := part.strip():
        start += len(part) - len(part.lstrip())
        blocks.append(Block(start, start + len(kept), heading))
