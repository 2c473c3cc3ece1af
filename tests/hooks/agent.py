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
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch

from hades.hooks import client as hook_client
from hades.project import make_project_folder

Result = TypeVar("Result")
ROOT = Path(__file__).parent.parent.parent
PATIENT_COMMAND = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("client", {hook_client.__file__!r})
client = importlib.util.module_from_spec(spec)
spec.loader.exec_module(client)
client.LIMIT_S = dict.fromkeys(client.LIMIT_S, 60.0)
client.main(sys.argv[1:])
"""
"""The real command, but for its limits of time."""
PATIENT_RESIDENT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from hades.hooks import handlers, lines, resident
handlers.WAIT_S = 60.0
lines.PLAN["budget"]["latency_ms"] = 60_000
resident.main()
"""


class Agent:
    """Runs hooks as the agents' programs do, with the real command and a real resident.

    Both wait as long as a machine busy with other tests needs.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.repository = home / "repo"
        subprocess.run(["git", "init", "-q", str(self.repository)], check=True)
        self.folder = home / "state" / "hades" / "hooks"
        with patch.dict(os.environ, self.env(), clear=True):
            self.memory = make_project_folder(self.repository)

    def start(self) -> None:
        """Start the resident, and return when it listens."""
        words = [sys.executable, "-I", "-c", PATIENT_RESIDENT]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._started = subprocess.Popen(words, env=self.env(), start_new_session=True, **quiet)
        self._until(self.resident, "the resident does not listen")

    def env(self) -> dict[str, str]:
        plain = {name: os.environ[name] for name in ("PATH", "HADES_THREADS") if name in os.environ}
        own = {"HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state")}
        return plain | own | {"HADES_HOOKS_IDLE_MINUTES": "10"}

    def run(
        self, client: str, event: str, payload: bytes, *more: str
    ) -> subprocess.CompletedProcess[bytes]:
        words = [sys.executable, "-I", "-S", "-c", PATIENT_COMMAND, client, event, *more]
        return subprocess.run(words, input=payload, capture_output=True, env=self.env(), timeout=60)

    def hook(self, client: str, event: str, **fields: Any) -> dict[str, Any]:
        """Run a hook; return its answer. It must exit with 0 and say nothing else."""
        payload = {"cwd": str(self.repository)} | fields
        known = self._sessions(), len(self.log())
        done = self.run(client, event, json.dumps(payload).encode())
        assert (done.returncode, done.stderr) == (0, b"")
        if event == "prompt":
            # The resident notes what it showed after the answer; the next event relies on it.
            self._until(lambda: self._is_handled(*known), "the prompt is not noted")
        return dict(json.loads(done.stdout)) if done.stdout else {}

    def context(self, event: str, original: str, client: str = "claude-code", **more: Any) -> str:
        """Run a hook of Claude Code or Codex; return the context that it adds."""
        answer = self.hook(client, event, hook_event_name=original, **more)
        if not answer:
            return ""
        assert answer["hookSpecificOutput"]["hookEventName"] == original
        return str(answer["hookSpecificOutput"]["additionalContext"])

    def log(self) -> list[str]:
        path = self.folder / "hooks.log"
        return path.read_text("utf-8").splitlines() if path.exists() else []

    def last(self, words: str, after: int = 0) -> str:
        """Wait for a line of the log with these words, among those after the first `after`."""

        def lines() -> list[str]:
            return [line for line in self.log()[after:] if words in line]

        return self._until(lines, f"no line with {words!r}")[-1]

    def _sessions(self) -> dict[Path, int]:
        """Return when each session was written last."""
        return {path: path.stat().st_mtime_ns for path in self.folder.glob("sessions/*.json")}

    def _is_handled(self, sessions: dict[Path, int], lines: int) -> bool:
        return self._sessions() != sessions or any("failed" in line for line in self.log()[lines:])

    def _until(self, result: Callable[[], Result], lacks: str) -> Result:
        """Wait for a result that is true, and return it."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            if found := result():
                return found
            time.sleep(0.02)
        raise AssertionError(f"{lacks}: {self.log()[-5:]}")

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
        self._started.kill()
        self._started.wait()

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
