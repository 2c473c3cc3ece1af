"""Which entities are one: by the journal of merges, and by what texts say themselves.

A text may state that two names mean one thing: a paper's id beside its title, an acronym
beside its long form, a bare symbol beside its full name. That is an edge `coref`, and it
holds as long as the chunk it was read in. So nothing is rewritten when such a text comes,
and nothing has to be taken back when it goes. A name that several texts explain
differently means none of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from hades.domain.graph import NodeKind
from hades.store.database import Database, believed, holds

STEPS_AT_MOST = 4
"""An acronym of a merged long form of … ends somewhere."""

PRESENT = f"{holds('p', '?2')} AND {believed('p', '?3')}"
"""That a row `p` of presences holds at the moment (?2 valid, ?3 known)."""
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
    """What entities stand for at one moment, given the merges believed then."""

    def __init__(self, database: Database, roots: dict[int, int], moment: tuple[int, int]) -> None:
        self._database = database
        self._roots = roots
        self._moment = moment
        self._meanings: dict[int, int | None] = {}

    def root_of(self, entity: int) -> int:
        """The entity that one means: itself, unless it was merged or explained."""
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
        """Every entity that means this one, itself first."""
        found = {entity: None}
        for _ in range(STEPS_AT_MOST):
            merged = [e for e, root in self._roots.items() if root in found and e not in found]
            found |= dict.fromkeys(sorted(merged))
            explained = self._coreferences(_OF_TARGETS, found)
            new = [e for e in sorted(explained) if e not in found and self._means_one_of(e, found)]
            if not new:
                break
            found |= dict.fromkeys(new)
        return list(found)

    def learn(self, entities: Iterable[int]) -> None:
        """Read at once what many entities mean; asking for each is then cheap."""
        wanted = {self._roots.get(entity, entity) for entity in entities} - self._meanings.keys()
        if wanted:
            self._keep(wanted, self._coreferences(_OF_SOURCES, wanted))

    def explained(self, space: int) -> dict[int, int]:
        """All entities of a space that texts explain, each with what it stands for."""
        rows = self._database.rows(_OF_SPACE, space, *self._moment)
        targets: dict[int, set[int]] = {}
        for source, target in rows:
            targets.setdefault(source, set()).add(target)
        self._keep(targets, targets)
        meant = {entity: self.root_of(entity) for entity in targets}
        return {entity: other for entity, other in meant.items() if entity != other}

    def _means_one_of(self, entity: int, group: Collection[int]) -> bool:
        meant = self._meaning(entity)
        return meant is not None and meant in group

    def _meaning(self, entity: int) -> int | None:
        if entity not in self._meanings:
            self.learn([entity])
        return self._meanings.get(entity)

    def _coreferences(self, sql: str, entities: Iterable[int]) -> dict[int, set[int]]:
        nodes = [entity << 3 | NodeKind.ENTITY for entity in entities]
        found: dict[int, set[int]] = {}
        for source, target in self._database.rows(sql, nodes, *self._moment):
            found.setdefault(source, set()).add(target)
        return found

    def _keep(self, entities: Iterable[int], explained: dict[int, set[int]]) -> None:
        for entity in entities:
            targets = {self._roots.get(t, t) for t in explained.get(entity, ())} - {entity}
            self._meanings[entity] = next(iter(targets)) if len(targets) == 1 else None
