"""What is owed: work that an erasure, a restore or the archive still has to do.

To write the file anew, empty its log, drop what lies beside it: each is a row, written in the
transaction that made it necessary, and goes when it is done.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable
from functools import partial

from hades.errors import HadesError
from hades.store.database import Database

REWRITE, LOG, INDEXES, LEFTOVERS = "file", "log", "indexes", "leftovers"
ARCHIVE = "archive:"
"""With the start of their names, that these objects of the archive are to be removed."""
_log = logging.getLogger(__name__)


def owe(database: Database, *what: str) -> None:
    """Record work to do after the current transaction is committed.

    A role limited to some spaces records it with a hash of its name, and sees only its own rows.
    """
    for one in what:
        named = one if one.startswith(ARCHIVE) else one + database.owes
        database.upsert("owed", ("what",), what=named, mark=secrets.token_hex(4))


def owed(database: Database) -> list[str]:
    """What is still to be done."""
    return sorted(_rows(database))


def finish(
    database: Database, drop_indexes: Callable[[], object], settle: Callable[[str], object]
) -> None:
    """Do what is owed; what cannot be done now stays owed, and the log says why."""
    rows = _rows(database)
    ways = {**database.maintain(), INDEXES: drop_indexes}
    ways |= {one: partial(settle, one) for one in rows if one.startswith(ARCHIVE)}
    for what in (one for one in ways if one in rows):
        try:
            if ways[what]():
                with database.transaction():  # unless it came to be owed once more
                    for row in rows[what]:
                        database.run("DELETE FROM owed WHERE what = ? AND mark = ?", *row)
                continue
            why = "somebody still reads, or only the owner may do it, who then does"
        except (HadesError, OSError) as error:
            why = str(error)
        _log.warning("Erased text may still be in %s (%s): %s", database.place, what, why)


def _rows(database: Database) -> dict[str, list[tuple[str, str]]]:
    """Group the rows of `owed` by the work that this process has to do.

    Logs, indexes and leftover files belong to one role. Rewriting tables and removing archived
    objects is done for all roles.
    """
    found: dict[str, list[tuple[str, str]]] = {}
    for named, mark in database.rows("SELECT what, mark FROM owed"):
        what, _, role = named.partition("@")
        if what == REWRITE or what.startswith(ARCHIVE) or role == database.owes[1:]:
            found.setdefault(what, []).append((named, mark))
    return found
