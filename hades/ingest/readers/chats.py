"""Chats of people and of assistants: one document per session.

Every format of export is first read into ChatSessions (chat_exports.py, messengers.py). The format
of a file is recognised by its content, never by its name alone. This module turns sessions into
documents, with one whole block per turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from hades.domain.rules import clean_name
from hades.domain.times import iso
from hades.ingest.document import Bad, Block, Document, IntroducedName, Link, Origin, Unreadable
from hades.ingest.readers import chat_exports, messengers
from hades.ingest.readers.chat_exports import ROLES, ChatSession, ChatTurn
from hades.ingest.readers.records import Record, converted, read_records
from hades.language.english.written_times import WrittenTime

HEAD_BYTES = 64 * 1024
RECORDS_LOOKED_AT = 50
"""A transcript may begin with lines that are not messages."""

ReadSessions = Callable[[Path], Iterator[ChatSession | Bad]]


def looks_like_chat(path: Path) -> bool:
    """Return whether the file or the folder is a chat of a known format."""
    return _form(path) is not None


def read_chats(path: Path, prefix: str) -> Iterator[Document | Bad]:
    """Yield each session as a document `prefix/conversation/session`, or a Bad if not valid."""
    yield from converted(read_sessions(path), lambda session: _document(session, prefix))


def read_sessions(path: Path) -> Iterator[ChatSession | Bad]:
    """Return the sessions of a chat; raise Unreadable if its format is not known."""
    form = _form(path)
    if form is None:
        raise Unreadable(f"{path} is not a conversation in a known format.")
    return form(path)


# Formats


def _form(path: Path) -> ReadSessions | None:
    """Return the function that reads the format of a path, or None if it is not a chat."""
    if path.is_dir():
        return messengers.slack_folder if messengers.is_slack_folder(path) else None
    if path.suffix.lower() == ".txt":
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES).decode("utf-8", errors="replace")
        return messengers.whatsapp if messengers.is_whatsapp(path, head) else None
    for record in islice(read_records(path), RECORDS_LOOKED_AT):
        if isinstance(record, Record) and (form := _form_of_object(record.fields)):
            return form
    return None


def _form_of_object(value: dict[str, Any]) -> ReadSessions | None:
    if isinstance(value.get("mapping"), dict) and ("current_node" in value or "title" in value):
        return chat_exports.chatgpt
    if isinstance(value.get("chat_messages"), list):
        return chat_exports.claude
    if chat_exports.is_transcript_line(value):
        return chat_exports.transcript
    if chat_exports.is_rollout_line(value):
        return chat_exports.rollout
    if messengers.is_slack_message(value):
        return messengers.slack_day
    listed = value.get("messages")
    if _is_message(value) or (
        isinstance(listed, list) and listed and all(map(_is_message, listed))
    ):
        return chat_exports.messages
    # A record with a title too, such as a talk, belongs to a corpus.
    if isinstance(value.get("speaker"), str) and "text" in value and "title" not in value:
        return chat_exports.turn_records
    return None


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and value.get("role") in ROLES and "content" in value


# Documents


def _document(session: ChatSession, prefix: str) -> Document:
    parts = (prefix, session.conversation, session.session)
    topic = clean_name("/".join(part for part in parts if part))
    paragraphs = [turn_text(turn) for turn in session.turns]
    times = [turn.when for turn in session.turns if turn.when]
    started = min(times, key=lambda when: when.at, default=None)
    label = _label(session)
    blocks: list[Block] = []
    first_turn: dict[str, int] = {}
    start = 0
    for number, (turn, paragraph) in enumerate(zip(session.turns, paragraphs, strict=True)):
        first_turn.setdefault(turn.speaker, number)
        heading = ", ".join((*label, *_day(turn, started, session.session)))
        blocks.append(Block(start, start + len(paragraph), heading, True, _names(turn.speaker)))
        start += len(paragraph) + 2
    return Document(
        topic=topic,
        content="\n\n".join(paragraphs),
        kind="conversation",
        title=session.title or ", ".join(label),
        blocks=tuple(blocks),
        links=tuple(
            Link(f"topic:{topic}", "participant", speaker, block=number)
            for speaker, number in first_turn.items()
            if _names(speaker)
        ),
        metadata=_metadata(session.turns, list(first_turn), started),
        valid_from=started.at if started else None,
    )


def _names(speaker: str) -> tuple[IntroducedName, ...]:
    """Return the speaker as the only name, or () if it is a role such as `user`."""
    is_role = speaker.casefold() in ROLES
    return () if is_role else (IntroducedName(speaker, Origin.SPEAKER, "person"),)


def turn_text(turn: ChatTurn) -> str:
    """Return a turn as a paragraph of a stored conversation: time, speaker and text."""
    time = turn.when.shown if turn.when else turn.written
    return f"[{time}] {turn.speaker}: {turn.text}" if time else f"{turn.speaker}: {turn.text}"


def _label(session: ChatSession) -> list[str]:
    """Return the parts of a session's name: `conversation 0`, `session 3`."""
    name = session.title or session.conversation
    words = [f"conversation {name}" if name.isdigit() else name] if name else ["conversation"]
    if session.session:
        number = session.session.replace("_", " ")
        words.append(f"session {number}" if number.isdigit() else number)
    return words


def _day(turn: ChatTurn, started: WrittenTime | None, session: str) -> list[str]:
    time = turn.when or started
    return [] if time is None or time.day == session else [time.day]


def _metadata(
    turns: Sequence[ChatTurn], speakers: list[str], started: WrittenTime | None
) -> dict[str, Any]:
    metadata: dict[str, Any] = {"participants": speakers, "turns": len(turns)}
    written = next((turn.written for turn in turns if turn.written), None)
    if started or written:
        metadata["started"] = iso(started.at) if started else written
    if any(turn.id is not None for turn in turns):
        metadata["turn_ids"] = [turn.id for turn in turns]
    return metadata
