"""The record of one call: what the audit log, the metrics and the logs say of it.

The middleware makes one for each request; the executor fills it in. It travels by context,
so nobody between the two has to carry it.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(slots=True)
class CallRecord:
    """What one call turned out to be."""

    request: str
    """The id of the request, as its answer tells it."""
    space: str | None = None
    writes: bool | None = None
    """Whether it asked to write; None: it never came to the memory."""
    call: str | None = None
    """What was called, where its address does not say it."""


current: ContextVar[CallRecord | None] = ContextVar("hades_call_record", default=None)


def note(space: str | None, *, writes: bool) -> None:
    """Record what is asked for; a call that writes anywhere is a write."""
    if (record := current.get()) is not None:
        record.space = space if space is not None else record.space
        record.writes = writes or bool(record.writes)


def name(call: str) -> None:
    """Record what is called: an MCP tool, say, where all have one address."""
    if (record := current.get()) is not None:
        record.call = call
