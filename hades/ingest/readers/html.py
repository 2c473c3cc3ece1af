"""HTML: the text a reader of the page sees, with its headings and links.

The markup is read as a stream of tags and never built into a tree: pages are as
deep and as broken as they like, and the work stays in proportion to their length.
"""

from __future__ import annotations

import codecs
import re
from html import unescape
from html.parser import HTMLParser

from hades.ingest.document import Document, Unreadable
from hades.ingest.readers.compose import LINE_GAP, PARAGRAPH_GAP, Composer
from hades.ingest.readers.decode import decode
from hades.ingest.readers.limits import MARKUP_BYTES_AT_MOST, megabytes
from hades.ingest.readers.outline import one_line

LINKS_PER_BLOCK_AT_MOST = 200
CHARSET_WITHIN_BYTES = 2048

_UNSEEN = {"script", "style", "nav", "template", "noscript", "svg", "iframe", "object"}
_UNSEEN |= {"button", "select"}
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LINES = {"li", "dt", "dd", "tr"}
"""Blocks of a list or table: one under the other, without a blank line."""

_BLOCKS = {"title", "body", "main", "article", "section", "header", "footer", "aside", "div"}
_BLOCKS |= {"p", "pre", "blockquote", "address", "center", "hr", "form", "fieldset", "figure"}
_BLOCKS |= {"figcaption", "details", "summary", "ul", "ol", "dl", "table", "caption", "thead"}
_BLOCKS |= {"tbody", "tfoot", *_LINES, *_HEADINGS}

_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]{1,40})", re.IGNORECASE)


def read_html(raw: bytes, topic: str) -> Document:
    """An HTML page, titled by its `<title>` or its first heading."""
    if len(raw) > MARKUP_BYTES_AT_MOST:
        raise Unreadable(
            f"{topic} has {megabytes(len(raw))} of HTML, more than the "
            f"{megabytes(MARKUP_BYTES_AT_MOST)} that are read: split it."
        )
    composer = Composer(topic)
    markup, metadata = _markup(raw, topic)
    title = compose_html(markup, composer)
    return composer.document(title, metadata)


def compose_html(markup: str, composer: Composer) -> str:
    """Add what a page says to a document; gives its title."""
    page = _Page(composer)
    # Beyond the last `>` there is no tag; the standard parser would look for the end of
    # each `<` there through all that follows, which takes minutes for some 100 kB of them.
    text_from = markup.rfind(">") + 1
    try:
        page.feed(markup[:text_from])
        page.close()
    except AssertionError as error:  # how the standard parser gives up on `<![…`
        raise Unreadable(f"{composer.topic} has markup that is not HTML: {error}.") from error
    page.handle_data(unescape(markup[text_from:]))
    page.flush()
    return page.title or composer.outline.first


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


def _markup(raw: bytes, topic: str) -> tuple[str, dict[str, str]]:
    encoding = _named_encoding(raw)
    try:
        recoded = raw.decode(encoding).encode() if encoding else b""
    except (LookupError, UnicodeError):
        recoded = b""
    if not recoded:
        return decode(raw, topic)
    return decode(recoded, topic)[0], {"encoding": encoding}


class _Page(HTMLParser):
    """Collects text until a block ends, then adds it."""

    def __init__(self, composer: Composer) -> None:
        super().__init__(convert_charrefs=True)
        self.title = ""
        self._composer = composer
        self._text: list[str] = []
        self._links: list[tuple[str, str]] = []
        self._block = ""
        self._href = ""
        self._href_from = 0
        self._unseen = ""
        self._unseen_depth = 0
        self._preformatted = False
        self._in_row = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._unseen:
            self._unseen_depth += tag == self._unseen
        elif tag in _UNSEEN:
            self._unseen, self._unseen_depth = tag, 1
        elif tag in ("td", "th"):
            self._text.append(" | ")
        elif tag == "br":
            self._text.append("\n" if self._preformatted else " ")
        elif tag == "a":
            self._end_link()
            self._href = next((value or "" for name, value in attrs if name == "href"), "")
            self._href_from = len(self._text)
        elif tag in _BLOCKS:
            self._begin(tag)

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
        elif tag == "tr":
            self._in_row = False
            self.flush()
        elif tag in _BLOCKS:
            if self._in_row and tag not in _HEADINGS:
                self._text.append(" ")
            else:
                self.flush()
            self._preformatted &= tag != "pre"

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._text.append(data)

    def _begin(self, tag: str) -> None:
        if self._in_row and tag not in _HEADINGS and tag not in ("table", "tr", "pre"):
            # A paragraph within a cell must not tear its row apart.
            self._text.append(" ")
            return
        if self._block in _LINES and tag in ("p", "div") and not "".join(self._text).strip():
            return  # the text of an item is the item
        self.flush()
        self._block = tag
        self._in_row = tag == "tr"
        self._preformatted = tag == "pre"

    def _end_link(self) -> None:
        if self._href and len(self._links) < LINKS_PER_BLOCK_AT_MOST:
            self._links.append((self._href, "".join(self._text[self._href_from :])))
        self._href = ""

    def flush(self) -> None:
        """The block ends here: add what was collected."""
        href = self._href
        self._end_link()
        text = "".join(self._text)
        tag, self._block = self._block, ""
        self._text.clear()
        self._href, self._href_from = href, 0  # a link may hold several blocks
        if tag == "title":
            self.title = self.title or one_line(text)
            return
        block = self._composer.next_block
        self._add(tag, text)
        if self._composer.next_block > block:
            for target, shown in self._links:
                self._composer.links.add(target, block, shown)
        self._links.clear()

    def _add(self, tag: str, text: str) -> None:
        text = text.replace("\u00ad", "")  # a soft hyphen is a place to break, not a letter
        if not self._preformatted:
            text = " ".join(text.split())
        if tag in _HEADINGS:
            self._composer.heading(_HEADINGS[tag], text)
            return
        if tag == "tr":
            text = text.strip("| ")
        elif tag == "li" and text:
            text = f"- {text}"
        self._composer.add(text, gap=LINE_GAP if tag in _LINES else PARAGRAPH_GAP)
