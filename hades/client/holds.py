"""Holds: several calls in one commit, or of one moment, kept open by the server.

A hold belongs to the thread that opened it, as a transaction does; other threads that use
the same client are not inside it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Literal

from hades.errors import Conflict, HadesError, InvalidInput, Unavailable

if TYPE_CHECKING:
    from hades.client.connection import Connection

Kind = Literal["batch", "snapshot"]

READING = "A snapshot is for reading: leave it, then write."


class Held(threading.local):
    """The hold this thread is in."""

    id: str | None = None
    kind: Kind | None = None
    broken: bool = False
    """A batch inside the batch failed: what it wrote cannot be undone alone."""


@contextmanager
def hold(connection: Connection, space: str, kind: Kind) -> Iterator[None]:
    """Everything called inside, in this thread, is one commit or sees one moment."""
    held = connection.held
    if held.id is not None:
        with _joined(held, kind):
            yield
        return
    told = connection.begin(space, kind)
    held.id, held.kind, held.broken = told, kind, False
    try:
        yield
        if held.broken:
            raise Conflict("A batch inside this batch failed: all of it was undone.")
    except BaseException:
        held.id = None
        with suppress(HadesError):  # it ends by itself, and what went wrong is told already
            connection.end(space, told, commit=False)
        raise
    else:
        held.id = None
        _finish(connection, space, told, kind)
    finally:
        held.id, held.kind = None, None


def _finish(connection: Connection, space: str, told: str, kind: Kind) -> None:
    try:
        connection.end(space, told, commit=kind == "batch")
    except Unavailable as error:
        if kind == "batch":
            raise Unavailable(f"It is not known whether the batch was kept: {error}") from error
    except HadesError:
        if kind == "batch":
            raise


@contextmanager
def _joined(held: Held, kind: Kind) -> Iterator[None]:
    """A hold inside a hold is a part of it."""
    if kind == "batch" and held.kind == "snapshot":
        raise InvalidInput(READING)
    try:
        yield
    except BaseException:
        held.broken = held.broken or kind == "batch"
        raise
