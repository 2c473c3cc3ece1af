"""Choice among overlapping names in a text: the longest counts, from left to right.

Titles are matched once more among themselves, because longer names would hide them.
"""

from __future__ import annotations

import numpy as np

from hades.graph.arrays import Flags, Ints
from hades.index.graph_view import EntityNames

CAPITAL_SHARE = 0.5
"""A name of one word that is not a title needs this share of occurrences with a capital."""


def counting(names: EntityNames, chunk: Ints, entity: Ints, place: Ints) -> Ints:
    """Return which occurrences of names count, as indices into `place`.

    A place is `first word << 5 | number of words << 1 | capital`. A title of several words counts
    in upper and lower case. Every other name must begin with a capital. A name of one word that is
    not a title must mostly be written with a capital.
    """
    length = place >> 1 & 15
    capital = (place & 1).astype(np.bool_)
    single = length == 1
    titled = names.titled[entity]
    proper = titled | ~single | (names.capital_share(entity) >= CAPITAL_SHARE)
    usable = np.flatnonzero(names.exists[entity] & proper & (capital | (titled & ~single)))
    return usable[longest(chunk[usable], entity[usable], place[usable], titled[usable])]


def longest(chunk: Ints, entity: Ints, place: Ints, titled: Flags) -> Ints:
    """Return the indices of the longest names, among all names or among titles alone."""
    kept = np.zeros(len(place), np.bool_)
    for chosen in (np.arange(len(place)), np.flatnonzero(titled)):
        first = _longest_first(chunk[chosen], entity[chosen], place[chosen], titled[chosen])
        kept[chosen[first]] = True
    return np.flatnonzero(kept)


def _longest_first(chunk: Ints, entity: Ints, place: Ints, titled: Flags) -> Ints:
    """Return the indices of the longest names, left to right, without names that they overlap."""
    if not len(chunk):
        return np.zeros(0, np.int64)
    start = place >> 5
    length = place >> 1 & 15
    # Sort by chunk and start, then longest first, titles first, then by entity.
    order = np.lexsort((entity, (15 - length) << 1 | ~titled, chunk << 32 | start))
    at = (chunk << 32 | start)[order]
    head = np.concatenate([[True], at[1:] != at[:-1]])
    group = np.cumsum(head) - 1
    first = order[head]
    # Among names of the same words, only titles count if there are any.
    same = (length[order] == length[first][group]) & (titled[order] == titled[first][group])
    kept = _greedy(at[head], at[head] + length[first])
    chosen: Ints = order[same & kept[group]]
    return chosen


def _greedy(start: Ints, end: Ints) -> Flags:
    """Return which ranges, sorted by start, are kept if none may overlap a kept one before it."""
    reached = np.maximum.accumulate(end)
    alone = np.concatenate([[True], start[1:] >= reached[:-1]])
    kept = alone.copy()
    # The first of a run of overlapping ranges is kept; the others are decided one by one.
    head_of = np.flatnonzero(alone)[np.cumsum(alone) - 1]
    late = np.flatnonzero(~alone)
    previous = -1
    last = 0
    for at, head, begins, ends, head_ends in zip(
        late.tolist(), head_of[late].tolist(), start[late].tolist(), end[late].tolist(),
        end[head_of[late]].tolist(), strict=True,
    ):  # fmt: skip
        if head != previous:
            previous = head
            last = head_ends
        if begins >= last:
            kept[at] = True
            last = ends
    return kept
