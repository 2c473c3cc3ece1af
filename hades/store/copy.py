"""Copy a whole memory to another place, between any two engines.

Rows are copied table by table in the order of their keys and keep their numbers. Each batch is a
commit. The copy is marked as unfinished until all rows are there and compared. An unfinished copy
cannot be opened; copying the same memory again continues after the rows that it has.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Any

from hades.domain.times import Clock, system_clock
from hades.errors import Conflict, Corrupt, InvalidInput, Unavailable
from hades.store.archive import OWN_FACTS, Archive
from hades.store.catalogue import COUNTED, TABLES, quoted
from hades.store.database import NO_LIMIT, Database
from hades.store.opening import UNFINISHED, open_database
from hades.store.records import ANSWERS_SECRET, Progress

_TABLES = [table for table in TABLES if table not in ("migrations", "owed", "archived")]
"""The tables to copy. Each place has its own migrations and `owed`. Archived texts are copied into
the rows of `states`, so `archived` stays empty."""
_ITS_OWN = ("generation", "schema", UNFINISHED, ANSWERS_SECRET, *OWN_FACTS)
_BUT_ITS_OWN = f"WHERE key NOT IN {_ITS_OWN}"
_AT_ONCE = 1_000
_WAIT_S = 10.0
_Tell = Callable[[str, int], None]


def copy(
    source: str | Path,
    target: str | Path,
    *,
    clock: Clock = system_clock,
    on_progress: Progress | None = None,
) -> dict[str, int]:
    """Copy a whole memory, as of one moment, to a new place. Return the rows of each table.

    Both places are a file or an address of PostgreSQL. Numbers and times stay as they are, and all
    rows are compared at the end. Call it again to continue a copy that was stopped; it starts over
    if the memory has changed meanwhile. A place that holds another memory is refused.
    """
    opened = partial(open_database, busy_timeout_s=_WAIT_S, clock=clock)
    with closing(opened(source, create=False, read_only=True)) as old:
        old.last_id("spaces", "id")  # raises Denied for a role limited to some spaces
        with closing(opened(target, create=True, read_only=False, unfinished=True)) as new:
            return _copied(old, new, on_progress)


def _copied(old: Database, new: Database, on_progress: Progress | None) -> dict[str, int]:
    with old.snapshot():
        if damaged := old.damage():
            raise Corrupt(f"{damaged[0].where} is damaged: run `hades check`; nothing was copied.")
        if not _goes_on(old, new):
            _begin(old, new)
        counts = _count(old)
        total = sum(counts.values())

        def tell(what: str, done: int) -> None:
            if on_progress is not None:
                on_progress(what, done, total)

        if not _copy_rows(old, new, tell):
            # a process wrote to one of them without a change number, for example uses
            _begin(old, new)
            if not _copy_rows(old, new, tell):
                raise Unavailable(
                    f"{new.place} differs from {old.place}: stop all writers, then copy again."
                )
    return {table: count for table, count in counts.items() if count}


def _goes_on(old: Database, new: Database) -> bool:
    """Return whether `new` is an unfinished copy of this revision. Raise Conflict for another
    memory."""
    begun = new.meta(UNFINISHED)
    if begun is None:
        if new.change() or new.meta("generation") == old.meta("generation"):
            raise Conflict(f"{new.place} holds a memory already: copy to a new place.")
        return False
    if begun.split()[0] != old.meta("generation"):
        raise Conflict(
            f"{new.place} is the unfinished copy of another memory: finish that one, or remove it."
        )
    return begun == _revision(old)


def _begin(old: Database, new: Database) -> None:
    """Empty the place, and mark it as an unfinished copy of this revision."""
    with new.transaction():
        for table in _TABLES:
            new.run(f"DELETE {_from(table)}")
        new.set_meta("generation", secrets.token_hex(8))
        new.set_meta(UNFINISHED, _revision(old))


def _copy_rows(old: Database, new: Database, tell: _Tell) -> bool:
    """Copy the missing rows and compare. If all are equal, remove the mark and return True."""
    for table, rows, done in _rows(old, _count(new)):
        try:
            with new.transaction():
                new.load(table, rows)
        except InvalidInput as error:
            raise InvalidInput(f"{new.place} cannot hold a row of {table}: {error}") from error
        tell("copying", done)
    wanted = _digest(old, tell)
    with new.transaction():  # so that nobody writes between comparing and unmarking
        if _digest(new, tell) != wanted:
            return False
        new.keep_ids({table: old.last_id(table, column) for table, column in COUNTED.items()})
        new.run("DELETE FROM meta WHERE key = ?", UNFINISHED)
    return True


def _digest(database: Database, tell: _Tell) -> bytes:
    """Return a hash of every value of every row."""
    digest = blake2b(digest_size=32)
    for table, rows, done in _rows(database, {}):
        tell("comparing", done)
        digest.update(table.encode())
        for row in rows:  # repr of long bytes is slow
            blobs = [value for value in row if isinstance(value, bytes)]
            digest.update(repr([v for v in row if not isinstance(v, bytes)]).encode())
            digest.update(b"".join([b"%d " % len(blob) + blob for blob in blobs]))
    return digest.digest()


def _rows(database: Database, there: dict[str, int]) -> Iterator[tuple[str, list[Any], int]]:
    """Yield (table, rows, count so far), skipping the first `there` rows of each table.

    Rows come in the order of their keys.
    """
    done = 0
    archive = Archive(database)
    for table in _TABLES:
        about = TABLES[table]
        sql = f"SELECT {quoted(about.columns)} {_from(table)} ORDER BY {quoted(about.key)} "
        skipped = there.get(table, 0)
        done += skipped
        for rows in database.batches(_AT_ONCE, sql + "LIMIT ? OFFSET ?", NO_LIMIT, skipped):
            done += len(rows)
            if table == "states":
                rows = [archive.filled(row) for row in rows]
            yield table, rows, done


def _revision(database: Database) -> str:
    return f"{database.meta('generation')} {database.change()}"


def _from(table: str) -> str:
    return f"FROM {table} {_BUT_ITS_OWN if table == 'meta' else ''}"


def _count(database: Database) -> dict[str, int]:
    return {table: database.value(f"SELECT count(*) {_from(table)}") for table in _TABLES}
