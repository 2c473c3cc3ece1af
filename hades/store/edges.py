"""Edges: relations on two time axes.

An edge keeps its id for life. What is believed about it is a row; a new belief
retires that row and writes the next, so "what did we think then?" has an answer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from hades.domain.graph import Belief, Edge, Node, NodeKind
from hades.domain.times import NOW, AsOf, from_micros, from_micros_or_none, to_micros
from hades.errors import NotFound
from hades.store.database import Database
from hades.store.entities import Entities
from hades.store.faults import intact
from hades.store.identity import Identity
from hades.store.records import EdgeDraft, EdgeFilter, Write
from hades.store.topics import json_or_none


class _EdgeRow(NamedTuple):
    """What is believed about an edge, as it lies in the file."""

    id: int
    space: int
    source: int
    relation: int
    target: int
    weight: float
    valid_from: int
    valid_to: int | None
    recorded_at: int
    retired_at: int | None
    superseded_by: int | None
    change: int
    belief_a: float
    belief_b: float
    evidence: str | None
    components: str | None
    metadata: str | None


_NAME = """
CASE e.{end} & 7
  WHEN 0 THEN (SELECT name FROM topics WHERE id = e.{end} >> 3)
  WHEN 1 THEN (SELECT name FROM entities WHERE id = e.{end} >> 3)
