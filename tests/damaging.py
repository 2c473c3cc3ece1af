"""Damage to a memory's file, as a program error would do it: checksums of rows still hold."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from hades.store.sqlite.database import add_functions


def edit(path: Path, sql: str) -> None:
    """Change the file behind the memory's back."""
    with closing(sqlite3.connect(path)) as raw, raw:
        add_functions(raw)
        raw.execute(sql)
