"""Buffer: rows without a change number, which wait in this process and are written together.

They are written when there are many, after some time, or when the memory is closed. A killed
process loses those that wait.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Generic, TypeVar

from hades.errors import HadesError
from hades.store.database import Database

WRITTEN_AFTER_S = 30.0
CLOSING_WAITS_S = 1.0
"""How long closing a memory waits for another writer. After that the waiting rows are lost."""

Key = TypeVar("Key")
Row = TypeVar("Row")


class Buffer(ABC, Generic[Key, Row]):
    """Rows that wait to be written, by key. Threads may share it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._begin_process()

    def _begin_process(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.Lock()
        self._waiting: dict[Key, Row] = {}
        self._due = time.monotonic() + WRITTEN_AFTER_S

    def _put(self, rows: Mapping[Key, Row], written_from: int) -> None:
        """Add rows; write all rows if `written_from` of them wait or the time is up."""
        if self._pid != os.getpid():  # after a fork, the parent writes its own
            self._begin_process()
        with self._lock:
            self._keep(rows)
            due = len(self._waiting) >= written_from or time.monotonic() >= self._due
        if due and not self._database.in_transaction:
            self.write()

    def write(self, wait_s: float = 0.0) -> None:
        """Write the waiting rows in one transaction, or keep them if that fails.

        A question must not fail or wait for another writer because of these rows.
        """
        if self._pid != os.getpid() or not self._waiting:
            return
        with self._lock:
            taken = self._waiting
            self._waiting = {}
            self._due = time.monotonic() + WRITTEN_AFTER_S
        try:
            with self._database.patient(wait_s), self._database.transaction():
                self._insert(taken)
        except HadesError:
            with self._lock:
                newer = self._waiting
                self._waiting = taken
                self._keep(newer)

    def forget(self) -> None:
        """Drop the waiting rows, because their topics or spaces were purged or replaced."""
        with self._lock:
            self._waiting = {}

    @abstractmethod
    def _keep(self, rows: Mapping[Key, Row]) -> None:
        """Add rows to the waiting rows, and drop the oldest beyond a limit."""

    @abstractmethod
    def _insert(self, rows: Mapping[Key, Row]) -> None:
        """Write rows; the caller holds the transaction."""
