"""Identity: which entities mean the same thing, by the journal of merges and by texts.

A text may state that two names mean one thing: a paper's id beside its title, an acronym beside
its long form, a bare symbol beside its full name. That is an edge `coref`, which holds as long as
the chunk it was read in. So nothing is rewritten when such a text comes or goes. A name that texts
explain in different ways keeps its own meaning.
"""

from __future__ import annotations

from collections.abc import Iterable

from hades.domain.graph import NodeKind
from hades.store.database import Database, believed, holds

STEPS_AT_MOST = 4
"""The most steps along a chain of merges and explanations."""

PRESENT = f"{holds('p', '?2')} AND {believed('p', '?3')}"
"""SQL condition: a row `p` of presences holds at the moment (?2 valid, ?3 known)."""
_COREFERENCES = """
SELECT DISTINCT l.source >> 3, l.target >> 3
FROM derived_edges l JOIN presences p ON p.chunk = l.chunk
WHERE l.relation = (SELECT id FROM relations WHERE name = 'coref')
  AND l.source & 7 = 1 AND l.target & 7 = 1 AND {which} AND {present}
"""
_OF_SOURCES = _COREFERENCES.format(which="l.source = ANY(?1)", present=PRESENT)
_OF_TARGETS = _COREFERENCES.format(which="l.target = ANY(?1)", present=PRESENT)
_OF_SPACE = _COREFERENCES.format(
    which="l.source >> 3 IN (SELECT id FROM entities WHERE space = ?1)", present=PRESENT
)


class Identity:
    """The entities that mean the same at one moment, by merges and by explanations in texts."""

    def __init__(self, database: Database, roots: dict[int, int], moment: tuple[int, int]) -> None:
        self._database = database
        self._roots = roots
        self._moment = moment
        self._meanings: dict[int, int | None] = {}

    def root_of(self, entity: int) -> int:
        """Return the entity that this one was merged into or stands for in a text, else itself."""
        seen = {entity}
        for _ in range(STEPS_AT_MOST):
            entity = self._roots.get(entity, entity)
            meant = self._meaning(entity)
            if meant is None or meant in seen:
                break
            seen.add(meant)
            entity = meant
        return self._roots.get(entity, entity)

    def members(self, entity: int) -> list[int]:
        """Return every entity that means this one, itself first."""
        group = {entity: None}
        for _ in range(STEPS_AT_MOST):
            merged = [e for e, root in self._roots.items() if root in group and e not in group]
            group |= dict.fromkeys(sorted(merged))
            explained = sorted(self._coreferences(_OF_TARGETS, group))
            new = [e for e in explained if e not in group and self._meaning(e) in group]
            if not new:
                break
            group |= dict.fromkeys(new)
        return list(group)

    def learn(self, entities: Iterable[int]) -> None:
        """Read the meanings of many entities in one query, for later calls."""
        wanted = {self._roots.get(entity, entity) for entity in entities} - self._meanings.keys()
        if wanted:
            self._keep(wanted, self._coreferences(_OF_SOURCES, wanted))

    def explained(self, space: int) -> dict[int, int]:
        """Map each entity of a space that a text explains to the entity that it means."""
        targets = _targets(self._database.rows(_OF_SPACE, space, *self._moment))
        self._keep(targets, targets)
        self.learn(target for group in targets.values() for target in group)
        meant = {entity: self.root_of(entity) for entity in targets}
        return {entity: other for entity, other in meant.items() if entity != other}

    def _meaning(self, entity: int) -> int | None:
        if entity not in self._meanings:
            self.learn([entity])
        return self._meanings.get(entity)

    def _coreferences(self, sql: str, entities: Iterable[int]) -> dict[int, set[int]]:
        nodes = [entity << 3 | NodeKind.ENTITY for entity in entities]
        return _targets(self._database.rows(sql, nodes, *self._moment))

    def _keep(self, entities: Iterable[int], explained: dict[int, set[int]]) -> None:
        for entity in entities:
            targets = {self._roots.get(t, t) for t in explained.get(entity, ())} - {entity}
            self._meanings[entity] = next(iter(targets)) if len(targets) == 1 else None


def _targets(rows: Iterable[tuple[int, int]]) -> dict[int, set[int]]:
    targets: dict[int, set[int]] = {}
    for source, target in rows:
        targets.setdefault(source, set()).add(target)
    return targets
