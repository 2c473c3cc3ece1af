"""Scratch: the arrays a walk writes to, kept between walks.

Clearing an array of a million nodes takes longer than the walk itself, so a walk clears
only what it touched. Each walk under way has scratch of its own; one that ends lends its
to the next.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt

Mask = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

MASKS_REMEMBERED = 4
_NOTHING: Floats = np.zeros(0)


class Scratch:
    """Everything one walk of the kernel writes to; all zeros between walks."""

    def __init__(self, count: int) -> None:
        self.state = np.zeros((count, 4))
        """Residual, estimate, sum of weights, and what is known of the node: one cache line."""
        self.queue = np.empty(max(1, count), np.int32)
        self.touched = np.empty(max(1, count), np.int32)
        self.at = np.zeros(4, np.int64)
        """Head and length of the queue, number of touched nodes, pushes done."""


class ScratchPool:
    """Scratch of one graph, as many as there are walks at the same time."""

    def __init__(self) -> None:
        self._free: list[Scratch] = []
        self._lock = threading.Lock()

    @contextmanager
    def lend(self, count: int) -> Iterator[Scratch]:
        """Scratch for a graph of so many nodes; the borrower gives it back clean."""
        with self._lock:
            scratch = self._free.pop() if self._free else None
        if scratch is None or len(scratch.state) < count:
            scratch = Scratch(count)
        yield scratch
        # A walk that raised has not cleaned up: its scratch is dropped, not given back.
        with self._lock:
            self._free.append(scratch)


class Weighed:
    """What the arcs of nodes weigh under masks, as far as walks have found out.

    A walk weighs each node it touches, which takes longer than the walk itself. Most
    questions share a mask, so this is kept; but only of masks that cannot be written to.
    """

    def __init__(self) -> None:
        self._kept: list[tuple[weakref.ref[Mask], object, Floats]] = []
        self._lock = threading.Lock()

    def under(self, mask: Mask | None, rows: object) -> Floats:
        """The weight of each node's arcs in one state of a graph, -1 where nobody looked yet."""
        if mask is None or mask.flags.writeable:
            return _NOTHING
        with self._lock:
            for kept, state, known in self._kept:
                if kept() is mask and state is rows:
                    return known
            known = np.full(len(mask), -1.0)
            self._kept = [kept for kept in self._kept if kept[0]() is not None and kept[1] is rows]
            self._kept = [*self._kept[1 - MASKS_REMEMBERED :], (weakref.ref(mask), rows, known)]
            return known
