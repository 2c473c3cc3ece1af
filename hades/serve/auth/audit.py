"""The audit log: one JSON line per call, in one file for reads and one for writes.

An entry says who called what, in which space, and with which status; it contains no stored text
and no key. It is written before the answer's end is sent. Files are rotated by size.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Literal

from hades.errors import Unavailable

Mode = Literal["RO", "RW"]

FILE_BYTES_AT_MOST = 16 * 1024 * 1024
FILES_KEPT = 5
_ENTRY_BYTES = 1_000
"""Upper bound of an entry's size; entries name no topics, so they stay short."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One call in the audit log."""

    at: datetime
    who: str
    listener: str
    space: str | None
    call: str
    mode: Mode
    status: int
    ms: float
    request: str


def audit_beside(memory: Path) -> Path:
    """Return the folder of a memory's audit log."""
    return memory.with_name(memory.name + ".audit")


class _LogFile(RotatingFileHandler):
    """A rotating file of entries that only its owner may read."""

    def __init__(self, path: Path, bytes_at_most: int, kept: int) -> None:
        super().__init__(path, maxBytes=bytes_at_most, backupCount=kept, encoding="utf-8")
        os.chmod(path, 0o600)
        self._failed = self._failed_before = False
        if path.stat().st_size and not path.read_bytes().endswith(b"\n"):
            self.add("")  # end the last line, which a crash or a full disk cut short

    def doRollover(self) -> None:
        super().doRollover()
        os.chmod(self.baseFilename, 0o600)

    def add(self, entry: str) -> None:
        self._failed_before = self._failed
        self._failed = False
        self.emit(logging.makeLogRecord({"msg": entry}))

    def handleError(self, record: logging.LogRecord) -> None:
        # The call has succeeded, so a full disk must not fail it. Log only the first error.
        self._failed = True
        if not self._failed_before:
            _log.error("the audit log cannot be written", exc_info=True)

    def tail(self, limit: int) -> list[dict[str, Any]]:
        """Return at most `limit` last entries, oldest first, also of rotated files."""
        entries: list[dict[str, Any]] = []
        for number in range(self.backupCount + 1):
            path = Path(self.baseFilename + (f".{number}" if number else ""))
            if len(entries) >= limit or not path.exists():
                break
            entries[:0] = list(_last_entries(path, limit - len(entries)))
        return entries[-limit:] if limit else []


class Audit:
    """The audit log of one server."""

    def __init__(
        self,
        folder: Path,
        *,
        file_bytes_at_most: int = FILE_BYTES_AT_MOST,
        files_kept: int = FILES_KEPT,
    ) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._files: dict[Mode, _LogFile] = {
                "RO": _LogFile(folder / "reads.jsonl", file_bytes_at_most, files_kept),
                "RW": _LogFile(folder / "writes.jsonl", file_bytes_at_most, files_kept),
            }
        except OSError as error:
            raise Unavailable(
                f"The audit log {folder} cannot be written ({error.strerror}): check it."
            ) from error

    def add(self, mode: Mode, **fields: Any) -> None:
        """Log one call, given the other fields of `AuditEntry`."""
        entry = AuditEntry(at=datetime.now(UTC), mode=mode, **fields)
        with self._lock:
            self._files[mode].add(json.dumps(asdict(entry), default=datetime.isoformat))

    def tail(self, limit: int = 100) -> list[dict[str, Any]]:
        """Return the entries of the last `limit` calls, reads and writes, newest first."""
        with self._lock:
            entries = [entry for file in self._files.values() for entry in file.tail(limit)]
        return sorted(entries, key=lambda entry: str(entry["at"]), reverse=True)[:limit]

    def close(self) -> None:
        for file in self._files.values():
            file.close()


def _last_entries(path: Path, limit: int) -> Iterator[dict[str, Any]]:
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        start = max(0, size - limit * _ENTRY_BYTES)
        file.seek(start)
        lines = file.read().splitlines()[1 if start else 0 :]
    for line in lines:
        with suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict) and "at" in entry:
                yield entry
