"""Hierarchies in the store: clusters, and the memberships of chunks with their journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from hades.domain.graph import NodeKind
from hades.domain.hierarchy import (
    JOINED_AT_LEAST,
    JOINED_AT_MOST,
    NEARNESS_LOST_AT_MOST,
    Cluster,
    Drift,
    Hierarchy,
    cluster_name,
    read_details,
)
from hades.domain.times import AsOf, from_micros, from_micros_or_none
from hades.store.database import StorePart, believed, holds, intact
from hades.store.records import Write

_HIERARCHY = "SELECT id, recorded_at, retired_at, encoder, details FROM hierarchies h WHERE "
_MEMBER = believed("m", ":known")
_PRESENT = f"""EXISTS (SELECT 1 FROM presences p WHERE p.chunk = m.chunk
AND {believed("p", ":known")} AND {holds("p", ":valid")})"""
_CLUSTERS = f"""
SELECT c.id, c.level, c.parent, c.label, c.text, (
  SELECT count(*) FROM memberships m WHERE m.cluster = c.id AND {_MEMBER} AND {_PRESENT})
FROM clusters c WHERE c.hierarchy = :hierarchy ORDER BY c.id
"""
_MEMBERSHIPS = """
SELECT m.id, m.chunk, m.cluster, m.near, m.recorded_at, m.retired_at, (
  SELECT b.cluster FROM memberships b WHERE b.chunk = m.chunk AND b.id < m.id
  ORDER BY b.id DESC LIMIT 1)
FROM memberships m JOIN clusters c ON c.id = m.cluster
"""
_DRIFT = f"""
SELECT sum(CASE WHEN m.recorded_at > h.recorded_at THEN 1 ELSE 0 END),
  avg(CASE WHEN m.recorded_at > h.recorded_at THEN m.near END),
  sum(CASE WHEN {_PRESENT} THEN 0 ELSE 1 END)
FROM memberships m JOIN clusters c ON c.id = m.cluster JOIN hierarchies h ON h.id = c.hierarchy
WHERE h.id = :hierarchy AND {_MEMBER}
"""
_OF_HIERARCHY = "m.cluster IN (SELECT id FROM clusters WHERE hierarchy = ?1)"
_RETIRE = "UPDATE {} SET retired_at = ?2, change = ?3 WHERE retired_at IS NULL AND {}"


class StoredMember(NamedTuple):
    """A membership: which chunk is in which cluster, since when, and where it was before."""

    id: int
    chunk: int
    cluster: int
    near: float
    recorded_at: int
    retired_at: int | None
    previous: int | None
    """The cluster of the chunk's membership before this one."""


@dataclass(frozen=True, slots=True)
class ClusterDraft:
    """A cluster to write. `parent` is the position of another draft, before this one."""

    level: int
    parent: int | None
    label: str
    text: str
    centroid: bytes


