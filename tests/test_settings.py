from pathlib import Path

import pytest

import hades
from hades.settings import load_settings


def test_the_environment_overrides_the_file(tmp_path: Path) -> None:
    file = tmp_path / "hades.yaml"
    file.write_text("path: /from/file.hades\nspace: work\nbusy_timeout_s: 3\n")
    settings = load_settings({"HADES_CONFIG": str(file), "HADES_SPACE": "play"})
    assert (str(settings.path), settings.space) == ("/from/file.hades", "play")
    assert settings.busy_timeout_s == 3


def test_without_anything_there_are_defaults() -> None:
    settings = load_settings({})
    assert settings.space == "default"
    assert Path(settings.ready_path()).name == "default.hades"


def test_the_memory_may_be_a_server() -> None:
    settings = load_settings({"HADES_PATH": "unix:///run/hades/rw.sock", "HADES_KEY": "secret"})
    assert settings.ready_path() == "unix:///run/hades/rw.sock"
    assert settings.key == "secret"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nonsense: 1", "nonsense"),
        ("busy_timeout_s: soon", "busy_timeout_s"),
        ("busy_timeout_s: -1", "busy_timeout_s"),
        ("[1, 2]", "name: value"),
        ("a: [", "not YAML"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "hades.yaml"
    file.write_text(text)
    with pytest.raises(hades.InvalidInput, match=says):
        load_settings({"HADES_CONFIG": str(file)})


def test_a_named_file_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(hades.InvalidInput, match="cannot be read"):
        load_settings({"HADES_CONFIG": str(tmp_path / "none.yaml")})


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
