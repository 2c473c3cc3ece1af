"""Back up and restore a memory file while others read and write it."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from hades.errors import InvalidInput, Unavailable
from hades.store.archive import OWN_FACTS
from hades.store.drafts import draft_of
from hades.store.owed import ARCHIVE, LEFTOVERS, owe
from hades.store.records import Progress
from hades.store.sqlite.database import SqliteDatabase
from hades.store.sqlite.faults import translated
from hades.store.sqlite.opening import open_file

_COPIED_PAGES_A_STEP = 64
"""Pages copied in one step, a quarter of a megabyte. After each step progress is reported, and the
copy can be stopped."""


def backup(
    database: SqliteDatabase,
    target: str,
    on_progress: Progress | None,
    complete: Callable[[SqliteDatabase], None] | None = None,
) -> None:
    """Copy the memory, as of one moment, to a new file while others read and write it.

    If `on_progress` raises, the copy stops and is removed. If texts are in the archive, `complete`
    is called with the copy before it appears at `target`.
    """
    path = Path(target).expanduser()
    if path.exists():
        raise InvalidInput(f"{path} exists already: choose another name for the backup.")
    with translated(path), draft_of(path) as draft, database.snapshot():
        database.change()  # a snapshot begins with its first read
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        with closing(sqlite3.connect(draft)) as copy:
            _copy(database.connection, copy, "copying", on_progress)
            copy.execute("PRAGMA journal_mode=WAL")
        if complete is not None and database.row("SELECT 1 FROM archived LIMIT 1"):
            with closing(_opened(draft, database)) as ready:
                complete(ready)
                ready.row("PRAGMA wal_checkpoint(TRUNCATE)")
        os.rename(draft, path)


def restore(
    database: SqliteDatabase, given: SqliteDatabase, actor: str, on_progress: Progress | None
) -> None:
    """Replace the content of `database` by that of `given` in one step, while others use it."""
    with database.transaction():
        owe(database, LEFTOVERS)
    with translated(database.path), draft_of(database.path) as draft:
        backup(given, str(draft), None)
        with closing(_opened(draft, database)) as ready:
            _continue_from(database, ready, actor)
            _copy(
                ready.connection,
                database.connection,
                "restoring",
                on_progress,
                give_up_after_s=database.busy_timeout_s,
            )


def _opened(path: Path, like: SqliteDatabase) -> SqliteDatabase:
    return open_file(
        path,
        create=False,
        read_only=False,
        busy_timeout_s=like.busy_timeout_s,
        clock=like.clock,
    )


def _continue_from(old: SqliteDatabase, new: SqliteDatabase, actor: str) -> None:
    """Make a restored memory continue the numbers of rows and changes of the old one.

    It also gets a new generation, which makes derived indexes start over.
    """
    top = max(old.change(), new.change()) + 1
    with new.transaction():
        new.keep_ids(dict(old.rows("SELECT name, seq FROM sqlite_sequence")))
        new.run(
            "INSERT INTO changes VALUES (?, ?, ?, 'restore', NULL, NULL)",
            top,
            max(old.now(), new.now()) + 1,
            new.actor_id(actor),
        )
        owe(new, LEFTOVERS)
        for key in OWN_FACTS:  # keep the archive, and remove its unneeded objects later
            if value := old.meta(key):
                new.set_meta(key, value)
        for name in old.column("SELECT DISTINCT object FROM archived"):
            owe(new, ARCHIVE + name)
        new.run("UPDATE meta SET value = ? WHERE key = 'generation'", secrets.token_hex(8))


def _copy(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    what: str,
    on_progress: Progress | None,
    give_up_after_s: float = 10.0,
) -> None:
    deadline = time.monotonic() + give_up_after_s

    def report(status: int, remaining: int, total: int) -> None:
        if on_progress is not None:
            on_progress(what, total - remaining, total)
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > deadline:
            raise Unavailable("Another process is writing and did not finish in time: try again.")

    source.backup(target, pages=_COPIED_PAGES_A_STEP, progress=report, sleep=0.05)
