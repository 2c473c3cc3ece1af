"""A project has a memory of its own, in the root of its repository."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hades.errors import InvalidInput
from hades.project import make_project_folder, project_memory, project_root


def test_a_folder_inside_a_repository_belongs_to_its_root(tmp_path: Path) -> None:
    (tmp_path / "app" / ".git").mkdir(parents=True)
    inside = tmp_path / "app" / "src" / "deep"
    inside.mkdir(parents=True)
    assert project_root(inside) == tmp_path / "app"
    assert project_memory(tmp_path / "app") == tmp_path / "app/.hades/memory.hades"


def test_a_folder_without_git_is_its_own_project(tmp_path: Path) -> None:
    assert project_root(tmp_path) == tmp_path


def test_a_repository_in_the_home_folder_does_not_join_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".git").mkdir()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert project_root(tmp_path / name) == tmp_path / name
    assert project_root(tmp_path) == tmp_path


def test_the_folder_is_private_and_ignored_by_git(tmp_path: Path) -> None:
    memory = make_project_folder(tmp_path)
    assert memory.parent.stat().st_mode & 0o777 == 0o700
    assert (memory.parent / ".gitignore").read_text() == "*\n"
    assert make_project_folder(tmp_path) == memory


def test_a_link_to_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".hades").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInput, match="symbolic link"):
        make_project_folder(tmp_path)
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_memory_that_is_part_of_the_repository_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)

    git("init", "-q")
    make_project_folder(tmp_path).write_bytes(b"a memory")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")  # as in a hook of git
    assert make_project_folder(tmp_path)
    monkeypatch.delenv("GIT_DIR")
    git("add", "-f", ".hades/memory.hades")
    with pytest.raises(InvalidInput, match="is part of the repository"):
        make_project_folder(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives away")
def test_a_memory_of_another_user_is_refused(tmp_path: Path) -> None:
    make_project_folder(tmp_path).write_bytes(b"a memory")
    os.chown(project_memory(tmp_path), 12345, 12345)
    with pytest.raises(InvalidInput, match="belongs to another user"):
        make_project_folder(tmp_path)
