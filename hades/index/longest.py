"""Which of the names at a place counts: the longest, left to right.

Titles are matched once more among themselves, since longer names would hide them (2Wiki
R@5 of the walk: 91 with both layers, 83 with one).
"""

from __future__ import annotations

import numpy as np

from hades.graph.arrays import Flags, Ints
from hades.index.graph_view import EntityNames

CAPITAL_SHARE = 0.5
"""A found name of one word must be written with a capital this often."""


def counting(names: EntityNames, chunk: Ints, entity: Ints, place: Ints) -> Ints:
    """The places that count.

    A title of several words counts in any case of letters; every other name must begin with
    a capital, and one of a single word must mostly be written so.
    """
    length = place >> 1 & 15
    capital = (place & 1).astype(np.bool_)
    single = length == 1
    titled = names.titled[entity]
    proper = titled | ~single | (names.capital_share(entity) >= CAPITAL_SHARE)
    usable = names.exists[entity] & proper & (capital | (titled & ~single))
    kept = np.zeros(len(place), np.bool_)
    for chosen in (np.flatnonzero(usable), np.flatnonzero(usable & titled)):
        longest = longest_first(chunk[chosen], entity[chosen], place[chosen], titled[chosen])
        kept[chosen[longest]] = True
    return np.flatnonzero(kept)


def longest_first(chunk: Ints, entity: Ints, place: Ints, titled: Flags) -> Ints:
    """Left to right, the longest name at a place; what it covers does not count."""
    if not len(chunk):
        return np.zeros(0, np.int64)
    start, length = place >> 5, place >> 1 & 15
    # By chunk and start, then longest first, titles first, and a stable end by entity.
    order = np.lexsort((entity, (15 - length) << 1 | ~titled, chunk << 32 | start))
    at = (chunk << 32 | start)[order]
    head = np.concatenate([[True], at[1:] != at[:-1]])
    group = np.cumsum(head) - 1
    first = order[head]
    # Among names of the same words, those that title something stand for it alone.
    same = (length[order] == length[first][group]) & (titled[order] == titled[first][group])
    kept = _greedy(at[head], at[head] + length[first])
    chosen: Ints = order[same & kept[group]]
    return chosen


def _greedy(start: Ints, end: Ints) -> Flags:
    """Which stretches, in order of their start, are kept when each kept one bars the next."""
    reached = np.maximum.accumulate(end)
    alone = np.concatenate([[True], start[1:] >= reached[:-1]])
    kept = alone.copy()
    # Within a run of overlapping stretches the first is kept; the rest is decided one by one.
    head_of = np.flatnonzero(alone)[np.cumsum(alone) - 1]
    late = np.flatnonzero(~alone)
    previous, last = -1, 0
    for at, head, begins, ends, head_ends in zip(
        late.tolist(), head_of[late].tolist(), start[late].tolist(), end[late].tolist(),
        end[head_of[late]].tolist(), strict=True,
    ):  # fmt: skip
        if head != previous:
            previous, last = head, head_ends
        if begins >= last:
            kept[at], last = True, ends
    return kept
