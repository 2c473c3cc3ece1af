"""Clusters in an export: the hierarchy at one moment, and the places of chunks and names in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from hades.domain.hierarchy import Cluster, Hierarchy, are_distant, cluster_name
from hades.domain.times import AsOf
from hades.graph.arrays import Floats32
from hades.store.hierarchies import StoredMember
from hades.store.store import Store

_JOURNAL_PAGE = 5_000
DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Placement:
    """The cluster of a chunk, or of the passage that stands for an entity."""

    cluster_id: str | None = None
    prev_cluster_id: str | None = None
    group: int | None = None
    """The number of the cluster of level 2."""


NOWHERE = Placement()


class Clusters:
    """The hierarchy of a space at one moment; empty if the space was not organised."""

    def __init__(self, store: Store, space: int, as_of: AsOf) -> None:
        self._store = store
        self._space = space
        self._as_of = as_of

    @cached_property
    def hierarchy(self) -> Hierarchy | None:
        """The hierarchy that held at the moment, or None."""
        return self._store.hierarchies.current(self._space, self._as_of)

    @cached_property
    def clusters(self) -> list[Cluster]:
        """The clusters, by number."""
        current = self.hierarchy
        return self._store.hierarchies.clusters(current.id, self._as_of) if current else []

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters, seed and versions with which the clusters were made."""
        current = self.hierarchy
        if current is None:
            return {}
        return {
            **current.parameters,
            "seed": current.seed,
            "versions": dict(current.versions),
            "encoder": current.encoder,
        }

    @cached_property
    def centroids(self) -> dict[str, Floats32]:
        """The centroids by name of the cluster, without clusters that lost their members to a
        purge."""
        return {
            cluster_name(number): np.frombuffer(vector, np.float32)
            for number, _, _, vector in self._rows
            if vector
        }

    @cached_property
    def _rows(self) -> list[tuple[int, int, int | None, bytes]]:
        current = self.hierarchy
        return self._store.hierarchies.centroids(current.id) if current else []

    @cached_property
    def members(self) -> dict[int, StoredMember]:
        """The membership of each chunk."""
        return {
            row.chunk: row
            for rows in self._known_rows()
            for row in rows
            if row.retired_at is None and row.cluster in self._parents
        }

    @cached_property
    def _parents(self) -> dict[int, int | None]:
        return {number: parent for number, _, parent, _ in self._rows}

    @cached_property
    def homes(self) -> dict[int, int]:
        """By entity, the first chunk that mentions it; {} without a hierarchy."""
        if self.hierarchy is None:
            return {}
        return self._store.graph_rows.first_mentions(self._space, self._as_of, titles=False)

    def placement(self, chunk: int | None) -> Placement:
        """Return where a chunk is in the hierarchy."""
        row = self.members.get(chunk or 0)
        if row is None:
            return NOWHERE
        previous = None if row.previous is None else cluster_name(row.previous)
        return Placement(cluster_name(row.cluster), previous, self._parents[row.cluster])

    def are_distant(self, chunk: int | None, other: int | None) -> bool:
        """Return whether two chunks are in distant clusters (see `are_distant`)."""
        return are_distant(self.placement(chunk).group, self.placement(other).group)

    def siblings(self) -> Iterator[tuple[Cluster, Cluster, float | None]]:
        """Yield the pairs of clusters with the same parent, with the cosine of their centroids."""
        of_parent: dict[str, list[Cluster]] = {}
        for cluster in self.clusters:
            if cluster.parent is not None:
                of_parent.setdefault(cluster.parent, []).append(cluster)
        for children in of_parent.values():
            for cluster, other in combinations(children, 2):
                ends = [self.centroids.get(end.id) for end in (cluster, other)]
                sim = None
                if ends[0] is not None and ends[1] is not None:
                    sim = round(float(np.dot(ends[0], ends[1])), DECIMALS)
                yield cluster, other, sim

    def journal(self) -> Iterator[tuple[StoredMember, str | None]]:
        """Yield all memberships known by the moment, of earlier hierarchies too.

        Each comes with the citation of its chunk, or None if the chunk does not hold.
        """
        moment = self._store.moment(self._as_of)
        for rows in self._known_rows():
            labels = self._store.chunks.labels({row.chunk for row in rows}, *moment)
            yield from ((row, labels.get(row.chunk)) for row in rows)

    def _known_rows(self) -> Iterator[list[StoredMember]]:
        """Yield pages of memberships as known at the moment; one that ended later has no end
        yet."""
        known = self._store.moment(self._as_of)[1]
        after = 0
        while rows := self._store.hierarchies.journal(self._space, after, _JOURNAL_PAGE):
            yield [
                row._replace(retired_at=None) if row.retired_at and row.retired_at > known else row
                for row in rows
                if row.recorded_at <= known
            ]
            after = rows[-1].id
