"""A way: by which of the server's doors a caller came, and what that allows at most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hades.serve.auth.caller import Role

Name = Literal["ro", "rw", "admin", "http"]


@dataclass(frozen=True, slots=True)
class Way:
    """One kind of listener."""

    name: Name
    most: Role
    """What whoever comes this way may do at most."""
    by_key: bool = False
    """Whether a key has to be shown; else the socket's mode is the lock."""
    local: bool = False
    """What touches keys and files of this machine is open here."""
    mode: int = 0o600
    """Who may open the socket."""


WAYS: dict[str, Way] = {
    "ro": Way("ro", Role.READER, mode=0o660),
    "rw": Way("rw", Role.WRITER),
    "admin": Way("admin", Role.ADMIN, local=True),
    "http": Way("http", Role.ADMIN, by_key=True),
}
