"""Adjacency: the arcs of a graph as arrays, and the interface that walks need (`Neighbours`).

Nodes are numbers from 0. Any object that returns the neighbours of many nodes at once can be
walked, even a remote store. `Adjacency` holds one sorted array of arcs in memory, and an overlay
with the new arcs of changed nodes, so that a change touches a few rows instead of millions of arcs.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hades.errors import InvalidInput
from hades.graph.arrays import Flags, Floats, Floats32, Ints, spread
from hades.graph.scratch import ScratchPool, Weighed

_ROOM_TO_GROW = 1.5
"""Factor by which full arrays of the overlay grow."""


class Neighbours(Protocol):
    """The interface of a graph that can be walked."""

    def __len__(self) -> int:
        """Return the number of nodes."""
        ...

    def of(self, nodes: Ints) -> tuple[Ints, Ints, Floats32]:
        """Return the neighbour count of each node, all neighbours node by node, and weights."""
        ...


class ArcRows(NamedTuple):
    """One consistent state of the arcs, as the kernels take it; never changed in place.

    A node's arcs are `targets[indptr[node]:indptr[node + 1]]`, or, when `row_of[node]` is
    not -1, `late_targets[late_start[row]:late_stop[row]]`. A node beyond the end of
    `indptr` and without a row of its own has no arcs.
    """

    indptr: Ints
    targets: npt.NDArray[np.int32]
    weights: Floats32
    row_of: npt.NDArray[np.int32]
    late_start: Ints
    late_stop: Ints
    late_targets: npt.NDArray[np.int32]
    late_weights: Floats32
    totals: Floats
    """The sum of the weights of each node's arcs."""


class Adjacency:
    """A graph in memory: compressed rows of arcs, and an overlay of rows that replace some."""

    def __init__(self, indptr: Ints, targets: npt.NDArray[np.int32], weights: Floats32) -> None:
        count = len(indptr) - 1
        self._late = _Late()
        self._rows = ArcRows(
            _fixed(indptr, np.int64),
            _fixed(targets, np.int32),
            _fixed(weights, np.float32),
            _fixed(np.full(count, -1), np.int32),
            *self._late.arrays(),
            _fixed(_sums(indptr, weights), np.float64),
        )
        self._replaced = threading.Lock()
        self.scratch = ScratchPool()
        self.weighed = Weighed()

    @classmethod
    def directed(cls, count: int, a: Any, b: Any, w: Any) -> Adjacency:
        """Build from arcs `a` to `b` of weight `w`. Add up duplicates; drop loops and weight 0."""
        a = np.asarray(a, np.int64)
        b = np.asarray(b, np.int64)
        w = np.asarray(w, np.float64)
        _check_arcs(count, a, b, w)
        use = (a != b) & (w > 0)
        if not use.all():
            a = a[use]
            b = b[use]
            w = w[use]
        key, w = _added_up(a * count + b, w, count)
        targets = key % count if count else key
        indptr = np.searchsorted(key, np.arange(count + 1, dtype=np.int64) * count)
        return cls(indptr, targets.astype(np.int32), w.astype(np.float32))

    @classmethod
    def undirected(cls, count: int, a: Any, b: Any, w: Any) -> Adjacency:
        """Build a graph with arcs of weight `w` in both directions between `a` and `b`."""
        a = np.asarray(a, np.int64)
        b = np.asarray(b, np.int64)
        w = np.asarray(w, np.float64)
        both = np.concatenate
        return cls.directed(count, both([a, b]), both([b, a]), both([w, w]))

    def __len__(self) -> int:
        return len(self._rows.row_of)

    @property
    def rows(self) -> ArcRows:
        """The current state of the arcs; a later `replace` does not change it."""
        return self._rows

    @property
    def has_arcs(self) -> bool:
        """Whether any node has a neighbour."""
        return bool(self._rows.totals.any())

    @property
    def overlay_share(self) -> float:
        """The share of the stored arcs that is in the overlay, obsolete rows included."""
        late = int(self._late.used)
        return late / max(1, late + len(self._rows.targets))

    def of(self, nodes: Ints) -> tuple[Ints, Ints, Floats32]:
        """Return the neighbour count of each node, all neighbours node by node, and weights."""
        rows = self._rows
        start, stop, late = _spans(rows, nodes)
        counts = stop - start
        at = spread(start, counts)
        if not late.any():
            return counts, rows.targets[at].astype(np.int64), rows.weights[at]
        replaced = np.repeat(late, counts)
        targets = np.empty(len(at), np.int64)
        weights = np.empty(len(at), np.float32)
        for which, to, strength in (
            (replaced, rows.late_targets, rows.late_weights),
            (~replaced, rows.targets, rows.weights),
        ):
            targets[which] = to[at[which]]
            weights[which] = strength[at[which]]
        return counts, targets, weights

    def degrees(self, nodes: Ints) -> Ints:
        """Return the number of neighbours per node."""
        start, stop, _ = _spans(self._rows, nodes)
        return stop - start

    def arcs(self) -> tuple[Ints, Ints, Floats32]:
        """Return source, target and weight of every arc, sorted by source, then target."""
        counts, targets, weights = self.of(np.arange(len(self)))
        return np.repeat(np.arange(len(self)), counts), targets, weights

    def replace(self, rows: Mapping[int, tuple[Any, Any]], count: int | None = None) -> None:
        """Replace the neighbours of some nodes, given as (targets, weights) per node.

        The graph grows to `count` nodes, or as far as the nodes named in `rows`. Walks in progress
        keep the state that they began with. In an undirected graph, replace the rows of both ends.
        """
        with self._replaced:
            old = self._rows
            nodes, counts, targets, weights = _joined(rows)
            highest = max(nodes.max(initial=-1), targets.max(initial=-1))
            size = max(len(old.row_of), int(highest) + 1, count or 0)
            row_of = np.full(size, -1, np.int32)
            totals = np.zeros(size)
            row_of[: len(old.row_of)] = old.row_of
            totals[: len(old.totals)] = old.totals
            row_of[nodes] = self._late.extend(counts, targets, weights)
            totals[nodes] = _sums(np.concatenate([[0], np.cumsum(counts)]), weights)
            self._rows = ArcRows(
                old.indptr,
                old.targets,
                old.weights,
                _fixed(row_of, np.int32),
                *self._late.arrays(),
                _fixed(totals, np.float64),
            )

    def compacted(self) -> Adjacency:
        """Return a graph of the same arcs without an overlay."""
        counts, targets, weights = self.of(np.arange(len(self)))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        return Adjacency(indptr, targets.astype(np.int32), weights)


