r"""Language cases: the rows of the tables in `cases/`.

The first line of a table names its columns. Cells are separated by tabs; `\n` in a cell is a new
line, and an empty cell says that there is nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "cases"


def rows(name: str) -> list[dict[str, str]]:
    """Return the rows of a table, each by the names of its columns."""
    head, *lines = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    columns = head.split("\t")
    return [dict(zip(columns, map(_read, line.split("\t")), strict=True)) for line in lines if line]


def cases(name: str) -> pytest.MarkDecorator:
    """Run a test once for each row of a table, with the cells as its arguments."""
    table = rows(name)
    columns = [*table[0]]
    return pytest.mark.parametrize(columns, [tuple(row.values()) for row in table])


def listed(cell: str) -> list[str]:
    """Return the items of a cell that holds a list."""
    return cell.split(" | ") if cell else []


def _read(cell: str) -> str:
    return str(json.loads(f'"{cell}"')) if "\\" in cell else cell
