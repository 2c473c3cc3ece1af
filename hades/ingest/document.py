"""Documents: the result of a reader, a text with its parts, names and links.

A reader turns one source (a file, a record, a conversation) into one or more Documents, without the
store, the clock or the network. A Document depends on its source alone, so the order in which
sources arrive does not matter.

Later phases may run in another process, after a crash. So the parts of a document are packed and
stored with the state until it is linked.
"""

from __future__ import annotations

import json
import zlib
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any, NamedTuple

from hades.domain.rules import CONTENT_BYTES_AT_MOST
from hades.store.delta import unzip


class Origin(IntEnum):
    """The origin of a name, strongest first. The numbers are stored."""

    TITLE = 1
    HEADING = 2
    SYMBOL = 3
    SPEAKER = 4
    AUTHOR = 5
    ALIAS = 6
    EXTRACTED = 7
    TOLD = 8
    """The name comes from an imported fact that gives this text as its source."""


class IntroducedName(NamedTuple):
    """A name that a document introduces. Other texts, earlier or later, may mention it."""

    text: str
    origin: Origin
    kind: str = "concept"
    """concept, person, organisation, place, method, paper, code_symbol, repository, url …"""


class Block(NamedTuple):
    """A structural part of the content: characters `start` to `end`.

    Blocks are in order and do not overlap. The chunker joins small neighbours under one `heading`
    and splits large blocks. It never joins a `whole` block (a function, a turn) with another.
    """

    start: int
    end: int
    heading: str = ""
    """The path of headings: `Guide > Install`, `store.py > Engine.close`."""
    whole: bool = False
    names: tuple[IntroducedName, ...] = ()
    """Names that this block introduces: the symbol that it defines, its speaker."""


class Link(NamedTuple):
    """An edge between names that a document states. It holds as long as the document does.

    An end is the name of an entity, or a topic if it starts with `topic:`. `block` is the number of
    the block it was read in, `at` the character, if known.
    """

    source: str
    relation: str
    target: str
    block: int = 0
    evidence: str = ""
    weight: float = 1.0
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """The content of one source, with its parts."""

    topic: str
    content: str
    """The text as it is stored. Every span counts characters of it."""
    kind: str = "document"
    """document, code, conversation, record, paper, note."""
    title: str = ""
    blocks: tuple[Block, ...] = ()
    names: tuple[IntroducedName, ...] = ()
    """Names that the document as a whole introduces: its title, its authors."""
    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    valid_from: datetime | None = None
    outline: bytes = b""
    """Blocks, names and links, packed by the worker process, which leaves those fields empty."""
    fingerprint: bytes = b""
    """The hash by which an unchanged source is recognised."""


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """A part of a document's content that becomes a chunk."""

    start: int
    end: int
    heading: str
    tokens: int
    ordinal: int
    blocks: tuple[int, ...]
    """Numbers of the blocks that it overlaps."""
    names: tuple[IntroducedName, ...]


@dataclass(frozen=True, slots=True)
class Introductions:
    """The names and links that a document introduces, by chunk."""

    names: tuple[tuple[IntroducedName, int | None], ...] = ()
    """A name and the number of its chunk; None if it belongs to the whole document."""
    links: tuple[Link, ...] = ()
    """Links whose `block` is the number of a chunk."""
    kind: str = "document"
    """The kind of document they are from."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A source or record that was skipped."""

    where: str
    """The topic, or the file with the line or the number of the record."""
    why: str
    """The reason, in one sentence."""


class Unreadable(Exception):
    """A source cannot be read. The message is one sentence with the reason."""


def pack_document(document: Document) -> bytes:
    """Pack the parts of a document that the chunker needs besides the content."""
    return _pack(
        {
            "title": document.title,
            "kind": document.kind,
            "blocks": document.blocks,
            "names": document.names,
            "links": document.links,
        }
    )


def unpack_document(outline: bytes, topic: str, content: str) -> Document:
    """Restore a document from its packed parts and its content."""
    data = _unpack(outline)
    return Document(
        topic=topic,
        content=content,
        kind=data["kind"],
        title=data["title"],
        blocks=tuple(
            Block(start, end, heading, whole, tuple(map(_name, names)))
            for start, end, heading, whole, names in data["blocks"]
        ),
        names=tuple(map(_name, data["names"])),
        links=tuple(Link(*link) for link in data["links"]),
    )


def pack_introductions(document: Document, chunks: Sequence[ChunkSpan]) -> bytes:
    """Pack the names and links of a document, each with the number of its chunk."""
    chunk_of = {block: chunk.ordinal for chunk in reversed(chunks) for block in chunk.blocks}
    names: list[tuple[Any, ...]] = [(*name, None) for name in document.names]
    for chunk in chunks:
        names += [(*name, chunk.ordinal) for name in chunk.names]
    starts = [chunk.start for chunk in chunks]

    def chunk_at(link: Link) -> int:
        if link.at is None:
            return chunk_of.get(link.block, 0)
        return max(0, bisect_right(starts, link.at) - 1)

    links = [link._replace(block=chunk_at(link)) for link in document.links]
    return _pack({"names": names, "links": links, "kind": document.kind})


def unpack_introductions(outline: bytes | None) -> Introductions:
    """Restore what `pack_introductions` packed; None gives empty introductions."""
    if outline is None:
        return Introductions()
    data = _unpack(outline)
    return Introductions(
        names=tuple((_name(row), ordinal) for *row, ordinal in data["names"]),
        links=tuple(Link(*link) for link in data["links"]),
        kind=data.get("kind", "document"),
    )


def _name(row: Sequence[Any]) -> IntroducedName:
    text, origin, kind = row
    return IntroducedName(text, Origin(origin), kind)


def _pack(data: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(data, ensure_ascii=False).encode(), 1)


def _unpack(outline: bytes) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(unzip(outline, CONTENT_BYTES_AT_MOST))
    return data
