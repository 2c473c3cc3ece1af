"""Open a memory file: recognise it, create it, or migrate it."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from hades.domain.times import Clock
from hades.errors import Conflict, Corrupt, InvalidInput, NotFound, Unavailable
from hades.store.drafts import draft_of, place, remove_path, sync_folder
from hades.store.schema import STEPS, run_steps, steps_done
from hades.store.sqlite.database import OPENING, SqliteDatabase, add_functions, is_registered
from hades.store.sqlite.faults import translated
from hades.store.sqlite.guards import DEFINITIONS, SCHEMA, guarded, schema_guard

APPLICATION_ID = 0x48414445
"""Marks the file as ours (the letters HADE)."""
_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100


def open_file(
    path: Path, *, create: bool, read_only: bool, busy_timeout_s: float, clock: Clock
) -> SqliteDatabase:
    """Open the memory at `path`; migrate an older one. With `create`, make it if missing."""
    if "\0" in str(path):
        raise InvalidInput("A path cannot hold a NUL character.")
    try:
        path = path.expanduser()
        if path.is_symlink():
            # The files of a memory are beside the real file, as SQLite's log is.
            if not read_only:
                remove_path(path.with_name(f"{path.name}.index"))
            path = path.resolve()
        is_there = path.exists()
        is_folder = path.is_dir()
    except (ValueError, RuntimeError, OSError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be a path: {error}.") from error
    if is_folder:
        raise InvalidInput(
            f"{path} is a folder: give the path of a memory file, such as notes.hades."
        )
    if not is_there:
        if not create or read_only:
            raise NotFound(
                f"There is no memory at {path}: remember something first, or check the path."
            )
        if not path.parent.is_dir():
            raise NotFound(f"The folder {path.parent} does not exist: create it first.")
        _make_file(path, clock)
    if not path.is_file():
        raise InvalidInput(f"{path} is not a file: give the path of a memory.")
    writable = os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)
    with OPENING:
        if not is_registered(path):
            _recognise(path)
        database = SqliteDatabase(
            path,
            read_only=read_only or not writable,
            busy_timeout_s=busy_timeout_s,
            clock=clock,
        )
    try:
        _migrate(database)
    except BaseException:
        database.close()
        raise
    return database


def _make_file(path: Path, clock: Clock) -> None:
    """Make an empty memory in a draft, then link it to `path`, unless another process was first."""
    for left_over in (Path(f"{path}-wal"), Path(f"{path}-shm")):
        if left_over.exists():
            raise Conflict(
                f"{left_over} is left from a memory that was moved or removed: move it beside "
                "that memory, or delete it to start again."
            )
    with translated(path), draft_of(path) as draft:
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        make_tables(draft, clock)
        place(draft, path)  # unless another process made the memory first
        sync_folder(path.parent)


def make_tables(path: Path, clock: Clock) -> None:
    """Write the tables of an empty memory into an empty file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        add_functions(connection)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute("BEGIN IMMEDIATE")
        _apply(connection, clock, done=0)
        connection.execute("COMMIT")


def _recognise(path: Path) -> None:
    """Refuse a file that is not a memory before SQLite opens it."""
    with translated(path), path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
        size = os.fstat(file.fileno()).st_size
    if header and not header.startswith(_MAGIC):
        raise InvalidInput(f"{path} is not a HADES memory; it was left as it is.")
    if len(header) < _HEADER_BYTES:
        raise Corrupt(
            f"{path} is empty or cut short ({size} bytes): restore a backup, or remove it "
            "with its -wal and -shm files to start again."
        )
    if int.from_bytes(header[68:72], "big") != APPLICATION_ID:
        raise InvalidInput(
            f"{path} is an SQLite file of another program, not a HADES memory; "
            "it was left as it is."
        )
    page_bytes = int.from_bytes(header[16:18], "big")
    page_bytes = 65536 if page_bytes == 1 else page_bytes
    pages = int.from_bytes(header[28:32], "big")
    wal = Path(f"{path}-wal")
    if size < pages * page_bytes and not (wal.exists() and wal.stat().st_size):
        raise Corrupt(
            f"{path} is cut short ({size:,} bytes of {pages * page_bytes:,}): restore a backup."
        )


def _migrate(database: SqliteDatabase) -> None:
    """Run the steps that the file has not seen; refuse a file with unknown steps."""
    migrations = database.rows("SELECT number, name FROM migrations ORDER BY number")
    if steps_done(database.place, migrations) == len(STEPS):
        return
    if database.read_only:
        raise Unavailable(
            f"{database.path} was written by an older HADES: open it for writing once, as "
            "`hades warm` does, which brings it up to date."
        )
    with database.transaction():
        _apply(database.connection, database.clock, done=len(migrations))


def _apply(connection: sqlite3.Connection, clock: Clock, *, done: int) -> None:
    """Run the steps after the first `done`, inside a transaction."""
    run_steps(lambda sql, *values: connection.execute(sql, values), guarded, done, clock())
    guard = schema_guard(connection.execute(DEFINITIONS))
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (SCHEMA, guard))
