"""The embedded database: one SQLite file, many readers, one writer at a time."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from hades.domain.times import Clock
from hades.domain.topics import Change
from hades.errors import Corrupt, Denied, InvalidInput, Unavailable
from hades.store import check, dump, purge, spaces
from hades.store.changefeed import Changefeed
from hades.store.chunks import Chunks
from hades.store.clocks import clock_problems
from hades.store.derived_edges import DerivedEdges
from hades.store.drafts import draft_of
from hades.store.edges import Edges
from hades.store.entities import Entities
from hades.store.faults import translated
from hades.store.idempotency import Idempotency
from hades.store.mentions import Mentions
from hades.store.opening import open_database
from hades.store.proposals import Proposals
from hades.store.records import Problem, Progress, Write
from hades.store.sources import Sources
from hades.store.sqlite import Database
from hades.store.topics import Topics

_COPIED_PAGES_A_STEP = 64
"""A quarter of a megabyte: after each step progress is reported, and the copy can be stopped."""


class Store:
    """A memory's truth in one file."""

    def __init__(
        self,
        path: Path,
        *,
        create: bool,
        read_only: bool,
        busy_timeout_s: float,
        clock: Clock,
    ) -> None:
        database = open_database(
            path, create=create, read_only=read_only, busy_timeout_s=busy_timeout_s, clock=clock
        )
        self.database = database
        self.topics = Topics(database)
        self.spaces = spaces.Spaces(database, self.topics)
        self.entities = Entities(database)
        self.edges = Edges(database, self.entities)
        self.chunks = Chunks(database, self.topics)
        self.mentions = Mentions(database, self.entities)
        self.derived_edges = DerivedEdges(database, self.entities, self.chunks)
        self.sources = Sources(database, self.topics)
        self.proposals = Proposals(database)
        self.idempotency = Idempotency(database)
        self.changefeed = Changefeed(database)
        # What every caller needs of the database itself.
        self.read_only = database.read_only
        self.write = database.write
        self.transaction = database.transaction
        self.snapshot = database.snapshot
        self.patient = database.patient
        self.afterwards = database.afterwards
        self.moment = database.moment
        self.now = database.now
        self.change = database.change
        self.meta = database.meta
        self.set_meta = database.set_meta
        self.close = database.close

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside a batch or a snapshot."""
        return self.database.in_transaction

    @property
    def index_folder(self) -> Path:
        """Where what is derived from this memory is kept."""
        return self.database.path.with_name(self.database.path.name + ".index")

    def log(self, space: int | None, limit: int) -> list[Change]:
        """The last changes, newest first."""
        return spaces.read_log(self.database, self.entities, space, limit)

    def stats(self, space: int) -> dict[str, int]:
        """How much there is."""
        return spaces.count(self.database, self.topics, space)

    def cache_uses(self) -> dict[str, dict[str, int]]:
        """How often a text that is kept unpacked was read again, or had to be unpacked."""
        return {"texts": self.chunks.content_uses()}

    def purge(self, write: Write, space: int, name: str) -> dict[str, int]:
        """Erase a topic or entity with all that was derived from it."""
        self.chunks.forget_contents()
        return purge.erase(self.database, self.entities, write, space, name)

    def owed(self) -> list[str]:
        """What is still to be done after something was erased or restored."""
        return purge.owed(self.database)

    def finish_owed(self, drop_indexes: Callable[[], object]) -> None:
        """Do what is owed; what cannot be done now stays owed."""
        purge.finish(self.database, drop_indexes)

    def repair(self) -> None:
        """Derive again what is derived, and owe what is left of killed processes."""
        with self.database.transaction():
            check.repair(self.database, self.topics)
            purge.owe(self.database, purge.LEFTOVERS)

    def check(self, on_progress: Progress | None = None) -> list[Problem]:
        """Everything that is not as it should be."""
        found = self.damage(on_progress) or clock_problems(self.database)
        return found + check.find_left(self.database)

    def damage(self, on_progress: Progress | None = None) -> list[Problem]:
        """Everything in the file that is not as it was written."""
        try:
            with self.database.snapshot():
                return check.find_problems(self.database, self.topics, on_progress)
        except Corrupt as error:
            where = str(self.database.path)
            return [Problem(str(error), where, "restore a backup, or import an export")]

    def dump(self) -> Generator[dict[str, Any], None, None]:
        """Everything as plain records, all of one moment."""
        with self.database.snapshot():
            yield from dump.dump(self.database)

    def load(
        self, write: Write, records: Iterable[dict[str, Any]], rename: str | None
    ) -> dict[str, int]:
        """Load what `dump` gave; how many records of each kind."""
        return dump.load(self.database, self.topics, write, records, rename)

    def backup(self, target: str, on_progress: Progress | None = None) -> None:
        """Copy the memory, as of one moment, to a new file while others read and write it.

        Where `on_progress` raises, the copy stops and leaves nothing behind.
        """
        path = Path(target).expanduser()
        if path.exists():
            raise InvalidInput(f"{path} exists already: choose another name for the backup.")
        with translated(path), draft_of(path) as draft, self.database.snapshot():
            self.database.change()  # a snapshot begins with its first read
            os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(draft)) as copy:
                _copy(self.database.connection, copy, "copying", on_progress)
                copy.execute("PRAGMA journal_mode=WAL")
            os.rename(draft, path)

    def restore(self, source: str, actor: str, on_progress: Progress | None = None) -> None:
        """Put back a backup, in one step, under everybody who has the memory open."""
        if self.database.read_only:
            raise Denied(f"{self.database.path} is open for reading only.")
        if self.database.in_transaction:
            raise InvalidInput("A backup cannot be restored inside a batch or snapshot.")
        path = self.database.path
        with closing(self._beside(Path(source), read_only=True)) as given:
            if problems := given.damage(on_progress):
                raise InvalidInput(
                    f"{source} is damaged ({problems[0].what}); nothing was changed."
                )
            with self.database.transaction():
                purge.owe(self.database, purge.LEFTOVERS)
            with translated(path), draft_of(path) as draft:
                given.backup(str(draft))
                with closing(self._beside(draft, read_only=False)) as ready:
                    _continue_from(self.database, ready.database, actor)
                    _copy(
                        ready.database.connection,
                        self.database.connection,
                        "restoring",
                        on_progress,
                        give_up_after_s=self.database.busy_timeout_s,
                    )
        self.chunks.forget_contents()

    def _beside(self, path: Path, *, read_only: bool) -> Store:
        return Store(
            path,
            create=False,
            read_only=read_only,
            busy_timeout_s=self.database.busy_timeout_s,
            clock=self.database.clock,
        )


def _continue_from(old: Database, new: Database, actor: str) -> None:
    """Make a restored memory go on where the old one stood.

    No number is given out twice: not that of a row, nor that of a change. Derived indexes
    stand at a change of one generation; this begins another.
    """
    top = max(old.change(), new.change()) + 1
    with new.transaction():
        for name, seq in old.rows("SELECT name, seq FROM sqlite_sequence"):
            known = new.value("SELECT seq FROM sqlite_sequence WHERE name = ?", name) or 0
            new.run("DELETE FROM sqlite_sequence WHERE name = ?", name)
            new.run("INSERT INTO sqlite_sequence VALUES (?, ?)", name, max(seq, known))
        new.run(
            "INSERT INTO changes VALUES (?, ?, ?, 'restore', NULL, NULL)",
            *(top, max(old.now(), new.now()) + 1, new.actor_id(actor)),
        )
        purge.owe(new, purge.LEFTOVERS)
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
