"""Scratch: the arrays a walk writes to, kept between walks.

Clearing an array of a million nodes takes longer than the walk itself, so a walk clears only the
nodes that it touched. Each running walk has its own scratch; the next walk reuses it.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from hades.graph.arrays import Flags, Floats

MASKS_REMEMBERED = 4
_NOTHING: Floats = np.zeros(0)


class Scratch:
    """The arrays that one walk of the kernel writes to; `state` and `at` are 0 between walks."""

    def __init__(self, count: int) -> None:
        self.state = np.zeros((count, 4))
        """Residual, estimate, sum of weights and mark of each node: one cache line."""
        self.queue = np.empty(max(1, 2 * count), np.int32)
        """The nodes of this round and of the next."""
        self.pushed = np.empty(count)
        """The residuals that the nodes of this round push, last node first."""
        self.touched = np.empty(max(1, count), np.int32)
        self.at = np.zeros(5, np.int64)
        """Head and length of the queue, numbers of touched nodes, of pushes, left in this round."""


class ScratchPool:
    """The free scratches of one graph."""

    def __init__(self) -> None:
        self._free: list[Scratch] = []
        self._lock = threading.Lock()

    @contextmanager
    def lend(self, count: int) -> Iterator[Scratch]:
        """Lend a scratch for `count` nodes; the borrower clears it before giving it back."""
        with self._lock:
            scratch = self._free.pop() if self._free else None
        if scratch is None or len(scratch.state) < count:
            scratch = Scratch(count)
        yield scratch
        # Not reached if the walk raised: its scratch is not clean and is dropped.
        with self._lock:
            self._free.append(scratch)


class Weighed:
    """Sums of the weights of nodes' arcs under masks, kept from earlier walks.

    Computing the sums takes longer than the walk itself, and most questions share a mask. Sums are
    kept for read-only masks only, because another mask could change.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[weakref.ref[Flags], object, Floats]] = []
        self._lock = threading.Lock()

    def under(self, mask: Flags | None, rows: object) -> Floats:
        """Return sums by node for walks to fill in; [] without a read-only mask."""
        if mask is None or mask.flags.writeable:
            return _NOTHING
        with self._lock:
            for kept, state, known in self._kept:
                if kept() is mask and state is rows:
                    return known
            known = unweighed(mask)
            self._kept = [kept for kept in self._kept if kept[0]() is not None and kept[1] is rows]
            self._kept = [*self._kept[1 - MASKS_REMEMBERED :], (weakref.ref(mask), rows, known)]
            return known


def unweighed(barred: Flags) -> Floats:
    """Return sums that are not known yet, as -1; those of barred nodes are infinite."""
    return np.where(barred, np.inf, -1.0)
