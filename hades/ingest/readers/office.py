"""Office files, e-books and tables: DOCX, PPTX, XLSX, EPUB and CSV, converted to Markdown.

A library is imported when its first file is read.
"""

from __future__ import annotations

import csv
import io
import posixpath
import re
import warnings
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, time
from itertools import islice, zip_longest
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from xml.etree import ElementTree

from hades.ingest.document import Document, Unreadable
from hades.ingest.readers.html import write_html
from hades.ingest.readers.markdown import MarkdownWriter, markdown_link
from hades.ingest.readers.text import decode, megabytes, one_line

if TYPE_CHECKING:
    from docx.table import Table, _Cell
    from docx.text.paragraph import Paragraph
    from pptx.slide import Slide

TEXT_BYTES_AT_MOST = 128 * 2**20
"""Limit of the text parts of a zipped document. Parsed to a tree, they take ten times the
memory."""
UNPACKED_BYTES_AT_MOST = 512 * 2**20
"""Limit of all parts, unpacked."""
SHEET_ROWS_AT_MOST = 1_048_576
"""The limit of Excel. A row may state any number, and all rows before it are read as empty."""
ROWS_AT_MOST = 50_000
"""The most rows of all tables of a file together. More rows are a database, not a text."""
COLUMNS_AT_MOST = 100
CELL_CHARACTERS_AT_MOST = 2_000
DELIMITER_SAMPLE_LINES = 20

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
"""The first bytes of the old binary formats, and of new ones with a password."""
_TEXT_PARTS = (".xml", ".rels", ".html", ".xhtml", ".htm", ".opf", ".ncx")
_HEADING_STYLE = re.compile(r"heading ([1-9])$", re.IGNORECASE)


def _archive(raw: bytes, topic: str, kind: str) -> zipfile.ZipFile:
    """Open the zip file of an office document; raise Unreadable if it would unpack to too much.

    The sizes are those that the archive states; `zipfile` never unpacks more.
    """
    if raw.startswith(_OLE):
        raise Unreadable(
            f"{topic} has a password or is in an old binary format: save it anew as {kind}."
        )
    archive = zipfile.ZipFile(io.BytesIO(raw))
    sizes = [(part.filename.lower(), part.file_size) for part in archive.infolist()]
    texts = sum(size for name, size in sizes if name.endswith(_TEXT_PARTS))
    whole = sum(size for _, size in sizes)
    for size, most in ((texts, TEXT_BYTES_AT_MOST), (whole, UNPACKED_BYTES_AT_MOST)):
        if size > most:
            raise Unreadable(
                f"{topic} unpacks to {megabytes(size)}, more than the "
                f"{megabytes(most)} that are read: split it."
            )
    return archive


# Word


def read_docx(raw: bytes, topic: str) -> Document:
    """Read a Word document. Its title is its first heading, else the one in its properties."""
    import docx
    from docx.table import Table

    _archive(raw, topic, "a Word document (.docx)").close()
    writer = MarkdownWriter(topic)
    source = docx.Document(io.BytesIO(raw))
    for part in source.iter_inner_content():
        if isinstance(part, Table):
            for cells in _table_rows(part):
                writer.row(cells)
        else:
            _write_paragraph(part, writer)
    return writer.document(writer.first_heading or source.core_properties.title)


def _write_paragraph(part: Paragraph, writer: MarkdownWriter) -> None:
    from docx.text.hyperlink import Hyperlink

    text = "".join(
        markdown_link(run.text, run.address) if isinstance(run, Hyperlink) else run.text
        for run in part.iter_inner_content()
    )
    style = (part.style.name if part.style else "") or ""
    if style == "Title":
        writer.heading(1, text)
    elif heading := _HEADING_STYLE.match(style):
        writer.heading(int(heading[1]) + 1, text)
    elif style.startswith("List"):
        writer.item(text)
    else:
        writer.paragraph(text)


def _table_rows(table: Table) -> Iterator[list[str]]:
    """Yield the cells of each row; a cell that spans several columns comes once."""
    for row in table.rows:
        cells = {id(cell._tc): cell for cell in row.cells}
        yield [_cell_text(cell) for cell in cells.values()]


def _cell_text(cell: _Cell) -> str:
    from docx.table import Table

    return " ".join(
        "; ".join(" ".join(row) for row in _table_rows(part))
        if isinstance(part, Table)
        else part.text
        for part in cell.iter_inner_content()
    )


# Slides


def read_pptx(raw: bytes, topic: str) -> Document:
    """Read a presentation. Its title is that of the first slide with a title."""
    import pptx

    _archive(raw, topic, "a presentation (.pptx)").close()
    writer = MarkdownWriter(topic)
    slides = pptx.Presentation(io.BytesIO(raw)).slides
    titles = [_write_slide(slide, number, writer) for number, slide in enumerate(slides, 1)]
    return writer.document(next(filter(None, titles), ""), {"slides": len(titles)})


