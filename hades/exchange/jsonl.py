"""JSON lines of everything: a header, one record per line, and an end line with their count.

The end line distinguishes a whole export from one that was cut off.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from hades.errors import InvalidInput

FORMAT = 2


def write(records: Iterable[dict[str, Any]], file: TextIO) -> None:
    """Write the header, every record and the end."""
    file.write(json.dumps({"hades": FORMAT}) + "\n")
    count = 0
    for count, record in enumerate(records, start=1):  # noqa: B007 - the last one counts
        file.write(json.dumps(record, ensure_ascii=False) + "\n")
    file.write(json.dumps({"end": count}) + "\n")


class Reader:
    """Iterates over the records of an export; raises InvalidInput if it is wrong or cut off."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.line = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        count = 0
        end = None
        try:
            with self._path.open(encoding="utf-8") as file:
                for line in file:
                    self.line += 1
                    if not line.strip():
                        continue
                    record = self._record(line)
                    if record.keys() == {"end"}:
                        end = record["end"]
                    elif self.line > 1:
                        count += 1
                        yield record
        except OSError as error:
            raise InvalidInput(f"{self._path} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{self._path} is not UTF-8 after line {self.line}.") from error
        if self.line == 0:
            raise InvalidInput(f"{self._path} is empty.")
        if end != count:
            raise InvalidInput(
                f"{self._path} is incomplete: it has {count:,} records, but its end line says "
                f"{end}. Export it again; nothing was imported."
            )

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
        """Return the file and the number of the line read last, as text for a message."""
        return f"{self._path}, line {self.line},"