def open_arcs(
    graph: Neighbours, nodes: list[int], barred: Flags | None
) -> tuple[Ints, Ints, Floats32]:
    """Return the arcs that start at nodes: place of the start in `nodes`, target and weight.

    Arcs into barred nodes are left out.
    """
    counts, targets, weights = graph.of(np.array(nodes, np.int64))
    owner = np.repeat(np.arange(len(nodes)), counts)
    if barred is None:
        return owner, targets, weights
    use = ~barred[targets]
    return owner[use], targets[use], weights[use]


class RowCache(dict[int, tuple[list[int], list[float], float]]):
    """A cache by node: its neighbours that are not barred, their weights, and the sum of these.

    A walk needs only the sum of most nodes, so a row becomes lists when it is first used.
    """

    def __init__(self, graph: Neighbours, barred: Flags | None) -> None:
        super().__init__()
        self._graph = graph
        self._barred = barred
        self._arrays: dict[int, tuple[Ints, Floats32, slice]] = {}
        self.totals: dict[int, float] = {}
        """The sum of the weights of each fetched node."""

    def fetch(self, nodes: Iterable[int]) -> None:
        """Fetch the rows of nodes that are not cached, in one call."""
        missing = [node for node in dict.fromkeys(nodes) if node not in self.totals]
        if not missing:
            return
        owner, targets, weights = open_arcs(self._graph, missing, self._barred)
        counts = np.bincount(owner, minlength=len(missing))
        totals = np.bincount(owner, weights, len(missing))
        self.totals.update(zip(missing, totals.tolist(), strict=True))
        end = 0
        for node, count in zip(missing, counts.tolist(), strict=True):
            start = end
            end = end + count
            self._arrays[node] = targets, weights, slice(start, end)

    def __missing__(self, node: int) -> tuple[list[int], list[float], float]:
        targets, weights, own = self._arrays.pop(node)
        row = self[node] = targets[own].tolist(), weights[own].tolist(), self.totals[node]
        return row


class _Late:
    """The overlay: new rows of nodes whose neighbours were replaced.

    Rows are only appended, so an earlier state of the graph stays valid.
    """

    def __init__(self) -> None:
        self.used = 0
        self._count = 0
        self._spans = np.zeros((2, 0), np.int64)
        self._targets = np.zeros(0, np.int32)
        self._weights = np.zeros(0, np.float32)

    def extend(self, counts: Ints, targets: Ints, weights: Floats32) -> Ints:
        """Append rows, given as their lengths and joined arcs. Return their row numbers."""
        end = self.used + len(targets)
        rows = self._count + len(counts)
        if end > len(self._targets):
            size = int(end * _ROOM_TO_GROW) + 8
            self._targets = _grown(self._targets, size)
            self._weights = _grown(self._weights, size)
        if rows > self._spans.shape[1]:
            size = int(rows * _ROOM_TO_GROW) + 8
            self._spans = np.stack([_grown(line, size) for line in self._spans])
        self._targets[self.used : end] = targets
        self._weights[self.used : end] = weights
        stops = self.used + np.cumsum(counts)
        self._spans[:, self._count : rows] = stops - counts, stops
        numbers = np.arange(self._count, rows)
        self.used = end
        self._count = rows
        return numbers

    def arrays(self) -> tuple[Any, Any, Any, Any]:
        """Return read-only starts and stops of the rows, targets and weights."""
        return (
            _fixed(self._spans[0], np.int64),
            _fixed(self._spans[1], np.int64),
            _fixed(self._targets, np.int32),
            _fixed(self._weights, np.float32),
        )


