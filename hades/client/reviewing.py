"""Proposing to a server: the methods of a client that guard what is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hades.client.moments import sent
from hades.client.writing import RemoteWriting
from hades.domain.proposal import DEFAULT_THRESHOLD, Proposal
from hades.domain.rebuild import rebuild
from hades.domain.rules import (
    clean_content,
    clean_metadata,
    clean_name,
    clean_number,
    clean_share,
    clean_tags,
)
from hades.domain.times import TimeLike
from hades.errors import InvalidInput, Unavailable


class RemoteReviewing(RemoteWriting):
    """Proposals, told and decided over a connection."""

    def once(self, key: str, request: str, do: Callable[[], Any]) -> tuple[Any, bool]:
        """Not over a server: every write of a client is done once as it is."""
        raise Unavailable("A client sends each write with a key of its own: just write.")

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
        """Propose a change: applied at once from `threshold` on, else it waits for approval."""
        sure = clean_share(confidence, "confidence")
        needed = clean_share(threshold, "threshold")
        if sure is None or needed is None:
            raise InvalidInput("Say how sure you are: a confidence and a threshold from 0 to 1.")
        names = {"relation": relation, "target": target, "alias": alias, "kind": kind}
        body = {
            "subject": clean_name(subject),
            "confidence": sure,
            "threshold": needed,
            **{what: name and clean_name(name, what) for what, name in names.items()},
            "content": None if content is None else clean_content(content),
            "weight": clean_share(weight, "weight"),
            "evidence": clean_content(evidence),
            "valid_from": sent(valid_from),
            "valid_to": sent(valid_to),
            "exclusive": exclusive,
            "tags": clean_tags(tags),
            "metadata": clean_metadata(metadata),
            "importance": clean_share(importance, "importance"),
            "expect_version": clean_number(expect_version, "expected version"),
        }
        return rebuild(Proposal, self._post(body, "proposals"))

    def approve(self, proposal: int) -> Proposal:
        """Apply a change that waits. Needs the role admin."""
        clean_number(proposal, "proposal", least=1)
        return rebuild(Proposal, self._post({}, "proposals", str(proposal), "approve"))

    def reject(self, proposal: int, why: str = "") -> Proposal:
        """Let a change that waits not be made, and say why. Needs the role admin."""
        clean_number(proposal, "proposal", least=1)
        told = self._post({"why": clean_content(why)}, "proposals", str(proposal), "reject")
        return rebuild(Proposal, told)
