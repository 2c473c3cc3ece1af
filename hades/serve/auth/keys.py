"""API keys: who may come by TCP, with which role, into which spaces.

They are in a private file beside the memory, `notes.hades.keys`, as hashes only: a key is
shown once, when it is made. A running server sees at once what is made or revoked. Keys are
256 random bits, so a plain SHA-256 keeps them: there is nothing to guess.
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
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from hades.domain.rules import clean_name
from hades.errors import Conflict, Corrupt, Denied, HadesError, InvalidInput, NotFound, Unavailable
from hades.serve.auth.caller import Caller, Role
from hades.store.drafts import sync_folder

PREFIX = "hades_"
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
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

    @cached_property
    def caller(self) -> Caller:
        """Who comes with it."""
        spaces = None if self.spaces is None else frozenset(self.spaces)
        return Caller(f"key:{self.name}", self.role, spaces)

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
    """The file with the keys of a memory."""
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
        self._stamp: tuple[int, int, int] | None = None
        self._known: dict[str, Key] = {}
        self._used: dict[str, datetime] = {}

    def create(self, name: str, role: Role, spaces: Iterable[str] | None = None) -> tuple[Key, str]:
        """A new key, and the words that are it: they cannot be shown again."""
        clean_name(name, "key")
        chosen = None if spaces is None else tuple(sorted({clean_name(s, "space") for s in spaces}))
        id = secrets.token_hex(4)
        token = f"{PREFIX}{id}_{secrets.token_hex(32)}"
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
        """The key these words are, as the file is now; None: they are no key."""
        id = token.removeprefix(PREFIX).partition("_")[0] if token.startswith(PREFIX) else ""
        key = self._current().get(id)
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
        """Write down when keys were last used; that it fails is only logged."""
        used, self._used = self._used, {}
        if not used:
            return
        try:
            with locked_folder(self.path.parent):
                keys = self._read()
                kept = [replace(key, used_at=used.get(key.id, key.used_at)) for key in keys]
                if kept != keys:
                    self._write(kept)
        except HadesError as error:
            _log.warning("%s", error)

    def _current(self) -> dict[str, Key]:
        """The keys by id, read again when the file is another."""
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return {}
        stamp = (found.st_ino, found.st_mtime_ns, found.st_mode)
        if stamp != self._stamp:
            with self._lock:
                self._known = {key.id: key for key in self._read()}
                self._stamp = stamp
        return self._known

    def _read(self) -> list[Key]:
        content = _read_private(self.path)
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
    """One process at a time inside; the lock goes with the process."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise Unavailable(f"The folder {folder} cannot be used ({error.strerror}).") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _read_private(path: Path) -> bytes | None:
    """The content of a file that only its owner may use; None when there is none."""
    try:
        with path.open("rb") as file:
            found = os.fstat(file.fileno())
            if found.st_mode & _FOR_OTHERS:
                raise Denied(
                    f"Others may read {path}: run `chmod 600 {path}`, and create new keys."
                )
            if found.st_uid not in (os.geteuid(), 0):
                raise Denied(f"{path} belongs to another user: remove it, or run as that user.")
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Unavailable(f"{path} cannot be read ({error.strerror}): check it.") from error


def write_private(path: Path, content: bytes) -> None:
    """Write a private file so that a crash leaves the old one or the new one."""
    try:
        # mkstemp makes it readable by the owner only, whatever the umask.
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(name)
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise Unavailable(f"{path} cannot be written ({error.strerror}): check it.") from error


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
