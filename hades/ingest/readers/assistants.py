"""Chats with assistants: ChatGPT and Claude exports, message lists, Claude Code transcripts.

Kept is what was said to and by the assistant. Tool calls, their results, hidden
instructions and thinking are not conversation and are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hades.ingest.readers.records import Bad, read_records
from hades.ingest.readers.turns import ROLES, Session, Turn, make_turn

_SPOKEN = frozenset({"user", "assistant"})
_NOT_SPOKEN_MARKS = ("isMeta", "isSidechain", "isCompactSummary")
_INSERTED = re.compile(
    r"<(system-reminder|command-[a-z]+|local-command-[a-z]+)>.*?</\1>", re.DOTALL
)
"""What the program, not the person, put into a user's message."""
_SPOKEN_CONTENT = frozenset({"text", "multimodal_text"})


def chatgpt(path: Path) -> Iterator[Session | Bad]:
    """A ChatGPT export: of each tree of messages, the branch that was open last."""
    for record in read_records(path):
        if isinstance(record, Bad):
            yield record
            continue
        chat = record.fields
        nodes = chat.get("mapping")
        if not isinstance(nodes, dict):
            yield Bad(record.where, "This is not a conversation with a `mapping` of messages.")
            continue
        turns = [
            turn
            for node in _branch(nodes, chat.get("current_node"))
            if (turn := _chatgpt_turn(node))
        ]
        name = chat.get("conversation_id") or chat.get("id") or chat.get("create_time")
        yield from _session(record.where, name, turns, chat.get("title"))


def claude(path: Path) -> Iterator[Session | Bad]:
    """A Claude export."""
    for record in read_records(path):
        if isinstance(record, Bad):
            yield record
            continue
        chat = record.fields
        messages = chat.get("chat_messages")
        if not isinstance(messages, list):
            yield Bad(record.where, "This is not a conversation with `chat_messages`.")
            continue
        turns = []
        for message in messages:
            if not isinstance(message, dict) or not isinstance(message.get("sender"), str):
                continue
            text = spoken_text(message.get("content")) or spoken_text(message.get("text"))
            if text:
                when = message.get("created_at") or chat.get("created_at")
                turns.append(make_turn(message["sender"], text, when, message.get("uuid")))
        yield from _session(record.where, chat.get("uuid"), turns, chat.get("name"))


def messages(path: Path) -> Iterator[Session | Bad]:
    """A list of `{role, content}`, or an object with `messages` a line or alone."""
    loose: list[Turn] = []
    for record in read_records(path):
        if isinstance(record, Bad):
            yield record
        elif isinstance(record.fields.get("messages"), list):
            number = record.where.rsplit(" ", 1)[-1]
            name = record.fields.get("id") or f"{path.stem}/{number}"
            turns = [t for m in record.fields["messages"] if (t := _message_turn(m))]
            yield from _session(record.where, name, turns, record.fields.get("title"))
        elif turn := _message_turn(record.fields):
            loose.append(turn)
        elif record.fields.get("role") not in ROLES:
            yield Bad(record.where, "A message needs a role and a content.")
    if loose:
        yield Session(str(path), path.stem, tuple(loose))


def is_transcript_line(value: dict[str, Any]) -> bool:
    """Whether this is a turn in a Claude Code transcript."""
    return value.get("type") in _SPOKEN and isinstance(value.get("message"), dict)


def transcript(path: Path) -> Iterator[Session | Bad]:
    """A Claude Code transcript: the main line, without tools, thinking and side chains."""
    gathered: dict[str, list[Turn]] = {}
    last_message: object = None
    for record in read_records(path):
        if isinstance(record, Bad):
            yield record
            continue
        line = record.fields
        if not is_transcript_line(line) or any(line.get(mark) for mark in _NOT_SPOKEN_MARKS):
            continue
        message = line["message"]
        text = _INSERTED.sub("", spoken_text(message.get("content"))).strip()
        if not text:
            continue
        turns = gathered.setdefault(str(line.get("sessionId") or path.stem), [])
        turn = make_turn(line["type"], text, line.get("timestamp"), line.get("uuid"))
        # One answer is written in several lines, a part each, under one message id.
        if turns and message.get("id") and message["id"] == last_message:
            first = turns.pop()
            text = f"{first.text}\n\n{turn.text}"
            turn = Turn(first.speaker, text, first.when, first.written, first.id)
        last_message = message.get("id")
        turns.append(turn)
    for session_id, turns in gathered.items():
        yield Session(str(path), session_id, tuple(turns))


def spoken_text(content: object) -> str:
    """The words of a message content: a text, or the text parts of a list."""
    if isinstance(content, str):
        return content.strip()
    if not isinstance(content, list):
        return ""
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, dict) and part.get("type", "text") in (
            "text",
            "input_text",
            "output_text",
        ):
            parts.append(part["text"] if isinstance(part.get("text"), str) else "")
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _session(where: str, name: object, turns: list[Turn], title: object) -> Iterator[Session | Bad]:
    """One conversation without sittings; one in which nothing was said is nothing."""
    if not isinstance(name, str | int | float) or not str(name):
        yield Bad(where, "The conversation has no id.")
    elif turns:
        shown = " ".join(title.split()) if isinstance(title, str) else ""
        yield Session(where, str(name), tuple(turns), title=shown)


def _branch(nodes: dict[str, Any], current: object) -> list[dict[str, Any]]:
    """From the root to the current message; without one, to the message written last."""
    if current not in nodes:
        parents = {node.get("parent") for node in nodes.values() if isinstance(node, dict)}
        # Of messages written at one time, the one that stands last.
        leaves = [key for key in reversed(nodes) if key not in parents]
        current = max(leaves, key=lambda key: _created(nodes[key]), default=None)
    branch: list[dict[str, Any]] = []
    seen: set[object] = set()
    while isinstance(current, str) and current not in seen:
        seen.add(current)
        node = nodes.get(current)
        if not isinstance(node, dict):
            break
        branch.append(node)
        current = node.get("parent")
    return branch[::-1]


def _created(node: object) -> float:
    message = node.get("message") if isinstance(node, dict) else None
    created = message.get("create_time") if isinstance(message, dict) else None
    return created if isinstance(created, int | float) else 0.0


def _chatgpt_turn(node: dict[str, Any]) -> Turn | None:
    message = node.get("message")
    if not isinstance(message, dict):
        return None
    author, content = message.get("author"), message.get("content")
    hidden = message.get("metadata")
    if (
        not isinstance(author, dict)
        or not isinstance(content, dict)
        or author.get("role") not in _SPOKEN
        or content.get("content_type") not in _SPOKEN_CONTENT
        or message.get("recipient", "all") != "all"
        or (isinstance(hidden, dict) and hidden.get("is_visually_hidden_from_conversation"))
    ):
        return None
    text = spoken_text(content.get("parts"))
    return (
        make_turn(author["role"], text, message.get("create_time"), message.get("id"))
        if text
        else None
    )


def _message_turn(message: object) -> Turn | None:
    if not isinstance(message, dict) or message.get("role") not in _SPOKEN | {
        "human",
        "model",
        "ai",
    }:
        return None
    text = spoken_text(message.get("content"))
    name = message.get("name")
    speaker = name if isinstance(name, str) and name.strip() else message["role"]
    when = message.get("timestamp") or message.get("created_at")
    return make_turn(speaker, text, when, message.get("id")) if text else None
