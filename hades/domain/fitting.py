"""Fitting: which items, taken in order, fit into a budget of tokens or words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


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


def best_fitting(worth: Sequence[float], sizes: Sequence[int], room: int) -> list[int]:
    """Return the places, in order, of the items of most worth that fit into `room` together.

    The best item is always among them.
    """
    order = sorted(range(len(worth)), key=lambda place: -worth[place])
    others = (sizes[place] for place in order[1:])
    left = room - sum(sizes[place] for place in order[:1])
    return sorted([*order[:1], *(order[1 + n] for n in fitting(others, left, skips=True))])
