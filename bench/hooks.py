"""Hooks: how long a prompt takes through the real command, and a replayed day of an agent."""

from __future__ import annotations

import json
import os
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import hades
from bench.table import note, percentiles, show
from hades.hooks import client as hook_client

EVALS = Path(__file__).parent.parent / "evals"
CALLS, CALLS_SMALL = 200, 40


def run(*, small: bool = False) -> None:
    """Measure prompts on the notes of the set `studio`, some hundred, beside a bare start."""
    with agent_home() as (home, repository):
        _remember_studio(repository)
        payload = {"session_id": "bench-0", "cwd": str(repository), "source": "startup"}
        hook(home, "session-start", payload | {"hook_event_name": "SessionStart"})
        wait_for(home, "later")
        lines = (EVALS / "hooks" / "studio_prompts.jsonl").read_text("utf-8").splitlines()
        prompts = [json.loads(line)["prompt"] for line in lines]
        calls = CALLS_SMALL if small else CALLS
        fields = {"cwd": str(repository), "hook_event_name": "UserPromptSubmit"}

        def ask(number: int) -> None:
            prompt = f"{prompts[number % len(prompts)]} ({number})"  # no answer is cached
            hook(home, "prompt", fields | {"session_id": f"bench-{number}", "prompt": prompt})

        def start(_number: int) -> None:
            words = [sys.executable, "-I", "-S", "-c", "import os, signal, socket, sys, time"]
            subprocess.run(words, check=True)

        ask(calls)
        resident = _resident(home)
        rows = []
        for name, call in {"a prompt": ask, "the interpreter's start in it": start}.items():
            before = _processor_s(), _processor_s(resident)
            median, most = percentiles(call, range(calls))
            used = [_processor_s() - before[0], _processor_s(resident) - before[1]]
            times = f"{median / 1000:.0f} ms", f"{most / 1000:.0f} ms"
            rows.append((name, *times, *(f"{seconds / calls * 1000:.0f} ms" for seconds in used)))
        inside = sorted(_resident_ms(home)[-calls:])
        rows.append(("the resident's work in it", f"{inside[len(inside) // 2]} ms", "", "", ""))
    head = ("", "p50", "p99", "processor: command", "processor: resident")
    show(f"Hooks: {calls} prompts, 309 notes, load {os.getloadavg()[0]:.1f}", head, rows)


@contextmanager
def agent_home() -> Iterator[tuple[Path, Path]]:
    """Yield a home folder and a repository in it, for hooks that leave the user's own alone."""
    # A short path: that of a unix socket has at most 107 bytes.
    with tempfile.TemporaryDirectory(prefix="hades-") as folder:
        home = Path(folder)
        repository = home / "mossgate"
        subprocess.run(["git", "init", "-q", str(repository)], check=True)
        try:
            with patch.dict(os.environ, env(home)):  # its memories are in this home, too
                yield home, repository
        finally:
            wait_until_ended(home)


def hook(home: Path, event: str, payload: dict[str, Any]) -> dict[str, Any]:
    """Run the installed command with a payload; return its answer."""
    words = [sys.executable, "-I", "-S", hook_client.__file__, "claude-code", event]
    done = subprocess.run(
        words, input=json.dumps(payload).encode(), capture_output=True, check=True, env=env(home)
    )
    return dict(json.loads(done.stdout)) if done.stdout else {}


def env(home: Path) -> dict[str, str]:
    """Return the environment of an agent with this home folder."""
    own = {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    own["XDG_DATA_HOME"] = str(home / "data")
    return os.environ | own | {"HADES_HOOKS_IDLE_MINUTES": "0.4", "HADES_ANSWER_CACHE_MB": "0"}


def log_of(home: Path) -> list[str]:
    """Return the lines of the hooks' log."""
    path = home / "state" / "hades" / "hooks" / "hooks.log"
    return path.read_text("utf-8").splitlines() if path.exists() else []


def wait_for(home: Path, words: str, count: int = 1, seconds: float = 120) -> None:
    """Wait until so many lines of the log have these words."""
    until = time.monotonic() + seconds
    while sum(words in line for line in log_of(home)) < count and time.monotonic() < until:
        time.sleep(0.05)


def wait_until_ended(home: Path, seconds: float = 60) -> None:
    """Wait until the resident has ended because nobody calls."""
    place = home / "state" / "hades" / "hooks" / f"resident-{hook_client.PROTOCOL}.sock"
    until = time.monotonic() + seconds
    while place.exists() and time.monotonic() < until:
        time.sleep(0.1)


def _remember_studio(repository: Path) -> None:
    from hades.project import make_project_folder

    note("remembering")
    events = (EVALS / "studio" / "events.jsonl").read_text("utf-8").splitlines()
    with hades.open(make_project_folder(repository)) as memory:
        with memory.batch():
            for event in map(json.loads, events):
                if event["op"] == "remember":
                    since = event.get("valid_from") or event["at"]
                    memory.remember(event["topic"], event["content"], valid_from=since)
        memory.index()


def _resident(home: Path) -> int:
    """Return the number of the resident's process."""
    path = home / "state" / "hades" / "hooks" / f"resident-{hook_client.PROTOCOL}.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.connect(str(path))
        size = struct.calcsize("3i")
        peer = asking.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    return int(struct.unpack("3i", peer)[0])


def _processor_s(process: int | None = None) -> float:
    """Return the processor time of a process, or of the commands that this one has run."""
    if process is None:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _resident_ms(home: Path) -> list[int]:
    lines = [line.split(" ", 3) for line in log_of(home)]
    return [int(line[3].split()[0]) for line in lines if line[2] == "prompt" and "added" in line[3]]
