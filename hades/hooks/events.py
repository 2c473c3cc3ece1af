"""Events: the payloads of all clients as one type, and answers in the form of each client.

The fields follow the documentation of Claude Code (2.1.240), Codex (its JSON schemas of 2026-08)
and Cursor (2026-09). `docs/hooks.md` says which events each of them lacks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hades.context.text.tags import neutral_tags
from hades.errors import InvalidInput

CONTEXT_CHARACTERS_AT_MOST = 9_500
"""The most characters of an answer. Claude Code passes on 10,000 uncut, Codex about 2,500
tokens."""
SAID_CHARACTERS_AT_MOST = 20_000
"""Longer prompts and answers are cut to this length."""
FIELD_CHARACTERS_AT_MOST = 4_096
"""A longer path or name is ignored; Linux allows no longer path."""
FILES_AT_MOST = 50

_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.{1,400})$", re.MULTILINE)
"""The files of a patch, as Codex's tool `apply_patch` writes them."""
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_EDITING = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch"})
_SHELL = frozenset({"Bash", "Shell"})


@dataclass(frozen=True, slots=True)
class HookEvent:
    """One event of an agent's session."""

    client: str
    name: str
    """session-start, prompt, tool, turn-end, before-compact or session-end."""
    session: str
    cwd: str
    memory: str = ""
    """The memory that was given at the installation; "": the memory of the project."""
    config: str = ""
    """The folder of the client's configuration, if it is not the usual one."""
    original: str = ""
    """The client's name of the event."""
    source: str = ""
    """Why a session starts: startup, resume, clear, compact or fork."""
    prompt: str = ""
    answer: str = ""
    """The last message of the agent."""
    transcript: str = ""
    files: tuple[str, ...] = ()
    """The files that a tool edited."""
    failed: tuple[str, ...] = ()
    """The commands that failed, by their first lines."""


def read_event(client: str, name: str, memory: str, config: str, payload: bytes) -> HookEvent:
    """Return the event of a payload; raise InvalidInput if it is not as documented."""
    try:
        fields = json.loads(payload)
    except (ValueError, RecursionError) as error:
        raise InvalidInput("the payload is not JSON") from error
    if not isinstance(fields, dict):
        raise InvalidInput("the payload is not an object")
    session = _text(fields, "session_id") or _text(fields, "conversation_id")
    if not _SESSION.fullmatch(session):
        raise InvalidInput("the payload names no session")
    edited, failed = _tool(fields) if name == "tool" else ((), ())
    return HookEvent(
        client=client,
        name=name,
        session=session,
        cwd=_folder(fields),
        memory=memory,
        config=config,
        original=_text(fields, "hook_event_name"),
        source=_text(fields, "source"),
        prompt=_long_text(fields, "prompt"),
        answer=_long_text(fields, "last_assistant_message"),
        transcript=_text(fields, "transcript_path"),
        files=edited,
        failed=failed,
    )


def encode_answer(event: HookEvent, context: str) -> bytes:
    """Return the JSON that the client reads, with the context; b"" if there is nothing to say."""
    context = neutral_tags(context[:CONTEXT_CHARACTERS_AT_MOST])
    answer: dict[str, Any] = {}
    if event.client == "cursor":
        if event.name == "prompt":
            answer = {"continue": True}
        elif context:
            answer = {"additional_context": context}
    elif context:
        inner = {"hookEventName": event.original, "additionalContext": context}
        answer = {"hookSpecificOutput": inner}
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") if answer else b""


def takes_context(event: HookEvent) -> bool:
    """Return whether the client shows the answer to this event to its agent."""
    if event.client == "cursor":
        return event.name == "session-start"
    return event.name in ("session-start", "prompt")


def _long_text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return value[:SAID_CHARACTERS_AT_MOST].replace("\0", " ") if isinstance(value, str) else ""


def _text(fields: Mapping[str, Any], name: str) -> str:
    """Return a path or a name; "" if it cannot be one."""
    value = fields.get(name)
    fits = isinstance(value, str) and len(value) <= FIELD_CHARACTERS_AT_MOST and "\0" not in value
    return str(value) if fits else ""


def _folder(fields: Mapping[str, Any]) -> str:
    """Return the folder in which the agent works; Cursor lists those of its window."""
    roots = fields.get("workspace_roots")
    return _text({"cwd": roots[0]} if isinstance(roots, list) and roots else fields, "cwd")


def _tool(fields: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files that a tool edited and the commands that failed, without any content."""
    tool = _text(fields, "tool_name")
    given = fields.get("tool_input")
    given = given if isinstance(given, dict) else {}
    command = given.get("command")
    command = command.strip() if isinstance(command, str) else ""
    if _text(fields, "hook_event_name").lower().endswith("failure"):
        first = command.partition("\n")[0][:FIELD_CHARACTERS_AT_MOST]
        return (), (first,) if tool in _SHELL and first else ()
    named = _text(fields, "file_path") or _text(given, "file_path") or _text(given, "notebook_path")
    if tool == "apply_patch":
        return tuple(_PATCHED.findall(command)[:FILES_AT_MOST]), ()
    return ((named,) if named and (tool in _EDITING or not tool) else ()), ()
