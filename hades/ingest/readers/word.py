"""DOCX: headings, paragraphs, lists and tables of a Word document, in order."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import docx
from docx.exceptions import PythonDocxError
from docx.opc.exceptions import OpcError
from docx.table import Table, _Cell
from docx.text.paragraph import Paragraph

from hades.ingest.document import Document
from hades.ingest.readers import archive
from hades.ingest.readers.compose import LINE_GAP, Composer
from hades.ingest.readers.damage import damage_told

KIND = "a Word document (.docx)"

_HEADING_STYLE = re.compile(r"heading ([1-9])$", re.IGNORECASE)


def read_docx(raw: bytes, topic: str) -> Document:
    """A Word document, titled by its title line, its first heading or its properties."""
    archive.opened(raw, topic, KIND).close()
    composer = Composer(topic)
    with damage_told(topic, KIND, OpcError, PythonDocxError):
        source = docx.Document(io.BytesIO(raw))
        for part in source.iter_inner_content():
            if isinstance(part, Table):
                _add_table(part, composer)
            else:
                _add_paragraph(part, composer)
        stated = source.core_properties.title
    return composer.document(composer.outline.first or stated)


def _add_table(table: Table, composer: Composer) -> None:
    for line in _rows(table):
        composer.add(line, gap=LINE_GAP)


def _add_paragraph(part: Paragraph, composer: Composer) -> None:
    text, block = part.text, composer.next_block
    style = (part.style.name if part.style else "") or ""
    level = _level(style)
    if level is not None:
        composer.heading(level, text)
    elif style.startswith("List"):
        composer.add(f"- {text}" if text.strip() else "", gap=LINE_GAP)
    else:
        composer.add(text)
    if composer.next_block > block:
        for hyperlink in part.hyperlinks:
            composer.links.add(hyperlink.address, block, hyperlink.text)


def _level(style: str) -> int | None:
    if style == "Title":
        return 0
    heading = _HEADING_STYLE.match(style)
    return int(heading[1]) if heading else None


def _rows(table: Table) -> Iterator[str]:
    """Each row as a line; a cell that spans several columns is told once."""
    for row in table.rows:
        cells = {id(cell._tc): cell for cell in row.cells}
        line = " | ".join(_cell_text(cell) for cell in cells.values())
        if line.strip("| "):
            yield line


def _cell_text(cell: _Cell) -> str:
    parts = [
        part.text if isinstance(part, Paragraph) else "; ".join(_rows(part))
        for part in cell.iter_inner_content()
    ]
    return " ".join(" ".join(parts).split())
