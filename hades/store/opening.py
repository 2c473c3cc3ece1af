"""Open a memory: a file, or a database on a server."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from hades.domain.address import is_server, without_password
from hades.domain.times import Clock, checked_clock
from hades.errors import InvalidInput, Unavailable, lacking
from hades.store.database import Database
from hades.store.sqlite.opening import open_file

UNFINISHED = "copying"
"""The key in `meta` of an unfinished copy. Its value is the revision of the original."""


def files_of(place: str | Path) -> Path:
    """Return the path beside which the keys, uploads and indexes of a memory are."""
    if not is_server(place):
        return Path(place).expanduser()
    from hades.store.postgres.address import read_server_address

    return read_server_address(str(place)).files


def open_database(
    place: str | Path,
    *,
    create: bool,
    read_only: bool,
    busy_timeout_s: float,
    clock: Clock,
    unfinished: bool = False,
) -> Database:
    """Open the memory at a path or address. With `create`, make it if there is none.

    `unfinished` allows opening an unfinished copy. Only `copy` sets it.
    """
    clock = checked_clock(clock)
    if "://" in str(place) and not is_server(place):
        raise InvalidInput(
            f"{without_password(str(place))} is neither a file nor a database: give a path or "
            "postgresql://…; a HADES server is opened by its http://, https:// or unix:// address."
        )
    opened: Callable[..., Database] = partial(open_file, Path(place))
    if is_server(place):
        try:
            from hades.store.postgres.opening import open_server
        except ImportError as error:
            raise lacking("PostgreSQL needs", "postgres") from error
        opened = partial(open_server, str(place))
    database = opened(
        create=create, read_only=read_only, busy_timeout_s=busy_timeout_s, clock=clock
    )
    try:
        if not unfinished and database.meta(UNFINISHED):
            raise Unavailable(
                f"{database.place} is an unfinished copy: run the same `hades copy` again."
            )
    except BaseException:
        database.close()
        raise
    return database
