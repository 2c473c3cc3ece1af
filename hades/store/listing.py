"""Entities as they are shown: with their aliases, what was merged into them, how often they
are met. A page of a list reads no more than the keys of the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hades.domain.graph import Entity, NodeKind
from hades.store.sqlite import Database

OTHER_NAME = "a.key != e.key AND e.key != '`' || a.name || '`'"
"""That a name `a` is not the one an entity `e` is known by."""

ALL = -1
"""No limit, to SQLite."""
_AMONG = "IN (SELECT value FROM json_each(?1))"
_KEYS = f"""
SELECT id, name, kind, summary FROM entities
WHERE space = ?2 AND recorded_at <= ?3 AND (?4 IS NULL OR name GLOB ?4)
  AND (name, id) > (?5, ?6) AND id NOT {_AMONG}
ORDER BY name, id LIMIT ?7
"""
_ALIASES = f"""
SELECT a.entity, a.name FROM names a JOIN entities e ON e.id = a.entity
WHERE a.entity {_AMONG} AND {OTHER_NAME} AND a.recorded_at <= ?2
  AND (a.retired_at IS NULL OR a.retired_at > ?2) ORDER BY a.name
"""
_BELIEVED = "recorded_at <= ?2 AND (retired_at IS NULL OR retired_at > ?2)"
_DEGREES = f"""
SELECT node >> 3, count(*) FROM (
  SELECT source AS node FROM edges WHERE source {_AMONG} AND {_BELIEVED}
  UNION ALL SELECT target FROM edges WHERE target {_AMONG} AND {_BELIEVED})
GROUP BY node
"""
_FREQUENCIES = f"""
SELECT m.entity, count(DISTINCT m.chunk) FROM mentions m JOIN presences p ON p.chunk = m.chunk
WHERE m.entity {_AMONG}
  AND p.valid_from <= ?2 AND (p.valid_to IS NULL OR p.valid_to > ?2)
  AND p.recorded_at <= ?3 AND (p.retired_at IS NULL OR p.retired_at > ?3)
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """Which entities of a space are others, as of a moment (valid, known)."""

    space: int
    moment: tuple[int, int]
    roots: Mapping[int, int]
    """For each merged entity, the one it stands for."""
    explained: Mapping[int, int]
    """The same of entities that texts explain."""


def list_entities(
    database: Database,
    standing: Standing,
    glob: str | None = None,
    after: tuple[str, int] = ("", 0),
    limit: int = ALL,
) -> list[Entity]:
    """The entities that stand for themselves, by name, beyond a name and id."""
    known = standing.moment[1]
    hidden = _json(standing.roots.keys() | standing.explained.keys())
    rows = database.rows(_KEYS, hidden, standing.space, known, glob, *after, limit)
    shown = {row[0] for row in rows}
    groups: dict[int, list[int]] = {}
    for entity, other in sorted({**standing.roots, **standing.explained}.items()):
        root = standing.explained.get(other, other)
        if root in shown:
            groups.setdefault(root, []).append(entity)
    merged = _merged(database, standing, shown)
    aliases = aliases_of(database, shown, known)
    degrees = degrees_of(database, shown.union(*groups.values()), known)
    counts = dict(
        database.rows(f"{_FREQUENCIES} GROUP BY m.entity", _json(shown), *standing.moment)
    )
    return [
        Entity(
            name=name,
            kind=kind,
            aliases=tuple(aliases.get(entity, ())),
            merged=tuple(merged.get(entity, ())),
            summary=summary or "",
            edges=sum(degrees.get(e, 0) for e in (entity, *groups.get(entity, ()))),
            frequency=frequency_of(database, [entity, *groups[entity]], standing.moment)
            if entity in groups
            else counts.get(entity, 0),
            id=entity,
        )
        for entity, name, kind, summary in rows
    ]


def aliases_of(database: Database, entities: Iterable[int], known: int) -> dict[int, list[str]]:
    """The other names of entities, by entity."""
    found: dict[int, list[str]] = {}
    for entity, alias in database.rows(_ALIASES, _json(entities), known):
        found.setdefault(entity, []).append(alias)
    return found


def degrees_of(database: Database, entities: Iterable[int], known: int) -> dict[int, int]:
    """At how many ends of edges that were told each entity stands."""
    nodes = [entity << 3 | NodeKind.ENTITY for entity in entities]
    return dict(database.rows(_DEGREES, _json(nodes), known))


def frequency_of(database: Database, entities: Iterable[int], moment: tuple[int, int]) -> int:
    """In how many passages one of them is mentioned."""
    return int(database.row(_FREQUENCIES, _json(entities), *moment)[1])


def _merged(database: Database, standing: Standing, shown: set[int]) -> dict[int, list[str]]:
    into = {entity: root for entity, root in standing.roots.items() if root in shown}
    rows: list[Any] = database.rows(
        f"SELECT id, name FROM entities WHERE id {_AMONG} AND recorded_at <= ?2",
        *(_json(into), standing.moment[1]),
    )
    names = dict(rows)
    merged: dict[int, list[str]] = {}
    for entity, root in sorted(into.items()):
        merged.setdefault(root, []).append(names.get(entity, f"entity {entity}"))
    return merged


def _json(numbers: Iterable[int]) -> str:
    return json.dumps(sorted(numbers))
