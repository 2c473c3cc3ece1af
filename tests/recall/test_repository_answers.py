"""Questions about a small repository: its documentation, code, tests, change log and commits."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import hades
from hades.errors import NotFound

FILES = {
    "README.md": "# Larder\n\nA caching proxy for price lists.\n",
    "CHANGELOG.md": (
        "# Changelog\n\n## Version 8.20.1\n\n- Fixed the socket path.\n\n"
        "## Version 8.2.1\n\n- The log has no passwords.\n\n"
        "## Version 8.2.0\n\n- Added `Cache.evict`.\n- The default TTL is 300 seconds.\n"
    ),
    "docs/configure.md": (
        "# Configuration\n\n## Configure the cache\n\nSet the seconds an entry lives:\n\n"
        "```console\n$ export LARDER_TTL=300\n$ larder serve\n```\n\n1. Stop it.\n2. Start it.\n"
    ),
    "larder/cache.py": (
        "class Cache:\n    def __init__(self, ttl=300):\n        self.ttl = ttl\n\n"
        '    def evict(self):\n        """Drop the oldest entry."""\n        self.all.popitem()\n'
    ),
    "tests/test_cache.py": (
        "def test_how_to_configure_the_cache():\n"
        '    """Configure the cache: the TTL was raised, evict was added in 8.2.0."""\n'
        "    assert Cache(ttl=5).ttl == 5\n"
    ),
}
COMMITS = (
    "First version",
    "Raise the default TTL to 300 seconds\n\nThe supplier answered 429 every morning.",
    "Add Cache.evict\n\nSmall machines ran out of memory.",
)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[hades.Memory]:
    folder = tmp_path_factory.mktemp("repository") / "larder"
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    names = ("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL")
    environment = {name: value for name, value in os.environ.items() if name[:4] != "GIT_"}
    environment |= dict.fromkeys(names, "Ida")
    subprocess.run(("git", "init", "-q", folder), env=environment, check=True)
    for day, message in enumerate(COMMITS, start=10):
        date = f"2024-03-{day}T12:00:00+0000"
        dated = environment | {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
        command = ("git", "-C", folder, "commit", "-q", "--allow-empty", "-m", message)
        subprocess.run(command, env=dated, check=True)
    with hades.open(folder.parent / "larder.hades") as memory:
        memory.ingest(folder)
        yield memory


@pytest.mark.parametrize(
    ("question", "topic", "says"),
    [
        ("Why was the TTL raised?", "larder/git-commits", "\n\nThe supplier answered 429"),
        ("When was evict added?", "larder/git-commits", "2024-03-12, Ida"),
        ("What changed in 8.2.0?", "larder/CHANGELOG.md", "- Added `Cache.evict`.\n- The"),
        ("What is new in version 8.20.1?", "larder/CHANGELOG.md", "- Fixed the socket path."),
        ("What is new in v8.2.1?", "larder/CHANGELOG.md", "- The log has no passwords."),
        ("How do I configure the cache?", "larder/docs/configure.md", "TTL=300\n$ larder serve\n"),
        ("What does evict do?", "larder/larder/cache.py", 'entry."""\n        self.all'),
    ],
)
def test_the_best_source_is_quoted_first(
    memory: hades.Memory, question: str, topic: str, says: str
) -> None:
    answer = memory.ask(question)
    first = answer.sentences[0]
    assert answer.recall.passages[first.citation - 1].chunk.topic == topic
    assert says in first.text
    assert all(line in str(answer) for line in says.split("\n"))
    assert "def test_" not in str(answer)


def test_a_test_is_quoted_if_it_is_asked_for(memory: hades.Memory) -> None:
    assert "def test_" in str(memory.ask("How is configuring the cache tested?"))


def test_another_version_is_not_this_one(memory: hades.Memory) -> None:
    answer = memory.ask("What changed in 8.2.9?")
    assert str(answer) == "Nothing found says anything about “8.2.9”."


@pytest.mark.parametrize("name", ["cache.py", "Cache.evict", "larder/larder/cache.py"])
def test_get_history_and_edges_find_the_same(memory: hades.Memory, name: str) -> None:
    assert memory.get(name).topic == "larder/larder/cache.py"
    assert [state.topic for state in memory.history(name)] == ["larder/larder/cache.py"]
    assert memory.edges(name)


@pytest.mark.parametrize("read", ["get", "history", "edges"])
def test_near_names_are_offered(memory: hades.Memory, read: str) -> None:
    with pytest.raises(NotFound, match=r"Did you mean 'larder/docs/configure\.md'"):
        getattr(memory, read)("docs/confgure.md")
    with pytest.raises(NotFound, match="There is no topic"):
        getattr(memory, read)("%_\\")


def test_a_note_with_a_heading_answers_for_its_version(path: Path) -> None:
    memory = hades.open(path)
    steps = "\n".join(f"- Step {n} of the long list, which is told at length." for n in range(20))
    memory.remember("releases", f"# Releases\n\n## Version 8.2.0\n\n{steps}\n- Owls are cached.\n")
    answer = memory.ask("Which birds are cached since 8.2.0?")
    assert "Owls are cached" in str(answer)
    assert not answer.unsaid
