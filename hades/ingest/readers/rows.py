"""Rows: a table as lines that can each be read alone, `header: value; …`.

A row found without its header says nothing, so each carries it. The first row with
anything in it is the header, as long as all of it is text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, time

from hades.ingest.readers.compose import LINE_GAP, Composer
from hades.ingest.readers.outline import one_line

ROWS_AT_MOST = 50_000
"""Of all tables of a file together. More is a database, better asked than remembered."""
COLUMNS_AT_MOST = 100
CELL_CHARACTERS_AT_MOST = 2_000

Cell = object


class Rows:
    """The rows of a file's tables, added to its document until there are too many."""

    def __init__(self, composer: Composer) -> None:
        self._composer = composer
        self.added = 0
        self.left_out = 0

    def add(self, rows: Iterable[Sequence[Cell]]) -> None:
        """One table. Rows above the bound are counted, not read."""
        header: list[str] | None = None
        for row in rows:
            values = [_text(cell) for cell in row[:COLUMNS_AT_MOST]]
            if not any(values):
                continue
            if header is None:
                header = _header(row, values)
                if header:
                    self._composer.add("; ".join(filter(None, values)), gap=LINE_GAP)
                    continue
            if self.added >= ROWS_AT_MOST:
                self.left_out += 1
                continue
            self.added += 1
            self._composer.add(_line(header, values), gap=LINE_GAP)

    @property
    def metadata(self) -> dict[str, int]:
        """How many rows there are, and how many were too many."""
        counts = {"rows": self.added}
        return {**counts, "rows_left_out": self.left_out} if self.left_out else counts


def _header(row: Sequence[Cell], values: list[str]) -> list[str]:
    """The names of the columns; none when the row is data, or a title in a single cell."""
    cells = [cell for cell, value in zip(row, values, strict=False) if value]
    texts = all(isinstance(cell, str) and not _number(cell) for cell in cells)
    return values if texts and len(cells) > 1 else []


def _number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _line(header: list[str], values: list[str]) -> str:
    named = header + [""] * (len(values) - len(header))
    pairs = ((name, value) for name, value in zip(named, values, strict=False) if value)
    return "; ".join(f"{name}: {value}" if name else value for name, value in pairs)


def _text(cell: Cell) -> str:
    """A cell as people write it: no midnight after a date, no `.0` after a whole number."""
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return one_line(str(cell), CELL_CHARACTERS_AT_MOST)
