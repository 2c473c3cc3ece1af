"""Errors and checks of stored data that both engines share."""

from __future__ import annotations

import zlib
from hashlib import blake2b

from hades.errors import Corrupt, Unavailable

DIGEST_BYTES = 16


class Busy(Unavailable):
    """A write waited too long for another writer: it can be tried again."""


def digest_of(topic: str, version: int, content: bytes) -> bytes:
    """Return the hash of a state: of its content, its topic and its version."""
    guard = blake2b(f"{topic}\0{version}\0".encode(), digest_size=DIGEST_BYTES)
    guard.update(content)
    return guard.digest()


class intact:
    """Within the block, a stored value that cannot be read raises Corrupt: `what` is damaged.

    This is a class because every read of a state uses it: a generator takes four times as long.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, ValueError | KeyError | TypeError | OverflowError | zlib.error):
            raise Corrupt(f"{self._what} is damaged ({error}): run `hades check`.") from error
