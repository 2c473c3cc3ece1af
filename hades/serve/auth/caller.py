"""Callers: their name, role and spaces, and the record of the current call."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from hades.errors import Denied
from hades.operations.declare import Role

__all__ = ["CALL_RECORD", "CallRecord", "Caller", "Role", "caller_of", "name_call", "record_call"]


@dataclass(frozen=True, slots=True)
class Caller:
    """The source of a call: an API key, the user at a unix socket, or the process itself."""

    name: str
    """The name in the audit log and the change log: `key:laptop`, `uid:1000`."""
    role: Role
    spaces: frozenset[str] | None = None
    """The spaces that the caller may use; None: all."""
    local: bool = False
    """Whether the call came by the admin socket, which may use keys and files of this machine."""

    def require(self, role: Role, space: str | None = None) -> None:
        """Raise Denied if the caller lacks the role, or may not use the space (real or not)."""
        if self.role < role:
            raise Denied(f"This needs the role {role.name.lower()}: yours is {self.title}.")
        if space is not None and not self.sees(space):
            raise Denied(f"You may not use the space {space!r}: ask for a key that names it.")

    def require_all_spaces(self) -> None:
        """Raise Denied if the caller may use only some spaces."""
        if self.spaces is not None:
            raise Denied("This concerns all spaces: it needs a key for all spaces.")

    def sees(self, space: str) -> bool:
        """Whether the caller may use a space."""
        return self.spaces is None or space in self.spaces

    @property
    def title(self) -> str:
        """The role in lower case."""
        return self.role.name.lower()


def caller_of(request: Any) -> Caller:
    """Return the authenticated caller of a request or its ASGI scope; raise Denied without one."""
    caller = getattr(request, "scope", request).get("hades.caller")
    if not isinstance(caller, Caller):
        raise Denied("This call was not authenticated.")
    return caller


@dataclass(slots=True)
class CallRecord:
    """Details of one call for the audit log, the metrics and the logs."""

    request: str
    """The id of the request, which the answer has as a header."""
    space: str | None = None
    writes: bool | None = None
    """Whether the call writes; None if it did not reach the memory."""
    call: str | None = None
    """The name of the call where its path does not say it, as for MCP tools."""


CALL_RECORD: ContextVar[CallRecord | None] = ContextVar("hades_call_record", default=None)
"""The record of the current call: the middleware makes it, the executor fills it in."""


def record_call(space: str | None, *, writes: bool) -> None:
    """Record the space of the call, and whether it writes; once a write, it stays a write."""
    if (record := CALL_RECORD.get()) is not None:
        record.space = space if space is not None else record.space
        record.writes = writes or bool(record.writes)


def name_call(call: str) -> None:
    """Record the name of the call, such as an MCP tool; all tools have the same path."""
    if (record := CALL_RECORD.get()) is not None:
        record.call = call
