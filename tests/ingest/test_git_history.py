"""History of a real repository: every state of every file, and the messages of its commits."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

import hades
from hades.ingest.document import Unreadable
from hades.ingest.readers import git_history
from hades.ingest.readers.git_history import FileAtCommit, read_commits, read_history, read_messages


class Repository:
    """A repository made by the real git, an hour for each commit."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.commits = 0
        self.git("init", "-q", "-b", "main")

    def git(self, *command: str) -> str:
        stamp = f"2024-01-01T{self.commits:02}:00:00+0000"
        environment = {n: v for n, v in os.environ.items() if not n.startswith("GIT_")} | {
            "GIT_AUTHOR_NAME": "Zoë",
            "GIT_AUTHOR_EMAIL": "zoe@example.org",
            "GIT_COMMITTER_NAME": "Zoë",
            "GIT_COMMITTER_EMAIL": "zoe@example.org",
            "GIT_AUTHOR_DATE": stamp,
            "GIT_COMMITTER_DATE": stamp,
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        done = subprocess.run(
            ("git", "-C", str(self.folder), *command),
            env=environment,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode().strip()

    def commit(self, message: str, **files: str) -> str:
        """Write the files (a double underscore is a dot) and commit all there is."""
        for name, text in files.items():
            (self.folder / name.replace("__", ".")).write_text(text, encoding="utf-8")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        self.commits += 1
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setenv("HADES_INGEST_COMMITS", "0")  # states only, no messages
    return Repository(tmp_path / "repository")


def short(states: list[FileAtCommit]) -> list[tuple[str, bytes | None]]:
    return [(state.path, state.data) for state in states]


def test_a_state_for_each_commit_that_touched_a_file(repository: Repository) -> None:
    first = repository.commit("First\n\nWith a body.", a__txt="one\n", b__txt="b\n")
    second = repository.commit("Second", a__txt="two\n")
    repository.commit("Nothing")
    assert list(read_history(repository.folder)) == [
        FileAtCommit(
            "a.txt",
            first,
            datetime(2024, 1, 1, 0, tzinfo=UTC),
            "Zoë",
            "First\n\nWith a body.",
            b"one\n",
        ),
        FileAtCommit(
            "b.txt",
            first,
            datetime(2024, 1, 1, 0, tzinfo=UTC),
            "Zoë",
            "First\n\nWith a body.",
            b"b\n",
        ),
        FileAtCommit(
            "a.txt", second, datetime(2024, 1, 1, 1, tzinfo=UTC), "Zoë", "Second", b"two\n"
        ),
    ]


def test_a_rename_remembers_the_old_name_and_a_deletion_has_no_data(
    repository: Repository,
) -> None:
    text = "".join(f"line {n}\n" for n in range(20))
    repository.commit("add", old__txt=text)
    repository.git("mv", "old.txt", "new.txt")
    repository.commit("rename", new__txt=text + "more\n")
    repository.git("rm", "-q", "new.txt")
    repository.commit("delete")
    states = list(read_history(repository.folder))
    assert [(s.path, s.renamed_from, s.data is None) for s in states] == [
        ("old.txt", None, False),
        ("new.txt", "old.txt", False),
        ("new.txt", None, True),
    ]


def test_odd_names(repository: Repository) -> None:
    names = ["line\nbreak.txt", "tab\t.txt", "ünï côde.txt", ' "quoted" .txt', "-dash", ":colon"]
    for name in names:
        (repository.folder / name).write_text(name)
    (repository.folder / os.fsdecode(b"byte\xff.txt")).write_bytes(b"raw")
    repository.commit("odd")
    found = dict(short(list(read_history(repository.folder))))
    assert found == {name: name.encode() for name in names} | {"byte\\xff.txt": b"raw"}


def test_a_merge_is_what_it_did_to_its_first_parent(repository: Repository) -> None:
    repository.commit("base", a__txt="a\n")
    repository.git("checkout", "-q", "-b", "side")
    repository.commit("side 1", side__txt="1\n")
    repository.commit("side 2", side__txt="2\n")
    repository.git("checkout", "-q", "main")
    repository.commit("main", a__txt="b\n")
    repository.git("merge", "-q", "--no-ff", "-m", "merge", "side")
    assert [(s.message, s.path, s.data) for s in read_history(repository.folder)] == [
        ("base", "a.txt", b"a\n"),
        ("main", "a.txt", b"b\n"),
        ("merge", "side.txt", b"2\n"),
    ]


def test_only_what_came_since(repository: Repository) -> None:
    first = repository.commit("one", a__txt="1\n", b__md="1\n")
    repository.commit("two", b__md="2\n")
    assert short(list(read_history(repository.folder, since=first))) == [("b.md", b"2\n")]
    assert short(list(read_history(repository.folder, "HEAD"))) == []


def test_binary_files_have_no_data(repository: Repository) -> None:
    repository.commit("add", text__txt="words\n", image__png="\0\1")
    repository.commit("change", text__txt="\0\0")
    repository.git("rm", "-q", "text.txt")
    repository.commit("delete")
    repository.commit("again", text__txt="words again\n")
    assert short(list(read_history(repository.folder))) == [
        ("image.png", None),
        ("text.txt", b"words\n"),
        ("text.txt", None),
        ("text.txt", None),
        ("text.txt", b"words again\n"),
    ]


def test_links_and_large_files_have_no_data(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_history, "FILE_BYTES_AT_MOST", 100_000)
    (repository.folder / "link").symlink_to("small.txt")
    repository.commit("add", a_large__txt="x" * 200_000, small__txt="small")
    assert short(list(read_history(repository.folder))) == [
        ("a_large.txt", None),
        ("link", None),
        ("small.txt", b"small"),
    ]


def test_an_empty_file_is_a_state(repository: Repository) -> None:
    repository.commit("add", empty__txt="")
    assert short(list(read_history(repository.folder))) == [("empty.txt", b"")]


def test_settings_of_the_user_and_of_a_hook_do_not_matter(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting, value in (("showRoot", "false"), ("follow", "true"), ("showSignature", "true")):
        repository.git("config", f"log.{setting}", value)
    repository.git("config", "diff.renames", "false")
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    repository.commit("add", a__txt="a\n" * 9)
    repository.git("mv", "a.txt", "b.txt")
    repository.commit("move")
    states = list(read_history(repository.folder))
    assert [(s.path, s.renamed_from) for s in states] == [("a.txt", None), ("b.txt", "a.txt")]


def test_many_commits_are_streamed_and_may_be_left_early(repository: Repository) -> None:
    for number in range(12):
        repository.commit(f"commit {number}", a__txt=f"{number}\n" * 10_000)
    history = read_history(repository.folder)
    assert next(history).message == "commit 0"
    history.close()  # type: ignore[attr-defined]
    assert len(list(read_history(repository.folder))) == 12


def test_a_repository_without_commits_has_no_history(repository: Repository) -> None:
    assert list(read_history(repository.folder)) == []


def test_a_bare_repository_has_one(repository: Repository, tmp_path: Path) -> None:
    repository.commit("add", a__txt="a")
    repository.git("clone", "-q", "--bare", ".", str(tmp_path / "bare.git"))
    assert short(list(read_history(tmp_path / "bare.git"))) == [("a.txt", b"a")]


def test_what_is_wrong_is_said(
    repository: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    with pytest.raises(Unreadable, match="is not a git repository"):
        list(read_history(plain))
    with pytest.raises(Unreadable, match="is not a folder"):
        list(read_history(tmp_path / "none"))
    repository.commit("add", a__txt="a")
    for revision in ("nowhere", "--all", "HEAD:a.txt"):
        with pytest.raises(Unreadable, match="has no such commit"):
            list(read_history(repository.folder, revision))
    monkeypatch.setenv("PATH", str(plain))
    with pytest.raises(Unreadable, match="git is not installed"):
        list(read_history(repository.folder))


def test_a_lost_content_is_said(repository: Repository) -> None:
    repository.commit("add", a__txt="a\n")
    blob = repository.git("rev-parse", "HEAD:a.txt")
    lost = repository.folder / ".git" / "objects" / blob[:2] / blob[2:]
    lost.unlink()
    with pytest.raises(Unreadable, match=r"The content of a\.txt is missing"):
        list(read_history(repository.folder))


def test_a_clock_that_was_wrong_does_not_change_the_order(repository: Repository) -> None:
    repository.commits = 5
    first = repository.commit("at five", a__txt="1\n")
    repository.commits = 2
    repository.commit("at two", a__txt="2\n")
    five = datetime(2024, 1, 1, 5, tzinfo=UTC)
    assert [state.when for state in read_history(repository.folder)] == [five, five]
    assert [state.when for state in read_history(repository.folder, first)] == [five]


def _states(memory: hades.Memory) -> dict[str, list[tuple[str, str]]]:
    return {
        topic.name: [(state.metadata["message"], state.content) for state in history]
        for topic in memory.topics()
        if (history := memory.history(topic.name))
    }


def test_a_run_that_was_stopped_goes_on_where_it_stood(
    repository: Repository, tmp_path: Path
) -> None:
    text = "".join(f"line {n}\n" for n in range(20))
    many = {f"n{n}__md": f"{n}\n" for n in range(150)}
    repository.commit("add", old__md=text, **many)
    repository.git("mv", "old.md", "new.md")
    repository.commit("rename", **{name: f"again {n}" for name, n in many.items()})
    repository.commit("change", new__md=text + "more\n")

    def stop(what: str, done: int, total: int) -> None:
        if done == 200:  # in the middle of the second commit
            raise KeyboardInterrupt

    with (
        hades.open(tmp_path / "stopped.hades") as stopped,
        hades.open(tmp_path / "whole.hades") as whole,
    ):
        with pytest.raises(KeyboardInterrupt):
            stopped.ingest(repository.folder, history=True, phases=("nodes",), on_progress=stop)
        read = stopped.ingest(repository.folder, history=True, phases=("nodes",))
        assert (read.added, read.changed, read.unchanged) == (0, 103, 49)
        whole.ingest(repository.folder, history=True, phases=("nodes",))
        assert _states(stopped) == _states(whole)


def test_a_history_that_was_rewritten_is_read_again(repository: Repository, path: Path) -> None:
    text = "".join(f"line {n}\n" for n in range(20))
    repository.commit("add", old__md=text)
    repository.git("mv", "old.md", "new.md")
    repository.commit("rename")
    with hades.open(path) as memory:
        memory.ingest(repository.folder, history=True, phases=("nodes",))
        repository.git("commit", "-q", "--amend", "-m", "rename, better said")
        repository.git("reflog", "expire", "--expire=now", "--all")
        repository.git("gc", "-q", "--prune=now")
        memory.ingest(repository.folder, history=True, phases=("nodes",))
        assert [topic.name for topic in memory.topics()] == ["repository/new.md"]


def test_the_log_says_what_each_commit_did(repository: Repository, path: Path) -> None:
    first = repository.commit("Begin", cache__md="LRU.\nIn bytes.\n", __github="on: push\n")
    second = repository.commit("Merge branch 'lfu'\n\nLFU is better", cache__md="LFU.\nIn bytes.\n")
    repository.git("rm", "-q", "cache.md")
    third = repository.commit("No cache")
    with hades.open(path) as memory:
        memory.ingest(repository.folder, history=True, phases=("nodes", "chunks"))
        assert [(change.action, change.subject, change.summary) for change in memory.log()] == [
            ("remove", "repository/cache.md", f"2024-01-01 {third[:10]} Zoë: No cache; forgotten"),
            (
                "ingest",
                "repository/cache.md",
                f"2024-01-01 {second[:10]} Zoë: LFU is better; +1 −1 lines: LRU. → LFU.",
            ),
            (
                "ingest",
                "repository/cache.md",
                f"2024-01-01 {first[:10]} Zoë: Begin; +2 lines: LRU.",
            ),
        ]
        assert "cut" in {change.action for change in memory.log(upkeep=True)}
        assert memory.ingest(repository.folder).skipped == []
        assert memory.topics() == [], "hidden files are passed over"


def test_hidden_files_are_passed_over(repository: Repository) -> None:
    (repository.folder / ".github" / "flows").mkdir(parents=True)
    (repository.folder / ".github" / "flows" / "a.yml").write_text("on: push\n")
    repository.commit("add", b__md="# Words\n" * 9, _hidden="x")
    repository.git("mv", "b.md", ".b.md")
    repository.commit("hide")
    repository.git("mv", ".b.md", "c.md")
    repository.commit("show")
    found = [(state.path, state.data is None) for state in read_history(repository.folder)]
    assert found == [("_hidden", False), ("b.md", False), ("b.md", True), ("c.md", False)]
    below = repository.folder / ".github"
    assert [(state.path, state.data is None) for state in read_history(below)] == found


class ShopRepository:
    """A shop made by the real git, a day for each commit."""

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
def shop(tmp_path: Path) -> ShopRepository:
    return ShopRepository(tmp_path / "shop")


def test_each_commit_is_a_passage(shop: ShopRepository, path: Path) -> None:
    shop.commit("Add evict\n\nIt ran out of memory.\n\nSigned-off-by: Zoë <zoe@example.org>")
    shop.commit("# Heading\n\n```\nan open fence")
    memory = hades.open(path)
    memory.ingest(shop.folder, phases=("nodes", "chunks"))
    first, second = memory.chunks("shop/git-commits")
    assert first.text.splitlines()[0][:15] == "2024-03-02, Zoë"
    assert first.text.endswith("an open fence")
    assert second.heading == "shop/git-commits > 2024-03-01 Add evict"
    assert second.text.endswith("): Add evict\n\nIt ran out of memory.")


def test_only_new_commits_are_news(shop: ShopRepository, path: Path) -> None:
    shop.commit("One")
    memory = hades.open(path)
    assert memory.ingest(shop.folder).added == 1
    assert memory.ingest(shop.folder).unchanged == 1
    [known] = memory.recall("One").passages
    shop.commit("Two")
    assert memory.ingest(shop.folder).changed == 1
    assert [chunk.text.rpartition(" ")[2] for chunk in memory.chunks("shop/git-commits")] == [
        "Two",
        "One",
    ]
    assert memory.unembedded == 0
    assert known.chunk.text in {one.chunk.text for one in memory.recall("One").passages}


def test_a_setting_limits_the_commits(
    shop: ShopRepository, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for message in ("One", "Two", "Three"):
        shop.commit(message)
    monkeypatch.setenv("HADES_INGEST_COMMITS", "2")
    memory = hades.open(path)
    memory.ingest(shop.folder, phases=("nodes",))
    content = memory.get("shop/git-commits").content
    assert "Three" in content
    assert "One" not in content
    monkeypatch.setenv("HADES_INGEST_COMMITS", "0")
    assert memory.ingest(shop.folder, phases=("nodes",)).removed == 1


def test_a_history_has_its_messages_too(shop: ShopRepository, path: Path) -> None:
    (shop.folder / "a.md").write_text("one\n")
    shop.commit("Say one")
    memory = hades.open(path)
    memory.ingest(shop.folder, history=True, phases=("nodes",))
    memory.ingest(shop.folder, history=True, phases=("nodes",))
    assert [topic.name for topic in memory.topics()] == ["shop/a.md", "shop/git-commits"]
    assert memory.get("shop/git-commits").version == 1


def test_a_repository_without_commits(shop: ShopRepository) -> None:
    assert read_messages(shop.folder, 10) == b""
    assert read_commits(b"", "shop/git-commits").content == ""


def test_the_repository_around_a_folder_is_not_read(shop: ShopRepository, path: Path) -> None:
    shop.commit("Outside")
    inside = shop.folder / "inside"
    (inside / ".git").mkdir(parents=True)
    (inside / "a.md").write_text("one\n")
    memory = hades.open(path)
    memory.ingest(inside, phases=("nodes",))
    (inside / "a.md").unlink()
    summary = memory.ingest(inside, phases=("nodes",))
    assert [where for where, _ in summary.skipped] == ["inside/git-commits"]
    assert summary.removed == 1  # although the commits could not be read
    assert memory.topics() == []


def test_a_folder_that_was_sent_has_no_commits(shop: ShopRepository, path: Path) -> None:
    shop.commit("One")
    memory = hades.open(path)
    memory.ingest(shop.folder, source="upload:shop", phases=("nodes",))
    assert memory.topics() == []


def test_no_command_of_the_configuration_runs(shop: ShopRepository, tmp_path: Path) -> None:
    ran, command = tmp_path / "ran", tmp_path / "command"
    command.write_text(f"#!/bin/sh\ntouch {ran}\n")
    command.chmod(0o755)
    names = ("gpg.program", "core.fsmonitor", "core.pager", "diff.external", "core.sshCommand")
    for name in names:
        shop.git("config", name, str(command))
    shop.git("config", "log.showSignature", "true")
    shop.commit("One")
    ran.unlink(missing_ok=True)
    assert b"One" in read_messages(shop.folder, 10)
    assert not ran.exists()


def test_messages_are_limited(shop: ShopRepository, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.commit("long " * 2_000)
    [text] = read_commits(read_messages(shop.folder, 1), "shop/git-commits").blocks
    assert text.end - text.start == git_history.MESSAGE_CHARACTERS_AT_MOST
    monkeypatch.setattr(git_history, "MESSAGES_BYTES_AT_MOST", 100)
    with pytest.raises(Unreadable, match="larger than"):
        read_messages(shop.folder, 1)
