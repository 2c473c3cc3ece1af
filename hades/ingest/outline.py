"""Outlines: what a reader said of a document, kept with its state until it is linked.

A document's content is a state like any other. Its blocks, names and links are not in the
content, and the phases that need them may run later, in another process, after a crash.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, replace
from typing import Any

from hades.ingest.chunk import Passage
from hades.ingest.document import Block, Document, Link, Name, Origin


def pack_document(document: Document) -> bytes:
    """What the chunker will need: everything but the content."""
    return _pack(
        {
            "title": document.title,
            "kind": document.kind,
            "blocks": [
                [b.start, b.end, b.heading, b.whole, _names(b.names)] for b in document.blocks
            ],
            "names": _names(document.names),
            "links": [_link(link) for link in document.links],
        }
    )


def unpack_document(outline: bytes, topic: str, content: str) -> Document:
    """The document again, from its outline and its content."""
    data = _unpack(outline)
    return Document(
        topic=topic,
        content=content,
        kind=data["kind"],
        title=data["title"],
        blocks=tuple(
            Block(start, end, heading, whole, _to_names(names))
            for start, end, heading, whole, names in data["blocks"]
        ),
        names=_to_names(data["names"]),
        links=tuple(Link(*link) for link in data["links"]),
    )


@dataclass(frozen=True, slots=True)
class Stated:
    """What is left to link once a document is cut: names and links by chunk."""

    names: tuple[tuple[Name, int | None], ...]
    """A name, and the number of its chunk; None: the whole document's."""
    links: tuple[Link, ...]
    """Links, with the number of a chunk for the number of a block."""
    kind: str = "document"
    """The kind of document they are from."""


def pack_stated(document: Document, passages: list[Passage]) -> bytes:
    """The names and links of a document, told by chunk."""
    chunk_of = {block: p.ordinal for p in reversed(passages) for block in p.blocks}
    names: list[list[Any]] = [[*_names([name])[0], None] for name in document.names]
    for passage in passages:
        names += [[*name, passage.ordinal] for name in _names(passage.names)]
    links = [_link(replace(link, block=chunk_of.get(link.block, 0))) for link in document.links]
    return _pack({"names": names, "links": links, "kind": document.kind})


def unpack_stated(outline: bytes | None) -> Stated:
    """The same, read back."""
    if outline is None:
        return Stated((), ())
    data = _unpack(outline)
    return Stated(
        names=tuple(
            (Name(text, Origin(origin), kind), ordinal)
            for text, origin, kind, ordinal in data["names"]
        ),
        links=tuple(Link(*link) for link in data["links"]),
        kind=data.get("kind", "document"),
    )


def _names(names: Any) -> list[list[Any]]:
    return [[name.text, int(name.origin), name.kind] for name in names]


def _to_names(rows: Any) -> tuple[Name, ...]:
    return tuple(Name(text, Origin(origin), kind) for text, origin, kind in rows)


def _link(link: Link) -> list[Any]:
    return [link.source, link.relation, link.target, link.block, link.evidence, link.weight]


def _pack(data: dict[str, Any]) -> bytes:
    return zlib.compress(json.dumps(data, ensure_ascii=False).encode(), 1)


def _unpack(outline: bytes) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(zlib.decompress(outline))
    return data
