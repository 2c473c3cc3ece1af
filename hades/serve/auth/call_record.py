"""A note: what is learned about a call while it is served, for the audit log and the metrics.

The gate lays one out for each request; the desk writes on it. It travels by context, so
nobody between the two has to carry it.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class Note:
    """What one call turned out to be."""

    request: str
    """The id of the request, as its answer tells it."""
    space: str | None = None
    writes: bool | None = None
    """Whether it asked to write; None: it never came to the memory."""
    call: str | None = None
    """What was called, where its address does not say it."""


current: ContextVar[Note | None] = ContextVar("hades_note", default=None)


def note(space: str | None, *, writes: bool) -> None:
    """Note what is asked for; one that writes anywhere is a write."""
    if (noted := current.get()) is not None:
        noted.space = space if space is not None else noted.space
        noted.writes = writes or bool(noted.writes)


def name(call: str) -> None:
    """Note what is called: a tool, say, where all have one address."""
    if (noted := current.get()) is not None:
        noted.call = call