class Hierarchies(StorePart):
    """Clusters of chunks by space, as they were believed at any known time."""

    # Reading

    def current(self, space: int, as_of: AsOf) -> Hierarchy | None:
        """Return the hierarchy of a space that held at a known time, or None."""
        row = self._database.row(
            f"{_HIERARCHY} space = ?1 AND {believed('h', '?2')} ORDER BY id DESC LIMIT 1",
            space,
            self._known(as_of),
        )
        return None if row is None else _hierarchy(row)

    def history(self, space: int, as_of: AsOf) -> list[Hierarchy]:
        """Return all hierarchies of a space known at a moment, the newest first."""
        rows = self._database.rows(
            f"{_HIERARCHY} space = ? AND recorded_at <= ? ORDER BY id DESC",
            space,
            self._known(as_of),
        )
        return [_hierarchy(row) for row in rows]

    def hierarchy_of(self, space: int, cluster: int, as_of: AsOf) -> int | None:
        """Return the hierarchy of a cluster known at a moment; None if the space has none such."""
        return self._database.number(
            "SELECT h.id FROM clusters c JOIN hierarchies h ON h.id = c.hierarchy "
            "WHERE c.id = ? AND h.space = ? AND h.recorded_at <= ?",
            cluster,
            space,
            self._known(as_of),
        )

    def clusters(self, hierarchy: int, as_of: AsOf) -> list[Cluster]:
        """Return the clusters of a hierarchy with their sizes at a moment, by number."""
        moment = self._database.named_moment(as_of)
        rows = self._database.rows(_CLUSTERS, hierarchy=hierarchy, **moment)
        sizes: dict[int, int] = {}
        for _, _, parent, _, _, size in rows:
            sizes[parent] = sizes.get(parent, 0) + size
        return [
            Cluster(
                cluster_name(number),
                level,
                label,
                text,
                size + sizes.get(number, 0),
                None if parent is None else cluster_name(parent),
            )
            for number, level, parent, label, text, size in rows
        ]

    def centroids(self, hierarchy: int) -> list[tuple[int, int, int | None, bytes]]:
        """Return number, level, parent and centroid of each cluster, by number.

        The centroid is empty if too few members were left after a purge.
        """
        return self._database.rows(
            "SELECT id, level, parent, centroid FROM clusters WHERE hierarchy = ? ORDER BY id",
            hierarchy,
        )

    def members(
        self, cluster: int, as_of: AsOf, limit: int, *, journal: bool = False
    ) -> list[StoredMember]:
        """Return the members of a cluster and of its children at a moment, central ones first.

        With `journal`, return all memberships that it had up to then, the newest first.
        """
        rows = self._database.rows(
            f"{_MEMBERSHIPS} WHERE (c.id = :cluster OR c.parent = :cluster) "
            f"AND m.recorded_at <= :known AND (:journal = 1 OR {_MEMBER} AND {_PRESENT}) ORDER BY "
            "CASE WHEN :journal = 1 THEN -m.id ELSE 0 END, m.near DESC, m.chunk LIMIT :most",
            cluster=cluster,
            **self._database.named_moment(as_of),
            most=limit,
            journal=int(journal),
        )
        return [StoredMember._make(row) for row in rows]

    def journal(self, space: int, after: int, limit: int) -> list[StoredMember]:
        """Return the memberships of a space with numbers above `after`, in order."""
        rows = self._database.rows(
            f"{_MEMBERSHIPS} JOIN hierarchies h ON h.id = c.hierarchy "
            "WHERE h.space = ?1 AND m.id > ?2 ORDER BY m.id LIMIT ?3",
            space,
            after,
            limit,
        )
        return [StoredMember._make(row) for row in rows]

    def of_chunks(
        self, hierarchy: int, chunks: Sequence[int], as_of: AsOf
    ) -> dict[int, tuple[int, int | None]]:
        """Return the clusters of level 1 and 2 of each chunk that was a member at a moment."""
        rows = self._database.rows(
            "SELECT m.chunk, c.id, c.parent FROM memberships m JOIN clusters c ON c.id = m.cluster "
            f"WHERE c.hierarchy = ?1 AND m.chunk = ANY(?2) AND {believed('m', '?3')}",
            hierarchy,
            list(chunks),
            self._known(as_of),
        )
        return {chunk: (cluster, parent) for chunk, cluster, parent in rows}

    def memberships(
        self, hierarchy: int, as_of: AsOf, after: int = 0
    ) -> Iterator[list[tuple[int, int]]]:
        """Yield batches of (chunk, cluster) of a hierarchy at a known time, changed after `after`.

        `after` is a change number; 0 yields all.
        """
        by = "INDEXED BY memberships_change" if after else ""
        return self._database.batches(
            10_000,
            f"SELECT m.chunk, m.cluster FROM memberships m {by} "
            f"WHERE m.change > ?3 AND {_OF_HIERARCHY} AND {believed('m', '?2')} ORDER BY m.id",
            hierarchy,
            self._known(as_of),
            after,
        )

    def changed_at(self, hierarchy: int) -> int:
        """Return the change that wrote the clusters of a hierarchy, or purged from them."""
        return self._database.value("SELECT change FROM hierarchies WHERE id = ?", hierarchy) or 0

    def drift(self, hierarchy: Hierarchy, encoder: str, as_of: AsOf) -> Drift:
        """Measure how far a space has moved from its hierarchy; `encoder` is the one in use."""
        moment = self._database.named_moment(as_of)
        counts = self._database.row(_DRIFT, hierarchy=hierarchy.id, **moment)
        joined, near, gone = (count or 0 for count in counts)
        blank = self._database.value(
            "SELECT count(*) FROM clusters WHERE hierarchy = ? AND label = ''", hierarchy.id
        )
        share = (joined + gone) / max(1, hierarchy.chunks)
        lost = hierarchy.nearness - near
        due = ""
        if encoder != hierarchy.encoder:
            due = f"its vectors are of the encoder {hierarchy.encoder}, not {encoder}"
        elif share > JOINED_AT_MOST:
            due = f"{joined + gone:,} passages came or went since {hierarchy.made_at:%Y-%m-%d}"
        elif joined >= JOINED_AT_LEAST and lost > NEARNESS_LOST_AT_MOST:
            due = f"the {joined:,} passages that joined fit their clusters worse"
        elif blank:
            due = "a text that clusters were labelled from was purged"
        return Drift(joined, gone, round(near, 4), due)

    # Clusters and memberships

    def shared_names(self, space: int, least: int, most: int) -> Iterator[list[tuple[int, int]]]:
        """Yield batches of (entity, chunk) for names that `least` to `most` chunks mention."""
        return self._database.batches(
            10_000,
            "SELECT m.entity, m.chunk FROM mentions m JOIN (SELECT r.entity FROM mentions r "
            "JOIN entities e ON e.id = r.entity AND e.space = ?1 GROUP BY r.entity "
            "HAVING count(*) BETWEEN ?2 AND ?3) rare ON rare.entity = m.entity "
            "ORDER BY m.entity, m.chunk",
            space,
            least,
            most,
        )

    def stated_ends(self, space: int) -> Iterator[list[tuple[int, int]]]:
        """Yield batches of (source, target) nodes of a space's written and derived edges."""
        return self._database.batches(
            10_000,
            "SELECT source, target FROM edges WHERE space = ?1 AND retired_at IS NULL "
            "UNION SELECT d.source, d.target FROM derived_edges d JOIN chunks c ON c.id = d.chunk "
            "JOIN topics t ON t.id = c.topic WHERE t.space = ?1 ORDER BY source, target",
            space,
        )

    def is_any(self) -> bool:
        """Return whether any space has a hierarchy."""
        return self._database.row("SELECT 1 FROM hierarchies LIMIT 1") is not None

    def purged_since(self, change: int) -> bool:
        """Return whether anything was purged after a change."""
        return (
            self._database.row("SELECT 1 FROM purged WHERE change > ? LIMIT 1", change) is not None
        )

    def embedded_since(self, space: int, encoder: str, change: int) -> list[int]:
        """Return the chunks of a space whose vector was written after a change."""
        return self._database.column(
            "SELECT c.id FROM embeddings v JOIN encoders e ON e.id = v.encoder "
            f"JOIN chunks c ON v.node = c.id << 3 | {NodeKind.CHUNK} "
            "JOIN topics t ON t.id = c.topic "
            "WHERE e.name = ? AND v.change > ? AND t.space = ? ORDER BY c.id",
            encoder,
            change,
            space,
        )

    def spaces_of(self, chunks: Sequence[int]) -> dict[int, int]:
        """Return the space of each chunk."""
        return dict(
            self._database.rows(
                "SELECT c.id, t.space FROM chunks c JOIN topics t ON t.id = c.topic "
                "WHERE c.id = ANY(?)",
                list(chunks),
            )
        )

    # Writing

    def put(
        self,
        write: Write,
        space: int,
        encoder: str,
        details: Mapping[str, Any],
        drafts: Sequence[ClusterDraft],
    ) -> tuple[int, list[int]]:
        """Write a hierarchy and end the one before. Return its number and those of its clusters."""
        at = write.at, write.change
        of_space = "cluster IN (SELECT c.id FROM clusters c JOIN hierarchies h "
        of_space += "ON h.id = c.hierarchy WHERE h.space = ?1)"
        self._database.run(_RETIRE.format("memberships", of_space), space, *at)
        self._database.run(
            "UPDATE hierarchies SET retired_at = ?2 WHERE retired_at IS NULL AND space = ?1",
            space,
            write.at,
        )
        hierarchy = self._database.insert(
            "hierarchies",
            space=space,
            encoder=encoder,
            details=json.dumps(dict(details), sort_keys=True),
            **write.stamp,
        )
        numbers: list[int] = []
        for draft in drafts:
            number = self._database.insert(
                "clusters",
                hierarchy=hierarchy,
                level=draft.level,
                parent=None if draft.parent is None else numbers[draft.parent],
                label=draft.label,
                text=draft.text,
                centroid=draft.centroid,
            )
            numbers.append(number)
        return hierarchy, numbers

    def join(self, write: Write, rows: Iterable[tuple[int, int, float]]) -> None:
        """Record that chunks are members of clusters: (chunk, cluster, nearness) of each."""
        self._database.run_many(
            "INSERT INTO memberships (chunk, cluster, near, recorded_at, change) "
            "SELECT ?1, ?2, ?3, ?4, ?5 WHERE EXISTS (SELECT 1 FROM chunks WHERE id = ?1)",
            [(*row, write.at, write.change) for row in rows],
        )

    def restore(self, write: Write, space: int, hierarchy: int) -> int:
        """Write a copy of an earlier hierarchy as it was when it ended. Return its number.

        Memberships are read from the journal: those that ended with it. Purged chunks stay away.
        """
        encoder, details, ended = self._database.row(
            "SELECT encoder, details, retired_at FROM hierarchies WHERE id = ?", hierarchy
        )
        old = self._database.rows(
            "SELECT id, level, parent, label, text, centroid FROM clusters WHERE hierarchy = ? "
            "ORDER BY id",
            hierarchy,
        )
        place = {row[0]: at for at, row in enumerate(old)}
        drafts = [
            # An imported parent may be missing, or come after its child.
            ClusterDraft(level, where if (where := place.get(parent, at)) < at else None, *texts)
            for at, (_, level, parent, *texts) in enumerate(old)
        ]
        rows = self._database.rows(
            f"SELECT m.chunk, m.cluster, m.near FROM memberships m WHERE {_OF_HIERARCHY} "
            "AND m.retired_at = ?2 ORDER BY m.chunk",
            hierarchy,
            ended,
        )
        details = json.loads(details) | {"restored_from": hierarchy}
        copy, numbers = self.put(write, space, encoder, details, drafts)
        self.join(write, [(chunk, numbers[place[cluster]], near) for chunk, cluster, near in rows])
        return copy

    def _known(self, as_of: AsOf) -> int:
        return self._database.moment(as_of)[1]


def _hierarchy(row: Sequence[Any]) -> Hierarchy:
    number, recorded_at, retired_at, encoder, details = row
    with intact(f"The hierarchy {number}"):
        read = read_details(details)
        return Hierarchy(
            number, from_micros(recorded_at), from_micros_or_none(retired_at), encoder, **read
        )
