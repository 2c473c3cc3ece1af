"""Chats with assistants, and turns as plain records, read into sessions of turns.

- JSON lines or an array of turns `{speaker, text, when, session, conversation, id}`,
- message lists `[{role, content}]`, alone or as `messages` of one object per line,
- ChatGPT and Claude exports (`conversations.json`), transcripts of Claude Code and Codex.

Only the conversation is kept, without tool calls, their results, hidden instructions and thinking.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hades.domain.rules import clean_name
from hades.errors import InvalidInput
from hades.ingest.document import Bad
from hades.ingest.readers.records import Record, converted, read_records, text_field
from hades.language.english.written_times import WrittenTime, read_written_time

WRITTEN_TIME_CHARACTERS_AT_MOST = 60

# Tuples rather than sets: a value of a file that is looked up in them may be unhashable.
ROLES = (
    "user",
    "human",
    "assistant",
    "system",
    "tool",
    "function",
    "developer",
    "ai",
    "bot",
    "model",
)
"""Speakers that are not names of persons. As names they would link all chats to each other."""


@dataclass(frozen=True, slots=True)
class ChatTurn:
    """One message of a chat."""

    speaker: str
    text: str
    when: WrittenTime | None = None
    written: str = ""
    """The time as text, if it could not be parsed."""
    id: str | None = None


@dataclass(frozen=True, slots=True)
class ChatSession:
    """The turns of one session, in order."""

    where: str
    conversation: str
    turns: tuple[ChatTurn, ...]
    session: str = ""
    """Empty if the conversation has only one session."""
    title: str = ""


Sessions = Iterator[ChatSession | Bad]


def make_turn(speaker: str, text: str, when: object = None, turn_id: object = None) -> ChatTurn:
    """Return a turn with trimmed texts. A `when` that cannot be parsed is kept in `written`."""
    time = read_written_time(when)
    unread = when.strip() if isinstance(when, str) and time is None else ""
    return ChatTurn(
        speaker=" ".join(speaker.split()),
        text=text.strip(),
        when=time,
        written=unread[:WRITTEN_TIME_CHARACTERS_AT_MOST],
        id=None if turn_id is None else str(turn_id),
    )


def _session(
    record: Record, name: object, turns: Sequence[ChatTurn], title: object
) -> ChatSession | None:
    """Return a conversation as one session, None without turns; InvalidInput without a name."""
    if not isinstance(name, str | int | float) or not str(name):
        raise InvalidInput("The conversation has no id.")
    shown = " ".join(title.split()) if isinstance(title, str) else ""
    return ChatSession(record.where, str(name), tuple(turns), title=shown) if turns else None


class Gathered:
    """Turns by conversation and session, because a file may mix several of them."""

    def __init__(self) -> None:
        self._sessions: dict[tuple[str, str], tuple[str, list[ChatTurn]]] = {}
        self.last_message: object = None
        """The id of the last message, which may continue in the next record."""

    def of(self, where: str, conversation: str, session: str = "") -> list[ChatTurn]:
        """Return the turns of a session, to append to. `where` is the place of its first turn."""
        return self._sessions.setdefault((conversation, session), (where, []))[1]

    def sessions(self) -> Iterator[ChatSession]:
        """Yield every session, in the order of their first turns."""
        for (conversation, session), (where, turns) in self._sessions.items():
            yield ChatSession(where, conversation, tuple(turns), session)


def _of_records(
    read: Callable[[Record, Path, Gathered], ChatSession | None],
) -> Callable[[Path], Sessions]:
    """Return a reader of files, given one of records that returns a session or gathers a turn.

    It yields the sessions that are whole records and a Bad for each invalid record, then the
    gathered sessions.
    """

    def sessions(path: Path) -> Sessions:
        gathered = Gathered()
        yield from converted(read_records(path), lambda record: read(record, path, gathered))
        yield from gathered.sessions()

    return sessions


# Turn records


@_of_records
def turn_records(record: Record, path: Path, gathered: Gathered) -> None:
    """Read records with a speaker and a text."""
    conversation = text_field(record, "conversation") or path.stem
    session = text_field(record, "session") or ""
    speaker = text_field(record, "speaker")
    text = text_field(record, "text")
    if speaker is None or text is None:
        raise InvalidInput("A turn needs a speaker and a text.")
    clean_name(speaker, "speaker")
    turn = make_turn(speaker, text, record.fields.get("when"), text_field(record, "id"))
    gathered.of(record.where, conversation, session).append(turn)


# Assistants

_SPOKEN_ROLES = ("user", "assistant", "human", "model", "ai")
_SPOKEN_PARTS = ("text", "input_text", "output_text")
_NOT_SPOKEN_MARKS = ("isMeta", "isSidechain", "isCompactSummary")
_INSERTED = re.compile(r"<(/?)(system-reminder|command-[a-z]+|local-command-[a-z]+)>")
"""Tags around text that the program, not the user, put into a user's message."""


