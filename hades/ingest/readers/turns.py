"""Turns: who said what when, and how a session of them becomes a document.

Every chat format is first read into Sessions. What a session looks like as a document
is decided here, and only here: a paragraph and a whole block for each turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hades.domain.rules import clean_name
from hades.domain.times import iso
from hades.ingest.document import Block, Document, Link, Name, Origin
from hades.ingest.readers.moments import Moment, read_moment

WRITTEN_TIME_CHARACTERS_AT_MOST = 60

ROLES = frozenset(
    {"user", "human", "assistant", "system", "tool", "function", "developer", "ai", "bot", "model"}
)
"""Parts to play, not names: as names they would join every chat to every other."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One thing said."""

    speaker: str
    text: str
    when: Moment | None = None
    written: str = ""
    """The time as the source has it, where it could not be read."""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """Turns of one sitting, in the order they were said."""

    where: str
    conversation: str
    turns: tuple[Turn, ...]
    session: str = ""
    """Empty when the conversation has only one."""
    title: str = ""


def make_turn(speaker: str, text: str, when: object = None, turn_id: object = None) -> Turn:
    """A turn from what a source holds: the time read if it can be, else kept as text."""
    moment = read_moment(when)
    unread = when.strip() if isinstance(when, str) and moment is None else ""
    return Turn(
        speaker=" ".join(speaker.split()),
        text=text.strip(),
        when=moment,
        written=unread[:WRITTEN_TIME_CHARACTERS_AT_MOST],
        id=None if turn_id is None else str(turn_id),
    )


def to_document(session: Session, prefix: str) -> Document:
    """The session as a document `prefix/conversation/session`; InvalidInput if it has no name."""
    parts = (prefix, session.conversation, session.session)
    topic = clean_name("/".join(part for part in parts if part))
    paragraphs = [_paragraph(turn) for turn in session.turns]
    started = min(
        (turn.when for turn in session.turns if turn.when), key=lambda when: when.at, default=None
    )
    label = _label(session)
    blocks = []
    start = 0
    for turn, paragraph in zip(session.turns, paragraphs, strict=True):
        heading = ", ".join((*label, *_day(turn, started, session.session)))
        names = (Name(turn.speaker, Origin.SPEAKER, "person"),) if is_name(turn.speaker) else ()
        blocks.append(Block(start, start + len(paragraph), heading, whole=True, names=names))
        start += len(paragraph) + 2
    first_turn = {turn.speaker: n for n, turn in reversed(list(enumerate(session.turns)))}
    speakers = sorted(first_turn, key=first_turn.__getitem__)
    return Document(
        topic=topic,
        content="\n\n".join(paragraphs),
        kind="conversation",
        title=session.title or ", ".join(label),
        blocks=tuple(blocks),
        links=tuple(
            Link(f"topic:{topic}", "participant", name, block=first_turn[name])
            for name in speakers
            if is_name(name)
        ),
        metadata=_metadata(session.turns, speakers, started),
        valid_from=started.at if started else None,
    )


def is_name(speaker: str) -> bool:
    """Whether a speaker is called by a name rather than by a role."""
    return speaker.casefold() not in ROLES


def _paragraph(turn: Turn) -> str:
    time = turn.when.shown if turn.when else turn.written
    return f"[{time}] {turn.speaker}: {turn.text}" if time else f"{turn.speaker}: {turn.text}"


def _label(session: Session) -> list[str]:
    """The words that say which sitting this is: `conversation 0`, `session 3`."""
    name = session.title or session.conversation
    words = [f"conversation {name}" if name.isdigit() else name] if name else ["conversation"]
    if session.session:
        number = session.session.replace("_", " ")
        words.append(f"session {number}" if number.isdigit() else number)
    return words


def _day(turn: Turn, started: Moment | None, session: str) -> list[str]:
    moment = turn.when or started
    if moment is None or moment.day == session:
        return []
    return [moment.day]


def _metadata(
    turns: Sequence[Turn], speakers: Sequence[str], started: Moment | None
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"participants": list(speakers), "turns": len(turns)}
    written = next((turn.written for turn in turns if turn.written), None)
    if started or written:
        metadata["started"] = iso(started.at) if started else written
    if any(turn.id is not None for turn in turns):
        metadata["turn_ids"] = [turn.id for turn in turns]
    return metadata
