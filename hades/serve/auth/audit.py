"""The audit log: one JSON line a call, reads and writes in files of their own.

It says who called what, where, and what came of it; never what was read or written, and
never a key. A line is in the system's hands when its answer is sent, so it outlives the
process. A file that grew too long is kept under a number, the oldest is dropped.
"""

from __future__ import annotations

import json
import logging
import os
import threading
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from hades.errors import Unavailable

Mode = Literal["RO", "RW"]

FILE_BYTES_AT_MOST = 16 * 1024 * 1024
FILES_KEPT = 5
_TAIL_BYTES = 256 * 1024
_log = logging.getLogger(__name__)


def audit_beside(memory: Path) -> Path:
    """The folder of a memory's audit log."""
    return memory.with_name(memory.name + ".audit")


@lru_cache(1024)
def _quoted(text: str | None) -> str:
    return json.dumps(text)


class _Rotated:
    """A file of lines; the earlier ones are kept under a number."""

    def __init__(self, path: Path, bytes_at_most: int, kept: int) -> None:
        self._path = path
        self._bytes_at_most = bytes_at_most
        self._kept = kept
        self._handle = self._opened()
        self._size = os.fstat(self._handle).st_size

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self._path, flags, 0o600)
        os.fchmod(handle, 0o600)
        return handle

    def add(self, line: bytes) -> None:
        if self._size and self._size + len(line) > self._bytes_at_most:
            self._rotate()
        self._size += os.write(self._handle, line)

    def _rotate(self) -> None:
        for number in range(self._kept, 0, -1):
            with suppress(FileNotFoundError):
                os.replace(self._numbered(number - 1), self._numbered(number))
        # Closed last: a number that is free again could soon be somebody's connection.
        before, self._handle = self._handle, self._opened()
        os.close(before)
        self._size = 0

    def _numbered(self, number: int) -> Path:
        return self._path if number == 0 else self._path.with_name(f"{self._path.name}.{number}")

    def tail(self, limit: int) -> list[dict[str, Any]]:
        with self._path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - _TAIL_BYTES))
            lines = file.read().splitlines()[1 if size > _TAIL_BYTES else 0 :]
        return [json.loads(line) for line in lines[-limit:]] if limit else []

    def close(self) -> None:
        os.close(self._handle)


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
        self._failing = False
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._files: dict[Mode, _Rotated] = {
                "RO": _Rotated(folder / "reads.jsonl", file_bytes_at_most, files_kept),
                "RW": _Rotated(folder / "writes.jsonl", file_bytes_at_most, files_kept),
            }
        except OSError as error:
            raise Unavailable(
                f"The audit log {folder} cannot be written ({error.strerror}): check it."
            ) from error

    def add(
        self,
        *,
        who: str,
        way: str,
        space: str | None,
        call: str,
        mode: Mode,
        status: int,
        ms: float,
        request: str,
    ) -> None:
        """Write down one call."""
        at = datetime.now(UTC).isoformat(timespec="microseconds")
        # Put together by hand: an encoder that finds out anew what it is given takes longer
        # than all the rest of a short call.
        line = (
            f'{{"at": "{at}", "who": {_quoted(who)}, "way": {_quoted(way)}, '
            f'"space": {_quoted(space)}, "call": {_quoted(call)}, "mode": "{mode}", '
            f'"status": {status}, "ms": {ms:.2f}, "request": {json.dumps(request)}}}\n'
        )
        try:
            with self._lock:
                self._files[mode].add(line.encode())
            self._failing = False
        except OSError as error:
            # The call is done: a full disk must not make it look undone. Said once.
            if not self._failing:
                _log.error("the audit log cannot be written: %s", error.strerror)
            self._failing = True

    def tail(self, limit: int = 100) -> list[dict[str, Any]]:
        """The last calls, newest first."""
        with self._lock:
            lines = [line for file in self._files.values() for line in file.tail(limit)]
        return sorted(lines, key=lambda line: str(line["at"]), reverse=True)[:limit]

    def close(self) -> None:
        """Let go of the files."""
        for file in self._files.values():
            file.close()
