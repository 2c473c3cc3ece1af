"""Add HADES to the configuration files of MCP clients, or remove it again.

The files' paths and formats are from the clients' documentation (2026-11). Other entries stay.
The old file is kept as a backup. A file that is not plain JSON is not changed.
"""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hades.domain.address import PROJECT
from hades.domain.rules import clean_name
from hades.errors import InvalidInput
from hades.serve.config_files import ConfigChange, Program, chosen, encode_config, read_config

Entry = dict[str, Any]


@dataclass(frozen=True, slots=True)
class AgentProgram(Program):
    """An MCP client and its configuration files."""

    key: str = "mcpServers"
    """The key of the object with the servers."""
    typed: bool = False
    """Whether its entries have `"type": "stdio"`."""
    folder: str = ""
    """How the project file names the project's folder; "" if the client starts servers in that
    folder."""


CLIENTS = {
    "claude-code": AgentProgram("Claude Code", ".claude.json", ".mcp.json", typed=True),
    "claude-desktop": AgentProgram("Claude Desktop", "{data}/Claude/claude_desktop_config.json"),
    "cursor": AgentProgram(
        "Cursor", ".cursor/mcp.json", ".cursor/mcp.json", folder="${workspaceFolder}"
    ),
    "vscode": AgentProgram(
        "VS Code",
        "{data}/Code/User/mcp.json",
        ".vscode/mcp.json",
        key="servers",
        typed=True,
        folder="${workspaceFolder}",
    ),
    "windsurf": AgentProgram("Windsurf", ".codeium/windsurf/mcp_config.json"),
    "gemini-cli": AgentProgram("Gemini CLI", ".gemini/settings.json", ".gemini/settings.json"),
}


def plan(
    client: str, name: str, arguments: list[str] | None, *, here: Path | None = None
) -> ConfigChange:
    """Return the change that makes a client start `hades mcp` with these arguments; write nothing.

    Without arguments (None) it removes the entry. `name` is the entry in the client's file; `here`
    is a project's folder (None: for all projects).
    """
    clean_name(name, "server")
    wanted = chosen(CLIENTS, client)
    file = wanted.path(here)
    before, config = read_config(file)
    servers = config.setdefault(wanted.key, {})
    if not isinstance(servers, dict):
        raise InvalidInput(f"In {file}, {wanted.key!r} is not an object: repair it first.")
    replaces = servers.pop(name, None)
    if arguments is not None:
        servers[name] = _entry(wanted, arguments, here)
    after = None if servers.get(name) == replaces else encode_config(config, before)
    entries = {wanted.key: {name: servers.get(name, replaces)}}
    return ConfigChange(wanted.title, file, entries, before, after, replaces)


def _entry(wanted: AgentProgram, arguments: list[str], here: Path | None) -> Entry:
    """Return a client's entry for `hades mcp` with these arguments.

    Without a memory among the arguments, the project's own is served, by paths that are valid in
    every copy of the project, so that the file can be committed.
    """
    command, *first = own_command()
    if here is not None and "--memory" not in arguments:
        command = shared_command(command, wanted, here)
        memory = f"{PROJECT}{wanted.folder}"
        arguments = [*(["--memory", memory] if wanted.folder else ["--here"]), *arguments]
    arguments = ["mcp", *arguments]
    entry: Entry = {"type": "stdio"} if wanted.typed else {}
    return entry | {"command": command, "args": [*first, *arguments]}


def shared_command(command: str, client: AgentProgram, root: Path) -> str:
    """Return a command that also works in other copies of a project, if there is one.

    It is the name alone if the shell finds it, or a path in the project.
    """
    if Path(command).is_relative_to(root):
        inside = Path(command).relative_to(root).as_posix()
        return f"{client.folder or '.'}/{inside}"
    on_path = shutil.which("hades")
    return "hades" if on_path and os.path.abspath(on_path) == command else command


def own_command() -> list[str]:
    """Return a command that starts this `hades` from any environment."""
    beside = Path(sys.executable).with_name("hades")
    if script := str(beside) if beside.is_file() else shutil.which("hades"):
        return [os.path.abspath(script)]
    return [sys.executable, "-c", "from hades.cli import main; main()"]
