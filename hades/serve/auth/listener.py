"""Listeners: the kinds of sockets a server listens at, and what callers at each may do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hades.serve.auth.caller import Role

Name = Literal["ro", "rw", "admin", "http"]


@dataclass(frozen=True, slots=True)
class ListenerKind:
    """One kind of listener."""

    name: Name
    most: Role
    """The highest role of its callers."""
    by_key: bool = False
    """Whether callers need a key; else the socket's mode decides who gets in."""
    local: bool = False
    """Whether `/v1/admin` is here: keys, backups and files of this machine."""
    mode: int = 0o600
    """Who may open the socket."""


LISTENERS: dict[str, ListenerKind] = {
    "ro": ListenerKind("ro", Role.READER, mode=0o660),
    "rw": ListenerKind("rw", Role.WRITER),
    "admin": ListenerKind("admin", Role.ADMIN, local=True),
    "http": ListenerKind("http", Role.ADMIN, by_key=True),
}
