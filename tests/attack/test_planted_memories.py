"""Repositories and archives from strangers: none gets at the memory of another project."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import hades
from hades.errors import HadesError
from hades.project import make_project_folder, project_memory


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    subprocess.run(["git", *who, "-C", str(folder), *words], check=True, capture_output=True)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A repository with a linked work tree and a memory."""
    root = tmp_path / "victim"
    git(tmp_path, "init", "-q", str(root))
    git(root, "commit", "-q", "--allow-empty", "-m", "begin")
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"))
    hades.open(make_project_folder(root)).close()
    assert project_memory(tmp_path / "tree") == project_memory(root)
    return root


def hostile(tmp_path: Path, kind: str, victim: Path) -> Path:
    """A folder as an archive could contain it, which claims to be part of another repository."""
    root = tmp_path / "hostile"
    root.mkdir()
    pointer = root / ".git"
    inside = victim / ".git" / "worktrees" / "tree"
    if kind == "the repository itself":
        pointer.write_text(f"gitdir: {victim}/.git\n")
    elif kind == "a work tree of it":
        pointer.write_text(f"gitdir: {inside}\n")
    elif kind == "links":
        pointer.symlink_to(victim / ".git")
    elif kind == "a link to a pointer":
        pointer.symlink_to(tmp_path / "tree" / ".git")
    elif kind == "a made-up work tree":
        made = root / "worktrees" / "tree"
        made.mkdir(parents=True)
        (made / "gitdir").write_text(f"{pointer}\n")
        (made / "commondir").write_text(f"{victim}/.git\n")
        (made / "HEAD").write_text((victim / ".git" / "HEAD").read_text())
        pointer.write_text(f"gitdir: {made}\n")
    elif kind == "a copy with a common folder":
        git(tmp_path, "clone", "-q", str(victim), str(tmp_path / "clone"))
        (tmp_path / "clone" / ".git").rename(pointer)
        (pointer / "commondir").write_text(f"{victim}/.git\n")
    return root


@pytest.mark.parametrize(
    "kind",
    [
        "the repository itself",
        "a work tree of it",
        "links",
        "a link to a pointer",
        "a made-up work tree",
        "a copy with a common folder",
    ],
)
def test_a_folder_cannot_claim_the_memory_of_another_project(
    tmp_path: Path, victim: Path, kind: str
) -> None:
    root = hostile(tmp_path, kind, victim)
    try:
        claimed = make_project_folder(root)
    except HadesError:
        return
    assert claimed != project_memory(victim)


@pytest.mark.parametrize("kind", ["empty", "dangling", "config", "pipe", "long", "zero"])
def test_a_repository_that_git_cannot_read_gets_no_memory(tmp_path: Path, kind: str) -> None:
    """It could be another than the one before. An outer repository does not answer for it."""
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "outer")
    root = tmp_path / "app"
    root.mkdir()
    pointer = root / ".git"
    if kind == "empty":
        pointer.mkdir()
    elif kind == "pipe":
        os.mkfifo(pointer)
    elif kind == "config":
        git(root, "init", "-q")
        (pointer / "config").write_text("[broken")
    else:
        named = {"dangling": "/nowhere/.git", "long": "x" * 1_000_000, "zero": "a\0b"}[kind]
        pointer.write_text(f"gitdir: {named}")
    with pytest.raises(HadesError, match="Git cannot read the repository"):
        make_project_folder(root)
    assert not (tmp_path / "home").exists()


def test_asking_git_runs_nothing_that_a_repository_names(tmp_path: Path, victim: Path) -> None:
    """A missing object makes git fetch it, by a command that the repository may choose."""
    root = tmp_path / "app"
    git(tmp_path, "init", "-q", str(root))
    git(root, "commit", "-q", "--allow-empty", "-m", "begin")
    hades.open(make_project_folder(root)).close()
    for path in sorted((root / ".git").rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    (root / ".git").rmdir()
    git(tmp_path, "init", "-q", str(root))
    marker = tmp_path / "ran"
    command = f"touch {marker}"
    for name, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": "ssh://host/x",
        "remote.origin.promisor": "true",
        "core.sshCommand": command,
        "core.fsmonitor": command,
        "core.pager": command,
    }.items():
        git(root, "config", name, value)
    make_project_folder(root)
    assert not marker.exists()
