"""API keys: each lets a caller use TCP, with one role and some or all spaces.

A private file beside the memory, `notes.hades.keys`, has their hashes: a key is shown once,
when it is created. A running server sees new and revoked keys at once. A key has 256 random
bits, which cannot be guessed, so a plain SHA-256 without salt is enough.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import logging
import os
import secrets
import stat
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from hades.domain.rules import clean_name
from hades.errors import Conflict, Corrupt, Denied, HadesError, InvalidInput, NotFound, Unavailable
from hades.serve.auth.caller import Caller, Role
from hades.store.drafts import write_private

PREFIX = "hades_"
FLUSH_EVERY_S = 10.0
"""How often a server writes the times of its keys' last use to the key file."""
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Key:
    """An API key as stored: its hash and its rights, without the secret."""

    id: str
    name: str
    role: Role
    spaces: tuple[str, ...] | None
    """The spaces that the key may be used for; None: all."""
    made_at: datetime
    used_at: datetime | None
    digest: str

    @cached_property
    def caller(self) -> Caller:
        """The caller that this key authenticates."""
        spaces = None if self.spaces is None else frozenset(self.spaces)
        return Caller(f"key:{self.name}", self.role, spaces)

    def shown(self) -> dict[str, Any]:
        """Return the fields that may be shown: all but the digest."""
        return {
            "id": self.id,
            "name": self.name,
            "role": self.role.name.lower(),
            "spaces": None if self.spaces is None else list(self.spaces),
            "made_at": self.made_at.isoformat(),
            "used_at": None if self.used_at is None else self.used_at.isoformat(),
        }


def keys_beside(memory: Path) -> Path:
    """Return the path of the file with the keys of a memory; it may not exist."""
    return memory.with_name(memory.name + ".keys")


def role_named(name: str) -> Role:
    """Return the role with this name; raise InvalidInput if there is none."""
    try:
        return Role[name.upper()]
    except KeyError as error:
        words = ", ".join(role.name.lower() for role in Role)
        raise InvalidInput(f"There is no role {name!r}: use one of {words}.") from error


class Keys:
    """The keys of one memory."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, int, int] | None = None
        self._known: dict[str, Key] = {}
        self._used: dict[str, datetime] = {}

    def create(self, name: str, role: Role, spaces: Iterable[str] | None = None) -> tuple[Key, str]:
        """Store a new key (Conflict if its name is taken); return it and its token, shown once."""
        clean_name(name, "key")
        chosen = None if spaces is None else tuple(sorted({clean_name(s, "space") for s in spaces}))
        id = secrets.token_hex(4)
        token = f"{PREFIX}{id}_{secrets.token_hex(32)}"
        key = Key(id, name, role, chosen, datetime.now(UTC), None, digest_of(token))
        with locked_folder(self.path.parent):
            keys = self._stored_keys()
            if any(other.name == name for other in keys):
                raise Conflict(f"There is a key {name!r} already: revoke it, or use another name.")
            self._write([*keys, key])
        return key, token

    def listed(self) -> list[Key]:
        """Return every key, oldest first."""
        self.flush()
        return sorted(self._stored_keys(), key=lambda key: key.made_at)

    def revoke(self, name: str) -> Key:
        """Remove a key, by name or id, and return it; raise NotFound if there is none."""
        with locked_folder(self.path.parent):
            keys = self._stored_keys()
            gone = [key for key in keys if name in (key.name, key.id)]
            if not gone:
                raise NotFound(f"There is no key {name!r}: see `hades keys list`.")
            self._write([key for key in keys if key not in gone])
        return gone[0]

    def find(self, token: str) -> Key | None:
        """Return the key with this token, or None. The key file is read again if it changed."""
        id = token.removeprefix(PREFIX).partition("_")[0] if token.startswith(PREFIX) else ""
        key = self._current().get(id)
        digest = digest_of(token)
        # Compare even without such an id, so that both cases take the same time.
        if not hmac.compare_digest(digest, digest[::-1] if key is None else key.digest):
            return None
        return None if key is None else self.known(key.id)

    def known(self, id: str) -> Key | None:
        """Return the current key with this id, and record its use; None if it was revoked."""
        key = self._current().get(id)
        if key is not None:
            self._used[id] = datetime.now(UTC)
        return key

    @property
    def exist(self) -> bool:
        """Whether there is at least one key."""
        return bool(self._current())

    def flush_until(self, left: threading.Event) -> None:
        """Store the times of last use again and again, until `left` is set."""
        while not left.wait(FLUSH_EVERY_S):
            self.flush()

    def flush(self) -> None:
        """Store the times of last use in the key file; an error is only logged."""
        used = self._used
        self._used = {}
        if not used:
            return
        try:
            with locked_folder(self.path.parent):
                keys = self._stored_keys()
                kept = [replace(key, used_at=used.get(key.id, key.used_at)) for key in keys]
                if kept != keys:
                    self._write(kept)
        except HadesError as error:
            _log.warning("%s", error)

    def _current(self) -> dict[str, Key]:
        """Return the keys by id; read the file again if it changed."""
        try:
            status = os.stat(self.path)
        except FileNotFoundError:
            return {}
        stamp = (status.st_ino, status.st_mtime_ns, status.st_mode)
        if stamp != self._stamp:
            with self._lock:
                self._known = {key.id: key for key in self._stored_keys()}
                self._stamp = stamp
        return self._known

    def _stored_keys(self) -> list[Key]:
        content = read_private(self.path)
        if content is None:
            return []
        try:
            return [_key(record) for record in json.loads(content)["keys"]]
        except (ValueError, KeyError, TypeError) as error:
            raise Corrupt(
                f"{self.path} is not a key file: remove it, and create new keys."
            ) from error

    def _write(self, keys: list[Key]) -> None:
        records = [{**key.shown(), "sha256": key.digest} for key in keys]
        write_private(self.path, json.dumps({"keys": records}, indent=1).encode() + b"\n")


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Wait for a folder's lock, and hold it inside the context. It stops only other users of the
    lock."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise Unavailable(f"The folder {folder} cannot be used ({error.strerror}).") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def read_private(path: Path) -> bytes | None:
    """Return a file's content; None if it is missing. Raise Denied unless it is private."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if status.st_mode & _FOR_OTHERS:
                raise Denied(
                    f"Others may read {path}: run `chmod 600 {path}`, and create new keys."
                )
            if status.st_uid not in (os.geteuid(), 0):
                raise Denied(f"{path} belongs to another user: remove it, or run as that user.")
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read ({error.strerror}): check it.") from error


def _key(record: dict[str, Any]) -> Key:
    used = record["used_at"]
    spaces = record["spaces"]
    return Key(
        id=str(record["id"]),
        name=str(record["name"]),
        role=Role[record["role"].upper()],
        spaces=None if spaces is None else tuple(spaces),
        made_at=datetime.fromisoformat(record["made_at"]),
        used_at=None if used is None else datetime.fromisoformat(used),
        digest=str(record["sha256"]),
    )


def digest_of(token: str) -> str:
    """Return the hash under which a token is stored."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
