"""Readers: one for each kind of file, found by its suffix.

A reader takes a file's bytes and the name of its topic and gives a Document, or
raises Unreadable with a sentence that says why. A new kind of file is a new line in
READERS; its module, and the extra it may need, are loaded with the first such file.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from hades.ingest.document import Document, Unreadable
from hades.ingest.readers.code import SUFFIXES as CODE_SUFFIXES
from hades.ingest.readers.limits import RAW_BYTES_AT_MOST, megabytes

Reader = Callable[[bytes, str], Document]


class Row(NamedTuple):
    """A reader, the suffixes it reads and the extra it needs."""

    reader: str
    """`module:function`, the module within this package."""
    suffixes: str
    extra: str = ""


READERS = (
    Row("markdown:read_markdown", ".md .markdown .mdown .mkd .mdx"),
    Row("text:read_text", ".txt .text .rst .log .adoc .org .tex"),
    Row("html:read_html", ".html .htm .xhtml"),
    Row("epub:read_epub", ".epub"),
    Row("tables:read_csv", ".csv .tsv"),
    Row("workbook:read_xlsx", ".xlsx .xlsm", "documents"),
    Row("pdf:read_pdf", ".pdf", "documents"),
    Row("word:read_docx", ".docx", "documents"),
    Row("slides:read_pptx", ".pptx", "documents"),
    Row("code:read_code", " ".join(CODE_SUFFIXES), "code"),
)

PLAIN_TEXT = READERS[1]

_BY_SUFFIX = {suffix: row for row in READERS for suffix in row.suffixes.split()}


def reader_for(path: Path) -> Reader | None:
    """The reader of this kind of file, or None when there is none.

    A name without a suffix (README, LICENSE) is taken for plain text, a hidden one
    (.DS_Store) for nobody's business.
    """
    row = _BY_SUFFIX.get(path.suffix.lower())
    if row is None and not path.suffix and not path.name.startswith("."):
        row = PLAIN_TEXT
    # A partial, not a closure: it can be sent to another process.
    return None if row is None else partial(_read, row)


def _read(row: Row, raw: bytes, topic: str) -> Document:
    if not raw:
        raise Unreadable(f"{topic} is empty.")
    if len(raw) > RAW_BYTES_AT_MOST:
        raise Unreadable(
            f"{topic} has {megabytes(len(raw))}, more than the {megabytes(RAW_BYTES_AT_MOST)} "
            "that are read at once: split it."
        )
    return _load(row, topic)(raw, topic)


def _load(row: Row, topic: str) -> Reader:
    module, _, function = row.reader.partition(":")
    try:
        return cast(Reader, getattr(import_module(f"{__name__}.{module}"), function))
    except ModuleNotFoundError as error:
        if not row.extra or (error.name or "").startswith("hades"):
            raise
        raise Unreadable(
            f"{topic} needs the extra `{row.extra}`: pip install 'hades-memory[{row.extra}]'."
        ) from error
