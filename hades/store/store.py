"""Store: all parts of a stored memory, on either engine."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hades.domain.tiers import Tier
from hades.domain.times import Clock
from hades.errors import Corrupt, Denied, HadesError, InvalidInput
from hades.store import check, dump, owed, purge
from hades.store.activity import Activity
from hades.store.archive import LOST, OWN_FACTS
from hades.store.bridges import Bridges
from hades.store.buffer import CLOSING_WAITS_S
from hades.store.changefeed import Changefeed
from hades.store.chunks import Chunks
from hades.store.derived_edges import DerivedEdges
from hades.store.edges import Edges
from hades.store.entities import Entities
from hades.store.excerpt import ExcerptFeed
from hades.store.feedback import FeedbackTable, Weights
from hades.store.graph_rows import GraphRows
from hades.store.hierarchies import Hierarchies
from hades.store.idempotency import Idempotency
from hades.store.links import Links
from hades.store.mentions import Mentions
from hades.store.opening import open_database
from hades.store.proposals import Proposals
from hades.store.query_log import QueryLog
from hades.store.records import Problem, Progress, Write
from hades.store.sources import Sources
from hades.store.spaces import Spaces
from hades.store.sqlite import copying
from hades.store.sqlite.database import SqliteDatabase
from hades.store.summaries import Summaries
from hades.store.topics import Topics
from hades.store.uses import Uses
from hades.store.waiting import Waiting

if TYPE_CHECKING:
    from hades.store.postgres.pgvector import PgVector

_log = logging.getLogger(__name__)


class Store:
    """A stored memory. Indexes are derived from it and can be built again."""

    def __init__(
        self,
        place: str | Path,
        *,
        create: bool,
        read_only: bool,
        busy_timeout_s: float,
        clock: Clock,
    ) -> None:
        database = open_database(
            place, create=create, read_only=read_only, busy_timeout_s=busy_timeout_s, clock=clock
        )
        self.database = database
        self.topics = Topics(database)
        self.entities = Entities(database)
        self.spaces = Spaces(database, self.topics, self.entities)
        self.edges = Edges(database, self.entities)
        self.chunks = Chunks(database, self.topics)
        self.waiting = Waiting(database)
        self.mentions = Mentions(database, self.entities)
        self.weights = Weights(database)
        self.feedback = FeedbackTable(database)
        self.derived_edges = DerivedEdges(database, self.entities, self.chunks, self.weights)
        self.graph_rows = GraphRows(database)
        self.sources = Sources(database, self.topics)
        self.links = Links(database)
        self.summaries = Summaries(database)
        self.activity = Activity(database)
        self.hierarchies = Hierarchies(database)
        self.bridges = Bridges(database)
        self.proposals = Proposals(database)
        self.idempotency = Idempotency(database)
        self.changefeed = Changefeed(database)
        self.uses = Uses(database)
        self.query_log = QueryLog(database)
        """A server sets the same `uses` and `query_log` for the stores it reads and writes."""
        # Members of the database that callers need.
        self.read_only = database.read_only
        self.write = database.write
        self.transaction = database.transaction
        self.snapshot = database.snapshot
        self.patient = database.patient
        self.within = database.within
        self.afterwards = database.afterwards
        self.moment = database.moment
        self.now = database.now
        self.change = database.change
        self.meta = database.meta
        self.set_meta = database.set_meta

    def close(self) -> None:
        """Write the uses and log entries that wait, then close the connections of all threads."""
        self.uses.write(CLOSING_WAITS_S)
        self.query_log.write(CLOSING_WAITS_S)
        self.database.close()

    @property
    def in_transaction(self) -> bool:
        """Whether this thread is inside a transaction or a snapshot."""
        return self.database.in_transaction

    @property
    def index_folder(self) -> Path:
        """The folder of the indexes of this memory."""
        return self.database.files.with_name(self.database.files.name + ".index")

    def kept_tiers(self) -> list[Tier]:
        """Return the size and use of this process's caches: decoded texts, and archived texts."""
        archive = self.topics.archive
        return [self.chunks.kept.tier("texts"), archive.kept.tier("archived texts")]

    def tiers(self) -> list[Tier]:
        """Return the tiers of `kept_tiers`, the store itself, and its archive if there is one."""
        archive = self.topics.archive
        archived = archive.states()
        stored = self.database.value("SELECT count(*) FROM states") - archived
        tiers = [*self.kept_tiers(), Tier("store", "store", stored, self.database.size())]
        if archived or self.database.meta(OWN_FACTS[0]):
            size = archive.size()
            where = archive.place() or ""
            where += " (missing)" if archived and not size else ""
            tiers.append(Tier("archive", where, archived, size or None))
        return tiers

    def purge(self, write: Write, space: int, name: str) -> dict[str, int]:
        """Erase a topic or entity with all derived from it. Return the erased rows by kind."""
        self.chunks.kept.clear()
        self.topics.archive.kept.clear()
        self.query_log.forget()
        return purge.erase(self.database, self.entities, write, space, name)

    def owed(self) -> list[str]:
        """Return the work that is left after an erasure or a restore."""
        return owed.owed(self.database)

    def finish_owed(self, drop_indexes: Callable[[], object]) -> None:
        """Do the owed work. Work that cannot be done now stays."""
        owed.finish(self.database, drop_indexes, self.topics.archive.settle)

    def repair(self) -> None:
        """Repair what can be derived again, and record that files of killed processes must be
        removed."""
        with self.database.transaction():
            check.repair(self.database, self.topics)
            owed.owe(self.database, owed.LEFTOVERS)

    def check(self, on_progress: Progress | None = None) -> list[Problem]:
        """Return all problems: damage, or else a wrong clock; owed work, the archive, and risks."""
        problems = self.damage(on_progress) or check.find_clock_problems(self.database)
        left = check.find_left(self.database) + self.topics.archive.problems()
        return problems + left + self.database.risks()

    def damage(self, on_progress: Progress | None = None) -> list[Problem]:
        """Return everything stored that is damaged or contradictory."""
        try:
            with self.database.snapshot():
                return check.find_problems(self.database, self.topics, on_progress)
        except Corrupt as error:
            return [
                Problem(str(error), self.database.place, "restore a backup, or import an export")
            ]

    def dump(self) -> Generator[dict[str, Any], None, None]:
        """Yield everything as plain records, as of one moment."""
        with self.database.snapshot():
            yield from dump.dump(self.database, self.topics)

    def load(
        self, write: Write, records: Iterable[dict[str, Any]], rename: str | None
    ) -> dict[str, int]:
        """Load records of `dump`; `rename` is a new name for their space. Return their number by
        table."""
        loaded = dump.load(self.database, self.topics, write, records, rename)
        self.database.look_again()
        for encoder in self.database.column("SELECT name FROM encoders"):
            self.chunks.set_embedded(encoder)
            self.edges.set_embedded(encoder)
        return loaded

    def backup(self, target: str, on_progress: Progress | None = None) -> None:
        """Copy the memory, as of one moment, to a new file while others read and write it.

        If `on_progress` raises, the copy stops and is removed.
        """
        copying.backup(self._file("backed up"), target, on_progress, self._bring_into)

    def restore(self, source: str, actor: str, on_progress: Progress | None = None) -> None:
        """Replace this memory by an undamaged backup in one step, while others have it open."""
        database = self._file("restored")
        if database.read_only:
            raise Denied(f"{database.place} is open for reading only.")
        if database.in_transaction:
            raise InvalidInput("A backup cannot be restored inside a batch or snapshot.")
        given = Store(
            Path(source),
            create=False,
            read_only=True,
            busy_timeout_s=database.busy_timeout_s,
            clock=database.clock,
        )
        with closing(given):
            if problems := given.damage(on_progress):
                raise InvalidInput(
                    f"{source} is damaged ({problems[0].what}); nothing was changed."
                )
            copying.restore(database, given._file("restored"), actor, on_progress)
        self.uses.forget()
        self.query_log.forget()
        self.chunks.kept.clear()

    def _bring_into(self, copied: SqliteDatabase) -> None:
        """Bring archived texts into a copy of this memory, so that it needs no archive.

        Lost texts stay recorded as archived.
        """
        archive = self.topics.archive
        lost = list[HadesError]()
        with copied.transaction():
            for name in copied.column("SELECT DISTINCT object FROM archived ORDER BY object"):
                try:
                    archive.bring_home(copied, name)
                except LOST as error:
                    lost.append(error)
            if lost:
                message = "The backup lacks %d objects of the archive: %s"
                _log.warning(message, len(lost), lost[0])
                copied.set_meta("archive", archive.place() or "")
            else:
                copied.run("DELETE FROM meta WHERE key = ANY(?)", list(OWN_FACTS))

    # A part of a large memory

    def vector_index(self, encoder: str) -> PgVector | None:
        """Return the database's own index of an encoder's vectors. A file has none."""
        if isinstance(self.database, SqliteDatabase):
            return None
        from hades.store.postgres.pgvector import PgVector

        return PgVector(self.database, encoder)

    def excerpt(self, chunks: Sequence[int], nodes: Sequence[int]) -> Store:
        """Return a copy of this store whose changefeed has only these chunks and the edges around
        nodes."""
        excerpt = copy.copy(self)
        excerpt.changefeed = ExcerptFeed(self.database, chunks, nodes)
        return excerpt

    def _file(self, what: str) -> SqliteDatabase:
        if not isinstance(self.database, SqliteDatabase):
            raise InvalidInput(
                f"{self.database.place} is not a file: it is {what} with PostgreSQL's own tools "
                "(pg_dump, pg_restore), or copied to a file with `hades copy`."
            )
        return self.database
