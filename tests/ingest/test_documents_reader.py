"""HTML, PDF and office files: real files, made here, read as text with headings."""

from __future__ import annotations

import contextlib
import io
import sys
import zipfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import docx
import openpyxl
import pptx
import pypdf
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from hypothesis import given
from hypothesis import strategies as st
from pptx.util import Inches

from hades.ingest.document import Document, IntroducedName, Link, Origin, Unreadable
from hades.ingest.readers import reader_for
from hades.ingest.readers.html import read_html
from hades.ingest.readers.markdown import MarkdownWriter
from hades.ingest.readers.office import read_csv, read_docx, read_epub, read_pptx, read_xlsx
from hades.ingest.readers.pdf import read_pdf

PAGE = """<!DOCTYPE html>
<html><head><title>The Guide &mdash; Site</title><style>p {}</style></head>
<body><nav><a href="home.html">Home</a><p>Menu</p></nav>
<h1>The <em>Guide</em></h1>
<h2>Install</h2>
<p>Run it,
 then <a href="../api.html#x">read the API</a>.<script>alert("no")</script></p>
<ul><li>first</li><li><p>second</p><ul><li>deeper</li></ul></li></ul>
<table><tr><th>Name</th><th>Year</th></tr><tr><td><p>Ada</p></td><td>1815</td></tr></table>
<pre>def f():
    return 1</pre>
<h2>Usage</h2>Loose text &amp; more
</body></html>"""


def parts(document: Document) -> list[tuple[str, str]]:
    return [(block.heading, document.content[block.start : block.end]) for block in document.blocks]


def html(markup: str) -> Document:
    return read_html(markup.encode(), "docs/web/guide.html")


def test_html_becomes_markdown_and_is_read_as_that() -> None:
    page = html(PAGE)
    assert (
        page.content
        == """\
# The Guide

## Install

Run it, then [read the API](../api.html#x).

- first
- second
- deeper

| Name | Year |
| --- | --- |
| Ada | 1815 |

```
def f():
    return 1
```

## Usage

Loose text & more"""
    )
    install = "The Guide > Install"
    assert parts(page)[:4] == [
        (install, "# The Guide"),
        (install, "## Install"),
        (install, "Run it, then [read the API](../api.html#x)."),
        (install, "- first\n- second\n- deeper"),
    ]
    assert parts(page)[-1] == ("The Guide > Usage", "Loose text & more")
    assert page.title == "The Guide — Site"
    assert page.names == (IntroducedName("The Guide — Site", Origin.TITLE),)
    assert page.blocks[1].names == (IntroducedName("Install", Origin.HEADING),)
    assert page.links == (
        Link("topic:docs/web/guide.html", "refers_to", "topic:docs/api.html", 2, "read the API"),
    )


def test_text_of_a_page_that_looks_like_markup_stays_text() -> None:
    page = html("<p>```<p># no heading<p>---<pre>a\n```\n# b</pre><h2>After</h2>")
    assert page.content.startswith("\\```\n\n\\# no heading\n\n\\---\n\n````\na\n```\n# b\n````")
    assert [name.text for block in page.blocks for name in block.names] == ["After"]


def test_links_around_blocks_and_odd_targets() -> None:
    page = html("<a href='t.html'><h2>Title</h2></a><p><a href='a b(1).md'>[x]</a> <a>none</a>")
    assert page.content == "## [Title](t.html)\n\n[(x)](<a b(1).md>) none"
    assert [name.text for block in page.blocks for name in block.names] == ["Title"]
    assert [link.target for link in page.links] == [
        "topic:docs/web/t.html",
        "topic:docs/web/a b(1).md",
    ]
    assert html(f"<a href='{'x' * 600}'>shown</a>").content == "shown"


def test_html_without_a_title_is_named_by_its_heading_or_file() -> None:
    assert html("<h2>Part</h2>text").title == "Part"
    assert html("<p>text").title == "guide"
    assert html("<p>text").names == ()


def test_html_in_another_encoding_says_so() -> None:
    raw = '<meta charset="windows-1251"><p>Привет'.encode("cp1251")
    page = read_html(raw, "a.html")
    assert page.content == "Привет"
    assert page.metadata == {"encoding": "cp1251"}