def _fixed(array: Any, kind: Any) -> Any:
    """Return a read-only plain array, so that mapped arrays have the same type for the kernel."""
    view = np.ascontiguousarray(array, kind).view(np.ndarray)[:]
    view.flags.writeable = False
    return view


def _grown(array: Any, size: int) -> Any:
    grown = np.zeros(size, array.dtype)
    grown[: len(array)] = array
    return grown


def _added_up(key: Ints, w: Any, count: int) -> tuple[Ints, Any]:
    """Sort arcs, each encoded as source * count + target, and add up the weights of duplicates."""
    if len(key) and not (key[1:] > key[:-1]).all():
        order, key = _order(key, count)
        first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        key = key[first]
        w = np.add.reduceat(w[order], first)
    return key, w


def _order(key: Ints, count: int) -> tuple[Ints, Ints]:
    """Return the order that sorts keys, and the sorted keys.

    A key and its position fit into 64 bits up to a million nodes with 16 million arcs. Sorting
    such packed numbers takes a third of the time of `argsort`.
    """
    bits = len(key).bit_length()
    if (count * count - 1).bit_length() + bits > 64:
        order = np.argsort(key, kind="stable")
        return order, key[order]
    packed = (key.astype(np.uint64) << np.uint64(bits)) | np.arange(len(key), dtype=np.uint64)
    packed.sort()
    places = (packed & np.uint64((1 << bits) - 1)).astype(np.int64)
    return places, (packed >> np.uint64(bits)).astype(np.int64)


def _sums(indptr: Ints, weights: Floats32) -> Floats:
    totals = np.zeros(len(indptr) - 1)
    filled = np.flatnonzero(indptr[1:] > indptr[:-1])
    if len(filled):
        totals[filled] = np.add.reduceat(weights, indptr[filled], dtype=np.float64)
    return totals


def _spans(rows: ArcRows, nodes: Ints) -> tuple[Ints, Ints, Flags]:
    """Return where the arcs of nodes begin and end, and which nodes have them in the overlay."""
    row = rows.row_of[nodes]
    late = row >= 0
    base = np.minimum(nodes, len(rows.indptr) - 1)
    start = rows.indptr[base]
    stop = rows.indptr[np.minimum(nodes + 1, len(rows.indptr) - 1)]
    if late.any():
        start = start.copy()
        stop = stop.copy()
        start[late] = rows.late_start[row[late]]
        stop[late] = rows.late_stop[row[late]]
    return start, stop, late


def _joined(rows: Mapping[int, tuple[Any, Any]]) -> tuple[Ints, Ints, Ints, Floats32]:
    """Check, sort and join rows, without loops. Return nodes, row lengths, targets and weights."""
    nodes = np.fromiter(rows, np.int64, len(rows))
    given = [(np.asarray(to, np.int64), np.asarray(w, np.float64)) for to, w in rows.values()]
    if any(len(to) != len(w) for to, w in given):
        raise InvalidInput("a row needs as many weights as neighbours")
    place = np.repeat(np.arange(len(nodes)), [len(to) for to, _ in given])
    targets = np.concatenate([np.zeros(0, np.int64), *(to for to, _ in given)])
    weights = np.concatenate([np.zeros(0), *(w for _, w in given)])
    highest = max(nodes.max(initial=0), targets.max(initial=0)) + 1
    _check_arcs(int(highest), nodes[place], targets, weights)
    if nodes.min(initial=0) < 0:
        raise InvalidInput("nodes are numbers of 0 or more")
    use = (targets != nodes[place]) & (weights > 0)
    size = max(int(highest), len(nodes))
    key, weights = _added_up(place[use] * size + targets[use], weights[use], size)
    counts = np.bincount(key // size, minlength=len(nodes))
    return nodes, counts, key % size, weights.astype(np.float32)


def _check_arcs(count: int, a: Ints, b: Ints, w: Floats) -> None:
    if not len(a) == len(b) == len(w):
        raise InvalidInput("arcs need as many targets and weights as sources")
    if not len(a):
        return
    if min(a.min(), b.min()) < 0 or max(a.max(), b.max()) >= count:
        raise InvalidInput(f"arcs join nodes from 0 to {count - 1}: raise the node count")
    if not (w >= 0).all() or not np.isfinite(w).all():
        raise InvalidInput("weights of arcs are finite numbers of 0 or more")
