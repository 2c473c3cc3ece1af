"""Transcripts: store the conversation of a session, redacted, through the write gate.

Only the transcript that the payload names is read, and only if it is this user's own file in the
folder where the client keeps its transcripts. A transcript that grew is a new version of the same
topic; an unchanged one adds no version.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from hades.domain.plain import counted
from hades.errors import Denied, InvalidInput
from hades.hooks.redact import redact_counted
from hades.hooks.sessions import HookSession
from hades.ingest.readers.chat_exports import ChatSession, ChatTurn
from hades.ingest.readers.chats import read_sessions
from hades.lifecycle.gate import nothing_new
from hades.memory import Memory

FOLDERS = {
    "claude-code": (".claude", "projects"),
    "codex": (".codex", "sessions"),
}
"""The folder of a client below the home folder, and its folder of transcripts."""
BYTES_AT_MOST = 64 * 1024 * 1024
"""A larger transcript is read from its end."""
CHARACTERS_AT_MOST = 300_000
"""A longer conversation is cut to its end."""
PREFIX = "conversations"


def topic_of(session: str) -> str:
    """Return the topic of a session's conversation."""
    return f"{PREFIX}/{session}"


def store(memory: Memory, state: HookSession) -> str:
    """Remember the conversation of a session's transcript; return a short report for the log.

    The write gate sees each turn, for small talk and output of HADES, and the whole.
    """
    with _opened(state.client, state.pending, state.config) as path:
        sessions = [part for part in read_sessions(path) if isinstance(part, ChatSession)]
    turns = [turn for session in sessions for turn in session.turns]
    turns = [turn for turn in turns if not nothing_new("", turn.text, ())]
    if not turns:
        return "not stored: it says nothing new"
    text, kept, secrets = _conversation(turns)
    times = [turn.when.at for turn in turns if turn.when and turn.when.at < datetime.now(UTC)]
    before = memory.change
    memory.remember(
        topic_of(state.session),
        text,
        tags=["session"],
        metadata={"client": state.client, "turns": len(turns)},
        valid_from=min(times, default=None),
        kind="conversation",
        gate=True,
    )
    if memory.change == before:
        return "the conversation was stored before"
    memory.index()
    report = f"stored {counted(kept, 'turn')}"
    return f"{report}, redacted {counted(secrets, 'secret')}" if secrets else report


def _conversation(turns: list[ChatTurn]) -> tuple[str, int, int]:
    """Return the last turns as a text, how many they are, and how many secrets were replaced."""
    paragraphs: list[str] = []
    size = secrets = 0
    for turn in reversed(turns):
        text, count = redact_counted(turn.text[:CHARACTERS_AT_MOST])
        size += len(text)
        if paragraphs and size > CHARACTERS_AT_MOST:
            break
        paragraphs.append(f"{turn.speaker}: {text}")
        secrets += count
    return "\n\n".join(reversed(paragraphs)), len(paragraphs), secrets


@contextmanager
def _opened(client: str, transcript: str, config: str) -> Iterator[Path]:
    """Check that a transcript may be read, and yield a file with its end."""
    folder_name, below = FOLDERS.get(client, ("", ""))
    if not transcript or not folder_name:
        raise InvalidInput("the payload names no transcript of a known format")
    folder = os.path.realpath(Path(config or Path.home() / folder_name) / below)
    path = os.path.realpath(transcript)
    if os.path.commonpath([folder, path]) != folder:
        raise Denied("the transcript is not in the client's folder")
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError as error:
        raise InvalidInput(f"the transcript cannot be read: {error.strerror}") from error
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise Denied("the transcript is not a file of this user")
        if status.st_size <= BYTES_AT_MOST:
            yield Path(path)
            return
        file.seek(-BYTES_AT_MOST, os.SEEK_END)
        file.readline(BYTES_AT_MOST)
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as end:
            while part := file.read(1024 * 1024):
                end.write(part)
            end.flush()
            yield Path(end.name)
