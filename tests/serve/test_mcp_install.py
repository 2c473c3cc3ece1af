"""Writing `hades mcp` into the configuration of clients, and losing nothing there."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters
from serve.mcp_making import hades_command, hades_environment, meet, text_of
from typer.testing import Result

import hades
from hades.project import project_memory
from hades.serve.mcp import install
from tests.shell import run_hades

HOME_FILES = {
    "claude-code": ".claude.json",
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "gemini-cli": ".gemini/settings.json",
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.chdir(home)
    return home


def run(*arguments: str) -> Result:
    return run_hades("mcp", "--memory", "notes.hades", *arguments)


@pytest.mark.parametrize("client", list(HOME_FILES))
def test_each_client_gets_its_own_form(home: Path, client: str) -> None:
    done = run("--install", client, "--yes")
    assert done.exit_code == 0, done.output
    file = home / HOME_FILES[client]
    key = "servers" if client == "vscode" else "mcpServers"
    entry = json.loads(file.read_text())[key]["hades"]
    assert entry.get("type") == ("stdio" if client in ("claude-code", "vscode") else None)
    assert os.path.isabs(entry["command"])
    assert entry["args"][-3:] == ["mcp", "--memory", str(home / "notes.hades")]
    assert str(file) in done.output
    assert '"--memory"' in done.output


def test_options_go_along(home: Path) -> None:
    run("--install", "cursor", "--yes", "--space", "work", "--read-only", "--name", "work-memory")
    servers = json.loads((home / ".cursor/mcp.json").read_text())["mcpServers"]
    assert servers["work-memory"]["args"][-3:] == ["--space", "work", "--read-only"]


def test_a_project_gets_a_file_of_its_own(home: Path) -> None:
    for client, file in (
        ("claude-code", ".mcp.json"),
        ("cursor", ".cursor/mcp.json"),
        ("vscode", ".vscode/mcp.json"),
    ):
        folder = home / client
        folder.mkdir()
        os.chdir(folder)
        assert run("--install", client, "--here", "--yes").exit_code == 0
        assert (folder / file).is_file()
    refused = run("--install", "claude-desktop", "--here", "--yes")
    assert refused.exit_code == 2
    assert "leave out --here" in refused.output


def project(home: Path, name: str) -> Path:
    """A repository with a folder in it, which is the current one."""
    root = home / name
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    (root / "src").mkdir()
    os.chdir(root / "src")
    return root


@pytest.mark.parametrize("client", ["claude-code", "cursor", "vscode", "gemini-cli"])
def test_a_project_gets_a_memory_of_its_own(
    home: Path, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    command = home / "bin" / "hades"
    command.parent.mkdir()
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)
    monkeypatch.setattr(install, "own_command", lambda: [str(command)])
    root = project(home, "atlas")
    done = run_hades("mcp", "--install", client, "--here", "--yes")
    assert done.exit_code == 0, done.output
    memory = project_memory(root)
    assert f"The memory of this project is {memory}." in done.output
    assert not memory.is_relative_to(root)
    assert not (root / ".hades").exists()
    file = root / str(install.CLIENTS[client].project_file)
    (entry,) = json.loads(file.read_text())[install.CLIENTS[client].key].values()
    in_folder = client in ("cursor", "vscode")
    own = ["--memory", "project:${workspaceFolder}"] if in_folder else ["--here"]
    assert (entry["command"], entry["args"]) == ("hades", ["mcp", *own])
    assert str(home) not in file.read_text()  # it can be committed


def test_a_memory_that_is_named_is_used_in_a_project_too(home: Path) -> None:
    root = project(home, "atlas")
    done = run("--install", "claude-code", "--here", "--yes", "--tools", "core,drill")
    assert done.exit_code == 0, done.output
    (entry,) = json.loads((root / ".mcp.json").read_text())["mcpServers"].values()
    own = ["--memory", str(root / "src/notes.hades"), "--tools", "core,drill"]
    assert entry["args"][-4:] == own
    assert not (root / ".hades").exists()


def test_a_memory_that_came_with_a_project_is_not_served(home: Path) -> None:
    root = project(home, "atlas")
    came = root / ".hades" / "memory.hades"
    came.parent.mkdir()
    hades.open(came).close()
    subprocess.run(["git", "-C", str(root), "add", "-f", ".hades/memory.hades"], check=True)
    for arguments, sentence in (
        (["--here"], "There is a memory in this work tree"),
        (["--memory", f"project:{root}"], "There is a memory in this work tree"),
        (["--install", "claude-code", "--here", "--yes"], "There is a memory in this work tree"),
        (["--memory", str(came)], "is part of the repository"),
    ):
        refused = run_hades("mcp", *arguments)
        assert refused.exit_code == 2
        assert sentence in refused.output
    assert not (root / ".mcp.json").exists()


def test_a_command_in_the_project_is_named_from_there(home: Path) -> None:
    root = project(home, "atlas")
    for client, folder in (("claude-code", "."), ("cursor", "${workspaceFolder}")):
        wanted = install.CLIENTS[client]
        shared = install.shared_command(str(root / ".venv/bin/hades"), wanted, root)
        assert shared == f"{folder}/.venv/bin/hades"
    elsewhere = str(home / "other/bin/hades")
    assert install.shared_command(elsewhere, install.CLIENTS["cursor"], root) == elsewhere


def test_a_tool_that_does_not_exist_is_refused(home: Path) -> None:
    refused = run("--install", "cursor", "--yes", "--tools", "core,drll")
    assert refused.exit_code == 2
    assert "There is no tool 'drll'" in refused.output
    assert not (home / ".cursor").exists()


@pytest.mark.slow
def test_two_projects_share_nothing(home: Path) -> None:
    """Each client starts `hades mcp --here` in its project, as the committed file says."""

    async def life(client: Client) -> str:
        note = {"topic": "name", "content": f"This project is called {name}."}
        await client.call_tool("remember", note)
        return text_of(await client.call_tool("topics", {}))

    roots = []
    for name in ("atlas", "borealis"):
        roots.append(project(home, name))
        command, *arguments = hades_command("mcp", "--here")
        # Claude Code may have been started in a folder of the project, and says which it is.
        environment = {**hades_environment(), "CLAUDE_PROJECT_DIR": str(roots[-1])}
        environment["HOME"] = str(home)
        server = StdioServerParameters(
            command=command, args=arguments, env=environment, cwd=roots[-1] / "src"
        )
        assert asyncio.run(meet(Client(server), life)).startswith("name@1 ")
    for root in roots:
        with hades.open(project_memory(root), read_only=True) as memory:
            assert memory.get("name").content == f"This project is called {root.name}."


def test_what_was_there_stays_and_the_old_file_is_kept(home: Path) -> None:
    file = home / ".claude.json"
    before = '{\n\t"theme": "dark",\n\t"mcpServers": {"other": {"command": "x", "env": {}}},\n'
    before += '\t"name": "Åsa 🎨 \\ud83d"\n}\n'
    file.write_text(before)
    file.chmod(0o600)
    done = run("--install", "claude-code", "--yes")
    assert done.exit_code == 0, done.output
    after = json.loads(file.read_text())
    assert list(after) == ["theme", "mcpServers", "name"]
    assert list(after["mcpServers"]) == ["other", "hades"]
    del after["mcpServers"]["hades"]
    assert after == json.loads(before)
    assert "\n\t" in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    (kept,) = home.glob(".claude.json.*.bak")
    assert kept.read_text() == before
    assert sorted(one.name for one in home.iterdir()) == [".claude.json", kept.name]


def test_writing_it_again_changes_nothing(home: Path) -> None:
    run("--install", "cursor", "--yes")
    again = run("--install", "cursor", "--yes")
    assert "there already" in again.output
    assert [one.name for one in (home / ".cursor").iterdir()] == ["mcp.json"]
    changed = run("--install", "cursor", "--yes", "--read-only")
    assert "It takes the place of" in changed.output


def test_a_link_stays_a_link(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / "dotfiles/mcp.json").write_text("{}")
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").symlink_to(home / "dotfiles/mcp.json")
    run("--install", "cursor", "--yes")
    assert (home / ".cursor/mcp.json").is_symlink()
    assert "hades" in (home / "dotfiles/mcp.json").read_text()


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ('{"mcpServers": {', "is not plain JSON"),
        ('{// a comment\n"mcpServers": {}}', "is not plain JSON"),
        ('{"a": 1, "a": 2}', "a key occurs twice"),
        ("[]", "not an object"),
        ('{"mcpServers": []}', "'mcpServers' is not an object"),
        ("[" * 100_000, "is not plain JSON"),
    ],
)
def test_what_cannot_be_merged_is_left_alone(home: Path, content: str, sentence: str) -> None:
    file = home / ".cursor/mcp.json"
    file.parent.mkdir()
    file.write_text(content)
    refused = run("--install", "cursor", "--yes")
    assert refused.exit_code == 2
    assert sentence in refused.output
    assert file.read_text() == content
    assert [one.name for one in file.parent.iterdir()] == ["mcp.json"]


def test_nothing_is_written_without_a_yes(home: Path) -> None:
    refused = run("--install", "cursor")
    assert refused.exit_code == 2
    assert "pass --yes" in refused.output
    assert not (home / ".cursor").exists()
    unknown = run("--install", "emacs", "--yes")
    assert unknown.exit_code == 2
    assert "There is no client 'emacs': claude-code" in unknown.output


def test_a_file_that_changes_meanwhile_is_not_overwritten(home: Path) -> None:
    change = install.plan("cursor", "hades", ["mcp"])
    (home / ".cursor").mkdir()
    (home / ".cursor/mcp.json").write_text('{"new": 1}')
    with pytest.raises(hades.Conflict, match="changed meanwhile"):
        change.apply()
    assert (home / ".cursor/mcp.json").read_text() == '{"new": 1}'


@given(st.dictionaries(st.text(), JSON, max_size=4))
def test_whatever_is_there_stays(
    tmp_path_factory: pytest.TempPathFactory, config: dict[str, Any]
) -> None:
    config.pop("mcpServers", None)
    folder = tmp_path_factory.mktemp("project")
    file = folder / ".mcp.json"
    file.write_text(json.dumps(config), encoding="utf-8")
    install.plan("claude-code", "hades", ["mcp"], here=folder).apply()
    after = json.loads(file.read_text(encoding="utf-8"))
    assert list(after.pop("mcpServers")) == ["hades"]
    assert after == config
    install.plan("claude-code", "hades", None, here=folder).apply()
    assert json.loads(file.read_text(encoding="utf-8")) == {**config, "mcpServers": {}}


def test_what_was_installed_is_removed_again_and_nothing_else(home: Path) -> None:
    file = home / ".cursor/mcp.json"
    run("--install", "cursor", "--yes", "--name", "other")
    before = file.read_bytes()
    run("--install", "cursor", "--yes")
    assert "This is removed" in run("--uninstall", "cursor", "--yes").output
    assert file.read_bytes() == before
    assert "There is nothing of HADES in it." in run("--uninstall", "cursor", "--yes").output
    assert file.read_bytes() == before
    assert run("--uninstall", "cursor", "--install", "cursor", "--yes").exit_code == 2
