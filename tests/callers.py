"""Who calls a server: callers and keys by the name of their role, and the owner's browser."""

from __future__ import annotations

from pathlib import Path

from hades.serve.auth.browsers import StartLinks
from hades.serve.auth.caller import Caller, Role
from hades.serve.auth.keys import Keys, keys_beside


def caller(name: str, role: str, *spaces: str) -> Caller:
    """A caller with a role, of all spaces or of some."""
    return Caller(name, Role[role.upper()], frozenset(spaces) or None)


def keys_of(memory: Path) -> Keys:
    """The keys of a memory's server."""
    return Keys(keys_beside(memory))


def new_key(memory: Path, role: str, *spaces: str, name: str = "") -> str:
    """The token of a new key, for all spaces or for some."""
    keys = keys_of(memory)
    name = name or f"{role}-{len(keys.listed())}"
    return keys.create(name, Role[role.upper()], list(spaces) or None)[1]


def start_link(memory: Path) -> str:
    """The path at which the owner of a memory opens the explorer."""
    return f"/start/{StartLinks(memory).create()}"