def _without_inserted(text: str) -> str:
    """Remove the text between an inserted tag and its closing tag from a message."""
    marks = list(_INSERTED.finditer(text))
    last = {mark[2]: mark.start() for mark in marks if mark[1]}
    kept = []
    at = 0
    for mark in marks:
        if not mark[1] and at <= mark.start() < last.get(mark[2], 0):
            kept.append(text[at : mark.start()])
            at = text.index(f"</{mark[2]}>", mark.end()) + len(f"</{mark[2]}>")
    return "".join(kept) + text[at:]


def _spoken_text(content: object) -> str:
    """Return the text of a message, given as a text or a list of parts; "" if it has none."""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    parts = []
    for part in content:
        if isinstance(part, dict) and part.get("type", "text") in _SPOKEN_PARTS:
            part = part.get("text")
        if isinstance(part, str) and part.strip():
            parts.append(part.strip())
    return "\n\n".join(parts)


@_of_records
def chatgpt(record: Record, _path: Path, _gathered: Gathered) -> ChatSession | None:
    """Read the conversations of a ChatGPT export: the current branch of messages of each."""
    chat = record.fields
    nodes = chat.get("mapping")
    if not isinstance(nodes, dict):
        raise InvalidInput("This is not a conversation with a `mapping` of messages.")
    branch = _branch(nodes, chat.get("current_node"))
    turns = [turn for message in branch if (turn := _chatgpt_turn(message))]
    name = chat.get("conversation_id") or chat.get("id") or chat.get("create_time")
    return _session(record, name, turns, chat.get("title"))


def _branch(nodes: dict[str, Any], current: object) -> list[dict[str, Any]]:
    """Return the messages from the root to `current`, or to the latest leaf if it is unknown."""
    messages = {
        key: node["message"] if isinstance(node.get("message"), dict) else {}
        for key, node in nodes.items()
        if isinstance(node, dict)
    }
    parents = {key: nodes[key].get("parent") for key in messages}
    if not isinstance(current, str) or current not in nodes:
        # If times are equal, the last one in the file wins.
        leaves = [key for key in reversed(messages) if key not in parents.values()]
        current = max(leaves, key=lambda key: _created(messages[key]), default=None)
    branch: list[dict[str, Any]] = []
    seen: set[object] = set()
    while isinstance(current, str) and current in messages and current not in seen:
        seen.add(current)
        branch.append(messages[current])
        current = parents[current]
    return branch[::-1]


def _created(message: dict[str, Any]) -> float:
    created = message.get("create_time")
    return created if isinstance(created, int | float) else 0.0


def _chatgpt_turn(message: dict[str, Any]) -> ChatTurn | None:
    author, content, hidden = (message.get(key) for key in ("author", "content", "metadata"))
    if (
        not isinstance(author, dict)
        or not isinstance(content, dict)
        or author.get("role") not in ("user", "assistant")
        or content.get("content_type") not in ("text", "multimodal_text")
        or message.get("recipient", "all") != "all"
        or (isinstance(hidden, dict) and hidden.get("is_visually_hidden_from_conversation"))
    ):
        return None
    text = _spoken_text(content.get("parts"))
    when = message.get("create_time")
    turn_id = message.get("id")
    return make_turn(author["role"], text, when, turn_id) if text else None


