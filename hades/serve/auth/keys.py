"""API keys: who may come by TCP, with which role, into which spaces.

They stand in a private file beside the memory, `notes.hades.keys`, as hashes only: a key is
shown once, when it is made. A running server sees at once what is made or revoked. Keys are
256 random bits, so a plain SHA-256 keeps them: there is nothing to guess.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hades.domain.rules import clean_name
from hades.errors import Conflict, Corrupt, InvalidInput, NotFound
from hades.serve.auth.caller import Caller, Role
from hades.serve.auth.private import check_private, locked_folder, read_private, write_private

PREFIX = "hades_"
_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Key:
    """An API key, as the file has it: never the key itself."""

    id: str
    name: str
    role: Role
    spaces: tuple[str, ...] | None
    """The spaces it may use; None: all."""
    made_at: datetime
    used_at: datetime | None
    digest: str
    caller: Caller = field(init=False, compare=False)
    """Who comes with it; made once, since every request asks."""

    def __post_init__(self) -> None:
        spaces = None if self.spaces is None else frozenset(self.spaces)
        object.__setattr__(self, "caller", Caller(f"key:{self.name}", self.role, spaces))

    def shown(self) -> dict[str, Any]:
        """What may be told of it."""
        return {
            "id": self.id,
            "name": self.name,
            "role": self.role.name.lower(),
            "spaces": None if self.spaces is None else list(self.spaces),
            "made_at": self.made_at.isoformat(),
            "used_at": None if self.used_at is None else self.used_at.isoformat(),
        }


def keys_beside(memory: Path) -> Path:
    """Where the keys of a memory file stand."""
    return memory.with_name(memory.name + ".keys")


def role_named(name: str) -> Role:
    """A role by the word people write for it."""
    try:
        return Role[name.upper()]
    except KeyError as error:
        words = ", ".join(role.name.lower() for role in Role)
        raise InvalidInput(f"There is no role {name!r}: {words}.") from error


class Keys:
    """The keys of one memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stamp: _Stamp | None = None
        self._known: dict[str, Key] = {}
        self._used: dict[str, datetime] = {}

    def create(self, name: str, role: Role, spaces: Iterable[str] | None = None) -> tuple[Key, str]:
        """A new key, and the words that are it: they cannot be shown again."""
        clean_name(name, "key")
        chosen = None if spaces is None else tuple(sorted({clean_name(s, "space") for s in spaces}))
        id, secret = secrets.token_hex(4), secrets.token_hex(32)
        token = f"{PREFIX}{id}_{secret}"
        made = Key(id, name, role, chosen, datetime.now(UTC), None, _digest(token))
        with locked_folder(self.path.parent):
            keys = self._read()
            if any(key.name == name for key in keys):
                raise Conflict(f"There is a key {name!r} already: revoke it, or take another name.")
            self._write([*keys, made])
        return made, token

    def listed(self) -> list[Key]:
        """Every key, oldest first."""
        return sorted(self._read(), key=lambda key: key.made_at)

    def revoke(self, name: str) -> Key:
        """Let a key, by name or id, be good for nothing from now on."""
        with locked_folder(self.path.parent):
            keys = self._read()
            gone = [key for key in keys if name in (key.name, key.id)]
            if not gone:
                raise NotFound(f"There is no key {name!r}: see `hades keys list`.")
            self._write([key for key in keys if key not in gone])
        return gone[0]

    def find(self, token: str) -> Key | None:
        """The key these words are, as the file stands now; None: they are no key."""
        prefix, _, rest = token.partition("_")
        key = self._current().get(rest.partition("_")[0]) if prefix + "_" == PREFIX else None
        digest = _digest(token)
        # Compared even when there is no such id, so that both take the same time.
        if not hmac.compare_digest(digest, digest[::-1] if key is None else key.digest):
            return None
        if key is not None:
            self._used[key.id] = datetime.now(UTC)
        return key

    @property
    def exist(self) -> bool:
        """Whether there are any."""
        return bool(self._current())

    def flush(self) -> None:
        """Write down when keys were last used."""
        used, self._used = self._used, {}
        if not used:
            return
        with locked_folder(self.path.parent):
            keys = self._read()
            kept = [replace(key, used_at=used.get(key.id, key.used_at)) for key in keys]
            if kept != keys:
                self._write(kept)

    def _current(self) -> dict[str, Key]:
        """The keys by id, read again when the file is another."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return {}
        stamp = (found.st_ino, found.st_mtime_ns, found.st_mode)
        if stamp != self._stamp:
            with self._lock:
                check_private(self.path, found)
                self._known = {key.id: key for key in self._read()}
                self._stamp = stamp
        return self._known

    def _read(self) -> list[Key]:
        content = read_private(self.path)
        if content is None:
            return []
        try:
            return [_key(record) for record in json.loads(content)["keys"]]
        except (ValueError, KeyError, TypeError) as error:
            raise Corrupt(
                f"{self.path} is no list of keys: remove it, and make new ones."
            ) from error

    def _write(self, keys: list[Key]) -> None:
        records = [{**key.shown(), "sha256": key.digest} for key in keys]
        write_private(self.path, json.dumps({"keys": records}, indent=1).encode() + b"\n")


def _key(record: dict[str, Any]) -> Key:
    used, spaces = record["used_at"], record["spaces"]
    return Key(
        id=str(record["id"]),
        name=str(record["name"]),
        role=Role[record["role"].upper()],
        spaces=None if spaces is None else tuple(spaces),
        made_at=datetime.fromisoformat(record["made_at"]),
        used_at=None if used is None else datetime.fromisoformat(used),
        digest=str(record["sha256"]),
    )


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
