"""Entities: the things that names mean, and which names mean the same thing.

A merge is a row in a journal. Edges keep the ends they were written with, and are read through the
merges known at the moment of the question. So `split` only retires that row, and the past stays as
it was believed. Statements of texts about names are read the same way (identity.py).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any

from hades.domain.graph import Entity, Node, NodeKind, row_of
from hades.domain.times import FOREVER, NOW, AsOf, from_micros, to_micros
from hades.errors import Conflict, InvalidInput, NotFound
from hades.language.names import exact_key, name_key
from hades.store.database import NO_LIMIT, Glob, StorePart, believed
from hades.store.identity import PRESENT, Identity
from hades.store.records import Write
from hades.store.topics import OWN_NAME

USERS_WORD = 0
"""The origin of an entity that a user named. Other entities exist as long as texts introduce
them."""

_FIND = f"""{OWN_NAME}
UNION ALL SELECT entity FROM (
  SELECT a.entity FROM names a JOIN entities e ON e.id = a.entity
  WHERE a.key = ?3 AND e.space = ?1 AND {believed("a", "?4")}
  ORDER BY e.origin, e.name LIMIT 1) AS other
"""
"""Finds an entity by the exact letters of a name, then by its key, then by another name."""

START_CHARACTERS = 3
"""No misspelling is assumed in this many characters at the start of a name."""
_LAST_CHARACTER = "\U0010ffff"
_NEIGHBOURS = 100


def _neighbours(table: str, column: str, name: str, start: str) -> str:
    """Return SQL for the names of a table that begin with `start`, next to `name` in order."""
    ordered = f"SELECT name FROM {table} WHERE space = ?1 AND {column}"
    sides = (
        f"{ordered} >= {start} AND {column} < {name} ORDER BY {column} DESC LIMIT {_NEIGHBOURS}",
        f"{ordered} >= {name} AND {column} < {start} || '{_LAST_CHARACTER}' "
        f"ORDER BY {column} LIMIT {_NEIGHBOURS}",
    )
    return " UNION ALL ".join(f"SELECT name FROM ({side}) AS side" for side in sides)


_ALIKE = f"""
SELECT name FROM (
  {_neighbours("entities", "key", "?2", "?3")}
  UNION ALL {_neighbours("topics", "name", "?4", "?5")}
) AS alike WHERE abs(length(name) - length(?4)) < 2
"""
OTHER_NAME = "a.key != e.key AND e.key != '`' || a.name || '`'"
"""SQL condition: the name `a` is not the main name of the entity `e`."""
_AMONG = "= ANY(?1)"
_PAGE = """
SELECT id, name, kind, summary FROM entities
WHERE space = ?2 AND recorded_at <= ?3 AND (name GLOB ?4 OR ?4 IS NULL)
  AND (name, id) > (?5, ?6) AND id <> ALL(?1)
ORDER BY name, id LIMIT ?7
"""
_ALIASES = f"""
SELECT a.entity, a.name FROM names a JOIN entities e ON e.id = a.entity
WHERE a.entity {_AMONG} AND {OTHER_NAME} AND {believed("a", "?2")} ORDER BY a.name
"""
_DEGREES = f"""
SELECT node >> 3, count(*) FROM (
  SELECT e.source AS node FROM edges e WHERE e.source {_AMONG} AND {believed("e", "?2")}
  UNION ALL SELECT e.target FROM edges e WHERE e.target {_AMONG} AND {believed("e", "?2")}) AS ends
