"""Markdown: the unchanged text, divided into headings, paragraphs, lists and fenced code.

One pass over the lines finds the blocks. It implements the part of CommonMark that decides where a
block begins and ends and what is a heading. Inside a block only links are read. HTML, PDF and
office files are converted to Markdown (`MarkdownWriter`) and read by the same reader.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from hades.ingest.document import Block, Document, IntroducedName, Link, Origin, Unreadable
from hades.ingest.readers.front_matter import front_matter
from hades.ingest.readers.site_markup import FENCE, closes_fence, without_site_markup
from hades.ingest.readers.text import (
    FOLDER_FILES,
    LINE_CHARACTERS_AT_MOST,
    check_text,
    decode,
    line_spans,
    one_line,
    plain,
    stem_of,
)
from hades.language.english.lexicon import STOP_WORDS

NAME_CHARACTERS_AT_MOST = 120
"""A longer text is taken for a sentence, not for a name."""
SETEXT_CHARACTERS_AT_MOST = 200
"""A longer paragraph above a line of dashes is not a heading; the line is a rule."""
LINKS_AT_MOST = 200
"""The most links of a document. A page with more is an index, whose links say little about it."""
NAVIGATION_LINKS = 5
"""A block of this many links and nothing else is navigation."""
TARGET_CHARACTERS_AT_MOST = 500
EVIDENCE_CHARACTERS_AT_MOST = 200

DEPTH_AT_MOST = 99
"""A level deeper than that of any heading."""

BETWEEN_HEADINGS = " > "
REFERS_TO = "refers_to"

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$", re.DOTALL)
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_A_PARAGRAPH = re.compile(r"[ \t]*(?:[-*+>|]|\d{1,9}[.)])(?:[ \t]|$)| {4}|\t|[>|]")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")

_INLINE_LINK = re.compile(
    r"(!?)\[([^\[\]]{0,300})\]\(\s{0,9}(?:<([^<>\n]{1,500})>|((?:[^\s()<>]|\([^\s()<>]{0,200}\)){1,500}))"
)
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n]{1,300})\]:[ \t]*<?([^\s<>]{1,500})", re.MULTILINE)
_BARE = re.compile(r"(?<!\]\()(?<![\w\[<])<?(https?://[^\s<>\"'`|\])]{1,500})")
_WIKI = re.compile(r"(!?)\[\[([^\[\]|#\n]{1,200})[^\[\]\n]{0,200}\]\]")
_RELATION = re.compile(
    r"^[ \t]{0,9}[-*+] ((?:[^\W\d_][\w-]{0,30} ){1,3})"
    r"\[\[([^\[\]|#\n]{1,200})[^\[\]\n]{0,200}\]\][ \t]{0,9}(?:\([^()\n]{0,300}\)[ \t]{0,9})?$",
    re.MULTILINE,
)
"""An item that states a relation, as in basic-memory: `- depends on [[Cache]] (since May)`."""
_CODE_SPAN = re.compile(r"`[^`\n]{1,500}`")

_CLOSING_MARKS = re.compile(
    r"(?:^|(?<![ \t])[ \t]++)#++[ \t]*+$|(?:(?<![ \t])[ \t]++)?\{#[^{}]{0,100}\}[ \t]*+$"
)
_SHOWN = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_ITEM_MARKS = re.compile(r"^[ \t]*\d{1,9}[.)]", re.MULTILINE)
_LICENCE = re.compile(
    r"SPDX-License-Identifier|Licensed (?:to|under) |Copyright (?:\(c\)|©|\d{4})|All rights reserv",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(r"(\*\*|__|\*|`|~~)(\S(?:[^\n]{0,200}?\S)?)\1")


@dataclass(frozen=True, slots=True)
class MarkdownPart:
    """A heading, a paragraph, a list or a block of code."""

    start: int
    end: int
    level: int = 0
    """The level of a heading; 0 for other parts."""
    heading: str = ""
    is_code: bool = False
    depth: int = DEPTH_AT_MOST
    """Ends every open heading of a deeper level than this."""
    is_hidden: bool = False
    """Whether it is no passage: only its links are read."""
    names: tuple[IntroducedName, ...] = ()


def read_markdown_file(raw: bytes, topic: str) -> Document:
    """Read a Markdown file of a project or a site, without licence header and navigation."""
    content, metadata = decode(raw, topic)
    start = front_matter(content).end
    cleaned = content[:start] + without_site_markup(content[start:])
    if not cleaned.strip():
        raise Unreadable(f"{topic} has no text in it.")
    return _document(cleaned, metadata, topic, hides=True)


def read_markdown(raw: bytes, topic: str) -> Document:
    """Read Markdown as it is. Its title is its first `#` heading, else the front matter's."""
    content, metadata = decode(raw, topic)
    return _document(content, metadata, topic)


