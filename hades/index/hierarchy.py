"""The hierarchy of a space as arrays, for questions: centroids and the cluster of each chunk.

Clusters are read when the hierarchy changes, memberships as they are written. A space without a
hierarchy costs one small query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hades.domain.hierarchy import Hierarchy
from hades.domain.times import AsOf
from hades.graph.arrays import Floats32, Ints
from hades.index.graph_view import are_known
from hades.index.indexes import Indexes
from hades.index.vectors import product
from hades.store.store import Store

NONE = -1
"""The position of no cluster."""
KEPT_AT_MOST = 8
"""Hierarchies of spaces and moments that are kept as arrays."""


@dataclass(frozen=True, slots=True)
class ClusterArrays:
    """The clusters of a hierarchy. A cluster is named by its position in these arrays."""

    hierarchy: Hierarchy
    numbers: Ints
    """The number of each cluster in the store, ascending; its name is `c_` and this number."""
    level: Ints
    parent: Ints
    """The position of the parent; NONE for level 2."""
    centroids: Floats32
    """A row of length 1 for each cluster; zeros if a purge took the centroid."""
    cluster_of: Ints
    """By chunk number (see `Indexes.chunks`): the cluster of level 1, or NONE."""

    def at_level(self, level: int) -> Ints:
        """Return the positions of the clusters of a level."""
        return np.flatnonzero(self.level == level)

    def children(self, cluster: int) -> Ints:
        """Return the positions of the children of a cluster of level 2."""
        return np.flatnonzero(self.parent == cluster)

    def members(self, cluster: int) -> Ints:
        """Return the chunk numbers of a cluster of level 1."""
        return np.flatnonzero(self.cluster_of == cluster)

    def group_of(self, chunks: Ints) -> Ints:
        """Return the clusters of level 2 of chunk numbers; NONE for chunks without a cluster."""
        # NONE is -1: it reads the last element.
        return np.append(self.parent, NONE)[self.cluster_of[chunks]]

    def nearness(self, question: Floats32) -> Floats32:
        """Return the cosine of a question of length 1 and each centroid."""
        return product(self.centroids, question)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Arrays as of a change; memberships by chunk id, since purges change the numbers."""

    written: int
    change: int
    arrays: ClusterArrays
    chunks: Ints
    clusters: Ints


class HierarchyCache:
    """The hierarchies of a memory as arrays, by space and known time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: dict[tuple[str, int, AsOf], _Kept] = {}

    def at(self, indexes: Indexes, space: int, as_of: AsOf) -> ClusterArrays | None:
        """Return the clusters of a space at a known time, with memberships by chunk number.

        Return None if there are none, or if their centroids are of another encoder.
        """
        hierarchies = self._store.hierarchies
        hierarchy = hierarchies.current(space, as_of)
        if hierarchy is None or hierarchy.encoder != indexes.encoder:
            return None
        key = indexes.generation, space, AsOf(None, as_of.known)
        kept = self._kept.get(key)
        written = hierarchies.changed_at(hierarchy.id)
        if kept is None or (kept.arrays.hierarchy, kept.written) != (hierarchy, written):
            empty = np.zeros(0, np.int64)
            kept = _Kept(written, 0, self._clusters(hierarchy, indexes.vectors.dims), empty, empty)
        if not indexes.is_whole:
            ids = indexes.chunks["id"]
            of = hierarchies.of_chunks(hierarchy.id, ids.tolist(), as_of)
            rows = np.array([(chunk, of[chunk][0]) for chunk in of], np.int64).reshape(-1, 2)
            return _placed(kept.arrays, ids, rows[:, 0], _at(kept.arrays, rows[:, 1]))
        if kept.change != indexes.change:
            kept = self._caught_up(kept, indexes, as_of)
            if len(self._kept) >= KEPT_AT_MOST:
                self._kept.clear()
            self._kept[key] = kept
        return kept.arrays

    def _clusters(self, hierarchy: Hierarchy, dims: int) -> ClusterArrays:
        rows = self._store.hierarchies.centroids(hierarchy.id)
        numbers = np.array([row[0] for row in rows], np.int64)
        parents = np.array([row[2] or 0 for row in rows], np.int64)
        at = np.searchsorted(numbers, parents)
        return ClusterArrays(
            hierarchy,
            numbers,
            np.array([row[1] for row in rows], np.int64),
            np.where(np.isin(parents, numbers), at, NONE),
            read_centroids([row[3] for row in rows], dims),
            np.zeros(0, np.int64),
        )

    def _caught_up(self, kept: _Kept, indexes: Indexes, as_of: AsOf) -> _Kept:
        """Return the arrays with the memberships written since."""
        arrays = kept.arrays
        batches = self._store.hierarchies.memberships(arrays.hierarchy.id, as_of, kept.change)
        new = [np.array(rows, np.int64).reshape(-1, 2) for rows in batches]
        chunks = np.concatenate([kept.chunks, *(rows[:, 0] for rows in new)])
        clusters = np.concatenate([kept.clusters, *(_at(arrays, rows[:, 1]) for rows in new)])
        arrays = _placed(arrays, indexes.chunks["id"], chunks, clusters)
        return _Kept(kept.written, indexes.change, arrays, chunks, clusters)


def read_centroids(blobs: Sequence[bytes], dims: int) -> Floats32:
    """Return stored centroids as a matrix, with zeros for an empty or a damaged one."""
    centroids = np.zeros((len(blobs), dims), np.float32)
    for row, blob in enumerate(blobs):
        if len(blob) == 4 * dims:
            centroids[row] = np.frombuffer(blob, np.float32)
    finite = np.isfinite(centroids).all(axis=1, keepdims=True)
    return np.where(finite, centroids, np.float32(0))


def _at(arrays: ClusterArrays, numbers: Ints) -> Ints:
    return np.searchsorted(arrays.numbers, numbers)


def _placed(arrays: ClusterArrays, ids: Ints, chunks: Ints, clusters: Ints) -> ClusterArrays:
    """Return the arrays with the memberships of chunks; `ids` has the chunk id of each number."""
    known = are_known(ids, chunks)
    cluster_of = np.full(len(ids), NONE, np.int64)
    cluster_of[np.searchsorted(ids, chunks[known])] = clusters[known]
    return replace(arrays, cluster_of=cluster_of)
