"""Translate errors of SQLite and the disk to HadesErrors of one sentence."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hades.errors import Corrupt, Denied, HadesError, InvalidInput, Unavailable
from hades.store.database import Busy

FAULTS = (sqlite3.Error, UnicodeError, OverflowError, OSError)
"""Errors of SQLite and the disk. UnicodeError: a message may quote damaged text."""

CLOSED = "This memory is closed: open it again."
_BUSY = "Another process is writing to {path} and did not finish in time: try again."
_FULL = "There is no room left on the disk of {path}: nothing was written; free some space."
_DENIED = "{path} cannot be written: check its permissions and those of its folder."
_DAMAGED = "{path} is damaged ({error}): run `hades check`, or restore a backup."
_CANNOT_OPEN = "{path} cannot be opened: check that it exists and that you may read it."

_SENTENCES: tuple[tuple[tuple[str, ...], type[HadesError], str], ...] = (
    (("SQLITE_BUSY", "SQLITE_LOCKED", "SQLITE_PROTOCOL"), Busy, _BUSY),
    (("SQLITE_FULL", "SQLITE_IOERR_WRITE", "SQLITE_IOERR_SHMSIZE"), Unavailable, _FULL),
    (("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_AUTH"), Denied, _DENIED),
    (("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT", "SQLITE_IOERR_SHORT"), Corrupt, _DAMAGED),
    (("SQLITE_CANTOPEN",), Unavailable, _CANNOT_OPEN),
    (("SQLITE_TOOBIG",), InvalidInput, "That is too large to store: split it into parts."),
    (("SQLITE_CONSTRAINT",), InvalidInput, "The input contradicts itself ({error})."),
    (("SQLITE_INTERRUPT",), Unavailable, CLOSED),
    (("SQLITE_IOERR",), Unavailable, "The disk of {path} does not answer ({error}): check it."),
)


def translate(error: Exception, path: Path) -> HadesError:
    """Return the HadesError for an error of SQLite or the system."""
    if isinstance(error, OSError):
        if error.errno in (28, 122):
            return Unavailable(_FULL.format(path=path))
        kind: type[HadesError] = Denied if isinstance(error, PermissionError) else Unavailable
        return kind(f"{path} cannot be used ({error.strerror or error}): check the path.")
    if isinstance(error, sqlite3.ProgrammingError) and "closed" in str(error):
        return Unavailable(CLOSED)
    if isinstance(error, sqlite3.InterfaceError | sqlite3.ProgrammingError):
        return InvalidInput(f"A value of a wrong type was given: {error}.")
    name = getattr(error, "sqlite_errorname", "") or ""
    for prefixes, error_kind, sentence in _SENTENCES:
        if name.startswith(prefixes):
            return error_kind(sentence.format(path=path, error=error))
    if isinstance(error, OverflowError):
        return InvalidInput("That number is too large.")
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput("That text has a lone surrogate: it is not valid Unicode.")
    if isinstance(error, UnicodeDecodeError) or "decode" in str(error):
        return Corrupt(_DAMAGED.format(path=path, error="text that is not UTF-8"))
    return Corrupt(_DAMAGED.format(path=path, error=error))


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Within the block, raise errors of the file or the disk as HadesErrors."""
    try:
        yield
    except FAULTS as error:
        raise translate(error, path) from error
