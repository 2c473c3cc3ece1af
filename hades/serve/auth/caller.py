"""A caller: who is asking, and what they may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hades.errors import Denied
from hades.operations.declare import Role

__all__ = ["Caller", "Role", "caller_of"]


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
