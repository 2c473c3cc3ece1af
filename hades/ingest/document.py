"""What a reader makes of a source: text, its parts, the names and links in it.

A reader turns one source (a file, a record, a conversation) into one or more
Documents. It does not touch the store, the clock or the network. Everything a
Document says depends on its source alone, never on what was read before: so the
order in which sources arrive does not matter.

The phases that need more than the content may run later, in another process, after a
crash. So what a reader said is packed and kept with the state until it is linked.
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


class Origin(IntEnum):
    """Where a name was found, strongest first. The numbers are stored."""

    TITLE = 1
    HEADING = 2
    SYMBOL = 3
    SPEAKER = 4
    AUTHOR = 5
    ALIAS = 6
    EXTRACTED = 7
    TOLD = 8
    """By a fact from elsewhere that names this text as its source."""


class IntroducedName(NamedTuple):
    """A name a document introduces: it may be mentioned anywhere, now or later."""

    text: str
    origin: Origin
    kind: str = "concept"
    """concept, person, organisation, place, method, paper, code_symbol, url …"""


class Block(NamedTuple):
    """A structural part of the content: characters `start` to `end`.

    Blocks are in order and do not overlap. The chunker joins small neighbours of one
    `heading` and splits large ones; a `whole` block (a function, a turn) is never
    joined with another.
    """

    start: int
    end: int
    heading: str = ""
    """The way to it: `Guide > Install`, `store.py > Engine.close`."""
    whole: bool = False
    names: tuple[IntroducedName, ...] = ()
    """Names this block introduces: the symbol it defines, its speaker."""


class Link(NamedTuple):
    """An edge a document states, between names. It holds as long as the document does.

    An end is a name (an entity), or a topic when it starts with `topic:`.
    `block` is the number of the block it was read in, and `at` the character, where known.
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
    """One source, read."""

    topic: str
    content: str
    """The text as it is kept. Every span is in characters of it."""
    kind: str = "document"
    """document, code, conversation, record, paper, note."""
    title: str = ""
    blocks: tuple[Block, ...] = ()
    names: tuple[IntroducedName, ...] = ()
    """Names the document as a whole introduces: its title, its authors."""
    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    valid_from: datetime | None = None
    outline: bytes = b""
    """Its parts, packed: so it comes from the process that read it, without them."""
    fingerprint: bytes = b""
    """The hash by which its source is known to be unchanged."""


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """A part of a document's content that is embedded, found and cited as one."""

    start: int
    end: int
    heading: str
    tokens: int
    ordinal: int
    blocks: tuple[int, ...]
    """Numbers of the blocks it has text of."""
    names: tuple[IntroducedName, ...]


@dataclass(frozen=True, slots=True)
class Introductions:
    """The names and links a document introduces, by the chunks it was cut into."""

    names: tuple[tuple[IntroducedName, int | None], ...] = ()
    """A name, and the number of its chunk; None: the whole document's."""
    links: tuple[Link, ...] = ()
    """Links, with the number of a chunk for the number of a block."""
    kind: str = "document"
    """The kind of document they are from."""


@dataclass(frozen=True, slots=True)
class Bad:
    """A source or record that was passed over."""

    where: str
    """The topic; or the file and the line, or the number of the record in an array."""
    why: str
    """One sentence."""


class Unreadable(Exception):
    """A source that cannot be read; the message is one sentence that says why."""


def pack_document(document: Document) -> bytes:
    """What the chunker will need: everything but the content."""
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
    """The document again, from what was packed and its content."""
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
    """The names and links of a document, by chunk."""
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
    """The same, read back."""
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
    data: dict[str, Any] = json.loads(zlib.decompress(outline))
    return data