def test_html_that_names_a_wrong_encoding_is_read_anyway() -> None:
    for charset in ["utf-16", "no-such", "ascii"]:
        raw = f"<meta charset={charset}><p>plain".encode()
        assert read_html(raw, "a.html").content == "plain"


def test_broken_html_still_has_its_text() -> None:
    page = html("<p>one<p>two<td>three</b></p><div><div>four<a href='x.html'>five<br>six")
    assert page.content.split() == ["one", "two", "three", "four[five", "six](x.html)"]
    assert html("<div>" * 50_000 + "deep").content == "deep"


def test_html_without_text_is_refused() -> None:
    with pytest.raises(Unreadable, match="no text"):
        html("<html><body><script>x()</script></body></html>")


TAGS = (
    st.sampled_from(["<p>", "</p>", "<li>", "<tr><td>", "</tr>", "<pre>", "</pre>", "<h1>"])
    | st.sampled_from(["</h1>", "<a href=b>", "</a>", "<nav>", "</nav>", "<br/>", "<table>"])
    | st.sampled_from(["</table>", "<title>", "<!--", "-->", "<![", "&#0;"])
)


@given(st.lists(TAGS | st.text(max_size=8)).map("".join))
def test_any_markup_is_read_or_refused(markup: str) -> None:
    try:
        page = html(markup)
    except Unreadable:
        return
    page.content.encode()
    end = 0
    for block in page.blocks:
        assert end <= block.start < block.end <= len(page.content)
        end = block.end
    assert all(link.block < len(page.blocks) for link in page.links)


