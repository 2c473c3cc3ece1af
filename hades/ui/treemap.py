"""A treemap: rectangles whose areas are the shares of a whole."""

from __future__ import annotations

from collections.abc import Sequence

Rectangle = tuple[float, float, float, float]
"""Left, top, width, height."""


def treemap(sizes: Sequence[float], room: Rectangle) -> list[Rectangle]:
    """Return a rectangle for each size: the longer side is halved by area again and again."""
    if len(sizes) < 2:
        return [room] * len(sizes)
    left, top, width, height = room
    total, first, count = sum(sizes), sizes[0], 1
    while count < len(sizes) - 1 and first + sizes[count] / 2 < total / 2:
        first += sizes[count]
        count += 1
    if width >= height:
        cut = width * first / total
        rooms = (left, top, cut, height), (left + cut, top, width - cut, height)
    else:
        cut = height * first / total
        rooms = (left, top, width, cut), (left, top + cut, width, height - cut)
    return treemap(sizes[:count], rooms[0]) + treemap(sizes[count:], rooms[1])
