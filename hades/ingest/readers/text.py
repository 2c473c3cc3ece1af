"""Plain text: paragraphs with blank lines between them, whatever the markup.

Also reads reStructuredText, logs and anything else that is text: its content is the
file as it is, and no heading is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator

from hades.ingest.document import Block, Document
from hades.ingest.lines import line_spans
from hades.ingest.readers.decode import decode
from hades.ingest.readers.outline import stem_of


def read_text(raw: bytes, topic: str) -> Document:
    """A text file; a file name is no name for what it says, so it introduces none."""
    content, metadata = decode(raw, topic)
    blocks = tuple(Block(start, end) for start, end in paragraphs(content))
    return Document(topic, content, title=stem_of(topic), blocks=blocks, metadata=metadata)


def paragraphs(content: str) -> Iterator[tuple[int, int]]:
    """Spans of consecutive lines that are not blank."""
    first = last = -1
    for start, end in line_spans(content):
        if not content[start:end].strip():
            if first >= 0:
                yield first, last
            first = -1
            continue
        if first < 0:
            first = start
        last = end
    if first >= 0:
        yield first, last
