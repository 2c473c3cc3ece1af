"""Composing: the content of a document whose file is not itself text.

HTML, PDF and office files are read part by part; here the parts become one readable
text, with the blocks, headings and links that point into it.
"""

from __future__ import annotations

from typing import Any

from hades.ingest.document import Block, Document, Name, Origin, Unreadable
from hades.ingest.readers.limits import check_text
from hades.ingest.readers.links import Links
from hades.ingest.readers.outline import Outline, lend_headings, name_of, one_line, plain, stem_of

PARAGRAPH_GAP = "\n\n"
LINE_GAP = "\n"


class Composer:
    """A document in the making."""

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.outline = Outline()
        self.links = Links(topic)
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._headings: set[int] = set()
        self._last_gap = PARAGRAPH_GAP

    @property
    def next_block(self) -> int:
        """The number the next block will have."""
        return len(self._blocks)

    def heading(self, level: int, text: str) -> None:
        """A heading, which is a block too: its words are found like all others."""
        if line := one_line(text):
            self.outline.enter(level, line)
            self._headings.add(self.next_block)
            self.add(line, names=name_of(line, Origin.HEADING))

    def add(self, text: str, names: tuple[Name, ...] = (), gap: str = PARAGRAPH_GAP) -> None:
        """A block under the headings that are open; one of a list or table has LINE_GAP."""
        text = plain(text).strip()
        if not text:
            return
        if self._blocks:
            self._append(LINE_GAP if gap == self._last_gap == LINE_GAP else PARAGRAPH_GAP)
        self._last_gap = gap
        start = self._length
        self._append(text)
        self._blocks.append(Block(start, self._length, self.outline.path, names=names))

    def _append(self, text: str) -> None:
        self._parts.append(text)
        self._length += len(text)
        check_text(self._length, self.topic)

    def document(self, title: str = "", metadata: dict[str, Any] | None = None) -> Document:
        """The document, named after its file when it states no title."""
        if not self._blocks:
            raise Unreadable(f"{self.topic} has no text in it.")
        title = one_line(title)
        return Document(
            topic=self.topic,
            content="".join(self._parts),
            title=title or stem_of(self.topic),
            blocks=lend_headings(self._blocks, self._headings),
            names=name_of(title, Origin.TITLE),
            links=self.links.all(),
            metadata=metadata or {},
        )
