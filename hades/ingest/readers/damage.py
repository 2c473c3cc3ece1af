"""Damage: what the format libraries raise for a broken file, as one sentence.

None of them promises which exceptions a damaged file leads to. These are the kinds
seen: they are caught around the libraries' calls only, and the cause stays attached.
"""

from __future__ import annotations

import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

from hades.ingest.document import Unreadable
from hades.ingest.readers.outline import one_line

FAULTS: tuple[type[Exception], ...] = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    NotImplementedError,
    OSError,
    RecursionError,
    SyntaxError,  # XML that is not well formed
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def damage_told(topic: str, kind: str, *own: type[Exception]) -> Iterator[None]:
    """Turn a fault while reading `kind` of file into Unreadable; `own` are the library's."""
    try:
        yield
    except (*FAULTS, *own) as error:
        why = one_line(str(error)).rstrip(".") or type(error).__name__
        raise Unreadable(f"{topic} is damaged or is not {kind}: {why}.") from error
