"""Installing hooks: everything that is there stays, and uninstalling removes exactly our own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shell import Shell

OTHER = {
    "model": "opus",
    "hooks": {
        "Stop": [{"hooks": [{"type": "command", "command": "say done"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check.sh"}]}],
    },
}


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "repo")
    return Shell(tmp_path / "m.hades")


def test_install_shows_keeps_and_backs_up(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    before = json.dumps(OTHER, indent=4)
    file.write_text(before)
    assert "pass --yes" in shell.refused("hooks", "install", "claude-code")
    assert file.read_text() == before
    shown = shell.alone("hooks", "install", "claude-code", "--yes")
    assert "UserPromptSubmit" in shown
    config = json.loads(file.read_text())
    assert config["model"] == "opus"
    assert config["hooks"]["PreToolUse"] == OTHER["hooks"]["PreToolUse"]  # type: ignore[index]
    others, own = config["hooks"]["Stop"]
    assert others["hooks"][0]["command"] == "say done"
    assert own["hooks"][0]["command"].endswith("hades/hooks/client.py claude-code turn-end")
    assert "PostToolUse" not in config["hooks"]
    backups = list(file.parent.glob("settings.json.*.bak"))
    assert [backup.read_text() for backup in backups] == [before]
    assert "nothing to write" in shell.alone("hooks", "install", "claude-code", "--yes")
    shell.alone("hooks", "uninstall", "claude-code", "--yes")
    assert json.loads(file.read_text()) == OTHER
    assert "nothing of HADES" in shell.alone("hooks", "uninstall", "claude-code", "--yes")


def test_a_second_installation_replaces_the_first(shell: Shell, tmp_path: Path) -> None:
    shell.alone("hooks", "install", "claude-code", "--yes", "--tools")
    config = json.loads((tmp_path / ".claude" / "settings.json").read_text())
    assert config["hooks"]["PostToolUseFailure"][0]["matcher"] == "Bash"
    shell("hooks", "install", "claude-code", "--yes")
    config = json.loads((tmp_path / ".claude" / "settings.json").read_text())
    assert "PostToolUse" not in config["hooks"]
    command = config["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert command.endswith(f" turn-end {tmp_path / 'm.hades'}")


def test_each_client_has_its_own_form(shell: Shell, tmp_path: Path) -> None:
    shell.alone("hooks", "install", "codex", "--here", "--yes")
    shell.alone("hooks", "install", "cursor", "--yes", "--tools")
    codex = json.loads((tmp_path / "repo" / ".codex" / "hooks.json").read_text())
    assert codex["hooks"]["SessionStart"][0]["hooks"][0]["timeout"] == 10
    cursor = json.loads((tmp_path / ".cursor" / "hooks.json").read_text())
    assert cursor["version"] == 1
    assert cursor["hooks"]["beforeSubmitPrompt"][0]["command"].endswith("cursor prompt")
    state = json.loads(shell.alone("hooks", "status", "--json"))
    assert [hooks["client"] for hooks in state["installed"]] == ["codex", "cursor"]
    assert state["events"] == []
    assert not state["resident"]


def test_a_file_that_cannot_be_kept_is_refused(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / ".claude" / "settings.json"
    file.parent.mkdir()
    for broken in ("{ // a comment\n}", "[]", '{"hooks": []}', '{"hooks": {"Stop": {}}}'):
        file.write_text(broken)
        shell.refused("hooks", "install", "claude-code", "--yes")
        assert file.read_text() == broken
    shell.refused("hooks", "install", "emacs", "--yes")