def _document(
    content: str, metadata: Mapping[str, str], topic: str, hides: bool = False
) -> Document:
    front = front_matter(content)
    parts = list(parts_of(content, front.end))
    if hides:
        parts = list(_without_boilerplate(content, parts))
    first = next((p.heading for p in parts if p.level == 1 and p.heading), "")
    title = first or front.title or stem_of(topic)
    authors = [name for each in front.authors for name in name_of(each, Origin.AUTHOR, "person")]
    return Document(
        topic=topic,
        content=content,
        title=title,
        blocks=blocks_of(parts, above="" if first else front.title),
        names=(*name_of(title, Origin.TITLE), *dict.fromkeys(authors)),
        links=links_of(content, parts, topic),
        tags=tuple(dict.fromkeys(front.tags)),
        metadata={**front.metadata, **metadata},
    )


def _without_boilerplate(content: str, parts: Sequence[MarkdownPart]) -> Iterator[MarkdownPart]:
    """Yield the parts; a licence header and blocks of nothing but links are hidden."""
    introduced = False
    for number, part in enumerate(parts):
        text = content[part.start : part.end]
        is_header = number == 0 and len(parts) > 1 and _LICENCE.search(text) is not None
        hides = is_header or (not introduced and not part.is_code and _is_navigation(text))
        yield replace(part, is_hidden=hides and not part.level)
        introduced = text.endswith(":")


def _is_navigation(text: str) -> bool:
    """Return whether a block is nothing but NAVIGATION_LINKS or more links to other pages."""
    rest, links = _SHOWN.subn("", text)
    return links >= NAVIGATION_LINKS and not any(map(str.isalnum, _ITEM_MARKS.sub("", rest)))


def name_of(text: str, origin: Origin, kind: str = "concept") -> tuple[IntroducedName, ...]:
    """Return the text as the only name; () if it is too long, has no letters or is generic."""
    text = one_line(text, NAME_CHARACTERS_AT_MOST + 1)
    is_short = len(text) <= NAME_CHARACTERS_AT_MOST
    if is_short and any(c.isalnum() for c in text) and text.lower() not in FOLDER_FILES:
        return (IntroducedName(text, origin, kind),)
    return ()


def blocks_of(
    parts: Sequence[MarkdownPart], above: str = "", unnamed_level: int = 0
) -> tuple[Block, ...]:
    """Return parts as blocks under their headings, `above` first; `unnamed_level` adds no names."""
    parts = [part for part in parts if not part.is_hidden]
    blocks: list[Block] = []
    open_headings: list[tuple[int, str]] = [(0, above)] if above else []
    for part in parts:
        names = part.names
        deepest = part.level - 1 if part.heading else part.depth
        while open_headings and open_headings[-1][0] > deepest:
            open_headings.pop()
        if part.heading:
            open_headings.append((part.level, part.heading))
            if part.level != unnamed_level:
                names += name_of(part.heading, Origin.HEADING)
        path = BETWEEN_HEADINGS.join(heading for _, heading in open_headings)
        blocks.append(Block(part.start, part.end, path, names=names))
    # A heading without text, as `# Guide` directly before `## Install`, joins the first passage of
    # that section.
    for number in range(len(blocks) - 2, -1, -1):
        block = blocks[number]
        below = blocks[number + 1]
        if parts[number].level and below.heading.startswith(block.heading + BETWEEN_HEADINGS):
            blocks[number] = block._replace(heading=below.heading)
    return tuple(blocks)


