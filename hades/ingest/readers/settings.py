"""Configuration and markup: text that is cut at sections and paragraphs.

A section in brackets, as in TOML and INI, becomes part of the heading. The heading begins with the
topic, because a setting alone says little.
"""

from __future__ import annotations

import re

from hades.ingest.document import Block, Document, Unreadable
from hades.ingest.readers.text import decode, line_spans, paragraphs, stem_of

CHARACTERS_AT_MOST = 400_000
"""Larger files are generated data, such as lists of locked versions."""
_SECTION = re.compile(r"\[{1,2}([^\[\]]{1,200})\]{1,2}\s*(?:[#;].*)?$")


def read_settings(raw: bytes, topic: str) -> Document:
    """Read a file of settings, styles, statements or a template."""
    content, metadata = decode(raw, topic)
    if len(content) > CHARACTERS_AT_MOST:
        raise Unreadable(f"{topic} is data rather than text: it has {len(content):,} characters.")
    starts = [
        (start, section[1].strip())
        for start, end in line_spans(content)
        if content.startswith("[", start) and (section := _SECTION.match(content[start:end]))
    ]
    blocks = []
    for (start, name), (end, _) in zip(
        [(0, ""), *starts], [*starts, (len(content), "")], strict=True
    ):
        heading = f"{topic} > {name}" if name else topic
        inside = paragraphs(content[start:end])
        blocks += [Block(start + first, start + last, heading) for first, last in inside]
    return Document(topic, content, title=stem_of(topic), blocks=tuple(blocks), metadata=metadata)
