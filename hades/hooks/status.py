"""Status: the installed hooks, and the last runs of each event."""

from __future__ import annotations

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path

from hades.errors import HadesError
from hades.hooks import client as hook_client
from hades.hooks.install import InstalledHooks, installed
from hades.project import FOLDER, LEFT_BEHIND, memories_left, project_memory

LOG_BYTES_READ = 2 * hook_client.LOG_BYTES_AT_MOST
_LINE = re.compile(r"(\S+) (\S+) (\S+) (.*)")
_RAN = re.compile(r"(\d+) ms, added (\d+) characters, (.*)")


@dataclass(slots=True)
class EventRuns:
    """The runs of one event of a client, as far as the log goes back."""

    client: str
    event: str
    runs: int = 0
    failures: int = 0
    last: str = ""
    """The time of the last run or failure."""
    ms: int | None = None
    """The milliseconds of the last run in the resident."""
    characters: int | None = None
    """The characters that the last run added to the agent's context."""
    added: int = 0
    """The characters that all runs added."""
    message: str = ""
    """The message in the last line of the log."""


@dataclass(frozen=True, slots=True)
class HooksStatus:
    """The result of `hades hooks status`."""

    memory: str
    """The path of the project's memory; "" if the hooks use none."""
    note: str
    """Why the hooks use no memory, or that it is not made yet; else ""."""
    left: list[str]
    """Memories of this repository under its earlier paths."""
    log: str
    resident: bool
    """Whether the resident runs now."""
    installed: list[InstalledHooks]
    events: list[EventRuns]


def hooks_status(here: Path) -> HooksStatus:
    """Return the hooks of this user and of the project `here`, and their runs."""
    log = Path(hook_client.private_folder(), "hooks.log")
    memory, note, left = _memory(here)
    return HooksStatus(memory, note, left, str(log), is_running(), [*installed(here)], _runs(log))


def _memory(here: Path) -> tuple[str, str, list[str]]:
    """Return the memory of the project, a note about it, and the memories of its earlier paths."""
    if not (here / ".git").exists():
        return "", f"{here} is not a repository", []
    try:
        memory = project_memory(here)
        if memory.exists():
            return str(memory), "", []
        left = [str(place) for place in memories_left(here)]
        if (here / FOLDER / memory.name).exists():
            return "", LEFT_BEHIND, left
        return str(memory), "not made yet", left
    except HadesError as error:
        return "", str(error), []


def is_running() -> bool:
    """Return whether a resident listens."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            return asking.connect_ex(hook_client.socket_path()) == 0
        except OSError:
            return False  # the path is too long for a socket


def _runs(log: Path) -> list[EventRuns]:
    runs: dict[tuple[str, str], EventRuns] = {}
    for path in (log.with_name(f"{log.name}.1"), log):
        for line in _lines(path):
            if (parts := _LINE.fullmatch(line)) is not None:
                _count(runs, *parts.groups())
    return sorted(runs.values(), key=lambda run: (run.client, run.event))


def _count(
    runs: dict[tuple[str, str], EventRuns], at: str, client: str, event: str, message: str
) -> None:
    run = runs.setdefault((client, event), EventRuns(client, event))
    run.last = at
    run.message = message
    if (ran := _RAN.fullmatch(message)) is not None:
        run.runs += 1
        run.ms = int(ran[1])
        run.characters = int(ran[2])
        run.message = ran[3]
        run.added += run.characters
    elif message.startswith("failed"):
        run.failures += 1


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - LOG_BYTES_READ))
            return file.read(LOG_BYTES_READ).decode("utf-8", "replace").splitlines()
    except OSError:
        return []