GROUP BY node
"""
_PRESENT = f"""
FROM mentions m JOIN presences p ON p.chunk = m.chunk WHERE m.entity {_AMONG} AND {PRESENT}
"""
_FIRST_KNOWN = """
SELECT min(at) FROM (
  SELECT min(p.recorded_at) AS at FROM mentions m JOIN presences p ON p.chunk = m.chunk
  WHERE m.entity = ANY(?1)
  UNION ALL SELECT min(recorded_at) FROM states WHERE topic = ANY(?2)
  UNION ALL SELECT min(recorded_at) FROM edges WHERE source = ANY(?3) OR target = ANY(?3)
) AS firsts WHERE at <= ?4
"""


class Entities(StorePart):
    """Named things, their other names, and merges of them."""

    # Finding by name

    def node(self, space: int, name: str, as_of: AsOf = NOW) -> int | None:
        """Return the node of a name: a topic, if that has no entity, else an entity; or None."""
        row = self._topic(space, name)
        if row is not None and row[1] is None:
            return int(row[0]) << 3 | NodeKind.TOPIC
        entity = self._find(space, name, as_of) if row is None else int(row[1])
        if entity is None:
            return None
        return NodeKind.ENTITY.node(self.identity(space, as_of).root_of(entity))

    def alike(self, space: int, name: str) -> Sequence[str]:
        """Return names of entities and topics with the same beginning and a similar length.

        Only the _NEIGHBOURS names before and after it in alphabetical order are looked at.
        """
        key = name_key(name)
        starts = key[:START_CHARACTERS], name[:START_CHARACTERS]
        return self._database.column(_ALIKE, space, key, starts[0], name, starts[1])

    def ensure(self, write: Write, space: int, name: str, kind: str) -> int:
        """Return the node of a name. Make an entity if there is none."""
        node = self.node(space, name)
        if node is None:
            node = NodeKind.ENTITY.node(self.new(write, space, name, kind, USERS_WORD))
        return node

    def new(
        self, write: Write, space: int, name: str, kind: str, origin: int, key: str | None = None
    ) -> int:
        """Make an entity and return its id. `key` defaults to the key of its name."""
        key = name_key(name) if key is None else key
        columns = {"space": space, "name": name, "key": key, "kind": kind, "origin": origin}
        entity = self._database.insert("entities", **columns, **write.stamp)
        self.add_name(write, entity, name_key(name), name)
        return entity

    def add_name(self, write: Write, entity: int, key: str, name: str) -> None:
        """Add a name of an entity, unless it has a name with this key."""
        known = self._database.row(
            "SELECT 1 FROM names WHERE entity = ? AND key = ? AND retired_at IS NULL", entity, key
        )
        if known is None:
            self._database.insert("names", entity=entity, key=key, name=name, **write.stamp)

    def own_nodes(self, space: int, name: str) -> list[int]:
        """Return the topic and the entity that have a name themselves, ignoring merges."""
        row = self._topic(space, name)
        entity = self._find(space, name) if row is None else row[1]
        nodes = [] if row is None else [int(row[0]) << 3 | NodeKind.TOPIC]
        return nodes if entity is None else [*nodes, NodeKind.ENTITY.node(entity)]

    def describe(self, node: int) -> Node:
        """Return the kind and name of a node."""
        return self.described([node])[node]

    def described(self, nodes: Collection[int]) -> dict[int, Node]:
        """Return the kind and name of each topic or entity; a lost one is named "(… is gone)"."""
        names: dict[int, str] = {}
        for kind, table in ((NodeKind.TOPIC, "topics"), (NodeKind.ENTITY, "entities")):
            if ids := sorted({node >> 3 for node in nodes if node & 7 == kind}):
                sql = f"SELECT id << 3 | {kind}, name FROM {table} WHERE id = ANY(?)"
                names |= dict(self._database.rows(sql, ids))
        labels = {node: NodeKind(node & 7).label for node in nodes}
        return {
            node: Node(label, names.get(node) or f"({label} {node >> 3} is gone)")
            for node, label in labels.items()
        }

    def meant(self, space: int, nodes: Collection[int], as_of: AsOf) -> dict[int, Node]:
        """Return the kind and name of what each node means as of a moment (see `Identity`)."""
        identity = self.identity(space, as_of)
        entities = [node >> 3 for node in nodes if node & 7 == NodeKind.ENTITY]
        identity.learn(entities)
        node_of = NodeKind.ENTITY.node
        roots = {node_of(e): node_of(identity.root_of(e)) for e in entities}
        described = self.described({roots.get(node, node) for node in nodes})
        return {node: described[roots.get(node, node)] for node in nodes}

    def same_as(self, space: int, node: int, as_of: AsOf) -> list[int]:
        """Return all nodes that mean the same as this one as of a moment, itself first."""
        if node & 7 != NodeKind.ENTITY:
            return [node]
        return [NodeKind.ENTITY.node(e) for e in self.identity(space, as_of).members(node >> 3)]

    def identity(self, space: int, as_of: AsOf) -> Identity:
        """Return which entities mean the same thing as of a moment."""
        moment = self._database.moment(as_of)
        return self._database.shared(
            ("identity", space, moment),
            lambda: Identity(self._database, self.roots(space, as_of), moment),
        )

    def roots(self, space: int, as_of: AsOf) -> dict[int, int]:
        """Return, for each merged entity, the entity that it was merged into in the end."""
        known = self._database.moment(as_of)[1] if as_of.known else FOREVER
        rows = self._database.rows(
            f"SELECT m.entity, m.target FROM merges m WHERE m.space = ?1 AND {believed('m', '?2')}",
            space,
            known,
        )
        into = dict(rows)
        return {entity: _root(into, entity) for entity in into}

    def names(self, entities: Sequence[int]) -> dict[int, str]:
        """Return the names of entities, by id."""
        sql = "SELECT id, name FROM entities WHERE id = ANY(?)"
        return dict(self._database.rows(sql, list(entities)))

    def list(
        self,
        space: int,
        glob: str | None = None,
        as_of: AsOf = NOW,
        after: tuple[str, int] | None = None,
        limit: int | None = None,
    ) -> list[Entity]:
        """Return entities by name, each with its aliases and the entities merged into it.

        List only names that match `glob` and come after (name, id) `after`, at most `limit`.
        """
        known = self._database.moment(as_of)[1]
        roots = self.roots(space, as_of)
        explained = self.identity(space, as_of).explained(space)
        hidden = sorted(roots.keys() | explained.keys())
        most = NO_LIMIT if limit is None else limit
        like = None if glob is None else Glob(glob)
        rows = self._database.rows(_PAGE, hidden, space, known, like, *(after or ("", 0)), most)
        groups = {row[0]: [row[0]] for row in rows}
        for entity, other in sorted({**roots, **explained}.items()):
            groups.get(explained.get(other, other), []).append(entity)
        return [*self._shown(rows, groups, roots, as_of)]

    def get(self, space: int, name: str, as_of: AsOf = NOW) -> Entity:
        """Return the entity of a name, in the same form as `list`, or raise NotFound."""
        entity = self._find(space, name, as_of)
        if entity is None:
            raise NotFound(f"There is no entity {name!r} in this space.")
        identity = self.identity(space, as_of)
        root = identity.root_of(entity)
        rows = self._database.rows(
            "SELECT id, name, kind, summary FROM entities WHERE id = ?", root
        )
        groups = {root: identity.members(root)}
        return self._shown(rows, groups, self.roots(space, as_of), as_of)[0]

    def spelled(self, space: int, part: str, limit: int) -> Sequence[str]:
        """Return names of entities that contain a text in any case, the last first."""
        return self._database.column(
            "SELECT n.name FROM names n JOIN entities e ON e.id = n.entity "
            "WHERE e.space = ?1 AND lower(n.name) LIKE ?2 AND n.retired_at IS NULL "
            "ORDER BY n.id DESC LIMIT ?3",
            space,
            f"%{part}%",
            limit,
        )

    def first_known(self, node: int, entities: Sequence[int], as_of: AsOf) -> datetime | None:
        """Return when a text or an edge first named a node or these entities, which mean the same;
        None if none had by this moment."""
        first = self._database.value(
            _FIRST_KNOWN,
            list(entities),
            [row_of(node)] if NodeKind.TOPIC.has(node) else [],
            [node, *map(NodeKind.ENTITY.node, entities)],
            self._database.moment(as_of)[1],
        )
        return None if first is None else from_micros(first)

    def _shown(
        self,
        rows: Sequence[tuple[int, str, str, str | None]],
        groups: Mapping[int, Sequence[int]],
        roots: Mapping[int, int],
        as_of: AsOf,
    ) -> Sequence[Entity]:
        """Return rows as entities.

        `groups` maps the id of each row to all entities that mean the same, itself first. `roots`
        maps each merged entity to the one that it was merged into.
        """
        moment = self._database.moment(as_of)
        aliases: dict[int, list[str]] = {}
        for entity, alias in self._database.rows(_ALIASES, sorted(groups), moment[1]):
            aliases.setdefault(entity, []).append(alias)
        into = {entity: root for entity, root in roots.items() if root in groups}
        names = self.names(sorted(into))
        merged: dict[int, list[str]] = {}
        for entity, root in sorted(into.items()):
            merged.setdefault(root, []).append(names.get(entity, f"entity {entity}"))
        members = [NodeKind.ENTITY.node(entity) for group in groups.values() for entity in group]
        degrees = dict(self._database.rows(_DEGREES, sorted(members), moment[1]))
        counts = dict(
            self._database.rows(
                f"SELECT m.entity, count(DISTINCT m.chunk) {_PRESENT} GROUP BY m.entity",
                sorted(groups),
                *moment,
            )
        )
        for entity, group in groups.items():
            if len(group) > 1:  # count a chunk that mentions several once
                counts[entity] = self._database.value(
                    f"SELECT count(DISTINCT m.chunk) {_PRESENT}", sorted(group), *moment
                )
        return [
            Entity(
                name=name,
                kind=kind,
                aliases=tuple(aliases.get(entity, ())),
                merged=tuple(merged.get(entity, ())),
                summary=summary or "",
                edges=sum(degrees.get(member, 0) for member in groups[entity]),
                frequency=counts.get(entity, 0),
                id=entity,
            )
            for entity, name, kind, summary in rows
        ]

    # Merging names

    def add_alias(self, write: Write, space: int, name: str, alias: str) -> None:
        """Add another name to an entity. Raise Conflict if it names something else."""
        entity = self._entity(space, name)
        if self._find(space, alias) not in (None, entity):
            raise Conflict(f"{alias!r} already names another entity: merge the two instead.")
        if self._topic(space, alias):
            raise Conflict(f"{alias!r} is a topic already: choose another alias.")
        self.add_name(write, entity, name_key(alias), alias)
        write.subject = NodeKind.ENTITY.node(entity)

    def merge(self, write: Write, space: int, keep: str, other: str) -> None:
        """Merge `other` into `keep`. `split` undoes it."""
        roots = self.roots(space, NOW)
        kept = self._entity(space, keep)
        kept = roots.get(kept, kept)
        gone = self._entity(space, other)
        gone = roots.get(gone, gone)
        if kept == gone:
            raise Conflict(f"{keep!r} and {other!r} are one entity already.")
        self._database.insert("merges", space=space, entity=gone, target=kept, **write.stamp)
        write.subject = NodeKind.ENTITY.node(kept)

    def rename(self, write: Write, space: int, name: str, new_name: str) -> None:
        """Merge an entity into a new one with another name, so that the past keeps the old one.

        Raise Conflict if the new name is a topic or names something else.
        """
        old = self.get(space, name, NOW)
        if self._topic(space, new_name):
            raise Conflict(f"{new_name!r} is a topic already: choose another name.")
        known = self._find(space, new_name)
        if known is not None and self.roots(space, NOW).get(known, known) != old.id:
            raise Conflict(f"{new_name!r} already names another entity: merge the two instead.")
        own = self._database.value(OWN_NAME, space, exact_key(new_name), name_key(new_name))
        if own == old.id:  # the same name, spelled otherwise
            self._database.run("UPDATE entities SET name = ?2 WHERE id = ?1", own, new_name)
            write.subject = NodeKind.ENTITY.node(own)
            write.cancelled = old.name == new_name
            return
        if known is not None:
            self.split(write, space, new_name)
        self.ensure(write, space, new_name, old.kind)
        self.set_kind(write, space, new_name, old.kind)
        write.cancelled = False
        self.merge(write, space, new_name, old.name)

    def split(self, write: Write, space: int, name: str) -> None:
        """Undo a merge, or make an alias an entity of its own."""
        key = name_key(name)
        own = self._database.value(OWN_NAME, space, exact_key(name), key)
        if own is not None:
            done = self._database.run(
                "UPDATE merges SET retired_at = ?, change = ? "
                "WHERE entity = ? AND retired_at IS NULL",
                write.at,
                write.change,
                own,
            )
            if not done:
                raise NotFound(f"{name!r} was not merged into another, so it cannot be split.")
            write.subject = NodeKind.ENTITY.node(own)
            return
        entity = self._entity(space, name)
        self._database.run(
            "UPDATE names SET retired_at = ?, change = ? "
            "WHERE entity = ? AND key = ? AND retired_at IS NULL",
            write.at,
            write.change,
            entity,
            key,
        )
        write.subject = self.ensure(write, space, name, "concept")

    def set_kind(self, write: Write, space: int, name: str, kind: str) -> None:
        """Set the kind of an entity. Cancel the write if it has that kind already."""
        entity = self._entity(space, name)
        done = self._database.run(
            "UPDATE entities SET kind = ?2 WHERE id = ?1 AND kind != ?2", entity, kind
        )
        write.subject = NodeKind.ENTITY.node(entity)
        write.cancelled = not done

    def splits(self, space: int) -> set[frozenset[int]]:
        """Return pairs of entities that were merged and split again."""
        rows = self._database.rows(
            "SELECT entity, target FROM merges WHERE space = ? AND retired_at IS NOT NULL", space
        )
        return {frozenset(row) for row in rows}

    # Private

    def _find(self, space: int, name: str, as_of: AsOf = NOW) -> int | None:
        known = FOREVER if as_of.known is None else to_micros(as_of.known)
        return self._database.number(_FIND, space, exact_key(name), name_key(name), known)

    def _topic(self, space: int, name: str) -> Any:
        """Return the id of a topic and the entity it is about, or None."""
        return self._database.row(
            "SELECT id, entity FROM topics WHERE space = ? AND name = ?", space, name
        )

    def _entity(self, space: int, name: str) -> int:
        entity = self._find(space, name)
        if entity is not None:
            return entity
        if self._topic(space, name):
            raise InvalidInput(f"{name!r} is a topic: only entities can be merged or split.")
        raise NotFound(f"There is no entity {name!r} in this space.")


def _root(into: dict[int, int], entity: int) -> int:
    steps = 0
    while entity in into and steps <= len(into):
        entity = into[entity]
        steps += 1
    return entity
