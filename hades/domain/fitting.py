"""Fitting: which items, taken in order, fit into a budget of tokens or words."""

from __future__ import annotations

from collections.abc import Iterable


def fitting(sizes: Iterable[int], room: int, *, skips: bool = False) -> list[int]:
    """Return the places of the items that fit into `room` together, taken in order.

    The first item that does not fit ends the choice; with `skips`, it is only left out.

    >>> fitting([3, 9, 4], 8)
    [0]
    >>> fitting([3, 9, 4], 8, skips=True)
    [0, 2]
    """
    places = []
    for place, size in enumerate(sizes):
        if size <= room:
            places.append(place)
            room -= size
        elif not skips:
            break
    return places