def parts_of(content: str, start: int = 0, breaks: Container[int] = ()) -> Iterator[MarkdownPart]:
    """Yield the parts of the text from `start` on, in order. A part begins at each of `breaks`."""
    fence = ""
    held: MarkdownPart | None = None
    for first, last in line_spans(content, start):
        line = content[first:last]
        if held and fence:
            held = replace(held, end=last)
            if closes_fence(line, fence):
                yield held
                fence = ""
                held = None
            continue
        opening = FENCE.match(line)
        atx = _ATX.match(line)
        if held and (underline := _SETEXT.match(line)) and _may_be_heading(content, held):
            text = _heading_text(content[held.start : held.end])
            yield MarkdownPart(held.start, last, 1 if underline[1][0] == "=" else 2, text)
            held = None
            continue
        is_gap = not line.strip() or _RULE.match(line)
        if held and not (opening or atx or is_gap or first in breaks):
            held = replace(held, end=last)
            continue
        if held:
            yield held
        held = None
        if atx:
            yield MarkdownPart(first, last, len(atx[1]), _heading_text(atx[2] or ""))
        elif not is_gap:
            fence = opening[1] if opening else ""
            held = MarkdownPart(first, last, is_code=bool(opening))
    if held:
        yield held


def _may_be_heading(content: str, held: MarkdownPart) -> bool:
    if held.end - held.start > SETEXT_CHARACTERS_AT_MOST:
        return False
    return not _NOT_A_PARAGRAPH.match(content, held.start, held.end)


def _heading_text(marked: str) -> str:
    """Return the text of a heading without closing marks, anchors, emphasis and link targets."""
    text = _CLOSING_MARKS.sub("", one_line(marked))
    return one_line(_EMPHASIS.sub(r"\2", _SHOWN.sub(r"\1", text)))


def links_of(content: str, parts: Sequence[MarkdownPart], topic: str) -> tuple[Link, ...]:
    """Return one link to each target, at its first place in the text; LINKS_AT_MOST in all."""
    source = f"topic:{topic}"
    links: dict[tuple[str, str], Link] = {}
    number = -1
    for part in parts:
        number += not part.is_hidden
        if part.is_code:
            continue
        for relation, target, evidence in _targets(content[part.start : part.end], topic):
            known = not target or target in (source, topic) or (relation, target) in links
            if not known and len(target) <= TARGET_CHARACTERS_AT_MOST:
                shown = one_line(evidence, EVIDENCE_CHARACTERS_AT_MOST)
                links[relation, target] = Link(source, relation, target, max(number, 0), shown)
                if len(links) == LINKS_AT_MOST:
                    return tuple(links.values())
    return tuple(links.values())


def _targets(text: str, topic: str) -> Iterator[tuple[str, str, str]]:
    """Yield relation, target ("" if unusable) and visible text of each link in a part."""
    text = _CODE_SPAN.sub(" ", text)
    if "[" in text:
        for words, name in _RELATION.findall(text):
            yield _relation(words), one_line(name), f"{words}{name}"
        text = _RELATION.sub("", text)
        for image, shown, bracketed, bare in _INLINE_LINK.findall(text):
            if not image:
                yield REFERS_TO, resolve_link(bracketed or bare, topic), shown
        for label, target in _DEFINITION.findall(text):
            yield REFERS_TO, resolve_link(target, topic), label
        for embedded, name in _WIKI.findall(text):
            if not embedded:
                yield REFERS_TO, one_line(name), name
    if "://" in text:
        for url in _BARE.findall(text):
            yield REFERS_TO, resolve_link(url.rstrip(".,;:!?"), topic), ""


def _relation(words: str) -> str:
    """Return the relation that an item states in these words.

    >>> _relation("Depends on "), _relation("used on "), _relation("with "), _relation("coref ")
    ('depends_on', 'used_on', 'refers_to', 'refers_to')
    """
    relation = words.lower().replace("-", "_").split()
    says_nothing = len(relation) == 1 and relation[0] in STOP_WORDS
    # Only a reader may say that two names mean the same.
    return REFERS_TO if says_nothing or relation == ["coref"] else "_".join(relation)


def resolve_link(href: str, topic: str) -> str:
    """Return the target of a link in `topic`: a URL, `topic:<path>`, or "" if it is unusable.

    >>> resolve_link("../api.md#open", "docs/guide/start.md")
    'topic:docs/api.md'
    """
    href = one_line(href, TARGET_CHARACTERS_AT_MOST + 1)
    try:
        if "://" in topic:
            href = urljoin(topic, href)
        parts = urlsplit(href)
    except ValueError:
        return ""
    if parts.scheme in ("http", "https"):
        return parts._replace(fragment="").geturl() if parts.netloc else ""
    if parts.scheme or parts.netloc or not parts.path:
        return ""
    path = one_line(unquote(parts.path), TARGET_CHARACTERS_AT_MOST)
    if path.startswith("/") and not topic.startswith("/"):
        path = path.lstrip("/")
    else:
        path = posixpath.join(posixpath.dirname(topic), path)
    path = posixpath.normpath(path)
    return "" if path in (".", "..") or path.startswith("../") else f"topic:{path}"


