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
    """Note what is to be done once the transaction under way is committed."""
    for one in what:
        database.upsert("owed", ("what",), what=one, mark=secrets.token_hex(4))


def owed(database: Database) -> list[str]:
    """What is still to be done."""
    return database.column("SELECT what FROM owed ORDER BY what")


def finish(
    database: Database, drop_indexes: Callable[[], object], settle: Callable[[str], object]
) -> None:
    """Do what is owed; what cannot be done now stays owed, and the log says why."""
    marks = dict(database.rows("SELECT what, mark FROM owed"))
    ways = {**database.maintain(), INDEXES: drop_indexes}
    ways |= {one: partial(settle, one) for one in marks if one.startswith(ARCHIVE)}
    for what in (one for one in ways if one in marks):
        try:
            if ways[what]():
                with database.transaction():  # unless it came to be owed once more
                    database.run("DELETE FROM owed WHERE what = ? AND mark = ?", what, marks[what])
                continue
            why = "somebody still reads, or only the owner may do it, who then does"
        except (HadesError, OSError) as error:
            why = str(error)
        _log.warning("Erased text may still be in %s (%s): %s", database.place, what, why)
