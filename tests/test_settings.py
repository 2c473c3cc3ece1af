"""Settings: a file, overridden by the environment, overridden by the caller."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hades
from tests.shell import run_hades


def settings(**environment: str) -> dict[str, Any]:
    """The settings that hold, as `hades settings` shows them."""
    done = run_hades("settings", "--json", env=environment)
    assert done.exit_code == 0, done.output
    shown: dict[str, Any] = json.loads(done.stdout)
    return shown


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "hades.yaml"
    file.write_text("path: /from/file.hades\nspace: work\nbusy_timeout_s: 3\n")
    found = settings(HADES_CONFIG=str(file), HADES_SPACE="play")
    assert (found["path"], found["space"]) == ("/from/file.hades", "play")
    assert found["busy_timeout_s"] == 3


def test_without_anything_there_are_defaults() -> None:
    found = settings()
    assert found["space"] == "default"
    assert Path(found["path"]).name == "default.hades"


def test_the_memory_may_be_a_server_and_its_key_is_not_shown() -> None:
    found = settings(HADES_PATH="unix:///run/hades/rw.sock", HADES_KEY="secret")
    assert found["path"] == "unix:///run/hades/rw.sock"
    assert found["key"] == "(set)"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense: 1", "nonsense"),
        ("busy_timeout_s: soon", "busy_timeout_s"),
        ("busy_timeout_s: -1", "busy_timeout_s"),
        ("[1, 2]", "name: value"),
        ("a: [", "not YAML"),
        (None, "cannot be read"),
    ],
)
def test_a_wrong_setting_is_named_and_a_named_file_must_be_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, says: str
) -> None:
    file = tmp_path / "hades.yaml"
    if text is not None:
        file.write_text(text)
    monkeypatch.setenv("HADES_CONFIG", str(file))
    with pytest.raises(hades.InvalidInput, match=says):
        hades.open()


def test_settings_apply_where_no_path_is_given(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with hades.open(path) as memory:
        memory.create_space("work")
    monkeypatch.setenv("HADES_PATH", str(path))
    monkeypatch.setenv("HADES_SPACE", "work")
    monkeypatch.setenv("HADES_ACTOR", "robot")
    with hades.open() as memory:
        memory.remember("a", "x")
        assert memory.space == "work"
        assert memory.log()[0].actor == "robot"
