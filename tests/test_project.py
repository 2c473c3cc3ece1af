"""A project has a memory of its own, in the user's data folder, where git never writes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import hades
from hades.errors import Conflict, Denied, InvalidInput, NotFound, Unavailable
from hades.hooks.adopting import adopt
from hades.project import make_project_folder, memories_left, project_memory, project_root
from tests.shell import run_hades


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return tmp_path / "home"


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    run = ["git", *who, "-C", str(folder), *words]
    return subprocess.run(run, check=True, capture_output=True, text=True).stdout.strip()


def repository(folder: Path, first: str = "begin") -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", first)
    return folder


def remembering(root: Path) -> Path:
    """Make a project's memory with a note that names the project, and return its path."""
    memory = make_project_folder(root)
    with hades.open(memory) as opened:
        opened.remember("name", root.name)
    return memory


def test_a_folder_inside_a_repository_belongs_to_its_root(tmp_path: Path, home: Path) -> None:
    root = repository(tmp_path / "app")
    inside = root / "src" / "deep"
    inside.mkdir(parents=True)
    assert project_root(inside) == root
    memory = project_memory(root)
    assert memory.parent.parent == home / ".local/share/hades/projects"
    assert memory.parent.name.startswith("app-")
    assert git(root, "status", "--porcelain", "--ignored") == ""


def test_a_folder_without_git_is_its_own_project(tmp_path: Path) -> None:
    assert project_root(tmp_path) == tmp_path
    memory = make_project_folder(tmp_path)
    git(tmp_path, "init", "-q")
    assert make_project_folder(tmp_path) == memory


def test_a_repository_in_the_home_folder_does_not_join_projects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".git").mkdir()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        assert project_root(tmp_path / name) == tmp_path / name
    assert project_root(tmp_path) == tmp_path


def test_the_folder_is_private(tmp_path: Path) -> None:
    root = repository(tmp_path / "app")
    memory = make_project_folder(root)
    for folder in (memory.parent, memory.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert make_project_folder(root) == memory
    assert not (root / ".hades").exists()


def test_cleaning_and_cloning_anew_keep_the_memory(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    root = tmp_path / "app"
    git(tmp_path, "clone", "-q", str(origin), str(root))
    memory = remembering(root)
    git(root, "clean", "-fdxq")
    shutil.rmtree(root)
    git(tmp_path, "clone", "-q", str(origin), str(root))
    assert make_project_folder(root) == memory
    assert memory.exists()


def test_another_repository_in_the_same_place_gets_another_memory(tmp_path: Path) -> None:
    root = repository(tmp_path / "app", "one")
    first = remembering(root)
    root.rename(tmp_path / "away")
    repository(root, "two")
    second = remembering(root)
    assert second != first
    shutil.rmtree(root)
    (tmp_path / "away").rename(root)
    assert make_project_folder(root) == first


def test_copies_have_their_own_memories_although_they_begin_with_the_same_commit(
    tmp_path: Path,
) -> None:
    root = repository(tmp_path / "app")
    git(tmp_path, "clone", "-q", str(root), str(tmp_path / "fork"))
    shutil.copytree(root, tmp_path / "copy")
    roots = [root, tmp_path / "fork", tmp_path / "copy"]
    assert len({remembering(copy) for copy in roots}) == 3


def test_work_trees_share_one_and_submodules_do_not(tmp_path: Path) -> None:
    root = repository(tmp_path / "app")
    memory = remembering(root)
    git(root, "worktree", "add", "-q", str(tmp_path / "feature"))
    assert make_project_folder(tmp_path / "feature") == memory
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(root), str(bare))
    for name in ("a", "b"):
        git(bare, "worktree", "add", "-q", str(tmp_path / name), "-b", name)
    assert make_project_folder(tmp_path / "a") == make_project_folder(tmp_path / "b") != memory
    added = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", str(bare), "part"]
    git(root, *added)
    assert make_project_folder(root / "part") not in (memory, make_project_folder(tmp_path / "a"))


def test_a_repository_without_commits_keeps_its_memory_when_it_gets_some(tmp_path: Path) -> None:
    root = tmp_path / "app"
    git(tmp_path, "init", "-q", str(root))
    memory = remembering(root)
    git(root, "commit", "-q", "--allow-empty", "-m", "begin")
    assert make_project_folder(root) == memory
    shutil.rmtree(root)
    repository(root, "another")
    assert make_project_folder(root) != memory


def test_a_shallow_clone_keeps_its_memory_when_it_is_deepened(tmp_path: Path) -> None:
    origin = repository(tmp_path / "origin")
    git(origin, "commit", "-q", "--allow-empty", "-m", "second")
    root = tmp_path / "app"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{origin}", str(root))
    memory = remembering(root)
    git(root, "fetch", "-q", "--unshallow")
    git(root, "config", "a.b", "c")
    assert make_project_folder(root) == memory


def test_the_memory_of_a_moved_repository_is_found_and_adopted(tmp_path: Path) -> None:
    root = repository(tmp_path / "old")
    memory = remembering(root)
    assert memories_left(root) == []
    root = root.rename(tmp_path / "new")
    assert not project_memory(root).exists()
    assert memories_left(root) == [memory]
    assert memories_left(repository(tmp_path / "other", "other")) == []
    adopted = adopt(root, memory)
    assert adopted == make_project_folder(root)
    with hades.open(adopted, create=False) as opened:
        assert opened.get("name").content == "old"


# A memory in the work tree


def left_behind(root: Path) -> Path:
    old = root / ".hades" / "memory.hades"
    old.parent.mkdir()
    (old.parent / ".gitignore").write_text("*\n")
    with hades.open(old) as memory:
        memory.remember("name", "old")
        memory.index()
    return old


def test_a_memory_in_the_work_tree_is_refused_until_it_is_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "app")
    old = left_behind(root)
    with pytest.raises(Denied, match="hades hooks adopt"):
        make_project_folder(root)
    monkeypatch.chdir(root)
    unsure = run_hades("hooks", "adopt")
    assert unsure.exit_code == 2
    assert old.exists()
    done = run_hades("hooks", "adopt", "--yes")
    assert done.exit_code == 0, done.output
    new = make_project_folder(root)
    assert done.output == f"Moved {old} to {new}.\n"
    assert [path.name for path in old.parent.iterdir()] == [".gitignore"]
    assert new.with_name("memory.hades.index").exists()
    read = run_hades("get", "name", "--memory", "project:")
    assert "old" in read.output
    with pytest.raises(NotFound):
        adopt(root, old)
    hades.open(old).close()
    with pytest.raises(Conflict, match="has a memory already"):
        adopt(root, old)
    assert make_project_folder(root) == new


