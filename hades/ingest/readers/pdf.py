"""PDF: the text of every page, under the heading `Page N`.

A PDF stores the positions of letters, not paragraphs. So a page is read as it is; words that are
broken at the end of a line are joined.
"""

from __future__ import annotations

import io
import logging
import re
from typing import Any

import pypdf
from pypdf.errors import DependencyError

from hades.errors import lacking
from hades.ingest.document import Document, Unreadable
from hades.ingest.readers.markdown import MarkdownWriter
from hades.ingest.readers.text import one_line, paragraphs

PAGES_AT_MOST = 20_000

_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])-\n(?=[a-zß-ÿ])")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00ad": ""}
)
_TITLE_OF_A_PROGRAM = re.compile(r"^(?:microsoft|untitled|slide \d)|\.\w{2,5}$", re.IGNORECASE)

# pypdf warns about small irregularities, which most files have.
logging.getLogger("pypdf").setLevel(logging.ERROR)


def read_pdf(raw: bytes, topic: str) -> Document:
    """Read a PDF. Raise Unreadable for a scanned file or one with a password."""
    reader = pypdf.PdfReader(io.BytesIO(raw))
    _unlock(reader, topic)
    pages = len(reader.pages)
    if pages > PAGES_AT_MOST:
        raise Unreadable(f"{topic} has {pages:,} pages, more than {PAGES_AT_MOST:,}: split it.")
    writer = MarkdownWriter(topic)
    unread = [number for number in range(1, pages + 1) if not _write_page(reader, number, writer)]
    if writer.is_empty:
        raise Unreadable(_nothing_read(topic, pages, len(unread)))
    metadata: dict[str, Any] = {"pages": pages}
    if unread:
        metadata["pages_unread"] = unread
    title = one_line(str((reader.metadata and reader.metadata.title) or ""))
    if _TITLE_OF_A_PROGRAM.search(title):
        title = ""
    return writer.document(title, metadata)


def _unlock(reader: pypdf.PdfReader, topic: str) -> None:
    """Decrypt a file with an empty password, which many files have to forbid printing."""
    try:
        locked = reader.is_encrypted and not reader.decrypt("")
    except DependencyError as error:
        what = f"{topic} is encrypted with AES, which needs"
        raise Unreadable(str(lacking(what, "documents"))) from error
    if locked:
        raise Unreadable(f"{topic} has a password: save it without one.")


def _write_page(reader: pypdf.PdfReader, number: int, writer: MarkdownWriter) -> bool:
    """Write a page. Return False, and write nothing, if the page is damaged."""
    try:
        text = reader.pages[number - 1].extract_text()
    except MemoryError:
        raise
    except Exception:  # noqa: BLE001 - the library does not say what it raises for a damaged page
        return False
    text = _BROKEN_WORD.sub("", text.translate(_LIGATURES))
    writer.place(f"Page {number}")
    for start, end in paragraphs(text):
        writer.paragraph(text[start:end])
    return True


def _nothing_read(topic: str, pages: int, unread: int) -> str:
    if unread:
        return f"{topic} is damaged: {unread} of its {pages} pages fail, the others have no text."
    return (
        f"{topic} has no text on its {pages} pages, so it is likely scanned: "
        "add a text layer first, for example with ocrmypdf."
    )
