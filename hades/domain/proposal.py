"""Proposals: changes that wait for somebody to approve them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

DEFAULT_THRESHOLD = 0.8
"""So sure one must be for a change to need nobody's approval. A judgement, not a measurement."""
PROPOSAL_STATUSES = ("waiting", "applied", "rejected", "refused")

SAID_ALREADY = "says it already"
"""The last words of the reason when the write gate refuses a note that repeats other notes."""
SAID_NO_MORE = "it was refused because a note already said it; that note is gone or changed"
"""The reason why a refused note waits for review. It names no topic, so a purge keeps it."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A change somebody wants, how sure they are, and what became of it."""

    id: int
    kind: str
    """`relate`, `unrelate`, `remember`, `alias` or `kind`."""
    fields: Mapping[str, Any]
    """What is proposed: the arguments of that method."""
    confidence: float
    threshold: float
    """From this confidence on it would have been applied at once."""
    status: str
    """`waiting`, `applied`, `rejected`, or `refused` by the write gate."""
    by: str
    at: datetime
    decided_by: str | None = None
    decided_at: datetime | None = None
    why: str = ""
    """Why it was proposed; then why it was applied or rejected, where somebody said so."""
