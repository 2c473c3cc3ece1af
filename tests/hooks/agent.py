"""A coding agent as the hooks see it: a home folder, a repository, and the command it runs."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hades.hooks import client as hook_client
from hades.project import make_project_folder


class Agent:
    """Runs hooks as the agents' programs do, with the real command and a real resident."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.repository = home / "repo"
        subprocess.run(["git", "init", "-q", str(self.repository)], check=True)
        self.folder = home / "state" / "hades" / "hooks"
        with patch.dict(os.environ, self.env(), clear=True):
            self.memory = make_project_folder(self.repository)

    def env(self) -> dict[str, str]:
        plain = {name: os.environ[name] for name in ("PATH", "HADES_THREADS") if name in os.environ}
        own = {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state")}
        return plain | own | {"HADES_HOOKS_IDLE_MINUTES": "1"}

    def run(
        self, client: str, event: str, payload: bytes, *more: str
    ) -> subprocess.CompletedProcess[bytes]:
        words = [sys.executable, "-I", "-S", hook_client.__file__, client, event, *more]
        return subprocess.run(words, input=payload, capture_output=True, env=self.env(), timeout=60)

    def hook(self, client: str, event: str, **fields: Any) -> dict[str, Any]:
        """Run a hook; return its answer. It must exit with 0 and say nothing else."""
        payload = {"cwd": str(self.repository)} | fields
        done = self.run(client, event, json.dumps(payload).encode())
        assert (done.returncode, done.stderr) == (0, b"")
        return dict(json.loads(done.stdout)) if done.stdout else {}

    def context(self, event: str, original: str, client: str = "claude-code", **more: Any) -> str:
        """Run a hook of Claude Code or Codex; return the context that it adds."""
        known = len(self.log())
        answer = self.hook(client, event, hook_event_name=original, **more)
        if not answer and any("within the time limit" in line for line in self.log()[known:]):
            answer = self.hook(client, event, hook_event_name=original, **more)  # a busy machine
        if not answer:
            return ""
        assert answer["hookSpecificOutput"]["hookEventName"] == original
        return str(answer["hookSpecificOutput"]["additionalContext"])

    def log(self) -> list[str]:
        path = self.folder / "hooks.log"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def last(self, words: str, after: int = 0) -> str:
        """Wait for a line of the log with these words, among those after the first `after`."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            lines = [line for line in self.log()[after:] if words in line]
            if lines:
                return lines[-1]
            time.sleep(0.02)
        raise AssertionError(f"no line with {words!r} in {self.log()[-5:]}")

    def resident(self) -> int:
        """Return the process that listens on the socket; 0 if none does."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
            path = self.folder / f"resident-{hook_client.PROTOCOL}.sock"
            if asking.connect_ex(str(path)) != 0:
                return 0
            found = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
            return int(struct.unpack("3i", found)[0])

    def stop(self) -> None:
        if process := self.resident():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    def transcript(self, session: str, *turns: tuple[str, str], client: str = "claude-code") -> str:
        """Append turns to a transcript where the client keeps it; return its path."""
        below = ".claude/projects/repo" if client == "claude-code" else ".codex/sessions/2026/11/17"
        path = self.home / below / f"{session}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            for speaker, text in turns:
                file.write(json.dumps(_line(client, session, speaker, text)) + "\n")
        return str(path)


def _line(client: str, session: str, speaker: str, text: str) -> dict[str, Any]:
    at = "2026-01-17T08:00:00.000Z"
    if client == "codex":
        kind = "user_message" if speaker == "user" else "agent_message"
        return {"timestamp": at, "type": "event_msg", "payload": {"type": kind, "message": text}}
    content: Any = text if speaker == "user" else [{"type": "text", "text": text}]
    message = {"role": speaker, "content": content}
    return {"type": speaker, "sessionId": session, "timestamp": at, "message": message}
