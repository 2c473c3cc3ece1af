"""HTML: the text a reader of the page sees, as Markdown.

The markup is read as a stream of tags and never built into a tree: pages are as
deep and as broken as they like, and the work stays in proportion to their length.
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
    """An HTML page, titled by its `<title>` or its first heading."""
    markup, metadata = _markup(raw, topic)
    writer = MarkdownWriter(topic)
    title = write_html(markup, writer)
    return writer.document(title or writer.first_heading, metadata)


def write_html(markup: str, writer: MarkdownWriter) -> str:
    """Write what a page says as Markdown; gives its title."""
    page = _Page(writer)
    # Beyond the last `>` there is no tag; the standard parser would look for the end of
    # each `<` there through all that follows, which takes minutes for some 100 kB of them.
    text_from = markup.rfind(">") + 1
    try:
        page.feed(markup[:text_from])
        page.close()
    except AssertionError as error:  # how the standard parser gives up on `<![…`
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
    """The encoding the page says it is in, when it is one and not UTF-8."""
    named = _CHARSET.search(raw, 0, CHARSET_WITHIN_BYTES)
    if named is None:
        return ""
    try:
        encoding = codecs.lookup(named[1].decode("ascii")).name
    except (LookupError, UnicodeError):
        return ""
    if encoding.startswith("utf"):
        return ""  # a mark would have told UTF-16: markup that can be read here is not in it
    return "cp1252" if encoding in ("ascii", "iso8859-1") else encoding  # as browsers do


class _Page(HTMLParser):
    """Collects text until a block ends, then writes it."""

    def __init__(self, writer: MarkdownWriter) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._writer = writer
        self._block = ""
        self._text: list[str] = []
        self._cells: list[str] | None = None
        """Of the table row that is open."""
        self._href = ""
        self._link_from = 0
        self._unseen = ""
        self._unseen_depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._unseen:
            self._unseen_depth += tag == self._unseen
        elif tag in _UNSEEN:
            self._unseen, self._unseen_depth = tag, 1
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
        # `<script/>` or `<nav/>` has no end to wait for.
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
            self._text.append(data.replace("\u00ad", ""))  # a soft hyphen is no letter

    def _begin_block(self, tag: str) -> None:
        if self._cells is not None and tag not in ("table", "tr", "pre", *_HEADINGS):
            # A paragraph within a cell must not tear its row apart.
            self._text.append(" ")
            return
        if self._block in _ITEMS and tag in ("p", "div") and not any(map(str.strip, self._text)):
            self._text.clear()  # the text of an item is the item
            self._link_from = 0
            return
        self.end_block()
        self._block = tag
        self._cells = [] if tag == "tr" else None

    def _end_cell(self) -> None:
        """The next cell of a row begins; outside of a row it is only a gap."""
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
        self._href, self._link_from = "", 0

    def end_block(self) -> None:
        """The block ends here: write what was collected."""
        # A link that shows nothing yet goes on in the next block: `<a><h2>Title</h2></a>`.
        href = "" if any(map(str.strip, self._text[self._link_from :])) else self._href
        self._end_link()
        text, tag, cells = "".join(self._text), self._block, self._cells
        self._text.clear()
        self._block, self._cells, self._href = "", None, href
        if cells is not None:
            # What stands before the first cell is white space in a sound table.
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
