"""Sessions: the state of the hooks for one session of an agent, in a small file.

A resident may end and start again within a session, so nothing is kept only in its memory.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

from hades.domain.distilled import SessionSummary
from hades.domain.plain import one_line
from hades.hooks.events import FILES_AT_MOST, HookEvent
from hades.language.english.small_talk import is_talk
from hades.language.redact import redact
from hades.store.drafts import write_private

SHOWN_AT_MOST = 2_000
FAILED_AT_MOST = 20
KEPT_DAYS = 60
ASKED_CHARACTERS = 300
ANSWERED_CHARACTERS = 700
FILE_CHARACTERS = 200
COMMAND_CHARACTERS = 80


@dataclass(slots=True)
class HookSession:
    """The lines that were added to a session, and the fields of its progress."""

    client: str
    session: str
    shown: list[str] = field(default_factory=list)
    """The ids of the lines that were added, so that none is added twice."""
    asked: str = ""
    answered: str = ""
    files: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    memory: str = ""
    """The memory file of its last event."""
    goal: str = ""
    """The first prompt that is not small talk."""
    distilled: int = 0
    """How many turns of the transcript are distilled already."""
    pending: str = ""
    """The path of the transcript that is still to be stored."""
    config: str = ""
    """The folder of the client's configuration, if it is not the usual one."""

    def note_tool(self, event: HookEvent) -> None:
        """Note the files that a tool edited and the commands that failed."""
        root = event.cwd.rstrip("/") + "/"
        files = [cut(path.removeprefix(root), FILE_CHARACTERS) for path in event.files]
        self.files = list(dict.fromkeys([*self.files, *files]))[-FILES_AT_MOST:]
        # Redacted before it is cut: half a key is not recognised.
        failed = [cut(redact(command), COMMAND_CHARACTERS) for command in event.failed]
        self.failed = list(dict.fromkeys([*self.failed, *failed]))[-FAILED_AT_MOST:]

    def note_prompt(self, prompt: str) -> None:
        """Keep a prompt as the last one, and as the goal if it is the first; ignore small talk."""
        if not is_talk(prompt):
            self.asked = cut(redact(prompt), ASKED_CHARACTERS)
            self.goal = self.goal or self.asked

    def progress(self, summary: SessionSummary | None) -> str:
        """Return the state of the work, for an agent whose context was compacted; "" if unknown.

        `summary` has the statements distilled from the session so far.
        """
        decided = summary.decided if summary else ()
        planned = summary.open if summary else ()
        parts = {
            "Goal": [self.goal],
            "Decided in this session": [line.text for line in decided if line.holds],
            "Files edited": [", ".join(self.files)],
            "Commands that failed": ["; ".join(self.failed)],
            "Planned next": [line.text for line in planned],
            "Asked last": [self.asked if self.asked != self.goal else ""],
            "Answered last": [self.answered],
        }
        lines = {name: " | ".join(filter(None, texts)) for name, texts in parts.items()}
        return "\n".join(f"{name}: {text}" for name, text in lines.items() if text)


def cut(text: str, characters: int) -> str:
    """Return a text in one line, without control characters, cut at a word."""
    text = one_line(" ".join(text.split()))
    if len(text) <= characters:
        return text
    return text[:characters].rsplit(" ", 1)[0] + " …"


class Sessions:
    """The files of all sessions, in one folder. Events of a session may come at the same time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()

    def read(self, client: str, session: str) -> HookSession:
        """Return the state of a session; a new one if it is not known."""
        return self._session_in(self._file(client, session)) or HookSession(client, session)

    @contextmanager
    def change(self, client: str, session: str) -> Iterator[HookSession]:
        """Yield the state of a session, and write it after the block."""
        with self._lock:
            state = self.read(client, session)
            yield state
            state.shown = state.shown[-SHOWN_AT_MOST:]
            self._folder.mkdir(mode=0o700, exist_ok=True)
            content = json.dumps(asdict(state), ensure_ascii=False)
            write_private(self._file(client, session), content.encode("utf-8", "replace"))

    def with_pending(self, memory: str) -> list[HookSession]:
        """Return the sessions of a memory whose transcript is still to be stored.

        Files of sessions that ended long ago are removed.
        """
        sessions = []
        oldest = time.time() - KEPT_DAYS * 86_400
        for path in self._folder.glob("*.json"):
            with suppress(OSError):
                if path.stat().st_mtime < oldest:
                    path.unlink()
            state = self._session_in(path)
            if state is not None and state.pending and state.memory == memory:
                sessions.append(state)
        return sessions

    def _file(self, client: str, session: str) -> Path:
        name = sha256(f"{client}\0{session}".encode()).hexdigest()[:32]
        return self._folder / f"{name}.json"

    @staticmethod
    def _session_in(path: Path) -> HookSession | None:
        try:
            return HookSession(**json.loads(path.read_bytes()))
        except (OSError, ValueError, TypeError):
            return None  # it is missing, or of another version
