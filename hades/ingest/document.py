"""What a reader makes of a source: text, its parts, the names and links in it.

A reader turns one source (a file, a record, a conversation) into one or more
Documents. It does not touch the store, the clock or the network. Everything a
Document says depends on its source alone, never on what was read before: so the
order in which sources arrive does not matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum
from typing import Any


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


@dataclass(frozen=True, slots=True)
class Name:
    """A name a document introduces: it may be mentioned anywhere, now or later."""

    text: str
    origin: Origin
    kind: str = "concept"
    """concept, person, organisation, place, method, paper, code_symbol, url …"""


@dataclass(frozen=True, slots=True)
class Block:
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
    names: tuple[Name, ...] = ()
    """Names this block introduces: the symbol it defines, its speaker."""


@dataclass(frozen=True, slots=True)
class Link:
    """An edge a document states, between names. It holds as long as the document does.

    An end is a name (an entity), or a topic when it starts with `topic:`.
    `block` is the number of the block it was read in.
    """

    source: str
    relation: str
    target: str
    block: int = 0
    evidence: str = ""
    weight: float = 1.0
    exclusive: bool = False


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
    names: tuple[Name, ...] = ()
    """Names the document as a whole introduces: its title, its authors."""
    links: tuple[Link, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    valid_from: datetime | None = None


class Unreadable(Exception):
    """A source that cannot be read; the message is one sentence that says why."""
