"""Edges: relations on two time axes.

An edge keeps its id. Each belief about it is a row. A new belief retires the current row and adds
another, so that earlier beliefs can be read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from hades.domain.graph import SIMILAR_TO, SYMMETRIC, Belief, Edge, Node, NodeKind
from hades.domain.times import NOW, AsOf, from_micros, from_micros_or_none, to_micros
from hades.errors import NotFound
from hades.store.catalogue import TABLES
from hades.store.database import Database, believed, holds, intact
from hades.store.entities import Entities
from hades.store.records import Direction, EdgeDraft, EdgeFilter, Write
from hades.store.topics import json_or_none

_COLUMNS = [name for name in TABLES["edges"].columns if name != "row"]
_SELECT = (
    f"SELECT {', '.join('e.' + name for name in _COLUMNS)}, r.name "
    "FROM edges e JOIN relations r ON r.id = e.relation"
)
_LACKING = f"""
e.row > :mark AND r.name <> :alike AND NOT EXISTS (
  SELECT 1 FROM embeddings v WHERE v.node = e.id << 3 | {NodeKind.EDGE}
    AND v.encoder = (SELECT id FROM encoders WHERE name = :encoder))
"""
"""SQL condition: an edge without a vector, but not a `similar_to` edge, which gets none."""


def touching(row: str, direction: Direction) -> str:
    """Return the SQL condition that edge `row` (an alias) leaves (out) or enters (in) :nodes."""
    ends = {"out": ("source",), "in": ("target",), "both": ("source", "target")}[direction]
    return "(" + " OR ".join(f"{row}.{end} = ANY(:nodes)" for end in ends) + ")"


def _is_symmetric(wanted: EdgeFilter) -> bool:
    """Return whether a filter lets edges of symmetric relations pass in the opposite direction."""
    one_way = wanted.node is not None and wanted.direction != "both"
    return one_way and (wanted.relation is None or wanted.relation in SYMMETRIC)


def _ends(wanted: EdgeFilter) -> str:
    """Return the SQL condition on the ends of an edge of :nodes."""
    target = " AND e.target = ANY(:targets)" if wanted.target is not None else ""
    condition = touching("e", wanted.direction) + target
    if not _is_symmetric(wanted):
        return condition
    opposite = touching("e", "in" if wanted.direction == "out" else "out")
    source = " AND e.source = ANY(:targets)" if wanted.target is not None else ""
    of_both = "e.relation IN (SELECT id FROM relations WHERE name = ANY(:symmetric))"
    return f"({condition} OR {of_both} AND {opposite}{source})"


class Edges:
    """The edges that somebody wrote."""

    def __init__(self, database: Database, entities: Entities) -> None:
        self._database = database
        self._entities = entities

    # Reading

    def actor(self, space: int, edge: int) -> str | None:
        """Return the actor who wrote the current belief about an edge, or None."""
        return self._database.text(
            "SELECT a.name FROM edges e JOIN changes c ON c.number = e.change "
            "JOIN actors a ON a.id = c.actor "
            "WHERE e.id = ? AND +e.space = ? AND e.retired_at IS NULL",
            edge,
            space,
        )

    def revisions(self, edge: int, action: str, actor: str) -> tuple[int, int]:
        """Return how often an action of an actor revised an edge, and when last (0: never)."""
        row = self._database.once(
            "SELECT count(DISTINCT c.number), max(c.at) FROM edges e "
            "JOIN changes c ON c.number = e.change JOIN actors a ON a.id = c.actor "
            "WHERE e.id = ? AND c.action = ? AND a.name = ?",
            edge,
            action,
            actor,
        )
        return row[0], row[1] or 0

    def find(self, space: int, wanted: EdgeFilter, as_of: AsOf) -> list[Edge]:
        """Return the edges that pass a filter, as of a moment, in the order of their ids.

        An edge of a symmetric relation counts as outgoing and incoming at both ends. If it was told
        in the other direction, it is returned reversed.
        """
        # The plus disables the index by space, which would read all edges to find those of a node.
        of_all = wanted.node is None and wanted.target is None
        where = ["e.space = :space" if of_all else "+e.space = :space", believed("e", ":known")]
        if not wanted.any_time:
            where.append(holds("e", ":valid"))
        if wanted.relation is not None:
            where.append("e.relation = (SELECT id FROM relations WHERE name = :relation)")
        if wanted.node is not None:
            where.append(_ends(wanted))
        elif wanted.target is not None:
            where.append("e.target = ANY(:targets)")
        chosen = " AND ".join(where)
        if wanted.limit is not None:
            # Sort the keys alone, so that only the page's names and evidence are read.
            chosen = (
                f"e.row IN (SELECT e.row FROM edges e WHERE {chosen} AND e.id > :beyond "
                "ORDER BY e.id LIMIT :limit)"
            )
        nodes = [*self._same(space, wanted.node, wanted, as_of), *wanted.also]
        rows = self._database.rows(
            f"{_SELECT} WHERE {chosen} ORDER BY e.id",
            space=space,
            **self._database.named_moment(as_of),
            relation=wanted.relation,
            targets=self._same(space, wanted.target, wanted, as_of),
            nodes=nodes,
            symmetric=sorted(SYMMETRIC),
            beyond=wanted.beyond,
            limit=wanted.limit,
        )
        edges = self._edges(space, rows, as_of)
        if not _is_symmetric(wanted):
            return edges
        at = _COLUMNS.index("source" if wanted.direction == "out" else "target")
        return [
            edge if row[at] in nodes else replace(edge, source=edge.target, target=edge.source)
            for row, edge in zip(rows, edges, strict=True)
        ]

    def last_uses(self, space: int, below: float) -> dict[int, datetime]:
        """Map the edges that hold and weigh less than `below` to the time of their last use.

        An edge is used when it is written, and when both topics that it joins are used.
        """
        of_end = (
            "coalesce((SELECT max(u.last_used) FROM uses u JOIN states s ON s.id = u.state "
            f"WHERE e.{{0}} & 7 = {NodeKind.TOPIC} AND s.topic = e.{{0}} >> 3), 0)"
        )
        source = of_end.format("source")
        target = of_end.format("target")
        rows = self._database.rows(
            f"SELECT e.id, e.recorded_at, {source}, {target} FROM edges e WHERE e.space = :space "
            f"AND e.weight < :below AND {believed('e', ':known')} AND {holds('e', ':valid')}",
            space=space,
            below=below,
            **self._database.named_moment(NOW),
        )
        return {id_: from_micros(max(written, min(ends))) for id_, written, *ends in rows}

    def relation(self, name: str) -> int | None:
        """Return the number of a relation, or None if no edge ever had it."""
        return self._database.number("SELECT id FROM relations WHERE name = ?", name)

    def relations(self) -> dict[int, str]:
        """Return the names of all relations, by number."""
        return dict(self._database.rows("SELECT id, name FROM relations ORDER BY id"))

    def told_relations(self, space: int) -> list[str]:
        """Return the relations of the edges that were told in a space."""
        return self._database.column(
            "SELECT name FROM relations WHERE id IN (SELECT relation FROM edges WHERE space = ?)",
            space,
        )

    def there_are(self, space: int) -> bool:
        """Return whether a space has, or had, an edge."""
        return self._database.row("SELECT 1 FROM edges WHERE space = ? LIMIT 1", space) is not None

    def get(self, space: int, edge: int) -> Edge:
        """Return an edge as it is believed now. Raise NotFound if there is none."""
        return self._edges(space, [self._current(space, edge)], NOW)[0]

    def beliefs(self, space: int, edge: int, as_of: AsOf) -> list[Edge]:
        """Return all beliefs about an edge up to a moment, oldest first."""
        known = self._database.moment(as_of)[1]
        rows = self._database.rows(
            f"{_SELECT} WHERE e.space = ? AND e.id = ? AND e.recorded_at <= ? ORDER BY e.row",
            space,
            edge,
            known,
        )
        if not rows:
            raise NotFound(f"There is no edge {edge} in this space.")
        return self._edges(space, rows, as_of)

    def read(self, space: int, ids: Sequence[int], as_of: AsOf) -> dict[int, Edge]:
        """Return edges by id as believed at a moment, whether or not they hold then."""
        known = self._database.moment(as_of)[1]
        rows = self._database.rows(
            f"{_SELECT} WHERE +e.space = ?1 AND {believed('e', '?2')} AND e.id = ANY(?3)",
            space,
            known,
            list(ids),
        )
        return {edge.id: edge for edge in self._edges(space, rows, as_of)}

    def written(self, space: int, changes: Iterable[int]) -> list[Edge]:
        """Return the beliefs that changes recorded or retired, 10,000 at most.

        Only edges that start at the subject of their change are included.
        """
        rows = self._database.rows(
            f"{_SELECT} JOIN changes c ON c.subject = e.source AND c.at IN (e.recorded_at, "
            "e.retired_at) WHERE +e.space = ? AND c.number = ANY(?) ORDER BY e.row LIMIT 10000",
            space,
            sorted(changes),
        )
        return self._edges(space, rows, NOW)

    def unembedded(
        self, encoder: str, limit: int, space: int | None = None
    ) -> list[tuple[int, str, str, str]]:
        """Return id, source, relation and target of edges without a vector, oldest first.

        `similar_to` edges are left out: they get no vector.
        """
        of_space = "" if space is None else "AND e.space = :space"
        rows = self._database.rows(
            "SELECT e.id, e.source, r.name, e.target FROM edges e "
            f"JOIN relations r ON r.id = e.relation WHERE {_LACKING} {of_space} "
            "ORDER BY e.row LIMIT :limit",
            encoder=encoder,
            mark=self._embedded(encoder),
            alike=SIMILAR_TO,
            space=space,
            limit=limit,
        )
        return self._named(rows)

    def set_embedded(self, encoder: str) -> None:
        """Record up to which row all edges have vectors. Call it inside a transaction."""
        mark = self._embedded(encoder)
        up_to = self._database.number(
            "SELECT coalesce((SELECT e.row - 1 FROM edges e JOIN relations r ON r.id = e.relation "
            f"WHERE {_LACKING} ORDER BY e.row LIMIT 1), (SELECT max(row) FROM edges))",
            encoder=encoder,
            mark=mark,
            alike=SIMILAR_TO,
        )
        if up_to is not None and up_to > mark:
            self._database.set_meta(f"{self._database.embedded}edges:{encoder}", str(up_to))

    def told(self, ids: Sequence[int]) -> dict[int, tuple[str, str, str]]:
        """Return source, relation and target of edges, by id, without following merges."""
        rows = self._database.rows(
            "SELECT DISTINCT e.id, e.source, r.name, e.target FROM edges e "
            "JOIN relations r ON r.id = e.relation WHERE e.id = ANY(?)",
            list(ids),
        )
        return {id_: (names[0], names[1], names[2]) for id_, *names in self._named(rows)}

    def _named(self, rows: Sequence[tuple[int, int, str, int]]) -> list[tuple[int, str, str, str]]:
        """Replace the source and target numbers in rows by names."""
        called = self._entities.described({end for row in rows for end in (row[1], row[3])})
        return [
            (id_, called[source].name, relation, called[target].name)
            for id_, source, relation, target in rows
        ]

    def _embedded(self, encoder: str) -> int:
        return int(self._database.meta(f"{self._database.embedded}edges:{encoder}") or 0)

    def _same(self, space: int, node: int | None, wanted: EdgeFilter, as_of: AsOf) -> list[int]:
        if node is None or wanted.exact:
            return [] if node is None else [node]
        return self._entities.same_as(space, node, as_of)

    def _edges(self, space: int, rows: list[Any], as_of: AsOf) -> list[Edge]:
        ends = {end for row in rows for end in (row[2], row[4])}
        meant = self._entities.meant(space, ends, as_of) if rows else {}
        known = self._database.moment(as_of)[1]
        return [self._edge(row, meant, known) for row in rows]

    def _edge(self, values: Any, meant: Mapping[int, Node], known: int) -> Edge:
        row = dict(zip(_COLUMNS, values, strict=False))
        if row["retired_at"] is not None and row["retired_at"] > known:
            row["retired_at"] = None  # at that moment it was not retired yet
        with intact(f"The edge {row['id']}"):
            return Edge(
                id=row["id"],
                source=meant[row["source"]],
                relation=values[-1],
                target=meant[row["target"]],
                weight=row["weight"],
                valid_from=from_micros(row["valid_from"]),
                valid_to=from_micros_or_none(row["valid_to"]),
                recorded_at=from_micros(row["recorded_at"]),
                retired_at=from_micros_or_none(row["retired_at"]),
                evidence=row["evidence"] or "",
                components=json.loads(row["components"] or "{}"),
                belief=Belief(row["belief_a"], row["belief_b"]),
                superseded_by=row["superseded_by"],
                metadata=json.loads(row["metadata"] or "{}"),
            )

    # Writing

    def add(self, write: Write, space: int, draft: EdgeDraft) -> int:
        """Write a new edge and return its id."""
        edge = self._database.insert(
            "edges",
            id=0,
            space=space,
            source=draft.source,
            relation=self._database.relation_id(draft.relation),
            target=draft.target,
            weight=1.0 if draft.weight is None else draft.weight,
            valid_from=write.at if draft.valid_from is None else to_micros(draft.valid_from),
            valid_to=None if draft.valid_to is None else to_micros(draft.valid_to),
            **write.stamp,
            belief_a=draft.belief.a,
            belief_b=draft.belief.b,
            evidence=draft.evidence or None,
            components=json_or_none(draft.components),
            metadata=json_or_none(draft.metadata),
        )
        self._database.run("UPDATE edges SET id = row WHERE row = ?", edge)
        write.subject = draft.source
        return edge

    def revise(self, write: Write, edge: int, **changed: Any) -> None:
        """Replace the belief about an edge, with some columns changed. The old row is retired."""
        row = dict(zip(_COLUMNS, self._current(None, edge), strict=False))
        for name, value in changed.items():
            if name in ("valid_from", "valid_to") and value is not None:
                changed[name] = to_micros(value)
            elif name == "metadata":
                changed[name] = json_or_none(value)
        self.retire(write, edge)
        renewed = {**row, "retired_at": None, **write.stamp, **changed}
        self._database.insert("edges", **renewed)

    def retire(self, write: Write, edge: int) -> None:
        """Stop believing an edge: as known from now on, it was never true."""
        done = self._database.run(
            "UPDATE edges SET retired_at = ?, change = ? WHERE id = ? AND retired_at IS NULL",
            write.at,
            write.change,
            edge,
        )
        if not done:
            raise NotFound(f"There is no edge {edge} that is still believed.")

    def taken_back(self, space: int, relation: str, action: str) -> set[tuple[int, int]]:
        """Return (source, target) of a relation's retired edges, unless `action` retired them."""
        rows = self._database.rows(
            "SELECT e.source, e.target FROM edges e JOIN changes c ON c.number = e.change "
            "WHERE e.space = ?1 AND e.relation = (SELECT id FROM relations WHERE name = ?2) "
            "AND e.retired_at IS NOT NULL AND c.action != ?3 AND NOT EXISTS ("
            "SELECT 1 FROM edges o WHERE o.id = e.id AND o.retired_at IS NULL)",
            space,
            relation,
            action,
        )
        return set(rows)

    def inverses(self) -> dict[str, str]:
        """Return, by relation, the relation that replaces it when a fact changes."""
        return dict(self._database.rows("SELECT relation, inverse FROM inverses ORDER BY relation"))

    def set_inverse(self, relation: str, inverse: str) -> None:
        """Set the inverse of a relation. Call it inside a write."""
        self._database.upsert("inverses", ("relation",), relation=relation, inverse=inverse)

    def _current(self, space: int | None, edge: int) -> Any:
        row = self._database.row(f"{_SELECT} WHERE e.id = ? AND e.retired_at IS NULL", edge)
        if row is None or space not in (None, row[1]):
            raise NotFound(f"There is no edge {edge} in this space.")
        return row
