"""What can be wrong with what is stored, whichever engine stores it."""

from __future__ import annotations

import zlib
from hashlib import blake2b

from hades.errors import Corrupt, Unavailable

DIGEST_BYTES = 16


class Busy(Unavailable):
    """A write only waited too long for another one's end."""


def digest_of(topic: str, version: int, content: bytes) -> bytes:
    """The hash that guards a state: its content, and that it is this topic's version."""
    guard = blake2b(f"{topic}\0{version}\0".encode(), digest_size=DIGEST_BYTES)
    guard.update(content)
    return guard.digest()


class intact:
    """Inside, stored values are read; one that makes no sense means that `what` is damaged.

    A class, since it is around every state that is read: a generator takes four times as long.
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if isinstance(error, ValueError | KeyError | TypeError | OverflowError | zlib.error):
            raise Corrupt(f"{self._what} is damaged ({error}): run `hades check`.") from error