_LOOKS_LIKE_MARKUP = re.compile(
    r"^([ \t]*)(?=#{1,6}(?:[ \t]|$)|```|~~~|(?:(?:=+|-+)[ \t]*|(?:[-*_][ \t]*){3,})$)", re.MULTILINE
)
"""Lines of plain text that would be read as a heading, a fence or a rule."""
_BACKTICKS = re.compile(r"`{3,}")


class MarkdownWriter:
    """Writes the content of other file types as Markdown, part by part."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.first_heading = ""
        self._text: list[str] = []
        self._length = 0
        self._last_kind = ""
        self._place = ""
        self._has_places = False

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been written yet."""
        return not self._text

    def place(self, name: str) -> None:
        """Set the location of the next text in the file: a page, a slide or a sheet.

        It becomes a heading of level 1 if text follows, but does not introduce a name.
        """
        self._place = name
        self._has_places = True

    def heading(self, level: int, text: str) -> None:
        """Write a heading; a level above 6 becomes 6."""
        line = " ".join(plain(text).split())
        if len(line) > LINE_CHARACTERS_AT_MOST:
            line = one_line(_SHOWN.sub(r"\1", line))
        if line:
            self.first_heading = self.first_heading or _heading_text(line)
            self._add("heading", f"{'#' * min(level, 6)} {line}")

    def paragraph(self, text: str) -> None:
        """Write plain text of one or more lines. Escape lines that look like markup."""
        self._add("paragraph", _LOOKS_LIKE_MARKUP.sub(r"\1\\", plain(text).strip()))

    def item(self, text: str) -> None:
        """Write an item of a list, on one line."""
        if line := " ".join(plain(text).split()):
            self._add("item", f"- {line}")

    def row(self, cells: Sequence[str]) -> None:
        """Write a row of a table; the first row is the header."""
        lines = [" ".join(plain(cell).split()).replace("|", "\\|") for cell in cells]
        if any(lines):
            is_first = self._last_kind != "row"
            self._add("row", f"| {' | '.join(lines)} |")
            if is_first:
                self._add("row", f"|{' --- |' * len(lines)}")

    def code(self, text: str) -> None:
        """Write preformatted text, in a fence longer than any inside it."""
        if text := plain(text).strip("\n").rstrip():
            fence = "`" * (1 + max(map(len, _BACKTICKS.findall(text)), default=2))
            self._add("code", f"{fence}\n{text}\n{fence}")

    def _add(self, kind: str, text: str) -> None:
        if not text:
            return
        if self._place:
            place = self._place
            self._place = ""
            self._add("heading", f"# {one_line(place)}")
        gap = "\n" if kind == self._last_kind and kind in ("item", "row") else "\n\n"
        self._length += len(gap) + len(text)
        check_text(self._length, self.topic)
        self._text.append(gap + text if self._text else text)
        self._last_kind = kind

    def document(self, title: str = "", metadata: Mapping[str, Any] | None = None) -> Document:
        """Return the document; its default title is the file's name. Raise Unreadable if empty."""
        if self.is_empty:
            raise Unreadable(f"{self.topic} has no text in it.")
        content = "".join(self._text)
        parts = list(parts_of(content))
        title = one_line(title)
        return Document(
            topic=self.topic,
            content=content,
            title=title or stem_of(self.topic),
            blocks=blocks_of(parts, unnamed_level=1 if self._has_places else 0),
            names=name_of(title, Origin.TITLE),
            links=links_of(content, parts, self.topic),
            metadata=metadata or {},
        )


def markdown_link(shown: str, href: str) -> str:
    """Return a link in Markdown, or only its text if the target cannot be written."""
    words = " ".join(shown.split()).replace("[", "(").replace("]", ")")
    href = one_line(href, TARGET_CHARACTERS_AT_MOST + 1)
    if not words or not href or len(href) > TARGET_CHARACTERS_AT_MOST or set(href) & set("<>"):
        return shown
    link = f"[{words}](<{href}>)" if set(href) & set(" ()") else f"[{words}]({href})"
    before, after = (" " if shown[end].isspace() else "" for end in (0, -1))
    return f"{before}{link}{after}"
