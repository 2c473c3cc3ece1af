"""Markdown: the file as it is, seen as headings, paragraphs, lists and fenced code.

One pass over the lines finds the blocks. It knows as much of CommonMark as decides
where a block begins and ends and what is a heading; what stands inside a block is
left alone, but for its links.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum

from hades.ingest.document import Block, Document, Link, Name, Origin
from hades.ingest.lines import line_spans
from hades.ingest.readers.decode import decode
from hades.ingest.readers.front_matter import FrontMatter, front_matter
from hades.ingest.readers.links import Links
from hades.ingest.readers.outline import Outline, lend_headings, name_of, one_line, stem_of

SETEXT_CHARACTERS_AT_MOST = 200
"""A longer paragraph above a line of dashes is a paragraph above a rule."""

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$", re.DOTALL)
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_NOT_A_PARAGRAPH = re.compile(r"[ \t]*(?:[-*+>|]|\d{1,9}[.)])(?:[ \t]|$)| {4}|\t|[>|]")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")

_INLINE_LINK = re.compile(
    r"(!?)\[([^\[\]]{0,300})\]\(\s{0,9}(?:<([^<>\n]{1,500})>|((?:[^\s()<>]|\([^\s()<>]{0,200}\)){1,500}))"
)
_DEFINITION = re.compile(r"^ {0,3}\[([^\[\]\n]{1,300})\]:[ \t]*<?([^\s<>]{1,500})", re.MULTILINE)
_BARE = re.compile(r"(?<!\]\()(?<![\w\[<])<?(https?://[^\s<>\"'`|\])]{1,500})")
_WIKI = re.compile(r"(!?)\[\[([^\[\]|#\n]{1,200})[^\[\]\n]{0,200}\]\]")
_CODE_SPAN = re.compile(r"`[^`\n]{1,500}`")

_CLOSING_MARKS = re.compile(r"(?:^|[ \t]+)#+[ \t]*$|[ \t]*\{#[^{}]{0,100}\}[ \t]*$")
_SHOWN = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"(\*\*|__|\*|`|~~)(\S(?:[^\n]{0,200}?\S)?)\1")


class _Kind(Enum):
    TEXT = 0
    HEADING = 1
    CODE = 2


@dataclass(frozen=True, slots=True)
class _Part:
    start: int
    end: int
    kind: _Kind = _Kind.TEXT
    level: int = 0
    heading: str = ""


def read_markdown(raw: bytes, topic: str) -> Document:
    """A Markdown file: titled by its first `#` heading, its front matter or its name."""
    content, metadata = decode(raw, topic)
    front = front_matter(content)
    parts = list(_parts(content, front.end))
    first = next((p.heading for p in parts if p.level == 1 and p.heading), "")
    title = first or front.title or stem_of(topic)
    outline = Outline(root="" if first else front.title)
    blocks = _blocks(parts, outline)
    return Document(
        topic=topic,
        content=content,
        title=title,
        blocks=blocks,
        names=_names(title, front),
        links=_links(content, parts, topic),
        tags=tuple(dict.fromkeys(front.tags)),
        metadata={**front.metadata, **metadata},
    )


def _names(title: str, front: FrontMatter) -> tuple[Name, ...]:
    authors = [name for each in front.authors for name in name_of(each, Origin.AUTHOR, "person")]
    return (*name_of(title, Origin.TITLE), *dict.fromkeys(authors))


def _blocks(parts: list[_Part], outline: Outline) -> tuple[Block, ...]:
    blocks = []
    for part in parts:
        names: tuple[Name, ...] = ()
        if part.heading:
            outline.enter(part.level, part.heading)
            names = name_of(part.heading, Origin.HEADING)
        blocks.append(Block(part.start, part.end, outline.path, names=names))
    headings = {number for number, part in enumerate(parts) if part.kind is _Kind.HEADING}
    return lend_headings(blocks, headings)


def _parts(content: str, start: int) -> Iterator[_Part]:
    """The blocks of the text from `start` on, in order."""
    fence = ""
    held: _Part | None = None
    for first, last in line_spans(content, start):
        line = content[first:last]
        if fence:
            assert held is not None
            held = replace(held, end=last)
            if _closes(line, fence):
                yield held
                fence, held = "", None
        elif opening := _FENCE.match(line):
            if held:
                yield held
            fence, held = opening[1], _Part(first, last, _Kind.CODE)
        elif not line.strip():
            if held:
                yield held
            held = None
        elif atx := _ATX.match(line):
            if held:
                yield held
            held = None
            yield _Part(first, last, _Kind.HEADING, len(atx[1]), _heading_text(atx[2] or ""))
        elif held and (underline := _SETEXT.match(line)) and _may_be_heading(content, held):
            text = _heading_text(content[held.start : held.end])
            level = 1 if underline[1][0] == "=" else 2
            yield _Part(held.start, last, _Kind.HEADING, level, text)
            held = None
        elif _RULE.match(line):
            if held:
                yield held
            held = None
        else:
            held = replace(held, end=last) if held else _Part(first, last)
    if held:
        yield held


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])


def _may_be_heading(content: str, held: _Part) -> bool:
    if held.end - held.start > SETEXT_CHARACTERS_AT_MOST:
        return False
    return not _NOT_A_PARAGRAPH.match(content, held.start, held.end)


def _heading_text(marked: str) -> str:
    """A heading as it is read: without closing marks, anchors, emphasis and link targets."""
    text = _CLOSING_MARKS.sub("", one_line(marked))
    return one_line(_EMPHASIS.sub(r"\2", _SHOWN.sub(r"\1", text)))


def _links(content: str, parts: list[_Part], topic: str) -> tuple[Link, ...]:
    links = Links(topic)
    for number, part in enumerate(parts):
        if part.kind is _Kind.CODE:
            continue
        text = _CODE_SPAN.sub(" ", content[part.start : part.end])
        if "[" in text:
            for image, shown, bracketed, bare in _INLINE_LINK.findall(text):
                if not image:
                    links.add(bracketed or bare, number, shown)
            for label, target in _DEFINITION.findall(text):
                links.add(target, number, label)
            for embedded, name in _WIKI.findall(text):
                if not embedded:
                    links.add_name(name, number)
        if "://" in text:
            for url in _BARE.findall(text):
                links.add(url.rstrip(".,;:!?"), number)
    return links.all()