END"""
_SELECT = (
    f"SELECT {', '.join('e.' + name for name in _EdgeRow._fields)}, r.name, "
    f"{_NAME.format(end='source')}, {_NAME.format(end='target')} "
    "FROM edges e JOIN relations r ON r.id = e.relation "
)
_BELIEVED = "e.recorded_at <= ? AND (e.retired_at IS NULL OR e.retired_at > ?)"
_HOLDS = "e.valid_from <= ? AND (e.valid_to IS NULL OR e.valid_to > ?)"


class Edges:
    """Relations that hold for a time."""

    def __init__(self, database: Database, entities: Entities) -> None:
        self._database = database
        self._entities = entities

    # Reading

    def find(self, space: int, wanted: EdgeFilter, as_of: AsOf) -> list[Edge]:
        """The edges wanted, as of a moment, in the order they were first written."""
        valid, known = self._database.moment(as_of)
        # The plus keeps an engine from reading a whole space to find the edges of one node.
        of_all = wanted.node is None and wanted.target is None
        where = ["e.space = ?" if of_all else "+e.space = ?", _BELIEVED]
        values: list[Any] = [space, known, known]
        if not wanted.any_time:
            where.append(_HOLDS)
            values += [valid, valid]
        if wanted.relation is not None:
            where.append("e.relation = (SELECT id FROM relations WHERE name = ?)")
            values.append(wanted.relation)
        if wanted.target is not None:
            self._touching(("target",), space, wanted.target, wanted, as_of, where, values)
        if wanted.node is not None:
            ends = {"out": ("source",), "in": ("target",), "both": ("source", "target")}
            self._touching(ends[wanted.direction], space, wanted.node, wanted, as_of, where, values)
        rows = self._database.rows(*_ordered(where, values, wanted))
        return self._edges(space, rows, as_of)

    def there_are(self, space: int) -> bool:
        """Whether anything was ever related in a space."""
        return self._database.row("SELECT 1 FROM edges WHERE space = ? LIMIT 1", space) is not None

    def get(self, space: int, edge: int) -> Edge:
        """An edge as believed now."""
        return self._edges(space, [self._current(space, edge)], NOW)[0]

    def beliefs(self, space: int, edge: int, as_of: AsOf) -> list[Edge]:
        """Everything believed about an edge up to a moment, oldest first."""
        known = self._database.moment(as_of)[1]
        rows = self._database.rows(
            f"{_SELECT} WHERE e.space = ? AND e.id = ? AND e.recorded_at <= ? ORDER BY e.row",
            *(space, edge, known),
        )
        if not rows:
            raise NotFound(f"There is no edge {edge} in this space.")
        return self._edges(space, rows, as_of)

    def read(self, space: int, ids: Sequence[int], as_of: AsOf) -> dict[int, Edge]:
        """Edges by id as they are believed at a moment, whether or not they hold then."""
        known = self._database.moment(as_of)[1]
        rows = self._database.rows(
            f"{_SELECT} WHERE +e.space = ? AND {_BELIEVED} AND e.id = ANY(?)",
            *(space, known, known, list(ids)),
        )
        return {edge.id: edge for edge in self._edges(space, rows, as_of)}

    def unembedded(self, encoder: str, limit: int) -> list[tuple[int, int, str, str, str]]:
        """Told facts without a vector: row, id, source, relation, target, oldest first."""
        return self._database.rows(
            f"SELECT e.row, e.id, {_NAME.format(end='source')}, r.name, "
            f"{_NAME.format(end='target')} FROM edges e JOIN relations r ON r.id = e.relation "
            "WHERE e.row > ? ORDER BY e.row LIMIT ?",
            *(self._embedded(encoder), limit),
        )

    def waiting(self, encoder: str) -> int:
        """How many rows of edges are not looked at yet for vectors."""
        last = self._database.value("SELECT coalesce(max(row), 0) FROM edges")
        return max(0, int(last) - self._embedded(encoder))

    def set_embedded(self, encoder: str, row: int) -> None:
        """Note that all edges up to a row have their vectors."""
        self._database.set_meta(f"{self._database.embedded}edges:{encoder}", str(row))

    def _embedded(self, encoder: str) -> int:
        return int(self._database.meta(f"{self._database.embedded}edges:{encoder}") or 0)

    def _touching(
        self,
        ends: tuple[str, ...],
        space: int,
        node: int,
        wanted: EdgeFilter,
        as_of: AsOf,
        where: list[str],
        values: list[Any],
    ) -> None:
        nodes = [node] if wanted.exact else self._entities.same_as(space, node, as_of)
        marks = ", ".join("?" * len(nodes))
        where.append("(" + " OR ".join(f"e.{end} IN ({marks})" for end in ends) + ")")
        for _ in ends:
            values += nodes

    def _edges(self, space: int, rows: list[Any], as_of: AsOf) -> list[Edge]:
        identity = self._entities.identity(space, as_of)
        ends = [end for row in rows for end in (row[2], row[4])]
        identity.learn(end >> 3 for end in ends if end & 7 == NodeKind.ENTITY)
        known = self._database.moment(as_of)[1]
        return [self._edge(row, identity, known) for row in rows]

    def _edge(self, found: Any, identity: Identity, known: int) -> Edge:
        row = _EdgeRow._make(found[:-3])
        if row.retired_at is not None and row.retired_at > known:
            row = row._replace(retired_at=None)  # not yet known then
        relation, source, target = found[-3:]
        with intact(f"The edge {row.id}"):
            return Edge(
                id=row.id,
                source=self._end(row.source, source, identity),
                relation=relation,
                target=self._end(row.target, target, identity),
                weight=row.weight,
                valid_from=from_micros(row.valid_from),
                valid_to=from_micros_or_none(row.valid_to),
                recorded_at=from_micros(row.recorded_at),
                retired_at=from_micros_or_none(row.retired_at),
                evidence=row.evidence or "",
                components=json.loads(row.components) if row.components else {},
                belief=Belief(row.belief_a, row.belief_b),
                superseded_by=row.superseded_by,
                metadata=json.loads(row.metadata) if row.metadata else {},
            )

    def _end(self, node: int, name: str | None, identity: Identity) -> Node:
        kind, row = node & 7, node >> 3
        root = identity.root_of(row) if kind == NodeKind.ENTITY else row
        if name is None or root != row:
            return self._entities.describe(root << 3 | kind)
        return Node(NodeKind(kind).label, name)

    # Writing

    def add(self, write: Write, space: int, draft: EdgeDraft) -> int:
        """Write a new edge; its id."""
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
            recorded_at=write.at,
            change=write.change,
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
        """Believe something else about an edge from now on; the old belief is kept."""
        row = _EdgeRow._make(self._current(None, edge)[:-3])
        for name, value in changed.items():
            if name in ("valid_from", "valid_to") and value is not None:
                changed[name] = to_micros(value)
            elif name == "metadata":
                changed[name] = json_or_none(value)
        self.retire(write, edge)
        row = row._replace(recorded_at=write.at, retired_at=None, change=write.change, **changed)
        self._database.insert("edges", **row._asdict())

    def retire(self, write: Write, edge: int) -> None:
        """Believe an edge no longer: as known from now on, it was never true."""
        done = self._database.run(
            "UPDATE edges SET retired_at = ?, change = ? WHERE id = ? AND retired_at IS NULL",
            *(write.at, write.change, edge),
        )
        if not done:
            raise NotFound(f"There is no edge {edge} that is still believed.")

    def taken_back(self, space: int, relation: str, action: str) -> set[tuple[int, int]]:
        """(source, target) of edges of a relation that another action stopped believing."""
        rows = self._database.rows(
            "SELECT e.source, e.target FROM edges e JOIN changes c ON c.number = e.change "
            "WHERE e.space = ?1 AND e.relation = (SELECT id FROM relations WHERE name = ?2) "
            "AND e.retired_at IS NOT NULL AND c.action != ?3 AND NOT EXISTS ("
            "SELECT 1 FROM edges o WHERE o.id = e.id AND o.retired_at IS NULL)",
            *(space, relation, action),
        )
        return set(rows)

    def inverses(self) -> dict[str, str]:
        """Which relation takes over when a fact changes."""
        return dict(self._database.rows("SELECT relation, inverse FROM inverses ORDER BY relation"))

    def set_inverse(self, write: Write, relation: str, inverse: str) -> None:
        """Add to that table, or change it."""
        del write
        self._database.upsert("inverses", ("relation",), relation=relation, inverse=inverse)

    def _current(self, space: int | None, edge: int) -> Any:
        row = self._database.row(f"{_SELECT} WHERE e.id = ? AND e.retired_at IS NULL", edge)
        if row is None or space not in (None, row[1]):
            raise NotFound(f"There is no edge {edge} in this space.")
        return row


def _ordered(where: list[str], values: list[Any], wanted: EdgeFilter) -> tuple[Any, ...]:
    """The statement that reads the edges wanted, and its values."""
    if wanted.limit is None:
        return f"{_SELECT} WHERE {' AND '.join(where)} ORDER BY e.id", *values
    # The keys are sorted alone: names and evidence are read of the page only.
    keys = f"SELECT e.row FROM edges e WHERE {' AND '.join([*where, 'e.id > ?'])} ORDER BY e.id"
    sql = f"{_SELECT} WHERE e.row IN ({keys} LIMIT ?) ORDER BY e.id"
    return sql, *values, wanted.beyond, wanted.limit