def pdf(*pages: str, title: str = "") -> bytes:
    """A PDF as small as it can be: one line of Helvetica for every line of a page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, page in enumerate(pages):
        shown = " ".join(f"({line}) Tj T*" for line in page.split("\n"))
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {shown} ET" if page else ""
        objects += [
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * number} 0 R >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    objects.append(f"<< /Title ({title}) >>")
    out, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += f"{number} 0 obj\n{body}\nendobj\n".encode("latin-1")
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    return out + (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n"
        f"<< /Size {size} /Root 1 0 R /Info {size - 1} 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    ).encode("latin-1")


def encrypted(raw: bytes, password: str, algorithm: str) -> bytes:
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(raw))
    writer.encrypt(password, "owner", algorithm=algorithm)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def test_pdf_is_read_page_by_page() -> None:
    document = read_pdf(pdf("A long exam-\nple of text", "", "Third", title="On Text"), "a.pdf")
    assert parts(document) == [
        ("Page 1", "# Page 1"),
        ("Page 1", "A long example of text"),
        ("Page 3", "# Page 3"),
        ("Page 3", "Third"),
    ]
    assert not any(block.names for block in document.blocks)
    assert document.title == "On Text"
    assert document.names == (IntroducedName("On Text", Origin.TITLE),)
    assert document.metadata == {"pages": 3}


def test_a_title_some_program_wrote_is_not_the_title_of_a_pdf() -> None:
    assert read_pdf(pdf("text", title="Microsoft Word - x.doc"), "papers/a.pdf").title == "a"


@pytest.mark.parametrize("algorithm", ["RC4-128", "AES-256"])
def test_an_encrypted_pdf(algorithm: str) -> None:
    with pytest.raises(Unreadable, match=r"a\.pdf has a password"):
        read_pdf(encrypted(pdf("secret"), "pass", algorithm), "a.pdf")
    assert read_pdf(encrypted(pdf("open"), "", algorithm), "a.pdf").content.endswith("open")


def test_a_scanned_pdf_is_refused() -> None:
    with pytest.raises(Unreadable, match="no text on its 2 pages, so it is likely scanned"):
        read_pdf(pdf("", ""), "a.pdf")


def word_file() -> bytes:
    source = docx.Document()
    source.add_heading("Report", 0)
    source.add_heading("Findings", 1)
    paragraph = source.add_paragraph("It works. See ")
    rel = source.part.relate_to("https://example.org/", RELATIONSHIP_TYPE.HYPERLINK, True)
    paragraph._p.append(
        parse_xml(
            '<w:hyperlink xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
            'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
            f'r:id="{rel}"><w:r><w:t>there</w:t></w:r></w:hyperlink>'
        )
    )
    source.add_paragraph("one", style="List Bullet")
    source.add_paragraph("two", style="List Bullet")
    table = source.add_table(2, 3)
    for number, text in enumerate(["Name", "Year", "Place", "Ada", "", ""]):
        table.cell(number // 3, number % 3).text = text
    table.cell(1, 1).merge(table.cell(1, 2)).text = "1815"
    table.cell(1, 0).add_table(1, 1).cell(0, 0).text = "nested"
    source.add_heading("Outlook", 2)
    source.add_paragraph("More.")
    out = io.BytesIO()
    source.save(out)
    return out.getvalue()


def test_docx_is_read_in_order() -> None:
    document = read_docx(word_file(), "docs/report.docx")
    findings, outlook = "Report > Findings", "Report > Findings > Outlook"
    assert parts(document) == [
        (findings, "# Report"),
        (findings, "## Findings"),
        (findings, "It works. See [there](https://example.org/)"),
        (findings, "- one\n- two"),
        (findings, "| Name | Year | Place |\n| --- | --- | --- |\n| Ada nested | 1815 |"),
        (outlook, "### Outlook"),
        (outlook, "More."),
    ]
    assert document.title == "Report"
    assert document.links == (
        Link("topic:docs/report.docx", "refers_to", "https://example.org/", 2, "there"),
    )


def slides_file() -> bytes:
    source = pptx.Presentation()
    first = source.slides.add_slide(source.slide_layouts[1])
    first.shapes.title.text = "Results"
    first.placeholders[1].text = "Point one\nPoint two"
    first.notes_slide.notes_text_frame.text = "Speak slowly"
    second = source.slides.add_slide(source.slide_layouts[6])
    frame = second.shapes.add_table(1, 2, Inches(1), Inches(1), Inches(4), Inches(1))
    frame.table.cell(0, 0).text, frame.table.cell(0, 1).text = "a", "b"
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(1), Inches(1), Inches(1)).text_frame.text = "inner"
    source.slides.add_slide(source.slide_layouts[6])
    out = io.BytesIO()
    source.save(out)
    return out.getvalue()


def test_pptx_is_read_slide_by_slide() -> None:
    document = read_pptx(slides_file(), "talk.pptx")
    assert parts(document) == [
        ("Slide 1 > Results", "# Slide 1"),
        ("Slide 1 > Results", "## Results"),
        ("Slide 1 > Results", "Point one\nPoint two"),
        ("Slide 1 > Results", "Notes: Speak slowly"),
        ("Slide 2", "# Slide 2"),
        ("Slide 2", "| a | b |\n| --- | --- |"),
        ("Slide 2", "inner"),
    ]
    assert document.title == "Results"
    names = [name for block in document.blocks for name in block.names]
    assert names == [IntroducedName("Results", Origin.HEADING)]
    assert document.metadata == {"slides": 3}


def workbook_file() -> bytes:
    book = openpyxl.Workbook()
    people = book.active
    assert people is not None
    people.title = "People"
    people.append(["Name", "Born", "Height"])
    people.append(["Ada", datetime(1815, 12, 10), 1.0])
    people.append([None, None, None])
    people.append(["Bob", None, 1.5, "odd one"])
    numbers = book.create_sheet("Numbers")
    numbers.append([1, 2])
    book.create_sheet("Empty")
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_xlsx_rows_carry_their_header() -> None:
    document = read_xlsx(workbook_file(), "data/people.xlsx")
    assert parts(document) == [
        ("People", "# People"),
        ("People", "Name; Born; Height"),
        (
            "People",
            "- Name: Ada; Born: 1815-12-10; Height: 1\n- Name: Bob; Height: 1.5; odd one",
        ),
        ("Numbers", "# Numbers"),
        ("Numbers", "- 1; 2"),
    ]
    assert document.names == ()
    assert document.metadata == {"sheets": ["People", "Numbers", "Empty"], "rows": 3}


def test_rows_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hades.ingest.readers.office.ROWS_AT_MOST", 2)
    document = read_xlsx(workbook_file(), "people.xlsx")
    assert document.metadata["rows_left_out"] == 1
    assert "1; 2" not in document.content


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_rows_carry_their_header(delimiter: str) -> None:
    raw = delimiter.join(["name", "note"]) + "\n" + delimiter.join(["Ada", '"two\nlines"'])
    assert read_csv(raw.encode(), "a.csv").content == "name; note\n\n- name: Ada; note: two lines"


def archive(parts: dict[str, str]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as written:
        for name, text in parts.items():
            written.writestr(name, text)
    return out.getvalue()


def book_file() -> bytes:
    return archive(
        {
            "META-INF/container.xml": '<container xmlns="urn:c"><rootfiles>'
            '<rootfile full-path="OEBPS/book.opf"/></rootfiles></container>',
            "OEBPS/book.opf": '<package xmlns="urn:o" xmlns:dc="urn:d"><metadata>'
            "<dc:title>The Book</dc:title></metadata><manifest>"
            '<item id="b" href="two.xhtml"/><item id="a" href="text/one%201.xhtml"/></manifest>'
            '<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="?"/></spine></package>',
            "OEBPS/text/one 1.xhtml": "<html><h1>One</h1><p>First.</p></html>",
            "OEBPS/two.xhtml": "<html><h1>Two</h1><p>Second.</p></html>",
        }
    )


def test_epub_chapters_are_read_in_the_order_of_the_book() -> None:
    document = read_epub(book_file(), "book.epub")
    assert document.title == "The Book"
    assert parts(document) == [
        ("One", "# One"),
        ("One", "First."),
        ("Two", "# Two"),
        ("Two", "Second."),
    ]


OFFICE: dict[str, Callable[[], bytes]] = {
    ".docx": word_file,
    ".pptx": slides_file,
    ".xlsx": workbook_file,
    ".epub": book_file,
    ".pdf": lambda: pdf("one", "two"),
}


def read(suffix: str, raw: bytes) -> Document:
    reader = reader_for(Path("a" + suffix))
    assert reader is not None
    return reader(raw, "a" + suffix)


@pytest.mark.parametrize("suffix", OFFICE)
def test_what_is_not_such_a_file_is_refused_in_a_sentence(suffix: str) -> None:
    for raw in [b"nonsense", b"PK\x03\x04 broken", archive({"a.xml": "<a/>"})]:
        with pytest.raises(Unreadable, match=r"damaged or not .*\.$"):
            read(suffix, raw)


@pytest.mark.parametrize("suffix", OFFICE)
def test_a_damaged_file_is_read_or_refused(suffix: str) -> None:
    raw = OFFICE[suffix]()
    for at in range(0, len(raw), max(1, len(raw) // 40)):
        for broken in [raw[:at], raw[:at] + b"\xff<" + raw[at + 2 :]]:
            # Anything but Unreadable fails the test.
            with contextlib.suppress(Unreadable):
                assert read(suffix, broken).content


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx"])
def test_an_office_file_with_a_password_is_refused(suffix: str) -> None:
    with pytest.raises(Unreadable, match="has a password or is in an old binary format"):
        read(suffix, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(512))


def test_an_archive_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hades.ingest.readers.office.TEXT_BYTES_AT_MOST", 2**20)
    bomb = archive({"word/document.xml": "x" * 5 * 2**20})
    assert len(bomb) < 10_000
    with pytest.raises(Unreadable, match="unpacks to 5 MB, more than the 1 MB"):
        read(".docx", bomb)


def test_too_much_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hades.ingest.readers.text._text_characters_at_most", 100)
    for suffix, raw in {".html": b"<p>text" * 50, ".md": b"text " * 50}.items():
        with pytest.raises(Unreadable, match="more than 100 characters of text: split it"):
            read(suffix, raw)


@pytest.mark.parametrize(
    ("suffix", "library"),
    [(".pdf", "pypdf"), (".docx", "docx"), (".pptx", "pptx"), (".xlsx", "openpyxl")],
)
def test_a_missing_extra_is_named(
    suffix: str, library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = OFFICE[suffix]()  # made while the library can be imported
    monkeypatch.delitem(sys.modules, "hades.ingest.readers.pdf", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(Unreadable, match=r"needs the extra `documents`: pip install .*\[docum"):
        read(suffix, raw)


def test_text_that_no_store_takes_is_mended() -> None:
    writer = MarkdownWriter("a")
    writer.paragraph("one\x00 \ud83d\ude00 \ud800")
    assert writer.document().content == "one \U0001f600 \ufffd"


def test_a_damaged_page_is_left_out_and_told() -> None:
    document = read_pdf(pdf("one", "two").replace(b"(two) Tj", b"(two  Tj"), "a.pdf")
    assert document.content == "# Page 1\n\none"
    assert document.metadata == {"pages": 2, "pages_unread": [2]}
