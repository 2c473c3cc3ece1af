"""Translate errors of PostgreSQL and the network to HadesErrors of one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg_pool import PoolTimeout

from hades.errors import Corrupt, Denied, HadesError, InvalidInput, NotFound, Unavailable
from hades.store.database import Busy

_AWAY = "{place} cannot be reached ({error}): check that it runs, then try again."
_BUSY = "Another process is writing to {place} and did not finish in time: try again."
_MAY_NOT = (
    "You may not do this in {place} ({error}): its owner can let you, by `hades db grant` or GRANT."
)
_NONE = (
    "There is no HADES memory at {place}, or you may no longer use it: `hades db init` makes one, "
    "`hades db grant` lets you in."
)

_SENTENCES: tuple[tuple[tuple[str, ...], type[HadesError], str], ...] = (
    (("55P03", "40001", "40P01"), Busy, _BUSY),
    (("57014",), Unavailable, "{place} took too long to answer: ask for less, or try again."),
    (("53100",), Unavailable, "There is no room left on the disk of {place}: free some space."),
    (("53300",), Unavailable, "{place} has too many connections: close some, or allow more."),
    (("53", "57P", "08", "58"), Unavailable, _AWAY),
    (("28",), Denied, "{place} does not let you in ({error}): check user and password."),
    (("42501",), Denied, _MAY_NOT),
    (("25006",), Denied, "{place} is open for reading only."),
    (("3D000",), NotFound, "{place} has no such database: create it with createdb."),
    (("42P01", "3F000"), NotFound, _NONE),
    (("XX001", "XX002"), Corrupt, "{place} is damaged ({error}): restore a backup."),
    (("54",), InvalidInput, "That is too large to store: split it into parts."),
    (("22", "23"), InvalidInput, "The input cannot be stored ({error})."),
)
FAULTS = (psycopg.Error, PoolTimeout, UnicodeError, OverflowError)


def translate(error: BaseException, place: str) -> HadesError:
    """Return the HadesError for an error of PostgreSQL."""
    message = " ".join(str(error).split())
    code = getattr(error, "sqlstate", None) or ""
    for codes, kind, sentence in _SENTENCES:
        if code.startswith(codes):
            return kind(sentence.format(place=place, error=message))
    if isinstance(error, PoolTimeout):
        return Unavailable(f"All connections to {place} are in use or none can be made: try again.")
    if isinstance(error, UnicodeEncodeError):
        return InvalidInput("That text has a lone surrogate: it is not valid Unicode.")
    if isinstance(error, OverflowError):
        return InvalidInput("That number is too large.")
    if isinstance(error, psycopg.OperationalError):
        if "authentication failed" in message or "no password" in message:
            return Denied(f"{place} does not let you in: check user and password.")
        if "does not exist" in message:
            return NotFound(f"{place} cannot be opened ({message}): create it first.")
        return Unavailable(_AWAY.format(place=place, error=message))
    if isinstance(error, psycopg.DataError):
        return InvalidInput(f"The input cannot be stored ({message}).")
    return Unavailable(f"{place} answered with an error ({message}): look into its log.")


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Within the block, raise errors of the server as HadesErrors."""
    try:
        yield
    except FAULTS as error:
        raise translate(error, place) from error
