"""Writing the line of configuration each client needs, into the file it reads.

Where the files are and how they look is as the clients document it (2026-11). Whatever else
is in a file stays; the old file is kept beside the new one, and the new one appears whole
or not at all. What is not plain JSON is left alone.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hades.domain.rules import clean_name
from hades.errors import Conflict, InvalidInput, Unavailable

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Client:
    """A program that uses MCP servers, and where it says which."""

    title: str
    key: str
    """The object of its file that holds the servers."""
    typed: bool
    """Its entries say `"type": "stdio"`."""
    file: tuple[str, ...]
    """Below the home folder; `{application}` is where the system keeps applications' data."""
    here: tuple[str, ...] | None = None
    """Below a project's folder, where it reads one there."""


CLIENTS = {
    "claude-code": Client("Claude Code", "mcpServers", True, (".claude.json",), (".mcp.json",)),
    "claude-desktop": Client(
        "Claude Desktop",
        "mcpServers",
        False,
        ("{application}", "Claude", "claude_desktop_config.json"),
    ),
    "cursor": Client(
        "Cursor", "mcpServers", False, (".cursor", "mcp.json"), (".cursor", "mcp.json")
    ),
    "vscode": Client(
        "VS Code",
        "servers",
        True,
        ("{application}", "Code", "User", "mcp.json"),
        (".vscode", "mcp.json"),
    ),
    "windsurf": Client(
        "Windsurf", "mcpServers", False, (".codeium", "windsurf", "mcp_config.json")
    ),
    "gemini-cli": Client(
        "Gemini CLI",
        "mcpServers",
        False,
        (".gemini", "settings.json"),
        (".gemini", "settings.json"),
    ),
}


@dataclass(frozen=True, slots=True)
class Change:
    """What would be written, before it is."""

    client: Client
    file: Path
    name: str
    entry: Entry
    replaces: object
    """The entry of that name that is there already."""
    before: bytes | None
    """The file as it was read; None: there is none."""
    after: bytes

    @property
    def is_news(self) -> bool:
        """Whether anything would change."""
        return self.replaces != self.entry

    def shown(self) -> str:
        """The entry as it will stand in the file."""
        return json.dumps({self.client.key: {self.name: self.entry}}, indent=2, ensure_ascii=False)


def plan(client: str, name: str, arguments: list[str], *, here: Path | None = None) -> Change:
    """What has to be written for a client to start `hades` with these arguments."""
    if client not in CLIENTS:
        raise InvalidInput(f"There is no client {client!r}: {', '.join(CLIENTS)}.")
    clean_name(name, "server")
    wanted = CLIENTS[client]
    file = _file_of(wanted, here)
    command, *first = own_command()
    entry: Entry = {"type": "stdio"} if wanted.typed else {}
    entry |= {"command": command, "args": [*first, *arguments]}
    before = _read(file)
    config = _parsed(before, file)
    servers = config.setdefault(wanted.key, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"In {file}, {wanted.key!r} is not an object: repair it first.")
    replaces = servers.get(name)
    servers[name] = entry
    return Change(wanted, file, name, entry, replaces, before, _written(config, before))


def apply(change: Change) -> Path | None:
    """Write it; gives where the old file is kept. Conflict when it changed meanwhile."""
    if _read(change.file) != change.before:
        raise Conflict(f"{change.file} was changed meanwhile: nothing was written, try again.")
    try:
        change.file.parent.mkdir(parents=True, exist_ok=True)
        kept = None
        if change.before is not None:
            stamp = time.strftime("%Y%m%d-%H%M%S")
            kept = _free(change.file.with_name(f"{change.file.name}.{stamp}.bak"))
            shutil.copy2(change.file, kept)
        _replace(change.file, change.after)
    except OSError as error:
        raise Unavailable(f"{change.file} cannot be written: {error.strerror}.") from error
    return kept


def own_command() -> list[str]:
    """How a program without our environment starts this very `hades`."""
    beside = Path(sys.executable).with_name("hades")
    for found in (str(beside) if beside.is_file() else None, shutil.which("hades")):
        if found:
            return [os.path.abspath(found)]
    return [sys.executable, "-c", "from hades.cli import main; main()"]


def application_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Where the system keeps the data of desktop applications."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(environment.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _file_of(client: Client, here: Path | None) -> Path:
    if here is None:
        first, *rest = client.file
        start = application_folder() if first == "{application}" else Path.home() / first
        file = start.joinpath(*rest)
    elif client.here is None:
        raise InvalidInput(f"{client.title} reads no file of a project: leave out --here.")
    else:
        file = here.joinpath(*client.here)
    # A link to a file kept elsewhere stays a link.
    return Path(os.path.realpath(file))


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InvalidInput(f"{file} cannot be read: {error.strerror}.") from error


def _parsed(content: bytes | None, file: Path) -> dict[str, Any]:
    if content is None or not content.strip():
        return {}
    try:
        config = json.loads(content.decode("utf-8-sig"), object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"{file} is not plain JSON ({error}): repair it, or add the server by hand."
        ) from error
    if not isinstance(config, dict):
        raise InvalidInput(f"{file} is JSON but no object: repair it first.")
    return config


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        # Writing it anew would lose one of them.
        raise ValueError("a key stands there twice")
    return made


def _written(config: dict[str, Any], before: bytes | None) -> bytes:
    """The configuration as text, indented as it was."""
    lines = (before or b"").decode("utf-8-sig", "replace").splitlines()
    indents = [line[: len(line) - len(line.lstrip())] for line in lines[1:2]]
    indent = indents[0] if indents and indents[0] else "  "
    text = json.dumps(config, indent=indent, ensure_ascii=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:  # half a character, written \ud83d
        return (json.dumps(config, indent=indent) + "\n").encode()


def _free(path: Path) -> Path:
    candidate, number = path, 1
    while candidate.exists():
        number += 1
        candidate = path.with_name(f"{path.name}{number}")
    return candidate


def _replace(file: Path, content: bytes) -> None:
    handle, made = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        if file.exists():
            shutil.copymode(file, made)
        os.replace(made, file)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise
