"""Git history, triples, chats, and moving to another encoder."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import hades


def _git(repo: Path, *words: str, day: str = "2024-01-01") -> None:
    when = f"{day}T12:00:00Z"
    subprocess.run(
        ["git", "-C", str(repo), *words],
        check=True,
        capture_output=True,
        env={
            "PATH": "/usr/bin:/bin:/usr/local/bin",
            "HOME": str(repo),
            "GIT_AUTHOR_NAME": "Ann",
            "GIT_AUTHOR_EMAIL": "ann@example.org",
            "GIT_COMMITTER_NAME": "Ann",
            "GIT_COMMITTER_EMAIL": "ann@example.org",
            "GIT_AUTHOR_DATE": when,
            "GIT_COMMITTER_DATE": when,
        },
    )


def _commit(repo: Path, day: str, message: str) -> None:
    _git(repo, "add", "-A", day=day)
    _git(repo, "commit", "-m", message, day=day)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = tmp_path / "proj"
    made.mkdir()
    _git(made, "init", "-b", "main")
    (made / "cache.py").write_text("def cache():\n    return 'LRU'\n")
    (made / "notes.md").write_text("# Notes\n\nWe use an LRU cache.\n")
    _commit(made, "2024-01-10", "LRU")
    (made / "cache.py").write_text("def cache():\n    return 'LFU'\n")
    _commit(made, "2024-03-10", "LFU is better")
    _git(made, "mv", "notes.md", "story.md", day="2024-04-10")
    _commit(made, "2024-04-10", "rename")
    (made / "cache.py").unlink()
    _commit(made, "2024-05-10", "no cache")
    return made


def test_history_answers_from_the_code_of_that_day(repo: Path, path: Path) -> None:
    memory = hades.open(path)
    summary = memory.ingest(repo, history=True)
    assert summary.skipped == []
    # Two files and the commit messages.
    assert (summary.added, summary.changed, summary.renamed, summary.removed) == (3, 2, 1, 1)
    assert "LRU" in memory.at("2024-02").get("proj/cache.py").content
    state = memory.at("2024-04-01").get("proj/cache.py")
    assert "LFU" in state.content
    assert state.metadata["message"] == "LFU is better"
    with pytest.raises(hades.NotFound):
        memory.at("2024-06").get("proj/cache.py")
    then = memory.at("2024-02").search("cache", retriever="words", kind="code")
    assert ["LRU" in h.chunk.text for h in then] == [True]
    assert memory.search("cache", retriever="words", kind="code") == []
    assert memory.get("proj/story.md").content.startswith("# Notes")
    change = memory.change
    memory.ingest(repo)
    assert memory.change == change, "the files as they lie are the last states of the history"
    assert memory.check() == []
    memory.close()


def test_a_time_in_the_words_of_a_question_is_that_of_the_commits(repo: Path, path: Path) -> None:
    with hades.open(path) as memory:
        memory.ingest(repo, history=True)
        then = memory.recall("What did cache return in February 2024?")
        assert any("'LRU'" in passage.chunk.text for passage in then.passages)
        assert then.valid is not None
        assert then.valid.isoformat().startswith("2024-02-29T23:59:59")
        later = memory.recall("What did cache return in April 2024?")
        assert any("'LFU'" in passage.chunk.text for passage in later.passages)
        assert not any("'LRU'" in passage.chunk.text for passage in later.passages)
        assert memory.recall("What does cache return?").valid is None


def test_a_file_that_is_no_text_for_a_while_is_gone_for_that_while(repo: Path, path: Path) -> None:
    (repo / "notes2.md").write_text("# Words")
    (repo / "image.png").write_bytes(b"\0\1")
    _commit(repo, "2024-06-10", "words")
    (repo / "notes2.md").write_bytes(b"\0")
    _commit(repo, "2024-07-10", "no words")
    (repo / "notes2.md").write_text("# Words again")
    _commit(repo, "2024-08-10", "words again")
    with hades.open(path) as memory:
        memory.ingest(repo, history=True, phases=("nodes",))
        assert "proj/image.png" not in {topic.name for topic in memory.topics()}
        assert memory.at("2024-07-01").get("proj/notes2.md").content == "# Words"
        with pytest.raises(hades.NotFound):
            memory.at("2024-08-01").get("proj/notes2.md")
        assert memory.get("proj/notes2.md").content == "# Words again"


def test_a_folder_that_is_no_repository_is_refused(tmp_path: Path, memory: hades.Memory) -> None:
    with pytest.raises(hades.InvalidInput, match="repository"):
        memory.ingest(tmp_path, history=True)


def test_triples_of_ones_own(tmp_path: Path, memory: hades.Memory) -> None:
    file = tmp_path / "facts.jsonl"
    rows = [
        {"subject": "Ann", "predicate": "works_at", "object": "Acme", "valid_from": "2020"},
        {"subject": "Ann", "predicate": "knows", "object": "Bob", "source": "p7"},
        {"subject": "Ann"},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n{broken\n")
    summary = memory.import_triples(file)
    assert (summary.added, len(summary.skipped)) == (2, 2)
    assert "4" in summary.skipped[1][0]
    assert {str(e) for e in memory.edges("Ann")} == {
        "Ann --[works_at]--> Acme",
        "Ann --[knows]--> Bob",
    }
    assert memory.edges("Bob")[0].metadata == {"source": "p7"}
    assert memory.import_triples(file).unchanged == 2
    with pytest.raises(hades.InvalidInput):
        memory.import_triples(tmp_path / "none.jsonl")


def test_a_conversation_becomes_turns(tmp_path: Path, memory: hades.Memory) -> None:
    turns = [
        {"speaker": "Caroline", "text": "I went to the pottery class.", "session": 1},
        {"speaker": "Melanie", "text": "How was it?", "session": 1},
        {"speaker": "Caroline", "text": "I made a blue bowl.", "session": 2},
    ]
    (tmp_path / "chat.jsonl").write_text("\n".join(json.dumps(turn) for turn in turns))
    assert memory.ingest(tmp_path / "chat.jsonl").added == 2
    hit = memory.search("what did she make from clay?", 1)[0]
    assert "bowl" in hit.chunk.text or "pottery" in hit.chunk.text
    assert {"Caroline", "Melanie"} <= {e.name for e in memory.entities()}
    assert len(memory.chunks(memory.topics()[0].name)) == 2


def test_history_twice_is_history_once(tmp_path: Path, path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    _git(repo, "init", "-b", "main")
    (repo / "k.py").write_text("x = 1\n")
    (repo / "gone.md").write_text("# Gone\n\nsoon\n")
    _commit(repo, "2024-01-10", "one")
    _git(repo, "mv", "k.py", "kk.py", day="2024-02-10")
    (repo / "gone.md").unlink()
    _commit(repo, "2024-02-10", "two")
    (repo / "gone.md").write_text("# Back\n\nagain\n")
    _commit(repo, "2024-03-10", "three")
    with hades.open(path) as memory:
        memory.ingest(repo, history=True)
        topics, change = [t.name for t in memory.topics()], memory.change
        again = memory.ingest(repo, history=True)
        assert (again.added, again.changed, again.skipped) == (0, 0, [])
        assert ([t.name for t in memory.topics()], memory.change) == (topics, change)
        (repo / "kk.py").write_text("x = 2\n")
        _commit(repo, "2024-04-10", "four")
        assert memory.ingest(repo, history=True).changed == 2  # the file and the messages
