"""The embedded engine: one SQLite file, many readers, one writer at a time."""

from __future__ import annotations

import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from hades.domain.times import AsOf, Clock
from hades.domain.trace import Change
from hades.errors import Denied, InvalidInput, Unavailable
from hades.store import check, dump, purge, spaces
from hades.store.changefeed import Changefeed
from hades.store.chunks import Chunks
from hades.store.derived_edges import DerivedEdges
from hades.store.edges import Edges
from hades.store.entities import Entities
from hades.store.faults import translated
from hades.store.idempotency import Idempotency
from hades.store.mentions import Mentions
from hades.store.opening import open_engine
from hades.store.proposals import Proposals
from hades.store.records import Problem, Progress, Write
from hades.store.sources import Sources
from hades.store.sqlite import Database
from hades.store.topics import Topics

_BACKUP_PAGES_A_STEP = 4096


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
        self.engine = open_engine(
            path, create=create, read_only=read_only, busy_timeout_s=busy_timeout_s, clock=clock
        )
        self.spaces = spaces.Spaces(self.engine)
        self.topics = Topics(self.engine)
        self.entities = Entities(self.engine)
        self.edges = Edges(self.engine, self.entities)
        self.chunks = Chunks(self.engine, self.topics)
        self.mentions = Mentions(self.engine, self.entities)
        self.derived_edges = DerivedEdges(self.engine, self.entities, self.chunks)
        self.sources = Sources(self.engine, self.topics)
        self.proposals = Proposals(self.engine)
        self.idempotency = Idempotency(self.engine)
        self.changefeed = Changefeed(self.engine)

    def write(
        self, actor: str, action: str, space: int | None = None
    ) -> AbstractContextManager[Write]:
        """One logged write: whole, under one number, on disk when it returns."""
        return self.engine.write(actor, action, space)

    def transaction(self) -> AbstractContextManager[None]:
        """All writes inside become one commit."""
        return self.engine.transaction()

    def patient(self, seconds: float) -> AbstractContextManager[None]:
        """Inside, this thread's writes wait so long for another's end."""
        return self.engine.patient(seconds)

    def snapshot(self) -> AbstractContextManager[None]:
        """All reads inside see the same moment."""
        return self.engine.snapshot()

    @property
    def index_folder(self) -> Path:
        """Where what is derived from this memory is kept."""
        return self.engine.path.with_name(self.engine.path.name + ".index")

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written."""
        return self.engine.read_only

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside a batch or a snapshot."""
        return self.engine.in_transaction

    def afterwards(self, call: Callable[[], object]) -> None:
        """Do something once the batch under way is committed."""
        self.engine.afterwards(call)

    def moment(self, as_of: AsOf) -> tuple[int, int]:
        """An AsOf as (valid, known) in microseconds."""
        return self.engine.moment(as_of)

    def now(self) -> int:
        """Now, and never before the last write."""
        return self.engine.now()

    def meta(self, key: str) -> str | None:
        """A named fact about the memory."""
        return self.engine.meta(key)

    def set_meta(self, key: str, value: str) -> None:
        """Note a fact about the memory; inside a write."""
        self.engine.run("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    def change(self) -> int:
        """The number of the last committed write."""
        return self.engine.change()

    def log(self, space: int | None, limit: int) -> list[Change]:
        """The last changes, newest first."""
        return spaces.read_log(self.engine, self.entities, space, limit)

    def stats(self, space: int) -> dict[str, int]:
        """How much there is."""
        return spaces.count(self.engine, space)

    def cache_uses(self) -> dict[str, dict[str, int]]:
        """How often a text that is kept unpacked was read again, or had to be unpacked."""
        return {"texts": self.chunks.content_uses()}

    def purge(self, write: Write, space: int, name: str) -> dict[str, int]:
        """Erase a topic or entity with all that was derived from it."""
        self.chunks.forget_contents()
        return purge.erase(self.engine, self.entities, write, space, name)

    def wipe(self) -> bool:
        """Empty the write-ahead log of erased bytes; False when somebody holds it open."""
        return purge.wipe(self.engine)

    def check(self, on_progress: Progress | None = None, *, repair: bool = False) -> list[Problem]:
        """Everything that is not as it should be; with `repair`, after repairing what can be."""
        if repair:
            with self.engine.transaction():
                check.repair_pointers(self.engine)
                check.repair_heads(self.engine, self.topics)
                check.repair_edges(self.engine)
                check.repair_proposals(self.engine)
        with self.engine.snapshot():
            return check.find_problems(self.engine, self.topics, on_progress)

    def dump(self) -> Generator[dict[str, Any], None, None]:
        """Everything as plain records, all of one moment."""
        with self.engine.snapshot():
            yield from dump.dump(self.engine)

    def load(
        self, write: Write, records: Iterable[dict[str, Any]], rename: str | None
    ) -> dict[str, int]:
        """Load what `dump` gave; how many records of each kind."""
        return dump.load(self.engine, self.topics, write, records, rename)

    def backup(self, target: str, on_progress: Progress | None = None) -> None:
        """Copy the memory to a new file while others read and write it."""
        path = Path(target).expanduser()
        if path.exists():
            raise InvalidInput(f"{path} exists already: choose another name for the backup.")
        draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        with translated(path):
            try:
                os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
                copy = sqlite3.connect(draft)
                try:
                    _copy(self.engine.connection, copy, "copying", on_progress)
                    copy.execute("PRAGMA journal_mode=WAL")
                finally:
                    copy.close()
                os.rename(draft, path)
            finally:
                draft.unlink(missing_ok=True)

    def restore(self, source: str, actor: str, on_progress: Progress | None = None) -> None:
        """Put back a backup, in one step, under everybody who has the memory open."""
        if self.engine.read_only:
            raise Denied(f"{self.engine.path} is open for reading only.")
        if self.engine.in_transaction:
            raise InvalidInput("A backup cannot be restored inside a batch or snapshot.")
        path = self.engine.path
        draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
        given = self._beside(Path(source), read_only=True)
        try:
            if problems := given.check(on_progress):
                raise InvalidInput(
                    f"{source} is damaged ({problems[0].what}); nothing was changed."
                )
            given.backup(str(draft))
            ready = self._beside(draft, read_only=False)
            try:
                _continue_from(self.engine, ready.engine, actor)
                with translated(path):
                    _copy(
                        ready.engine.connection,
                        self.engine.connection,
                        "restoring",
                        on_progress,
                        give_up_after_s=self.engine.busy_timeout_s,
                    )
            finally:
                ready.close()
        finally:
            given.close()
            for suffix in ("", "-wal", "-shm"):
                Path(f"{draft}{suffix}").unlink(missing_ok=True)
        self.chunks.forget_contents()

    def _beside(self, path: Path, *, read_only: bool) -> Store:
        return Store(
            path,
            create=False,
            read_only=read_only,
            busy_timeout_s=self.engine.busy_timeout_s,
            clock=self.engine.clock,
        )

    def close(self) -> None:
        """Let go of the file."""
        self.engine.close()


def _continue_from(old: Database, new: Database, actor: str) -> None:
    """Make a restored memory go on where the old one stood.

    No number is given out twice: not that of a row, nor that of a change. Derived indexes
    stand at a change of one generation; this begins another.
    """
    top = max(old.change(), new.change()) + 1
    with new.transaction():
        for name, seq in old.rows("SELECT name, seq FROM sqlite_sequence"):
            known = new.row("SELECT seq FROM sqlite_sequence WHERE name = ?", name)
            if known is None:
                new.run("INSERT INTO sqlite_sequence VALUES (?, ?)", name, seq)
            elif known[0] < seq:
                new.run("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", seq, name)
        new.run(
            "INSERT INTO changes VALUES (?, ?, ?, 'restore', NULL, NULL)",
            *(top, max(old.now(), new.now()) + 1, new.actor_id(actor)),
        )
        new.run("UPDATE meta SET value = ? WHERE key = 'generation'", secrets.token_hex(8))


def _copy(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    what: str,
    on_progress: Progress | None,
    give_up_after_s: float = 10.0,
) -> None:
    deadline = time.monotonic() + give_up_after_s

    def told(status: int, remaining: int, total: int) -> None:
        if on_progress is not None:
            on_progress(what, total - remaining, total)
        if status in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED) and time.monotonic() > deadline:
            raise Unavailable("Another process is writing and did not finish in time: try again.")

    source.backup(target, pages=-1, progress=told, sleep=0.05)
