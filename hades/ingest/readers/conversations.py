"""Conversations: chats of people and of assistants, in the forms they are exported in.

The form is told from the content, never from the name alone:

- JSON lines or an array of turns `{speaker, text, when, session, conversation, id}`,
- message lists `[{role, content}]`, alone or as `messages` of an object a line,
- ChatGPT and Claude exports (`conversations.json`), Claude Code transcripts,
- a WhatsApp text export, a Slack export (its folder, a channel's, or one day's file).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hades.domain.rules import clean_name
from hades.errors import InvalidInput
from hades.ingest.document import Document, Unreadable
from hades.ingest.readers import assistants, slack, whatsapp
from hades.ingest.readers.records import Bad, Record, read_records, text_field
from hades.ingest.readers.turns import ROLES, Session, Turn, make_turn, to_document

HEAD_BYTES = 64 * 1024

Sessions = Callable[[Path], Iterator[Session | Bad]]

_ROLE_KEY = re.compile(r'"role"\s*:\s*"(' + "|".join(sorted(ROLES)) + ')"')
_BETWEEN = re.compile(r"[\s,\[\]]*")
_TURN_KEYS = re.compile(r'"(speaker|text)"\s*:\s*"')
_CLIPPED: tuple[tuple[re.Pattern[str], Sessions], ...] = (
    (re.compile(r'"mapping"\s*:\s*\{\s*"[^"]+"\s*:\s*\{\s*"id"'), assistants.chatgpt),
    (re.compile(r'"chat_messages"\s*:\s*\['), assistants.claude),
)
"""How exports look whose first conversation is longer than the head."""


def looks_like_conversation(path: Path, head: bytes) -> bool:
    """Whether the file (by its first bytes) or the folder is a chat this room can read."""
    return _form(path, head) is not None


def read_conversations(path: Path, prefix: str) -> Iterator[Document | Bad]:
    """Every session as a document `prefix/conversation/session`."""
    sessions = _form(path, _head(path))
    if sessions is None:
        raise Unreadable(f"{path} is not a conversation in a form that is known.")
    first_seen: dict[str, str] = {}
    for session in sessions(path):
        if isinstance(session, Bad):
            yield session
            continue
        try:
            document = to_document(session, prefix)
        except InvalidInput as error:
            yield Bad(session.where, str(error))
            continue
        if document.topic in first_seen:
            why = f"{document.topic!r} was read already, from {first_seen[document.topic]}."
            yield Bad(session.where, why)
            continue
        first_seen[document.topic] = session.where
        yield document


def _head(path: Path) -> bytes:
    if path.is_dir():
        return b""
    try:
        with path.open("rb") as file:
            return file.read(HEAD_BYTES)
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.") from error


def _form(path: Path, head: bytes) -> Sessions | None:
    """The function that reads this form; None for what is no conversation."""
    if path.is_dir():
        return slack.folder if slack.looks_like_export(path) else None
    text = head.decode("utf-8", errors="replace").removeprefix("\ufeff").lstrip()
    if whatsapp.looks_like_export(path, text):
        return whatsapp.sessions
    if not text.startswith(("[", "{")):
        return None
    whole = list(first_objects(text))
    if not whole:
        return _form_of_clipped(text)
    return next((form for value in whole if (form := _form_of_object(value))), None)


def first_objects(text: str) -> Iterator[dict[str, Any]]:
    """The objects that stand whole in the first part of JSON lines or of an array."""
    decoder = json.JSONDecoder()
    position = 0
    while (match := _BETWEEN.match(text, position)) and match.end() < len(text):
        try:
            value, position = decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            position = text.find("\n{", match.end())
            if position < 0 or not text.startswith("{"):
                return
            continue
        if isinstance(value, dict):
            yield value


def _form_of_object(value: dict[str, Any]) -> Sessions | None:
    if isinstance(value.get("mapping"), dict) and ("current_node" in value or "title" in value):
        return assistants.chatgpt
    if isinstance(value.get("chat_messages"), list):
        return assistants.claude
    if assistants.is_transcript_line(value):
        return assistants.transcript
    if slack.is_message(value):
        return slack.day_file
    if _is_message(value):
        return assistants.messages
    listed = value.get("messages")
    if isinstance(listed, list) and listed and all(map(_is_message, listed)):
        return assistants.messages
    # A talk or a quotation has a speaker as well, but also a title: that is a corpus.
    if isinstance(value.get("speaker"), str) and "text" in value and "title" not in value:
        return _turn_records
    return None


def _is_message(value: object) -> bool:
    return isinstance(value, dict) and value.get("role") in ROLES and "content" in value


def _form_of_clipped(text: str) -> Sessions | None:
    for pattern, sessions in _CLIPPED:
        if pattern.search(text):
            return sessions
    start = text[:200]
    if re.match(r'(?:\[\s*)?\{\s*"(?:messages"\s*:\s*\[\s*\{\s*")?(?:role|content)"', start):
        return assistants.messages if _ROLE_KEY.search(text) else None
    turn_keys = {match[1] for match in _TURN_KEYS.finditer(start)}
    return _turn_records if turn_keys == {"speaker", "text"} else None


def _turn_records(path: Path) -> Iterator[Session | Bad]:
    """Sessions of turn records. They are gathered first: turns of several may be mixed."""
    gathered: dict[tuple[str, str], tuple[str, list[Turn]]] = {}
    for record in read_records(path):
        if isinstance(record, Bad):
            yield record
            continue
        try:
            conversation = text_field(record, "conversation") or path.stem
            session = text_field(record, "session") or ""
            turn = _turn(record)
        except InvalidInput as error:
            yield Bad(record.where, str(error))
            continue
        gathered.setdefault((conversation, session), (record.where, []))[1].append(turn)
    for (conversation, session), (where, turns) in gathered.items():
        yield Session(where, conversation, tuple(turns), session)


def _turn(record: Record) -> Turn:
    speaker = text_field(record, "speaker")
    text = text_field(record, "text")
    if speaker is None or text is None:
        raise InvalidInput("A turn needs a speaker and a text.")
    return make_turn(
        clean_name(speaker, "speaker"),
        text,
        record.fields.get("when"),
        text_field(record, "id"),
    )
