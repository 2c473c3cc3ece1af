"""Copying a whole memory to another place, whichever engines keep the two.

Rows are copied table by table in the order of their keys, with the numbers they have, a batch
a commit. Until all is there and compared, the copy is marked as unfinished: then nothing opens
it but a copy of the same memory, which goes on behind the rows that are there.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hades.domain.times import Clock, system_clock
from hades.errors import Conflict, Corrupt, Unavailable
from hades.store.database import NO_LIMIT, Database
from hades.store.opening import UNFINISHED, open_database
from hades.store.records import Progress
from hades.store.schema import COLUMNS, COUNTED

_TABLES = [table for table in COLUMNS if table not in ("migrations", "owed")]
"""What is copied: how its tables came about and what it owes is each place's own matter."""
_BUT_ITS_OWN = f"WHERE key NOT IN ('generation', 'schema', '{UNFINISHED}')"
_AT_ONCE = 1_000
_WAIT_S = 10.0


def copy(
    source: str | Path,
    target: str | Path,
    *,
    clock: Clock = system_clock,
    on_progress: Progress | None = None,
) -> dict[str, int]:
    """Copy a whole memory, as of one moment, to a new place; how many rows of each table.

    Both are a file or an address of PostgreSQL. Numbers and times stay as they are, and all
    rows are compared at the end. A copy that was stopped goes on when it is called again; it
    begins anew where the memory has changed meanwhile. A place that holds something is refused.
    """

    def opened(place: str | Path, *, new: bool) -> Database:
        return open_database(
            place,
            create=new,
            read_only=not new,
            busy_timeout_s=_WAIT_S,
            clock=clock,
            unfinished=new,
        )

    with (
        closing(opened(source, new=False)) as old,
        closing(opened(target, new=True)) as new,
        old.snapshot(),
    ):
        if damaged := old.damage():
            raise Corrupt(f"{damaged[0].where} is damaged: run `hades check`; nothing was copied.")
        if not _goes_on(old, new):
            _begin(old, new)
        counts = _count(old)
        progress = _Progress(on_progress, sum(counts.values()))
        _copy_rows(old, new, progress)
        if not _finish(old, new, progress):
            # Somebody wrote, to either of them, what no change number tells of.
            _begin(old, new)
            _copy_rows(old, new, progress)
            if not _finish(old, new, progress):
                raise Unavailable(
                    f"{new.place} is not what {old.place} is: let nobody write there, then copy "
                    "again."
                )
    return {table: count for table, count in counts.items() if count}


class _Progress:
    """How many rows of all tables are done."""

    def __init__(self, tell: Progress | None, total: int) -> None:
        self._tell = tell
        self._total = total

    def rows(
        self, what: str, database: Database, there: dict[str, int]
    ) -> Iterator[tuple[str, list[Any]]]:
        """(table, rows) behind those that are there already, told of as they are read.

        No key has more than three columns, and they come first.
        """
        done = 0
        for table in _TABLES:
            columns = [f'"{name}"' for name in COLUMNS[table]]
            sql = f"SELECT {', '.join(columns)} {_from(table)} ORDER BY {', '.join(columns[:3])} "
            skipped = there.get(table, 0)
            done += skipped
            for rows in database.batches(_AT_ONCE, sql + "LIMIT ? OFFSET ?", NO_LIMIT, skipped):
                yield table, rows
                done += len(rows)
                if self._tell is not None:
                    self._tell(what, done, self._total)


def _goes_on(old: Database, new: Database) -> bool:
    """Whether the copy of this memory, as it is, was begun there; Conflict where it cannot be."""
    begun = new.meta(UNFINISHED)
    if begun is None:
        if new.change() or new.meta("generation") == old.meta("generation"):
            raise Conflict(f"{new.place} holds a memory already: copy to a new place.")
        return False
    if begun.split()[0] != old.meta("generation"):
        raise Conflict(
            f"{new.place} is the unfinished copy of another memory: finish that one, or remove it."
        )
    return begun == _stand(old)


def _begin(old: Database, new: Database) -> None:
    """Empty the place, and mark it as the copy of this memory as it is."""
    with new.transaction():
        for table in _TABLES:
            new.run(f"DELETE {_from(table)}")
        new.set_meta("generation", secrets.token_hex(8))
        new.set_meta(UNFINISHED, _stand(old))


def _copy_rows(old: Database, new: Database, progress: _Progress) -> None:
    for table, rows in progress.rows("copying", old, _count(new)):
        with new.transaction():
            new.load(table, rows)


def _finish(old: Database, new: Database, progress: _Progress) -> bool:
    """Take the mark away if all rows are the same on both sides; whether they are."""
    wanted = _digest(old, progress)
    with new.transaction():  # nobody writes between the look and the end
        if _digest(new, progress) != wanted:
            return False
        new.keep_ids({table: old.last_id(table, column) for table, column in COUNTED.items()})
        new.run("DELETE FROM meta WHERE key = ?", UNFINISHED)
    return True


def _digest(database: Database, progress: _Progress) -> bytes:
    """A hash of every value of every row."""
    digest = blake2b(digest_size=32)
    for table, rows in progress.rows("comparing", database, {}):
        digest.update(table.encode())
        for row in rows:
            digest.update(repr(tuple(row)).encode())
    return digest.digest()


def _stand(database: Database) -> str:
    return f"{database.meta('generation')} {database.change()}"


def _from(table: str) -> str:
    return f"FROM {table} {_BUT_ITS_OWN if table == 'meta' else ''}"


def _count(database: Database) -> dict[str, int]:
    return {table: database.value(f"SELECT count(*) {_from(table)}") for table in _TABLES}
