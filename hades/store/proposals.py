"""Proposals: changes that wait for approval, and their decisions."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from hades.domain.proposal import Proposal
from hades.domain.times import from_micros, from_micros_or_none
from hades.errors import NotFound
from hades.store.database import NO_LIMIT, StorePart, intact
from hades.store.records import Write

_SELECT = (
    "SELECT p.id, p.kind, p.fields, p.confidence, p.threshold, p.status, a.name, p.at, "
    "d.name, p.decided_at, p.why FROM proposals p JOIN actors a ON a.id = p.actor "
    "LEFT JOIN actors d ON d.id = p.decided_by "
)


class Proposals(StorePart):
    """Changes that wait for approval."""

    def add(
        self,
        write: Write,
        space: int,
        by: str,
        kind: str,
        fields: Mapping[str, Any],
        *,
        confidence: float,
        threshold: float,
        why: str = "",
        status: str = "waiting",
    ) -> int:
        """Add a proposal and return its number. If `status` is not waiting, `by` has decided it."""
        actor = self._database.actor_id(by)
        decided = status != "waiting"
        return self._database.insert(
            "proposals",
            space=space,
            kind=kind,
            fields=_text(fields),
            confidence=confidence,
            threshold=threshold,
            status=status,
            actor=actor,
            at=write.at,
            decided_by=actor if decided else None,
            decided_at=write.at if decided else None,
            change=write.change,
            why=why or None,
        )

    def get(self, space: int, proposal: int) -> Proposal:
        """Return a proposal. Raise NotFound if this space has none with that number."""
        row = self._database.row(_SELECT + "WHERE p.space = ? AND p.id = ?", space, proposal)
        if row is None:
            raise NotFound(f"There is no proposal {proposal} in this space.")
        return _proposal(row)

    def find(
        self,
        space: int,
        status: str | None = None,
        after: int = 0,
        limit: int | None = None,
        since: int = 0,
    ) -> list[Proposal]:
        """Return proposals above the number `after`, made since a time; any status if None."""
        rows = self._database.rows(
            _SELECT + "WHERE p.space = ?1 AND (p.status = ?2 OR ?2 IS NULL) AND p.id > ?3 "
            "AND p.at >= ?5 ORDER BY p.id LIMIT ?4",
            space,
            status,
            after,
            NO_LIMIT if limit is None else limit,
            since,
        )
        return [_proposal(row) for row in rows]

    def waiting(self, space: int, kind: str, fields: Mapping[str, Any]) -> int | None:
        """Return the number of a waiting proposal with the same kind and fields, or None."""
        return self._database.number(
            "SELECT id FROM proposals WHERE space = ? AND status = 'waiting' AND kind = ? "
            "AND fields = ? LIMIT 1",
            space,
            kind,
            _text(fields),
        )

    def agreeing(self, space: int, kind: str, fields: Mapping[str, Any]) -> list[Proposal]:
        """Return the waiting proposals of the same change, oldest first; evidence may differ."""
        rows = self._database.rows(
            _SELECT + "WHERE p.space = ? AND p.status = 'waiting' AND p.kind = ? ORDER BY p.id",
            space,
            kind,
        )
        change = _text(_without_evidence(fields))
        waiting = [_proposal(row) for row in rows]
        return [
            proposal for proposal in waiting if _text(_without_evidence(proposal.fields)) == change
        ]

    def refused_for(self, space: int, topic: str) -> list[Proposal]:
        """Return the refused notes whose reason may name a version of this topic."""
        rows = self._database.rows(
            _SELECT + "WHERE p.space = ? AND p.status = 'refused' AND p.why LIKE ? ESCAPE '!' "
            "ORDER BY p.id",
            space,
            f"%{_escaped(topic)}@%",
        )
        return [_proposal(row) for row in rows]

    def changing(self, space: int, source: str) -> list[Proposal]:
        """Return the waiting proposals whose fields contain this source, oldest first.

        Only the text of the fields is searched, so the caller must compare the fields.
        """
        named = _escaped(_text({"source": source})[1:-1])
        rows = self._database.rows(
            _SELECT + "WHERE p.space = ? AND p.status = 'waiting' AND p.fields LIKE ? ESCAPE '!' "
            "ORDER BY p.id",
            space,
            f"%{named}%",
        )
        return [_proposal(row) for row in rows]

    def decide(self, write: Write, proposal: int, status: str, by: str | None, why: str) -> None:
        """Record the new status of a proposal, who decided and why.

        With an empty `why` the old reason stays. With `by` None, nobody decided: a former decision
        is cleared.
        """
        decided = (None, None) if by is None else (self._database.actor_id(by), write.at)
        self._database.run(
            "UPDATE proposals SET status = ?, decided_by = ?, decided_at = ?, "
            "why = COALESCE(?, why), change = ? WHERE id = ?",
            status,
            *decided,
            why or None,
            write.change,
            proposal,
        )


def _escaped(text: str) -> str:
    """Return a text as a part of a LIKE pattern that matches only this text."""
    return re.sub(r"([%_!])", r"!\1", text)


def _without_evidence(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name != "evidence"}


def _text(fields: Mapping[str, Any]) -> str:
    return json.dumps(dict(fields), ensure_ascii=False, sort_keys=True)


def _proposal(row: tuple[Any, ...]) -> Proposal:
    number, kind, fields, confidence, threshold, status, by, at, decided_by, decided_at, why = row
    with intact(f"Proposal {number}"):
        return Proposal(
            id=number,
            kind=kind,
            fields=json.loads(fields),
            confidence=confidence,
            threshold=threshold,
            status=status,
            by=by,
            at=from_micros(at),
            decided_by=decided_by,
            decided_at=from_micros_or_none(decided_at),
            why=why or "",
        )
