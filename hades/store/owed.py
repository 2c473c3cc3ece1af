"""Owed work: work that is left after an erasure, a restore or a change of the archive.

Examples are rewriting the file, emptying its log and removing the files beside it. Each is a row,
written in the transaction that made the work necessary, and deleted when the work is done.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from functools import partial

from hades.errors import HadesError
from hades.store.database import Database

REWRITE = "file"
LOG = "log"
INDEXES = "indexes"
LEFTOVERS = "leftovers"
ARCHIVE = "archive:"
"""Prefix of rows that name archive objects to remove; the start of their names follows."""
_log = logging.getLogger(__name__)


def owe(database: Database, *what: str) -> None:
    """Record work to do after the current transaction is committed.

    A role limited to some spaces records it with a hash of its name, and sees only its own rows.
    """
    for work in what:
        named = work if work.startswith(ARCHIVE) else work + database.owes
        database.upsert("owed", ("what",), what=named, mark=secrets.token_hex(4))


def owed(database: Database) -> list[str]:
    """Return the work that is still to be done."""
    return sorted(_rows(database))


def finish(
    database: Database, drop_indexes: Callable[[], object], settle: Callable[[str], object]
) -> None:
    """Do the owed work. Work that cannot be done now stays, and the log says why."""
    rows = _rows(database)
    ways = {**database.maintain(), INDEXES: drop_indexes}
    ways |= {work: partial(settle, work) for work in rows if work.startswith(ARCHIVE)}
    for what in (work for work in ways if work in rows):
        try:
            if ways[what]():
                with database.transaction():  # a row that was written again has another mark
                    for row in rows[what]:
                        database.run("DELETE FROM owed WHERE what = ? AND mark = ?", *row)
                continue
            why = "another process is reading, or only the owner may do this"
        except (HadesError, OSError) as error:
            why = str(error)
        _log.warning("Erased text may still be in %s (%s): %s", database.place, what, why)


def _rows(database: Database) -> dict[str, list[tuple[str, str]]]:
    """Group the rows of `owed` by the work that this process has to do.

    Logs, indexes and leftover files belong to one role. Rewriting tables and removing archived
    objects is done for all roles.
    """
    by_kind: dict[str, list[tuple[str, str]]] = {}
    for named, mark in database.rows("SELECT what, mark FROM owed"):
        what, _, role = named.partition("@")
        if what == REWRITE or what.startswith(ARCHIVE) or role == database.owes[1:]:
            by_kind.setdefault(what, []).append((named, mark))
    return by_kind
