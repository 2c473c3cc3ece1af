"""JSON lines of everything: a header, then one record a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from hades.errors import InvalidInput

FORMAT = 1


def write(records: Iterable[dict[str, Any]], file: TextIO) -> None:
    """Write the header and every record."""
    file.write(json.dumps({"hades": FORMAT}) + "\n")
    for record in records:
        file.write(json.dumps(record, ensure_ascii=False) + "\n")


class Reader:
    """The records of a file, one at a time, knowing which line it stands at."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.line = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        try:
            with self._path.open(encoding="utf-8") as file:
                for line in file:
                    self.line += 1
                    if line.strip():
                        record = self._record(line)
                        if self.line > 1:
                            yield record
        except OSError as error:
            raise InvalidInput(f"{self._path} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{self._path} is not UTF-8 after line {self.line}.") from error
        if self.line == 0:
            raise InvalidInput(f"{self._path} is empty.")

    def _record(self, line: str) -> dict[str, Any]:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"{self.where()} is not JSON: {error}.") from error
        if not isinstance(record, dict):
            raise InvalidInput(f"{self.where()} is not a JSON object.")
        if self.line == 1 and record.get("hades") != FORMAT:
            raise InvalidInput(
                f"{self._path} is not an export of HADES that this version can read."
            )
        return record

    def where(self) -> str:
        """The place, for a message."""
        return f"{self._path}, line {self.line},"
