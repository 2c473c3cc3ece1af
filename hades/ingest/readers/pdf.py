"""PDF: the text of every page, under the heading `page N`.

A PDF says where letters stand, not what is a paragraph. So a page is read as it
comes, with words repaired that were broken at the end of a line.
"""

from __future__ import annotations

import io
import logging
import re
from typing import Any

import pypdf
from pypdf.errors import DependencyError, PyPdfError

from hades.ingest.document import Document, Unreadable
from hades.ingest.readers.compose import Composer
from hades.ingest.readers.damage import damage_told
from hades.ingest.readers.outline import one_line
from hades.ingest.readers.text import paragraphs

_BROKEN_WORD = re.compile(r"(?<=[^\W\d_])-\n(?=[a-zß-ÿ])")
_LIGATURES = str.maketrans(
    {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st", "\u00ad": ""}
)
_TITLE_OF_A_PROGRAM = re.compile(r"^(?:microsoft|untitled|slide \d)|\.\w{2,5}$", re.IGNORECASE)

# It warns of every small irregularity of a file, of which most files have some.
logging.getLogger("pypdf").setLevel(logging.ERROR)


def read_pdf(raw: bytes, topic: str) -> Document:
    """A PDF with text in it; one that is scanned or has a password is unreadable."""
    with damage_told(topic, "a PDF", PyPdfError):
        reader = pypdf.PdfReader(io.BytesIO(raw))
        _unlock(reader, topic)
        pages = len(reader.pages)
    composer = Composer(topic)
    unread = [number for number in range(pages) if not _add_page(reader, number, composer)]
    if not composer.next_block:
        raise Unreadable(_nothing_read(topic, pages, len(unread)))
    metadata: dict[str, Any] = {"pages": pages}
    if unread:
        metadata["pages_unread"] = [number + 1 for number in unread]
    with damage_told(topic, "a PDF", PyPdfError):
        title = one_line(str((reader.metadata and reader.metadata.title) or ""))
    return composer.document("" if _TITLE_OF_A_PROGRAM.search(title) else title, metadata)


def _unlock(reader: pypdf.PdfReader, topic: str) -> None:
    """Many files are encrypted with an empty password, only to forbid printing."""
    try:
        locked = reader.is_encrypted and not reader.decrypt("")
    except DependencyError as error:
        raise Unreadable(
            f"{topic} is encrypted with AES, which needs: pip install 'pypdf[crypto]'."
        ) from error
    if locked:
        raise Unreadable(f"{topic} has a password: save it without one.")


def _add_page(reader: pypdf.PdfReader, number: int, composer: Composer) -> bool:
    """Add a page; False when this one page is damaged."""
    try:
        with damage_told(composer.topic, "a PDF", PyPdfError):
            text = reader.pages[number].extract_text()
    except Unreadable:
        return False
    text = _BROKEN_WORD.sub("", text.translate(_LIGATURES))
    composer.outline.enter(1, f"page {number + 1}")
    for start, end in paragraphs(text):
        composer.add(text[start:end])
    return True


def _nothing_read(topic: str, pages: int, unread: int) -> str:
    if unread:
        return f"{topic} is damaged: {unread} of its {pages} pages fail, the others have no text."
    return (
        f"{topic} has no text on its {pages} pages, so it is likely scanned: "
        "add a text layer first, for example with ocrmypdf."
    )
