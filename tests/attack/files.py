"""Makers of hostile files: small to send, expensive to read.

Each gives the bytes of one file. `EVERY` names them all, by the file name they go under;
`python -m tests.attack.files FOLDER` writes them there.
"""

from __future__ import annotations

import io
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def _zipped(parts: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return file.getvalue()


def _rebuilt(raw: bytes, name: str, data: bytes) -> bytes:
    """An office file with one part replaced."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    return _zipped({**parts, name: data})


def _docx(body: bytes) -> bytes:
    import docx

    file = io.BytesIO()
    docx.Document().save(file)
    document = b'<w:document xmlns:w="%s"><w:body>%s</w:body></w:document>'
    return _rebuilt(file.getvalue(), "word/document.xml", document % (_WORD.encode(), body))


def _xlsx(rows: bytes) -> bytes:
    import openpyxl

    file = io.BytesIO()
    openpyxl.Workbook().save(file)
    space = b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = b'<worksheet xmlns="%s"><sheetData>%s</sheetData></worksheet>' % (space, rows)
    return _rebuilt(file.getvalue(), "xl/worksheets/sheet1.xml", sheet)


def far_row() -> bytes:
    """A spreadsheet whose second row is number 1,000,000,000: readers fill the gap."""
    cell = b'<row r="%d"><c r="A%d" t="inlineStr"><is><t>x</t></is></c></row>'
    return _xlsx(cell % (1, 1) + cell % (10**9, 10**9))


def merged_rows(rows: int = 900, columns: int = 60) -> bytes:
    """A Word table of cells that all go on from the row above: each row reads all before it."""
    first = b"<w:tc><w:p><w:r><w:t>x</w:t></w:r></w:p></w:tc>" * columns
    merged = b"<w:tc><w:tcPr><w:vMerge/></w:tcPr><w:p/></w:tc>" * columns
    table = b"<w:tr>%s</w:tr>" % first + b"<w:tr>%s</w:tr>" % merged * rows
    return _docx(b"<w:tbl>%s</w:tbl>" % table)


def wide_cell() -> bytes:
    """A Word table with one cell that says it spans 2,000,000,000 columns."""
    span = b'<w:tcPr><w:gridSpan w:val="2000000000"/></w:tcPr>'
    return _docx(b"<w:tbl><w:tr><w:tc>%s<w:p/></w:tc></w:tr></w:tbl>" % span)


def many_paragraphs(count: int = 20_000_000) -> bytes:
    """A Word file of empty paragraphs: its tree takes a hundred times its zipped size."""
    return _docx(b"<w:p/>" * count)


def zip_bomb(megabytes: int = 600) -> bytes:
    """An e-book with a page of zeros."""
    return _zipped({"META-INF/container.xml": bytes(megabytes * 2**20)})


def picture_bomb(megabytes: int = 1500) -> bytes:
    """A Word file with a picture of zeros, which readers load with the package."""
    import docx

    file = io.BytesIO()
    docx.Document().save(file)
    name = "docProps/thumbnail.jpeg"
    return _rebuilt(file.getvalue(), name, bytes(megabytes * 2**20))


def _pdf(*objects: bytes) -> bytes:
    parts, at, places = [b"%PDF-1.4\n"], 9, []
    for number, one in enumerate(objects, 1):
        places.append(at)
        parts.append(b"%d 0 obj\n%s\nendobj\n" % (number, one))
        at += len(parts[-1])
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    tail = b"trailer <</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, at)
    return b"".join(parts) + head + rows + tail


def _stream(data: bytes) -> bytes:
    packed = zlib.compress(data, 9)
    said = b"<</Length %d/Filter/FlateDecode>>" % len(packed)
    return said + b"\nstream\n" + packed + b"\nendstream"


def pdf_text_bomb(times: int = 10_000_000) -> bytes:
    """A PDF page that writes one letter ten million times."""
    page = (
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F<</Type/Font"
        b"/Subtype/Type1/BaseFont/Helvetica>>>>>>>>"
    )
    return _pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        page,
        _stream(b"BT /F 9 Tf " + b"(x) Tj " * times + b"ET"),
    )


def pdf_many_pages(count: int = 100_000) -> bytes:
    """A PDF that names one page a hundred thousand times."""
    kids = b"3 0 R " * count
    return _pdf(
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, count),
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R>>",
        _stream(b"BT (x) Tj ET"),
    )


def deep_json(depth: int = 1_000_000) -> bytes:
    """An array in an array in an array …"""
    return b"[" * depth


def deep_html(depth: int = 2_000_000) -> bytes:
    """Elements two million deep."""
    return b"<div>" * depth + b"x"


def many_headings(count: int = 8_000_000) -> bytes:
    """A Markdown file of nothing but headings."""
    return b"# a\n\n" * count


def wide_table(columns: int = 30_000_000) -> bytes:
    """A CSV file with one row of thirty million cells."""
    return b"," * columns + b"\n" + b"x," * 10


EVERY: dict[str, Callable[[], bytes]] = {
    "far_row.xlsx": far_row,
    "merged_rows.docx": merged_rows,
    "wide_cell.docx": wide_cell,
    "many_paragraphs.docx": many_paragraphs,
    "zip_bomb.epub": zip_bomb,
    "picture_bomb.docx": picture_bomb,
    "pdf_text_bomb.pdf": pdf_text_bomb,
    "pdf_many_pages.pdf": pdf_many_pages,
    "deep.json": deep_json,
    "deep.html": deep_html,
    "many_headings.md": many_headings,
    "wide_table.csv": wide_table,
}

if __name__ == "__main__":
    for name, make in EVERY.items():
        path = Path(sys.argv[1]) / name
        path.write_bytes(make())
        print(f"{path.stat().st_size:>12,} {path}")
