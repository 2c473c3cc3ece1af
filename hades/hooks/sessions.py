"""Sessions: what the hooks know about one session of an agent, kept in a small file.

A resident may end and start again within a session, so nothing is kept only in its memory.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import asdict, dataclass, field
from hashlib import sha256
from pathlib import Path

from hades.hooks.events import FILES_AT_MOST, HookEvent
from hades.hooks.redact import redact
from hades.serve.auth.keys import write_private

SHOWN_AT_MOST = 2_000
FAILED_AT_MOST = 20
KEPT_DAYS = 60
ASKED_CHARACTERS, ANSWERED_CHARACTERS = 300, 700


@dataclass(slots=True)
class HookSession:
    """The lines a session has seen, and what a checkpoint needs."""

    client: str
    session: str
    shown: list[str] = field(default_factory=list)
    """The ids of the lines that were added, so that none is added twice."""
    asked: str = ""
    answered: str = ""
    files: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    brief_change: int = -1
    """The memory's change number at the last brief; -1: there was none."""
    owed: str = ""
    """The transcript that could not be taken in yet."""

    def note_tool(self, event: HookEvent) -> None:
        """Note the files that a tool edited and the commands that failed."""
        root = event.cwd.rstrip("/") + "/"
        files = [path.removeprefix(root) for path in event.files]
        self.files = list(dict.fromkeys([*self.files, *files]))[-FILES_AT_MOST:]
        failed = [redact(command) for command in event.failed]
        self.failed = list(dict.fromkeys([*self.failed, *failed]))[-FAILED_AT_MOST:]

    def note_prompt(self, prompt: str) -> None:
        self.asked = cut(redact(prompt), ASKED_CHARACTERS)

    def checkpoint(self) -> str:
        """Return the text of a checkpoint; "" if there is nothing to say."""
        parts = {
            "Asked": self.asked,
            "Answered last": self.answered,
            "Files edited": ", ".join(self.files),
            "Commands that failed": "; ".join(self.failed),
        }
        return "\n".join(f"{name}: {text}" for name, text in parts.items() if text)


def cut(text: str, characters: int) -> str:
    """Return a text in one line, cut at a word."""
    text = " ".join(text.split())
    if len(text) <= characters:
        return text
    return text[:characters].rsplit(" ", 1)[0] + " …"


def load(folder: Path, client: str, session: str) -> HookSession:
    """Return what is known about a session; a new one if nothing is."""
    try:
        fields = json.loads(_file(folder, client, session).read_bytes())
        return HookSession(**fields)
    except (OSError, ValueError, TypeError):
        return HookSession(client, session)


def save(folder: Path, state: HookSession) -> None:
    """Write what is known about a session."""
    state.shown = state.shown[-SHOWN_AT_MOST:]
    path = _file(folder, state.client, state.session)
    path.parent.mkdir(mode=0o700, exist_ok=True)
    write_private(path, json.dumps(asdict(state), ensure_ascii=False).encode("utf-8", "replace"))


def owing(folder: Path) -> list[HookSession]:
    """Return the sessions whose transcript is still to be taken in; remove files of old ones."""
    sessions = []
    oldest = time.time() - KEPT_DAYS * 86_400
    for path in (folder / "sessions").glob("*.json"):
        try:
            if path.stat().st_mtime < oldest:
                os.unlink(path)
                continue
            state = HookSession(**json.loads(path.read_bytes()))
        except (OSError, ValueError, TypeError):
            continue
        if state.owed:
            sessions.append(state)
    return sessions


def _file(folder: Path, client: str, session: str) -> Path:
    name = sha256(f"{client}\0{session}".encode()).hexdigest()[:32]
    return folder / "sessions" / f"{name}.json"