def _write_slide(slide: Slide, number: int, writer: MarkdownWriter) -> str:
    """Write a slide under `# Slide 3` and its title. Return the title."""
    shape = slide.shapes.title
    title = one_line(shape.text_frame.text) if shape is not None else ""
    # Reading the notes of a slide without notes would create an empty notes page.
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    writer.place(f"Slide {number}")
    writer.heading(2, title)
    for each in _shapes(slide.shapes):
        if shape is not None and each.shape_id == shape.shape_id:
            continue
        if getattr(each, "has_table", False):
            for row in each.table.rows:
                writer.row([cell.text for cell in row.cells])
        elif each.has_text_frame:
            # The library writes a line break within a paragraph as a vertical tab.
            writer.paragraph(each.text_frame.text.replace("\v", "\n"))
    if notes is not None and notes.text.strip():
        writer.paragraph("Notes: " + notes.text.replace("\v", "\n"))
    return title


def _shapes(shapes: Iterable[Any]) -> Iterator[Any]:
    """Yield all shapes, with those inside groups."""
    from pptx.shapes.group import GroupShape

    for shape in shapes:
        if isinstance(shape, GroupShape):
            yield from _shapes(shape.shapes)
        else:
            yield shape


# Tables


def read_xlsx(raw: bytes, topic: str) -> Document:
    """Read a workbook, sheet by sheet, with the values of its cells and not the formulas."""
    import openpyxl

    _archive(raw, topic, "a workbook (.xlsx)").close()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns about styles and checks that it does not know
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        bounds = {"max_row": SHEET_ROWS_AT_MOST, "max_col": COLUMNS_AT_MOST}
        tables = (
            (sheet.title, sheet.iter_rows(**bounds, values_only=True)) for sheet in book.worksheets
        )
        document = _table_document(topic, tables, {"sheets": book.sheetnames})
        book.close()
    return document


def read_csv(raw: bytes, topic: str) -> Document:
    """Read a table with commas, semicolons or tabs between its cells."""
    text, metadata = decode(raw, topic)
    sample = "".join(islice(io.StringIO(text), DELIMITER_SAMPLE_LINES))
    delimiter = max(",\t;", key=sample.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    return _table_document(topic, [("", rows)], metadata)


def _table_document(
    topic: str,
    tables: Iterable[tuple[str, Iterable[Sequence[object]]]],
    metadata: Mapping[str, object],
) -> Document:
    """Return a document with each row of named tables as an item `- header: value; …`.

    Each row repeats the header, because a row is found alone. The first row that is not empty is
    the header if all its cells are text. Rows beyond ROWS_AT_MOST are only counted.
    """
    writer = MarkdownWriter(topic)
    count = 0
    for title, rows in tables:
        if title:
            writer.place(title)
        header: list[str] | None = None
        for row in rows:
            if row.count(None) == len(row):
                continue
            values = [_shown(cell) for cell in row[:COLUMNS_AT_MOST]]
            if not any(values):
                continue
            if header is None:
                header = _header(row, values)
                if header:
                    writer.paragraph("; ".join(filter(None, values)))
                    continue
            count += 1
            if count <= ROWS_AT_MOST:
                pairs = [pair for pair in zip_longest(header, values, fillvalue="") if pair[1]]
                writer.item("; ".join(f"{name}: {text}" if name else text for name, text in pairs))
    left_out = {"rows_left_out": count - ROWS_AT_MOST} if count > ROWS_AT_MOST else {}
    return writer.document(
        metadata={**metadata, "rows": min(count, ROWS_AT_MOST), **left_out},
    )


def _header(row: Sequence[object], values: list[str]) -> list[str]:
    """Return the names of the columns, or [] if the row is data or a single cell."""
    cells = [cell for cell, value in zip(row, values, strict=False) if value]
    texts = all(isinstance(cell, str) and not _is_number(cell) for cell in cells)
    return values if texts and len(cells) > 1 else []


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _shown(cell: object) -> str:
    """Return a cell as text, without midnight after a date or `.0` after a whole number."""
    if cell is None:
        return ""
    if isinstance(cell, datetime):
        return cell.date().isoformat() if cell.time() == time() else cell.isoformat(" ")
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return one_line(str(cell), CELL_CHARACTERS_AT_MOST)


# E-books


def read_epub(raw: bytes, topic: str) -> Document:
    """Read an e-book without copy protection: its HTML pages in reading order."""
    writer = MarkdownWriter(topic)
    with _archive(raw, topic, "an e-book (.epub)") as book:
        container = ElementTree.fromstring(book.read("META-INF/container.xml"))
        listing = next(container.iterfind(".//{*}rootfile")).attrib["full-path"]
        package = ElementTree.fromstring(book.read(listing))
        for page in _pages(package, posixpath.dirname(listing)):
            markup = book.read(page)
            if markup.strip():
                write_html(decode(markup, f"{topic} ({page})")[0], writer)
        title = next((each.text or "" for each in package.iterfind(".//{*}title")), "")
    return writer.document(title)


def _pages(package: ElementTree.Element, folder: str) -> list[str]:
    """Return the paths of the pages in the archive, in reading order, without broken references."""
    hrefs = {item.get("id"): item.get("href", "") for item in package.iterfind(".//{*}item")}
    spine = [hrefs.get(item.get("idref"), "") for item in package.iterfind(".//{*}itemref")]
    return [posixpath.normpath(posixpath.join(folder, unquote(href))) for href in spine if href]
