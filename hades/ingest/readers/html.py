"""HTML: the visible text of a page, as Markdown.

The markup is read as a stream of tags and never built into a tree, so the work is proportional to
the length of the page, however deep or broken it is.
"""

from __future__ import annotations

import codecs
import re
from html import unescape
from html.parser import HTMLParser

from hades.ingest.document import Document, Unreadable
from hades.ingest.readers.markdown import MarkdownWriter, markdown_link
from hades.ingest.readers.text import decode, one_line

CHARSET_WITHIN_BYTES = 2048

_UNSEEN_TAGS = "script style nav template noscript svg iframe object button select"
_BLOCK_TAGS = """
title body main article section header footer aside div p pre blockquote address center hr form
fieldset figure figcaption details summary ul ol dl li dt dd table caption thead tbody tfoot tr
h1 h2 h3 h4 h5 h6
"""
_UNSEEN = frozenset(_UNSEEN_TAGS.split())
_BLOCKS = frozenset(_BLOCK_TAGS.split())
_ITEMS = frozenset({"li", "dt", "dd"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*+=\s*+[\"']?\s*+([\w.:-]{1,40})", re.IGNORECASE)


def read_html(raw: bytes, topic: str) -> Document:
    """Read an HTML page. Its title is its `<title>` or its first heading."""
    markup, metadata = _markup(raw, topic)
    writer = MarkdownWriter(topic)
    title = write_html(markup, writer)
    return writer.document(title or writer.first_heading, metadata)


def write_html(markup: str, writer: MarkdownWriter) -> str:
    """Write the text of an HTML page to a Markdown writer, and return the page's title."""
    page = _Page(writer)
    # There is no tag after the last `>`. For each `<` there, the standard parser would search the
    # whole rest, which takes minutes for 100 kB of them.
    text_from = markup.rfind(">") + 1
    try:
        page.feed(markup[:text_from])
        page.close()
    except AssertionError as error:  # the standard parser raises it for `<![…`
        raise Unreadable(f"{writer.topic} has markup that is not HTML: {error}.") from error
    page.handle_data(unescape(markup[text_from:]))
    page.end_block()
    return page.title


def _markup(raw: bytes, topic: str) -> tuple[str, dict[str, str]]:
    encoding = _named_encoding(raw)
    try:
        recoded = raw.decode(encoding).encode() if encoding else b""
    except (LookupError, UnicodeError):
        recoded = b""
    if not recoded:
        return decode(raw, topic)
    return decode(recoded, topic)[0], {"encoding": encoding}


def _named_encoding(raw: bytes) -> str:
    """Return the encoding that the page declares, or "" for none, an unknown one or UTF."""
    named = _CHARSET.search(raw, 0, CHARSET_WITHIN_BYTES)
    if named is None:
        return ""
    try:
        encoding = codecs.lookup(named[1].decode("ascii")).name
    except (LookupError, UnicodeError):
        return ""
    if encoding.startswith("utf"):
        return ""  # readable markup is not UTF-16, whatever it declares
    return "cp1252" if encoding in ("ascii", "iso8859-1") else encoding  # as browsers do


class _Page(HTMLParser):
    """An HTML parser that collects the text of each block and writes it as Markdown."""

    def __init__(self, writer: MarkdownWriter) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._writer = writer
        self._block = ""
        self._text: list[str] = []
        self._cells: list[str] | None = None
        """The cells of the open table row."""
        self._href = ""
        self._link_from = 0
        self._unseen = ""
        self._unseen_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._unseen:
            self._unseen_depth += tag == self._unseen
        elif tag in _UNSEEN:
            self._unseen = tag
            self._unseen_depth = 1
        elif tag in ("td", "th"):
            self._end_cell()
        elif tag == "br":
            self._text.append("\n" if self._block == "pre" else " ")
        elif tag == "a":
            self._end_link()
            self._href = next((value or "" for name, value in attrs if name == "href"), "")
            self._link_from = len(self._text)
        elif tag in _BLOCKS:
            self._begin_block(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        # `<script/>` or `<nav/>` has no end tag.
        if tag not in _UNSEEN:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if self._unseen:
            self._unseen_depth -= tag == self._unseen
            if not self._unseen_depth:
                self._unseen = ""
        elif tag == "a":
            self._end_link()
        elif tag in _BLOCKS:
            if self._cells is not None and tag not in ("tr", "table", *_HEADINGS):
                self._text.append(" ")
            else:
                self.end_block()

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._text.append(data.replace("\u00ad", ""))  # soft hyphens

    def _begin_block(self, tag: str) -> None:
        if self._cells is not None and tag not in ("table", "tr", "pre", *_HEADINGS):
            # A paragraph within a cell must not split the row.
            self._text.append(" ")
            return
        if self._block in _ITEMS and tag in ("p", "div") and not any(map(str.strip, self._text)):
            self._text.clear()  # the paragraph is the text of the item
            self._link_from = 0
            return
        self.end_block()
        self._block = tag
        self._cells = [] if tag == "tr" else None

    def _end_cell(self) -> None:
        """End a cell of a row. Outside a row, add a space."""
        self._end_link()
        if self._cells is None:
            self._text.append(" ")
        else:
            self._cells.append("".join(self._text))
            self._text.clear()

    def _end_link(self) -> None:
        shown = "".join(self._text[self._link_from :]) if self._href else ""
        if shown.strip() and self._block not in ("pre", "title"):
            self._text[self._link_from :] = [markdown_link(shown, self._href)]
        self._href = ""
        self._link_from = 0

    def end_block(self) -> None:
        """End the block and write the collected text."""
        # A link without text yet continues in the next block: `<a><h2>Title</h2></a>`.
        href = "" if any(map(str.strip, self._text[self._link_from :])) else self._href
        self._end_link()
        text = "".join(self._text)
        tag = self._block
        cells = self._cells
        self._text.clear()
        self._block = ""
        self._cells = None
        self._href = href
        if cells is not None:
            # In a valid table, only white space is before the first cell.
            self._writer.row([*(cells if cells and cells[0].strip() else cells[1:]), text])
        elif tag == "title":
            self.title = self.title or one_line(text)
        elif tag == "pre":
            self._writer.code(text)
        elif tag in _HEADINGS:
            self._writer.heading(_HEADINGS[tag], text)
        elif tag in _ITEMS:
            self._writer.item(text)
        else:
            self._writer.paragraph(" ".join(text.split()))
