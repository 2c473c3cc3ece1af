"""Opening a memory: a file, or a database of a server."""

from __future__ import annotations

from pathlib import Path

from hades.domain.address import is_server
from hades.domain.times import Clock, checked_clock
from hades.store.database import Database
from hades.store.sqlite.opening import open_file


def files_of(place: str | Path) -> Path:
    """The path beside which lie the keys, uploads and indexes of a memory."""
    if not is_server(place):
        return Path(place).expanduser()
    from hades.store.postgres.address import read_server_address

    return read_server_address(str(place)).files


def open_database(
    place: str | Path, *, create: bool, read_only: bool, busy_timeout_s: float, clock: Clock
) -> Database:
    """Open the memory at a path or address, making it when there is none and `create` says so."""
    clock = checked_clock(clock)
    if not is_server(place):
        return open_file(
            Path(place),
            create=create,
            read_only=read_only,
            busy_timeout_s=busy_timeout_s,
            clock=clock,
        )
    from hades.store.postgres.opening import open_server

    return open_server(
        str(place),
        create=create,
        read_only=read_only,
        busy_timeout_s=busy_timeout_s,
        clock=clock,
    )
