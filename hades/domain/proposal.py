"""Proposals: changes that wait for approval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

DEFAULT_THRESHOLD = 0.8
"""The confidence from which a change is applied without approval. Chosen by hand."""
PROPOSAL_STATUSES = ("waiting", "applied", "rejected", "refused")

SAID_ALREADY = "says it already"
"""The last words of the reason when the write gate refuses a note that repeats other notes."""
SAID_NO_MORE = "it was refused because a note already said it; that note is gone or changed"
"""The reason why a refused note waits for review. It names no topic, so a purge keeps it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A proposed change, its confidence and its status."""

    id: int
    kind: str
    """`relate`, `unrelate`, `remember`, `alias`, `name` or `kind`."""
    fields: Mapping[str, Any]
    """The arguments of the operation `kind`."""
    confidence: float
    threshold: float
    """The confidence from which it would have been applied at once."""
    status: str
    """`waiting`, `applied`, `rejected`, or `refused` by the write gate."""
    by: str
    at: datetime
    decided_by: str | None = None
    decided_at: datetime | None = None
    why: str = ""
    """The reason of the proposal, then the reason of the decision if one was given."""
