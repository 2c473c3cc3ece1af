"""What a careful reader once broke in ingestion and search, each as a test."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

import hades
from tests.conftest import HeldClock
from tests.ingest.test_more_sources import _commit, _git


def test_a_search_inside_a_batch_cannot_poison_the_index(memory: hades.Memory) -> None:
    memory.remember("a", "alpha walrus")
    with pytest.raises(hades.InvalidInput, match="not inside"), memory.batch():  # noqa: PT012
        memory.remember("c", "gamma octopus")
        memory.search("octopus")
    memory.remember("d", "delta squid")
    assert [h.chunk.topic for h in memory.search("squid", retriever="words")] == ["d"]
    assert memory.search("octopus", retriever="words") == []


def test_a_purge_leaves_other_handles_searching(path: Path) -> None:
    with hades.open(path) as first, hades.open(path) as second:
        first.remember("a", "alpha")
        first.remember("b", "beta")
        for memory in (first, second):
            assert memory.search("alpha", retriever="words")
        first.purge("b")
        for memory in (second, first, second):
            assert [h.chunk.topic for h in memory.search("alpha", retriever="words")] == ["a"]
            assert memory.search("beta", retriever="words") == []
        second.remember("c", "gamma")
        assert first.search("gamma", retriever="words")


def test_a_purge_in_a_batch_leaves_no_word_in_the_index(path: Path) -> None:
    with hades.open(path) as memory, hades.open(path) as other:
        memory.remember("a", "the xylophonist")
        memory.remember("b", "beta")
        assert memory.search("xylophonist", retriever="words")
        with memory.batch():
            memory.purge("a")
            thread = threading.Thread(target=other.search, args=("xylophonist",))
            thread.start()
            thread.join()
        assert memory.search("xylophonist", retriever="words") == []
        searcher = memory.inside.finder.indexes.words._searcher
        assert searcher.doc_freq("exact", "xylophonist") == 0


def test_a_plan_that_came_true_is_found(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("a", "apples are green")
    memory.remember("a", "zebras will run", valid_from="in 2 hours")
    for retriever in ("meaning", "words"):
        assert [h.chunk.version for h in memory.search("zebras apples", retriever=retriever)] == [1]
    clock.tick(3 * 3600)
    for retriever in ("meaning", "words"):
        assert [h.chunk.version for h in memory.search("zebras apples", retriever=retriever)] == [2]


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


def test_what_cannot_be_read_now_is_not_forgotten(tmp_path: Path, memory: hades.Memory) -> None:
    file = tmp_path / "rec.jsonl"
    rows = [json.dumps({"id": str(n), "title": f"T {n}", "text": f"Text {n}."}) for n in range(3)]
    file.write_text("\n".join(rows))
    memory.ingest(file)
    file.write_text("\n".join([rows[0], rows[1][:20]]))
    summary = memory.ingest(file)
    assert (summary.removed, len(summary.skipped)) == (0, 1)
    assert len(memory.topics()) == 3


def test_a_loop_of_links_stops_nothing(tmp_path: Path, memory: hades.Memory) -> None:
    folder = tmp_path / "mix"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\ntext\n")
    (folder / "loop").symlink_to(folder / "loop")
    summary = memory.ingest(folder)
    assert summary.added == 1
    assert len(summary.skipped) == 1


@pytest.mark.embedded("a server gives at most 1,000 hits")
def test_a_huge_limit_is_no_more_than_there_is(memory: hades.Memory) -> None:
    memory.remember("a", "alpha")
    assert len(memory.search("alpha", 10**12)) == 1


def test_two_folders_of_one_name_do_not_overwrite_each_other(
    tmp_path: Path, memory: hades.Memory
) -> None:
    for place in ("a", "b"):
        (tmp_path / place / "docs").mkdir(parents=True)
        (tmp_path / place / "docs" / "x.md").write_text(f"# From {place}\n")
    memory.remember("docs/y.md", "by hand")
    (tmp_path / "a" / "docs" / "y.md").write_text("# Y")
    first = memory.ingest(tmp_path / "a" / "docs")
    second = memory.ingest(tmp_path / "b" / "docs")
    assert "by hand" in first.skipped[0][1]
    assert "--prefix" in second.skipped[0][1]
    assert memory.get("docs/x.md").content == "# From a\n"
    assert memory.get("docs/y.md").content == "by hand"
    assert memory.ingest(tmp_path / "b" / "docs", prefix="b/docs").added == 1


def test_a_memory_does_not_take_itself_in(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# A\n\ntext\n")
    with hades.open(tmp_path / "m.hades") as memory:
        assert memory.ingest(tmp_path).skipped == []
        memory.search("text")
        assert memory.ingest(tmp_path).skipped == []


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m: m.ingest(5),
        lambda m: m.ingest(""),
        lambda m: m.ingest("a\0b"),
        lambda m: m.search("x", retriever=5),
        lambda m: m.search("x", retriever=[]),
    ],
)
def test_strange_calls_are_refused(memory: hades.Memory, wrong) -> None:
    with pytest.raises(hades.InvalidInput):
        wrong(memory)


def test_a_title_with_a_parenthesis_is_one_entity_under_two_names(
    tmp_path: Path, memory: hades.Memory
) -> None:
    rows = [
        {"id": "1", "title": "Ed Wood (film)", "text": "It was shot in black and white."},
        {"id": "2", "title": "Tim Burton", "text": "He directed Ed Wood."},
    ]
    (tmp_path / "films.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    memory.ingest(tmp_path / "films.jsonl")
    film = next(e for e in memory.entities() if e.name == "Ed Wood (film)")
    assert film.aliases == ("Ed Wood",)
    found = {h.chunk.topic for h in memory.search("Ed Wood", retriever="names")}
    assert found == {"films/1", "films/2"}
