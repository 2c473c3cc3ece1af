"""What can be wrong with what is stored, whichever engine stores it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from hades.errors import Corrupt, Unavailable


class Busy(Unavailable):
    """A write only waited too long for another one's end."""


@contextmanager
def intact(what: str) -> Iterator[None]:
    """Inside, stored values are read; one that makes no sense means that `what` is damaged."""
    try:
        yield
    except (ValueError, KeyError, TypeError, OverflowError, zlib.error) as error:
        raise Corrupt(f"{what} is damaged ({error}): run `hades check`.") from error
