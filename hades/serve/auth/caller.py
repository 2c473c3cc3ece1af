"""A caller: who is asking, what they may do, and what is recorded of their call."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from hades.errors import Denied
from hades.operations.declare import Role

__all__ = ["CALL_RECORD", "CallRecord", "Caller", "Role", "caller_of", "name_call", "record_call"]


@dataclass(frozen=True, slots=True)
class Caller:
    """Who is asking: a key, the user at a unix socket, or the process itself."""

    name: str
    """What the audit log and the change log call them: `key:laptop`, `uid:1000`."""
    role: Role
    spaces: frozenset[str] | None = None
    """The spaces they may use; None: all."""
    local: bool = False
    """They came by the admin socket: what touches keys and files of this machine is there."""

    def require(self, role: Role, space: str | None = None) -> None:
        """Denied unless they may do this here. Says nothing of whether the space is there."""
        if self.role < role:
            raise Denied(f"This needs the role {role.name.lower()}: yours is {self.title}.")
        if space is not None and not self.sees(space):
            raise Denied(f"You may not use the space {space!r}: ask for a key that names it.")

    def sees(self, space: str) -> bool:
        """Whether a space is theirs to use."""
        return self.spaces is None or space in self.spaces

    @property
    def title(self) -> str:
        """Their role, as people write it."""
        return self.role.name.lower()


def caller_of(asked: Any) -> Caller:
    """The caller of a request or its scope, as authenticated. Denied without one."""
    caller = getattr(asked, "scope", asked).get("hades.caller")
    if not isinstance(caller, Caller):
        raise Denied("This call was not authenticated.")
    return caller


@dataclass(slots=True)
class CallRecord:
    """What the audit log, the metrics and the logs say of one call."""

    request: str
    """The id of the request, as its answer tells it."""
    space: str | None = None
    writes: bool | None = None
    """Whether it asked to write; None: it never came to the memory."""
    call: str | None = None
    """What was called, where its address does not say it."""


CALL_RECORD: ContextVar[CallRecord | None] = ContextVar("hades_call_record", default=None)
"""The record of the current call: the middleware makes it, the executor fills it in."""


def record_call(space: str | None, *, writes: bool) -> None:
    """Record what is asked for; a call that writes anywhere is a write."""
    if (record := CALL_RECORD.get()) is not None:
        record.space = space if space is not None else record.space
        record.writes = writes or bool(record.writes)


def name_call(call: str) -> None:
    """Record what is called: an MCP tool, say, where all have one address."""
    if (record := CALL_RECORD.get()) is not None:
        record.call = call
