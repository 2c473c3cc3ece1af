"""Readers: one for each kind of file, found by its suffix.

A reader takes the bytes of a file and the name of its topic and returns a Document, or raises
Unreadable with the reason. A new kind of file is a new line in READERS. Its module, and the extra
that it may need, are loaded when the first such file is read.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from hades.errors import lacking
from hades.ingest.document import Document, Unreadable
from hades.ingest.readers.code.languages import SUFFIXES as CODE_SUFFIXES
from hades.ingest.readers.text import check_size, one_line

Reader = Callable[[bytes, str], Document]


class ReaderEntry(NamedTuple):
    """A reader, the suffixes that it reads and the extra that it needs."""

    reader: str
    """`module:function`, the module within this package."""
    suffixes: str
    extra: str = ""


COMMITS_SUFFIX = ".git-commits"
"""The file type for the output of `git_history.read_messages`; no file on disk has it."""

PLAIN_TEXT = ReaderEntry("rst:read_text_or_rst", ".txt .text .log .org .tex")

CODE = ReaderEntry("code.reader:read_code", " ".join(CODE_SUFFIXES), "code")

READERS = (
    ReaderEntry("markdown:read_markdown_file", ".md .markdown .mdown .mkd .mdx"),
    PLAIN_TEXT,
    ReaderEntry("rst:read_rst", ".rst .rest"),
    ReaderEntry("asciidoc:read_asciidoc", ".adoc .asciidoc .asc"),
    ReaderEntry("html:read_html", ".html .htm .xhtml"),
    ReaderEntry(
        "text:read_settings",
        ".toml .ini .cfg .conf .properties .yaml .yml .json .css .scss .less .sh .bash .zsh .fish "
        ".sql .j2 .jinja .jinja2 .tmpl .mako .xml .graphql .proto .mk .cmake .gradle .tf .bat .ps1",
    ),
    ReaderEntry("office:read_epub", ".epub"),
    ReaderEntry("office:read_csv", ".csv .tsv"),
    ReaderEntry("office:read_xlsx", ".xlsx .xlsm", "documents"),
    ReaderEntry("office:read_docx", ".docx", "documents"),
    ReaderEntry("office:read_pptx", ".pptx", "documents"),
    ReaderEntry("pdf:read_pdf", ".pdf", "documents"),
    CODE,
    ReaderEntry("git_history:read_commits", COMMITS_SUFFIX),
)

_BY_SUFFIX = {suffix: entry for entry in READERS for suffix in entry.suffixes.split()}


def reader_for(path: Path, rooted: str = "") -> Reader | None:
    """Return the reader for a file by its suffix, or None. The file is not opened.

    A name without a suffix (README, LICENSE) is read as plain text, unless it is hidden
    (.DS_Store). `rooted` is the path of a source file from the root of its package.
    """
    entry = _BY_SUFFIX.get(path.suffix.lower())
    if entry is None and not path.suffix and not path.name.startswith("."):
        entry = PLAIN_TEXT
    if entry is None:
        return None
    return partial(_read_document, entry, {"rooted": rooted} if entry is CODE else {})


def _read_document(entry: ReaderEntry, known: dict[str, str], raw: bytes, topic: str) -> Document:
    if not raw:
        raise Unreadable(f"{topic} is empty.")
    check_size(len(raw), topic)
    module, _, function = entry.reader.partition(":")
    try:
        read = getattr(import_module(f"{__name__}.{module}"), function)
        return cast(Document, read(raw, topic, **known))
    except ModuleNotFoundError as error:
        if not entry.extra or (error.name or "").startswith("hades"):
            raise
        raise Unreadable(str(lacking(f"{topic} needs", entry.extra))) from error
    except (Unreadable, MemoryError):
        raise
    except Exception as error:  # format libraries do not document what they raise
        why = one_line(str(error)).rstrip(".") or type(error).__name__
        raise Unreadable(f"{topic} is damaged or not what its name says: {why}.") from error
