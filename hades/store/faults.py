"""What can be wrong with what is stored, whichever engine stores it."""

from __future__ import annotations

import zlib

from hades.errors import Corrupt, Unavailable


class Busy(Unavailable):
    """A write only waited too long for another one's end."""


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
