"""Commit messages: one topic for a repository, a passage for each commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import hades
from hades.ingest.document import Unreadable
from hades.ingest.readers import git_history
from hades.ingest.readers.git_history import read_commits, read_messages


class Repository:
    """A repository made by the real git, a day for each commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.days = 0
        self.git("init", "-q", "-b", "main")

    def git(self, *command: str) -> None:
        names = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")
        day = f"2024-03-{self.days + 1:02}T12:00:00+0000"
        environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
        environment |= dict.fromkeys(names, "Zoë") | {"GIT_CONFIG_GLOBAL": os.devnull}
        environment |= {"GIT_AUTHOR_DATE": day, "GIT_COMMITTER_DATE": day}
        subprocess.run(("git", "-C", str(self.folder), *command), env=environment, check=True)

    def commit(self, message: str) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        self.days += 1


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "shop")


def test_each_commit_is_a_passage(repository: Repository, path: Path) -> None:
    repository.commit("Add evict\n\nIt ran out of memory.\n\nSigned-off-by: Zoë <zoe@example.org>")
    repository.commit("# Heading\n\n```\nan open fence")
    memory = hades.open(path)
    memory.ingest(repository.folder, phases=("nodes", "chunks"))
    first, second = memory.chunks("shop/git-commits")
    assert first.text.splitlines()[0][:15] == "2024-03-02, Zoë"
    assert first.text.endswith("an open fence")
    assert second.heading == "shop/git-commits > 2024-03-01 Add evict"
    assert second.text.endswith("): Add evict\n\nIt ran out of memory.")


def test_only_new_commits_are_news(repository: Repository, path: Path) -> None:
    repository.commit("One")
    memory = hades.open(path)
    assert memory.ingest(repository.folder).added == 1
    assert memory.ingest(repository.folder).unchanged == 1
    [known] = memory.recall("One").passages
    repository.commit("Two")
    assert memory.ingest(repository.folder).changed == 1
    assert [chunk.text.rpartition(" ")[2] for chunk in memory.chunks("shop/git-commits")] == [
        "Two",
        "One",
    ]
    assert memory.unembedded == 0
    assert known.chunk.text in {one.chunk.text for one in memory.recall("One").passages}


def test_a_setting_limits_the_commits(
    repository: Repository, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for message in ("One", "Two", "Three"):
        repository.commit(message)
    monkeypatch.setenv("HADES_INGEST_COMMITS", "2")
    memory = hades.open(path)
    memory.ingest(repository.folder, phases=("nodes",))
    content = memory.get("shop/git-commits").content
    assert "Three" in content
    assert "One" not in content
    monkeypatch.setenv("HADES_INGEST_COMMITS", "0")
    assert memory.ingest(repository.folder, phases=("nodes",)).removed == 1


def test_a_history_has_its_messages_too(repository: Repository, path: Path) -> None:
    (repository.folder / "a.md").write_text("one\n")
    repository.commit("Say one")
    memory = hades.open(path)
    memory.ingest(repository.folder, history=True, phases=("nodes",))
    memory.ingest(repository.folder, history=True, phases=("nodes",))
    assert [topic.name for topic in memory.topics()] == ["shop/a.md", "shop/git-commits"]
    assert memory.get("shop/git-commits").version == 1


def test_a_repository_without_commits(repository: Repository) -> None:
    assert read_messages(repository.folder, 10) == b""
    assert read_commits(b"", "shop/git-commits").content == ""


def test_the_repository_around_a_folder_is_not_read(repository: Repository, path: Path) -> None:
    repository.commit("Outside")
    inside = repository.folder / "inside"
    (inside / ".git").mkdir(parents=True)
    (inside / "a.md").write_text("one\n")
    memory = hades.open(path)
    memory.ingest(inside, phases=("nodes",))
    (inside / "a.md").unlink()
    summary = memory.ingest(inside, phases=("nodes",))
    assert [where for where, _ in summary.skipped] == ["inside/git-commits"]
    assert summary.removed == 1  # although the commits could not be read
    assert memory.topics() == []


def test_a_folder_that_was_sent_has_no_commits(repository: Repository, path: Path) -> None:
    repository.commit("One")
    memory = hades.open(path)
    memory.ingest(repository.folder, source="upload:shop", phases=("nodes",))
    assert memory.topics() == []


def test_no_command_of_the_configuration_runs(repository: Repository, tmp_path: Path) -> None:
    ran, command = tmp_path / "ran", tmp_path / "command"
    command.write_text(f"#!/bin/sh\ntouch {ran}\n")
    command.chmod(0o755)
    names = ("gpg.program", "core.fsmonitor", "core.pager", "diff.external", "core.sshCommand")
    for name in names:
        repository.git("config", name, str(command))
    repository.git("config", "log.showSignature", "true")
    repository.commit("One")
    ran.unlink(missing_ok=True)
    assert b"One" in read_messages(repository.folder, 10)
    assert not ran.exists()


def test_messages_are_limited(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    repository.commit("long " * 2_000)
    [text] = read_commits(read_messages(repository.folder, 1), "shop/git-commits").blocks
    assert text.end - text.start == git_history.MESSAGE_CHARACTERS_AT_MOST
    monkeypatch.setattr(git_history, "MESSAGES_BYTES_AT_MOST", 100)
    with pytest.raises(Unreadable, match="larger than"):
        read_messages(repository.folder, 1)
