"""Places: the empty files and folders beside a memory that say whose its topics are.

A server leaves one for each source that was sent to it (`NAME.hades.uploads/MARK/NAME`).
It bears a name, so it goes with the last topic that came from there.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from hades.store.sqlite import Database

UPLOADS = ".uploads"
DRAFT = "draft-"
"""So begins what is still being sent: it is nobody's place yet."""


def clear_places(database: Database) -> None:
    """Remove the empty places from which no topic comes any more."""
    folder = Path(f"{database.path}{UPLOADS}").resolve()
    if not folder.is_dir():
        return
    owners = {row[0] for row in database.rows("SELECT DISTINCT root FROM sources")}
    for mark in [one for one in folder.iterdir() if not one.name.startswith(DRAFT)]:
        with suppress(OSError):  # it is no folder, or holds something still
            for place in [one for one in mark.iterdir() if str(one) not in owners]:
                _remove_empty(place)
            mark.rmdir()


def _remove_empty(place: Path) -> None:
    with suppress(OSError):  # a job is filling it, or has removed it
        if place.is_dir():
            place.rmdir()
        elif place.stat().st_size == 0:
            place.unlink()