def test_a_memory_that_git_knows_is_not_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "app")
    old = left_behind(root)
    monkeypatch.setenv("GIT_DIR", "/elsewhere")  # as in a hook of git
    git_directory = os.environ.pop("GIT_DIR")
    git(root, "add", "-f", ".hades/memory.hades")
    os.environ["GIT_DIR"] = git_directory
    with pytest.raises(InvalidInput, match="is part of the repository"):
        adopt(root, old)
    monkeypatch.delenv("GIT_DIR")
    git(root, "commit", "-qm", "a gift")
    (root / ".git" / "index").unlink()
    with pytest.raises(InvalidInput, match="is part of the repository"):
        adopt(root, old)
    (root / ".git" / "config").write_text("[broken")
    with pytest.raises(Unavailable, match="Git cannot read"):
        adopt(root, old)
    assert old.exists()


def test_only_the_memory_and_what_is_beside_it_must_be_unknown_to_git(tmp_path: Path) -> None:
    root = repository(tmp_path / "app")
    old = root / "no[t]es.hades"
    hades.open(old).close()
    (root / "code.py").write_text("x = 1\n")
    git(root, "add", "code.py")
    (root / "no[t]es.hades-wal.old").write_text("x")
    git(root, "add", "-f", "no[[]t]es.hades-wal.old")
    with pytest.raises(InvalidInput, match="is part of the repository"):
        adopt(root, old)
    git(root, "rm", "-q", "--cached", "no[[]t]es.hades-wal.old")
    assert adopt(root, old) == make_project_folder(root)


def test_a_memory_in_use_a_link_and_one_of_another_user_are_not_adopted(tmp_path: Path) -> None:
    root = repository(tmp_path / "app")
    old = left_behind(root)
    with hades.open(old) as memory:
        memory.remember("more", "text")
        with pytest.raises(Unavailable, match="in use"):
            adopt(root, old)
    link = tmp_path / "link.hades"
    link.symlink_to(old)
    with pytest.raises(InvalidInput, match="symbolic link"):
        adopt(root, link)
    if os.geteuid() == 0:
        os.chown(old, 12345, 12345)
        with pytest.raises(InvalidInput, match="belongs to another user"):
            adopt(root, old)
    assert not project_memory(root).exists()
