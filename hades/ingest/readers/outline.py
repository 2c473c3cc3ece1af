"""Outlines: titles and headings, and the way they lead to a block."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from hades.ingest.document import Block, Name, Origin

HEADING_CHARACTERS_AT_MOST = 160
NAME_CHARACTERS_AT_MOST = 120
"""What is longer is a sentence, and nobody mentions a sentence by name."""

BETWEEN = " > "

_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,9}")
_SPEAKS_FOR_ITS_FOLDER = frozenset({"readme", "index"})
"""Every folder has one: as a name it would join all of them."""


def one_line(text: str, characters: int = HEADING_CHARACTERS_AT_MOST) -> str:
    """Text as a single line of plain characters, shortened with an ellipsis.

    >>> one_line("Multi\\n head", 8)
    'Multi h…'
    """
    line = " ".join(plain(text).split())
    return line if len(line) <= characters else line[: characters - 1].rstrip() + "…"


def plain(text: str) -> str:
    """Text without what no store takes: NUL characters and halves of surrogate pairs."""
    text = text.replace("\x00", "")
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def stem_of(topic: str) -> str:
    """The file name without its suffix, or its folder's: the title of what has no other.

    >>> stem_of("wiki/approach_x.md"), stem_of("hades/README.md"), stem_of("README")
    ('approach x', 'hades', 'README')

    Underscores are spaces there: a text that means it says "approach x".

    What follows a full stop in a note's name is no suffix: `people/J. R. Smith`, `plan 2.0`.
    """
    path = PurePosixPath(topic)
    stem = path.stem if _SUFFIX.fullmatch(path.suffix) else path.name
    if stem.lower() in _SPEAKS_FOR_ITS_FOLDER and path.parent.name:
        return path.parent.name
    return stem.replace("_", " ").strip() or topic


def name_of(text: str, origin: Origin, kind: str = "concept") -> tuple[Name, ...]:
    """The name, or none when the text is too long for one, has no word in it or says nothing."""
    text = one_line(text, NAME_CHARACTERS_AT_MOST + 1)
    if len(text) > NAME_CHARACTERS_AT_MOST or not any(c.isalnum() for c in text):
        return ()
    if text.lower() in _SPEAKS_FOR_ITS_FOLDER:
        return ()
    return (Name(text, origin, kind),)


@dataclass(slots=True)
class Outline:
    """The headings that are open at a point of the document."""

    root: str = ""
    """A title that stands above all headings."""
    first: str = ""
    """The first heading entered."""
    _open: list[tuple[int, str]] = field(default_factory=list)

    def enter(self, level: int, heading: str) -> None:
        """A heading of this level: it closes those of its own and deeper levels."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self.first = self.first or one_line(heading)
        self._open.append((level, one_line(heading)))

    @property
    def path(self) -> str:
        """`Guide > Install`; empty before the first heading."""
        return BETWEEN.join(filter(None, [self.root, *(text for _, text in self._open)]))


def lend_headings(blocks: list[Block], headings: Set[int]) -> tuple[Block, ...]:
    """The blocks, a heading without text of its own put under the heading below it.

    So `# Guide`, followed at once by `## Install`, becomes part of the first passage of
    that section and not a passage that says nothing. `headings` are block numbers.
    """
    for number in range(len(blocks) - 2, -1, -1):
        block, below = blocks[number], blocks[number + 1]
        if number in headings and below.heading.startswith(block.heading + BETWEEN):
            blocks[number] = replace(block, heading=below.heading)
    return tuple(blocks)