@_of_records
def claude(record: Record, _path: Path, _gathered: Gathered) -> ChatSession | None:
    """Read the conversations of a Claude export."""
    chat = record.fields
    listed = chat.get("chat_messages")
    if not isinstance(listed, list):
        raise InvalidInput("This is not a conversation with `chat_messages`.")
    turns = []
    for message in listed:
        if not isinstance(message, dict) or not isinstance(message.get("sender"), str):
            continue
        text = _spoken_text(message.get("content")) or _spoken_text(message.get("text"))
        if text:
            when = message.get("created_at") or chat.get("created_at")
            turns.append(make_turn(message["sender"], text, when, message.get("uuid")))
    return _session(record, chat.get("uuid"), turns, chat.get("name"))


@_of_records
def messages(record: Record, path: Path, gathered: Gathered) -> ChatSession | None:
    """Read objects with `messages`, each a session, and `{role, content}` records, all in one."""
    listed = record.fields.get("messages")
    if isinstance(listed, list):
        number = record.where.rsplit(" ", 1)[-1]
        name = record.fields.get("id") or f"{path.stem}/{number}"
        turns = [turn for message in listed if (turn := _message_turn(message))]
        return _session(record, name, turns, record.fields.get("title"))
    if turn := _message_turn(record.fields):
        gathered.of(str(path), path.stem).append(turn)
    elif record.fields.get("role") not in ROLES:
        raise InvalidInput("A message needs a role and a content.")
    return None


def _message_turn(message: object) -> ChatTurn | None:
    if not isinstance(message, dict) or message.get("role") not in _SPOKEN_ROLES:
        return None
    text = _spoken_text(message.get("content"))
    name = message.get("name")
    speaker = name if isinstance(name, str) and name.strip() else message["role"]
    when = message.get("timestamp") or message.get("created_at")
    return make_turn(speaker, text, when, message.get("id")) if text else None


def is_transcript_line(value: dict[str, Any]) -> bool:
    """Return whether a record is a turn in a Claude Code transcript."""
    return value.get("type") in ("user", "assistant") and isinstance(value.get("message"), dict)


@_of_records
def transcript(record: Record, path: Path, gathered: Gathered) -> None:
    """Read the lines of a Claude Code transcript, without tools, thinking and side chains."""
    line = record.fields
    if not is_transcript_line(line) or any(line.get(mark) for mark in _NOT_SPOKEN_MARKS):
        return
    message = line["message"]
    text = _without_inserted(_spoken_text(message.get("content"))).strip()
    if not text:
        return
    turns = gathered.of(str(path), str(line.get("sessionId") or path.stem))
    # An answer is written in several lines, one per part, with the same message id.
    if turns and message.get("id") and message["id"] == gathered.last_message:
        turns[-1] = replace(turns[-1], text=f"{turns[-1].text}\n\n{text}")
    else:
        turns.append(make_turn(line["type"], text, line.get("timestamp"), line.get("uuid")))
    gathered.last_message = message.get("id")


_ROLLOUT_SPEAKERS = {"user_message": "user", "agent_message": "assistant"}


def is_rollout_line(value: dict[str, Any]) -> bool:
    """Return whether a record is a message in a Codex transcript (a rollout)."""
    payload = value.get("payload")
    return (
        value.get("type") == "event_msg"
        and isinstance(payload, dict)
        and payload.get("type") in list(_ROLLOUT_SPEAKERS)
        and isinstance(payload.get("message"), str)
    )


@_of_records
def rollout(record: Record, path: Path, gathered: Gathered) -> None:
    """Read the lines of a Codex transcript, without tools and reasoning."""
    line = record.fields
    if is_rollout_line(line) and line["payload"]["message"].strip():
        payload = line["payload"]
        speaker = _ROLLOUT_SPEAKERS[payload["type"]]
        turn = make_turn(speaker, payload["message"], line.get("timestamp"))
        gathered.of(str(path), path.stem).append(turn)
