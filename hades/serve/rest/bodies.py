"""Bodies: JSON that comes in, read so that nobody else waits long for it.

A parser gives the interpreter to nobody until it is done, whichever thread it runs in. What
it takes depends less on bytes than on values: a state of 30 MB is one string, and read in
0.1 s; 30 MB of empty lists took 14 s. So long bodies are read in a thread, and those of very
many values not at all.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import TypeVar

from hades.serve.uploads import TooLarge

Result = TypeVar("Result")

SHORT_BYTES = 64 * 1024
VALUES_AT_MOST = 200_000
"""Read in 0.13 s at worst (a million lists: 0.65 s); more than any call of ours sends."""

_PIECE_BYTES = 256 * 1024
# To the end where a string has none: what follows it must not be looked at again and again.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)


async def read(raw: bytes, reading: Callable[[bytes], Result]) -> Result:
    """What a function makes of a body; a long one is read in a thread."""
    if len(raw) <= SHORT_BYTES:
        return reading(raw)

    def run() -> Result:
        check_values(raw)
        return reading(raw)

    return await asyncio.to_thread(run)


def check_values(raw: bytes) -> None:
    """TooLarge when JSON holds more values than are read at once."""
    if _begun(raw, 0, len(raw)) <= VALUES_AT_MOST:
        return
    # Most may stand inside of strings, where they mean nothing.
    at = found = 0
    for string in _STRING.finditer(raw):
        found += _begun(raw, at, string.start())
        at = string.end()
        if found > VALUES_AT_MOST:
            break
    if found + _begun(raw, at, len(raw)) > VALUES_AT_MOST:
        raise TooLarge(f"A request holds at most {VALUES_AT_MOST:,} values: send it in parts.")


def _begun(raw: bytes, start: int, end: int) -> int:
    """How many values may begin there: first in a list or an object, or after a comma.

    In pieces, so that others get their turn, and no further than to too many.
    """
    found = 0
    for at in range(start, end, _PIECE_BYTES):
        till = min(at + _PIECE_BYTES, end)
        found += sum(raw.count(mark, at, till) for mark in (b",", b"[", b"{"))
        if found > VALUES_AT_MOST:
            break
    return found
