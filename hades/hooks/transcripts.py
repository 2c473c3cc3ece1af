"""Transcripts: store the conversation of a session, redacted, and distil its new turns.

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
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hades.domain.plain import counted
from hades.errors import Denied, InvalidInput
from hades.hooks.sessions import HookSession
from hades.ingest.readers.chat_exports import ChatSession, ChatTurn
from hades.ingest.readers.chats import read_sessions, turn_text
from hades.language.english.small_talk import is_talk
from hades.language.redact import redact_counted
from hades.lifecycle.gate import is_context
from hades.memory import Memory

FOLDERS = {
    "claude-code": (".claude", "projects"),
    "codex": (".codex", "sessions"),
}
"""The folder of each client below the home folder, and the folder of transcripts in it."""
BYTES_AT_MOST = 64 * 1024 * 1024
"""A larger transcript is read from its end."""
CHARACTERS_AT_MOST = 300_000
"""A longer conversation is cut to its end."""
PREFIX = "conversations"


def topic_of(session: str) -> str:
    """Return the topic of a session's conversation."""
    return f"{PREFIX}/{session}"


def store(memory: Memory, state: HookSession) -> str:
    """Store the transcript of a session as a conversation, and distil its new turns.

    Output of HADES is left out. A conversation of small talk only is not stored. Set
    `state.distilled` to the number of turns that were read. Return a short report for the log.
    """
    with _opened(state.client, state.pending, state.config) as path:
        sessions = [part for part in read_sessions(path) if isinstance(part, ChatSession)]
    turns = [turn for session in sessions for turn in session.turns if not is_context(turn.text)]
    if all(is_talk(turn.text) for turn in turns):
        return "not stored: it says nothing new"
    newest, secrets = _newest(turns)
    times = [turn.when.at for turn in newest if turn.when and turn.when.at < datetime.now(UTC)]
    before = memory.log(1)
    topic = topic_of(state.session)
    memory.remember(
        topic,
        "\n\n".join(map(turn_text, newest)),
        tags=["session"],
        metadata={
            "client": state.client,
            "turns": len(newest),
            "files": state.files,
            "failed": state.failed,
        },
        valid_from=min(times, default=None),
        kind="conversation",
        gate=True,
    )
    if memory.log(1) == before:
        return "the conversation was stored before"
    report = f"stored {counted(len(newest), 'turn')}"
    done = memory.distil(glob=topic, from_turn=max(0, state.distilled - (len(turns) - len(newest))))
    state.distilled = len(turns)
    memory.index()
    report += f", kept {counted(len(done.statements), 'statement')}"
    return f"{report}, redacted {counted(secrets, 'secret')}" if secrets else report


def _newest(turns: list[ChatTurn]) -> tuple[list[ChatTurn], int]:
    """Return the last turns that fit, with secrets replaced, and the number of these secrets."""
    newest: list[ChatTurn] = []
    size = secrets = 0
    for turn in reversed(turns):
        text, count = redact_counted(turn.text[:CHARACTERS_AT_MOST])
        size += len(text)
        if newest and size > CHARACTERS_AT_MOST:
            break
        newest.append(replace(turn, text=text))
        secrets += count
    return newest[::-1], secrets


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
