"""Reviewing: the methods of a memory that guard what is written.

A part of `Memory`, kept in its own file. `propose` writes what somebody is sure enough of
and lets the rest wait until `approve` or `reject`; `once` lets a write be sent again without
being done twice.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any

from hades.domain.proposal import DEFAULT_THRESHOLD, Proposal
from hades.domain.rules import (
    clean_content,
    clean_metadata,
    clean_name,
    clean_number,
    clean_share,
    clean_tags,
)
from hades.domain.times import TimeLike, iso
from hades.errors import Conflict, InvalidInput, NotFound
from hades.writing import Writing

ANSWERS_KEPT_DAYS = 7
_DAY_MICROSECONDS = 86_400_000_000


class _Undone(Exception):
    """Takes back what was only tried."""


class Reviewing(Writing):
    """Proposals and answers of one space."""

    def once(self, key: str, request: str, do: Callable[[], Any]) -> tuple[Any, bool]:
        """Do a write unless it was done under this key before; its answer, and whether it was.

        `do` writes through this memory and gives plain JSON, which is kept in the same commit,
        for 7 days, for this actor in this space. The same key with another `request` is a
        Conflict. Inside, as in a batch, nothing can be searched.
        """
        clean_name(key, "key")
        digest = sha256(clean_content(request).encode()).digest()
        with self.batch():
            self._require_space()
            oldest = self._store.now() - ANSWERS_KEPT_DAYS * _DAY_MICROSECONDS
            kept = self._store.idempotency.get(self._space_id, self._actor, key, oldest)
            if kept is not None:
                if kept[0] != digest:
                    raise Conflict(f"The key {key!r} came with another request: choose a new key.")
                return json.loads(kept[1]), True
            answer = _json(do())
            self._store.idempotency.drop(oldest)
            if self._is_there():
                now = self._store.now()
                self._store.idempotency.put(self._space_id, self._actor, key, digest, answer, now)
        return json.loads(answer), False

    def propose(
        self,
        subject: str,
        relation: str | None = None,
        target: str | None = None,
        *,
        confidence: float,
        threshold: float = DEFAULT_THRESHOLD,
        content: str | None = None,
        alias: str | None = None,
        kind: str | None = None,
        weight: float | None = None,
        evidence: str = "",
        valid_from: TimeLike | None = None,
        valid_to: TimeLike | None = None,
        exclusive: bool = False,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        importance: float | None = None,
        expect_version: int | None = None,
    ) -> Proposal:
        """Propose a change: applied at once from `threshold` on, else it waits for approval.

        With `relation` and `target` it is an edge (`relate`), with `content` a state of the
        topic `subject` (`remember`), with `alias` another name of the entity, with `kind`
        alone what kind of thing it is. What could not be written now is refused now. What
        waits already is given back. An approved change holds from then on, unless
        `valid_from` says otherwise.
        """
        sure = clean_share(confidence, "confidence")
        needed = clean_share(threshold, "threshold")
        if sure is None or needed is None:
            raise InvalidInput("Say how sure you are: a confidence and a threshold from 0 to 1.")
        marks = clean_tags(tags)
        given = {
            "relation": relation,
            "target": target,
            "content": content,
            "alias": alias,
            "kind": kind,
            "weight": weight,
            "evidence": evidence or None,
            "valid_from": self._written(valid_from),
            "valid_to": self._written(valid_to),
            "exclusive": exclusive or None,
            "tags": None if marks is None else list(marks),
            "metadata": clean_metadata(metadata),
            "importance": importance,
            "expect_version": expect_version,
        }
        said = {name: value for name, value in given.items() if value is not None}
        what, fields = _wish(subject, said)
        with self.batch():
            return self._proposed(what, fields, sure, needed)

    def approve(self, proposal: int) -> Proposal:
        """Apply a change that waits; Conflict when somebody decided on it before."""
        with self.batch():
            waiting = self._waiting(proposal)
            self._apply(waiting.kind, waiting.fields, waiting.confidence)
            with self._write("approve") as write:
                self._store.proposals.decide(write, proposal, "applied", self._actor, "")
            return self._store.proposals.get(self._space_id, proposal)

    def reject(self, proposal: int, why: str = "") -> Proposal:
        """Let a change that waits not be made, and say why."""
        clean_content(why)
        with self.batch():
            self._waiting(proposal)
            with self._write("reject") as write:
                self._store.proposals.decide(write, proposal, "rejected", self._actor, why)
            return self._store.proposals.get(self._space_id, proposal)

    # Inside

    def _proposed(
        self, what: str, fields: Mapping[str, Any], sure: float, needed: float
    ) -> Proposal:
        """A proposal, applied or waiting; the one that waits already where there is one."""
        known = self._store.proposals
        enough = sure >= needed
        if enough:
            self._apply(what, fields, sure)
        else:
            self._try(what, fields, sure)
        number = known.waiting(self._space_id, what, fields)
        if number is None or enough:
            with self._write("propose") as write:
                number = number or known.add(
                    write,
                    self._space_id,
                    self._actor,
                    what,
                    fields,
                    confidence=sure,
                    threshold=needed,
                )
                if enough:
                    why = f"confidence {sure:g} reaches {needed:g}"
                    known.decide(write, number, "applied", self._actor, why)
        return known.get(self._space_id, number)

    def _waiting(self, proposal: int) -> Proposal:
        clean_number(proposal, "proposal", least=1)
        self._require_space()
        found = self._store.proposals.get(self._space_id, proposal)
        if found.status != "waiting":
            raise Conflict(f"Proposal {proposal} was {found.status} already by {found.decided_by}.")
        return found

    def _apply(self, kind: str, fields: Mapping[str, Any], sure: float) -> None:
        methods: dict[str, Callable[..., object]] = {
            "relate": self.relate,
            "remember": self.remember,
            "alias": self.add_alias,
            "kind": self.set_kind,
        }
        more = {"confidence": sure} if kind == "remember" else {}
        methods[kind](**fields, **more)

    def _try(self, kind: str, fields: Mapping[str, Any], sure: float) -> None:
        """Refuse what could not be written, and write nothing."""
        try:
            with self.batch():
                self._apply(kind, fields, sure)
                raise _Undone
        except _Undone:
            pass

    def _written(self, time: TimeLike | None) -> str | None:
        """A time as it is kept: `yesterday` means the day before the proposal."""
        moment = self._time(time)
        return None if moment is None else iso(moment)

    def _is_there(self) -> bool:
        """Whether this space is still there: a write may have dropped it."""
        try:
            self._require_space()
        except NotFound:
            return False
        return True


_RELATE = {"relation", "target", "weight", "evidence", "valid_from", "valid_to", "exclusive"}
_RELATE |= {"metadata", "kind"}
_REMEMBER = {"content", "tags", "metadata", "importance", "valid_from", "expect_version"}


def _wish(subject: str, said: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Which method is meant, and its arguments."""
    if "relation" in said and "target" in said:
        what, own, allowed = "relate", {"source": subject}, _RELATE
    elif "content" in said:
        what, own, allowed = "remember", {"topic": subject}, _REMEMBER
    elif "alias" in said:
        what, own, allowed = "alias", {"name": subject}, {"alias"}
    elif set(said) == {"kind"}:
        what, own, allowed = "kind", {"name": subject}, {"kind"}
    else:
        raise InvalidInput("Propose an edge (relation and target), a content, an alias or a kind.")
    if strange := sorted(set(said) - allowed):
        raise InvalidInput(f"A proposal to {what} does not take {', '.join(strange)}.")
    return what, {**own, **said}


def _json(answer: Any) -> str:
    try:
        text = json.dumps(answer, ensure_ascii=False, allow_nan=False)
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"What is done once answers with plain JSON: {error}.") from error
    return text
