"""Add HADES to the configuration files of MCP clients.

The files' paths and formats are from the clients' documentation (2026-11). Other entries stay.
The old file is kept as a backup. A file that is not plain JSON is not changed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hades.domain.rules import clean_name
from hades.errors import Conflict, InvalidInput, Unavailable
from hades.project import project_memory
from hades.serve.auth.keys import write_private

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentProgram:
    """An MCP client, and where it configures its servers."""

    title: str
    file: str
    """Its file below the home folder; `{data}` is the folder for applications' data."""
    project_file: str | None = None
    """Its file below a project's folder; None: it reads none there."""
    key: str = "mcpServers"
    """The key of the object with the servers."""
    typed: bool = False
    """Whether its entries have `"type": "stdio"`."""
    folder: str = ""
    """How its project file refers to the project's folder; empty: it starts servers there."""


CLIENTS = {
    "claude-code": AgentProgram("Claude Code", ".claude.json", ".mcp.json", typed=True),
    "claude-desktop": AgentProgram("Claude Desktop", "{data}/Claude/claude_desktop_config.json"),
    "cursor": AgentProgram(
        "Cursor", ".cursor/mcp.json", ".cursor/mcp.json", folder="${workspaceFolder}"
    ),
    "vscode": AgentProgram(
        *("VS Code", "{data}/Code/User/mcp.json", ".vscode/mcp.json"),
        key="servers",
        typed=True,
        folder="${workspaceFolder}",
    ),
    "windsurf": AgentProgram("Windsurf", ".codeium/windsurf/mcp_config.json"),
    "gemini-cli": AgentProgram("Gemini CLI", ".gemini/settings.json", ".gemini/settings.json"),
}


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """A planned change of a client's file."""

    client: AgentProgram
    file: Path
    name: str
    entry: Entry
    replaces: object
    """The present entry of that name; None: there is none."""
    before: bytes | None
    """The present content of the file; None: there is no file."""
    after: bytes

    @property
    def is_news(self) -> bool:
        """Whether the change would alter the client's file."""
        return self.replaces != self.entry

    def shown(self) -> str:
        """Return the entry as JSON text."""
        return json.dumps({self.client.key: {self.name: self.entry}}, indent=2, ensure_ascii=False)


def plan(client: str, name: str, arguments: list[str], *, here: Path | None = None) -> ConfigChange:
    """Return the change that makes a client start `hades mcp` with these arguments; write nothing.

    `name` is the entry in the client's file; `here` is a project's folder (None: for all projects).
    Without a memory among the arguments, the project's own is served, by paths that are good in
    every copy of the project, so that the file can be committed.
    """
    clean_name(name, "server")
    wanted = client_named(client)
    file = _file_of(wanted, here)
    command, *first = own_command()
    if here is not None and "--memory" not in arguments:
        command = shared_command(command, wanted, here)
        memory = project_memory(Path(wanted.folder)).as_posix()
        arguments = [*(["--memory", memory] if wanted.folder else ["--here"]), *arguments]
    arguments = ["mcp", *arguments]
    entry: Entry = {"type": "stdio"} if wanted.typed else {}
    entry |= {"command": command, "args": [*first, *arguments]}
    before = _read(file)
    config = _parsed(before, file)
    servers = config.setdefault(wanted.key, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"In {file}, {wanted.key!r} is not an object: repair it first.")
    replaces = servers.get(name)
    servers[name] = entry
    return ConfigChange(wanted, file, name, entry, replaces, before, _written(config, before))


def apply(change: ConfigChange) -> Path | None:
    """Write a change; return the backup of the old file, if any. Raise Conflict if it changed."""
    if _read(change.file) != change.before:
        raise Conflict(f"{change.file} was changed meanwhile: nothing was written, try again.")
    try:
        change.file.parent.mkdir(parents=True, exist_ok=True)
        kept = None
        if change.before is not None:
            kept = change.file.with_name(f"{change.file.name}.{time.time_ns()}.bak")
            shutil.copy2(change.file, kept)
        mode = None if change.before is None else change.file.stat().st_mode
        write_private(change.file, change.after)
        if mode is not None:
            change.file.chmod(mode)
    except OSError as error:
        raise Unavailable(f"{change.file} cannot be written: {error.strerror}.") from error
    return kept


def client_named(name: str) -> AgentProgram:
    """Return a client by its name, or raise InvalidInput."""
    if name not in CLIENTS:
        raise InvalidInput(f"There is no client {name!r}: {', '.join(CLIENTS)}.")
    return CLIENTS[name]


def shared_command(command: str, client: AgentProgram, root: Path) -> str:
    """Return a command that also works in other copies of a project, if there is one.

    That is the name alone if the shell finds it, or a path in the project.
    """
    if Path(command).is_relative_to(root):
        inside = Path(command).relative_to(root).as_posix()
        return f"{client.folder or '.'}/{inside}"
    found = shutil.which("hades")
    return "hades" if found and os.path.abspath(found) == command else command


def own_command() -> list[str]:
    """Return a command that starts this `hades` from any environment."""
    beside = Path(sys.executable).with_name("hades")
    if script := str(beside) if beside.is_file() else shutil.which("hades"):
        return [os.path.abspath(script)]
    return [sys.executable, "-c", "from hades.cli import main; main()"]


def application_folder(environment: Mapping[str, str] = os.environ) -> Path:
    """Return the system's folder for the data of desktop applications."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(environment.get("APPDATA") or Path.home() / "AppData" / "Roaming")
    return Path(environment.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _file_of(client: AgentProgram, here: Path | None) -> Path:
    if here is None:
        # `{data}` becomes an absolute path, which replaces the home folder.
        file = Path.home() / client.file.format(data=application_folder())
    elif client.project_file is None:
        raise InvalidInput(f"{client.title} reads no file of a project: leave out --here.")
    else:
        file = here / client.project_file
    # Write to the target of a symbolic link, so that the link stays.
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
        raise InvalidInput(f"{file} is JSON but not an object: repair it first.")
    return config


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(config := dict(pairs)) < len(pairs):
        raise ValueError("a key occurs twice")  # writing the file would lose one of them
    return config


def _written(config: dict[str, Any], before: bytes | None) -> bytes:
    """Encode the configuration, with the indentation of the old file."""
    lines = (before or b"").decode("utf-8-sig", "replace").splitlines()
    indents = [line[: len(line) - len(line.lstrip())] for line in lines[1:2]]
    indent = indents[0] if indents and indents[0] else "  "
    text = json.dumps(config, indent=indent, ensure_ascii=False) + "\n"
    try:
        return text.encode()
    except UnicodeEncodeError:  # a lone surrogate, written \ud83d
        return (json.dumps(config, indent=indent) + "\n").encode()
