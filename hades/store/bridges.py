"""Bridges: stored paths of two steps between passages of distant communities.

They are derived from the graph and the hierarchy. A row is only used while both of its steps are in
the graph. So a write that ends a step need not delete the row; the next refresh does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hades.store.database import StorePart
from hades.store.records import Write

_COLUMNS = "cluster, source, node, target, weight, change"


class Bridge(NamedTuple):
    """Two passages that mention the same name, all given as nodes. The passages are its
    provenance."""

    cluster: int
    """The cluster of level 1 that the source is a member of."""
    source: int
    node: int
    target: int
    weight: float
    change: int = 0
    """The change that stored it."""


class Bridges(StorePart):
    """The bridges of a memory."""

    def of_space(self, space: int) -> list[Bridge]:
        """Return the bridges of a space, strongest first."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM bridges WHERE space = ? ORDER BY weight DESC, id", space
        )
        return [Bridge(*row) for row in rows]

    def around(self, space: int, nodes: Sequence[int], limit: int) -> list[Bridge]:
        """Return the strongest bridges that begin or end at one of these passages."""
        rows = self._database.rows(
            f"SELECT {_COLUMNS} FROM bridges WHERE space = :space "
            "AND (source = ANY(:nodes) OR target = ANY(:nodes)) "
            "ORDER BY weight DESC, id LIMIT :limit",
            space=space,
            nodes=list(nodes),
            limit=limit,
        )
        return [Bridge(*row) for row in rows]

    def count(self) -> int:
        """Return the number of bridges in all spaces."""
        return int(self._database.value("SELECT count(*) FROM bridges"))

    def moved(self, space: int, hierarchy: int) -> list[int]:
        """Return the clusters of level 1 whose members changed since the bridges were refreshed."""
        return self._database.column(
            "SELECT DISTINCT m.cluster FROM memberships m JOIN clusters c ON c.id = m.cluster "
            "WHERE c.hierarchy = ?2 AND m.change > (SELECT coalesce(max(b.change), 0) "
            "FROM bridges b JOIN clusters k ON k.id = b.cluster "
            "WHERE b.space = ?1 AND k.hierarchy = ?2) ORDER BY m.cluster",
            space,
            hierarchy,
        )

    def replace(
        self, write: Write, space: int, gone: Iterable[Bridge], new: Iterable[Bridge]
    ) -> None:
        """Delete some bridges of a space and store others."""
        self._database.run_many(
            "DELETE FROM bridges WHERE space = ?1 AND cluster = ?2 AND source = ?3 AND node = ?4 "
            "AND target = ?5",
            [(space, *bridge[:4]) for bridge in gone],
        )
        self._database.run_many(
            f"INSERT INTO bridges (space, {_COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            [(space, *bridge[:5], write.change) for bridge in new],
        )
