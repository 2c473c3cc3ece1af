"""From files to a linked, searchable graph; in any order, any number of times."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

import hades
from hades.index import space_words
from hades.ingest import history, phases
from hades.ingest.walk import LEADS_OUT, walk

pytestmark = pytest.mark.workers

GUIDE = """# Zebra Guide

The Zebra Project was started by Ann Lee at Acme Institute.

## Install

Run the installer of Blue Lake and read the Okapi Manual.
"""
MANUAL = """# Okapi Manual

The okapi is described here. Bob Stone wrote it for the World Okapi Forum (WOF).
The WOF meets near blue lake every year.
"""
LAKE = "# Blue Lake\n\nBlue Lake is a lake in the north. Ann Lee swims there.\n"
CODE = '''"""Tools of the Zebra Project."""


def count_stripes(animal):
    """Count the stripes of an animal."""
    return len(animal.stripes)


def report(animal):
    return f"{count_stripes(animal)} stripes"
'''
FILES = {"guide.md": GUIDE, "manual.md": MANUAL, "lake.md": LAKE, "tools.py": CODE}


def _write_files(parent: Path) -> Path:
    made = parent / "docs"
    made.mkdir()
    for name, text in FILES.items():
        (made / name).write_text(text)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return _write_files(tmp_path)


@pytest.fixture(scope="module")
def graph_of_folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What ingesting the folder in one go leads to."""
    place = tmp_path_factory.mktemp("whole")
    return _ingested(place / "m.hades", _write_files(place))


@pytest.fixture(scope="module")
def graph_of_files(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What ingesting the files one by one in the order of their names leads to."""
    place = tmp_path_factory.mktemp("files")
    return _ingested(place / "m.hades", *sorted(_write_files(place).iterdir()))


def present_graph(memory: hades.Memory) -> Any:
    """Everything that holds now: texts by topic, and which names stand in which of them."""
    store = memory.inside.store
    rows = store.database.rows(
        "SELECT t.name, c.heading, p.start, e.key, m.introduces, m.positions "
        "FROM mentions m JOIN chunks c ON c.id = m.chunk JOIN topics t ON t.id = c.topic "
        "JOIN entities e ON e.id = m.entity "
        "JOIN presences r ON r.chunk = c.id AND r.retired_at IS NULL AND r.valid_to IS NULL "
        "JOIN placements p ON p.chunk = c.id AND p.state = t.latest"
    )
    alive = {row[3] for row in rows if row[4] is not None}
    links = store.database.rows(
        "SELECT t.name, r.name, l.evidence FROM derived_edges l JOIN chunks c ON c.id = l.chunk "
        "JOIN topics t ON t.id = c.topic JOIN relations r ON r.id = l.relation "
        "JOIN presences q ON q.chunk = c.id AND q.retired_at IS NULL AND q.valid_to IS NULL"
    )
    return (
        [(t.name, memory.get(t.name).content) for t in memory.topics()],
        sorted(
            (topic, heading or "", start, key, bool(introduces), positions or b"")
            for topic, heading, start, key, introduces, positions in rows
            if key in alive
        ),
        sorted((topic, relation, evidence or "") for topic, relation, evidence in links),
    )


def _ingested(path: Path, *steps: Any) -> Any:
    with hades.open(path) as memory:
        for step in steps:
            memory.ingest(step)
        assert memory.check() == []
        return present_graph(memory)


def test_ingesting_makes_topics_chunks_and_links(folder: Path, memory: hades.Memory) -> None:
    summary = memory.ingest(folder)
    assert (summary.added, summary.skipped) == (4, [])
    assert [t.name for t in memory.topics()] == [f"docs/{n}" for n in sorted(FILES)]
    assert memory.get("docs/guide.md").content == GUIDE
    chunks = memory.chunks("docs/guide.md")
    assert all(c.text == GUIDE[c.start : c.end] for c in chunks)
    assert {"Ann Lee", "Blue Lake", "Okapi Manual"} <= {e.name for e in memory.entities()}
    assert memory.stats()["pending"] == 0
    assert memory.stats()["vectors"] == memory.stats()["chunks"]


@pytest.mark.embedded("it looks into the store")
def test_ingesting_twice_changes_nothing(folder: Path, memory: hades.Memory) -> None:
    memory.ingest(folder)
    change, before = memory.change, present_graph(memory)
    summary = memory.ingest(folder)
    assert (summary.added, summary.changed, summary.unchanged) == (0, 0, 4)
    assert memory.change == change
    assert present_graph(memory) == before


@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_arrival_does_not_matter(
    folder: Path, tmp_path: Path, seed: int, graph_of_files: Any
) -> None:
    files = [folder / name for name in FILES]
    random.Random(seed).shuffle(files)
    assert _ingested(tmp_path / "one-by-one.hades", *files) == graph_of_files


@pytest.mark.parametrize("seed", range(2))
def test_nor_does_it_where_old_texts_are_looked_up_by_words(
    folder: Path, tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch, graph_of_files: Any
) -> None:
    files = [folder / name for name in FILES]
    monkeypatch.setattr(phases, "OLD_CHUNKS_READ_AGAIN", 0)
    random.Random(seed + 10).shuffle(files)
    assert _ingested(tmp_path / "one-by-one.hades", *files) == graph_of_files


def test_removing_leaves_what_would_have_been_without(folder: Path, tmp_path: Path) -> None:
    few = tmp_path / "few" / "docs"
    few.mkdir(parents=True)
    for name in ("guide.md", "manual.md"):
        shutil.copy(folder / name, few / name)
    expected = _ingested(tmp_path / "few.hades", few)
    with hades.open(tmp_path / "all.hades") as memory:
        memory.ingest(folder)
        (folder / "lake.md").unlink()
        (folder / "tools.py").unlink()
        summary = memory.ingest(folder)
        memory.search("anything")
        assert summary.removed == 2
        assert present_graph(memory) == expected
        assert memory.history("docs/lake.md")[0].content == LAKE


def test_updating_is_removing_and_adding_for_the_present(folder: Path, tmp_path: Path) -> None:
    changed = GUIDE.replace("Ann Lee", "Cyd Moor").replace("Blue Lake", "Red Hill")
    with hades.open(tmp_path / "m.hades") as memory:
        memory.ingest(folder)
        (folder / "guide.md").write_text(changed)
        summary = memory.ingest(folder)
        assert (summary.changed, summary.unchanged) == (1, 3)
        assert [s.content for s in memory.history("docs/guide.md")] == [GUIDE, changed]
        found = present_graph(memory)
    assert found == _ingested(tmp_path / "new.hades", folder)


def test_an_edit_leaves_other_chunks_alone(memory: hades.Memory, tmp_path: Path) -> None:
    file = tmp_path / "long.md"
    parts = [f"## Part {n}\n\n" + f"Sentence of part {n}. " * 30 for n in range(6)]
    file.write_text("# Long\n\n" + "\n\n".join(parts))
    memory.ingest(file)
    vectors = memory.stats()["vectors"]
    parts[3] = parts[3].replace("Sentence", "Phrase")
    file.write_text("# Long\n\n" + "\n\n".join(parts))
    memory.ingest(file)
    assert memory.stats()["vectors"] - vectors <= 2


def test_a_renamed_file_keeps_its_trace(folder: Path, memory: hades.Memory) -> None:
    memory.ingest(folder)
    (folder / "lake.md").write_text(LAKE + "More.\n")
    memory.ingest(folder)
    (folder / "lake.md").rename(folder / "sea.md")
    summary = memory.ingest(folder)
    assert (summary.renamed, summary.removed) == (1, 0)
    assert len(memory.history("docs/sea.md")) == 2
    assert memory.check() == []


def test_search_by_every_retriever_and_at_any_time(folder: Path, path: Path) -> None:
    with hades.open(path) as memory:
        memory.ingest(folder)
        assert memory.search("who started the zebra project?")[0].chunk.topic == "docs/guide.md"
        by_words = memory.search("installer", retriever="words")
        assert [h.chunk.topic for h in by_words] == ["docs/guide.md"]
        assert by_words[0].line == 5
        by_name = {h.chunk.topic for h in memory.search("Ann Lee", retriever="names")}
        assert by_name == {"docs/guide.md", "docs/lake.md"}
        assert memory.search("stripes", kind="code")[0].chunk.topic == "docs/tools.py"
        assert memory.search("stripes", glob="docs/lake*")[0].chunk.topic == "docs/lake.md"
        before = memory.log(1)[0].at
        (folder / "guide.md").write_text("# Zebra Guide\n\nNothing to run here.\n")
        memory.ingest(folder)
        assert memory.search("installer", retriever="words") == []
        then = memory.at(before).search("installer", retriever="words")
        assert [h.chunk.id for h in then] == ["docs/guide.md@1#1"]
        assert memory.at("2001").search("installer") == []


def test_notes_are_searched_as_they_are_remembered(memory: hades.Memory) -> None:
    memory.remember("notes/cache", "We chose an LRU cache, bounded in bytes.", tags=["decision"])
    memory.remember("notes/lunch", "Noodles again.")
    assert memory.search("which cache?")[0].chunk.topic == "notes/cache"
    assert [h.chunk.topic for h in memory.search("cache", tag="decision")] == ["notes/cache"]
    memory.remember("notes/cache", "No cache at all.")
    assert memory.search("LRU", retriever="words") == []
    memory.forget("notes/cache")
    assert "notes/cache" not in {h.chunk.topic for h in memory.search("cache")}


def test_what_is_mentioned_together(folder: Path, memory: hades.Memory) -> None:
    memory.ingest(folder)
    found = {r.name: r for r in memory.about("Ann Lee").near}
    assert found["Blue Lake"].count == 1
    assert found["Acme Institute"].strength == 0.5
    assert "Bob Stone" not in found
    assert "Bob Stone" in {r.name for r in memory.about("WOF").near}
    (folder / "lake.md").unlink()
    memory.ingest(folder)
    assert "Blue Lake" not in {r.name for r in memory.about("Ann Lee").near}
    with pytest.raises(hades.NotFound):
        memory.about("Nobody")


def test_spaces_do_not_find_each_other(memory: hades.Memory) -> None:
    memory.remember("a", "secret of default")
    memory.create_space("b")
    other = memory.in_space("b")
    other.remember("b", "secret of b")
    for retriever in ("meaning", "words", "names"):
        assert "a" not in {h.chunk.topic for h in other.search("secret", retriever=retriever)}
    assert [h.chunk.topic for h in memory.search("secret")] == ["a"]


def test_what_is_purged_is_not_found(memory: hades.Memory) -> None:
    memory.remember("a", "Agent Xyzzy lives here")
    memory.remember("b", "nothing to see")
    assert memory.search("Xyzzy", retriever="words")
    memory.purge("a")
    for retriever in ("meaning", "words", "names"):
        assert "a" not in {h.chunk.topic for h in memory.search("Agent Xyzzy", retriever=retriever)}
    assert memory.entities() == []


def test_lost_or_damaged_indexes_are_made_anew(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_words, "MERGED_FROM", 1)
    built = tmp_path / "built"
    built.mkdir()
    with hades.open(built / "m.hades") as memory:
        memory.ingest(folder)
        expected = [h.chunk.id for h in memory.search("zebra")]
        memory.inside.finder.indexes._save()
    for number, damaged in enumerate(["", "spaces/**/*", "arrays"]):
        copy = shutil.copytree(built, tmp_path / f"copy{number}")
        index = copy / "m.hades.index"
        files = [file for file in index.glob(damaged) if file.is_file()] if damaged else []
        assert bool(files) == bool(damaged), damaged
        for file in files:
            file.write_bytes(b"junk")
        if not damaged:
            shutil.rmtree(index)
        with hades.open(copy / "m.hades") as memory:
            assert [h.chunk.id for h in memory.search("zebra")] == expected, damaged


@pytest.mark.slow
def test_another_process_sees_what_was_written(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "first words")
        assert memory.search("first", retriever="words")
        worker = multiprocessing.get_context("spawn").Process(target=_remember, args=(path,))
        worker.start()
        worker.join()
        assert worker.exitcode == 0
        assert [h.chunk.topic for h in memory.search("second", retriever="words")] == ["b"]


def _remember(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("b", "second words")
        assert memory.search("second", retriever="words")


def _ingest(path: Path, folder: Path) -> None:
    with hades.open(path) as memory:
        memory.ingest(folder)


def _ingest_until(path: Path, folder: Path, phase: str) -> None:
    """Ingest, and be killed as soon as a phase tells of its progress."""

    def die(what: str, _done: int, _total: int) -> None:
        if what == phase:
            os.kill(os.getpid(), signal.SIGKILL)

    with hades.open(path) as memory:
        if phase == "cutting":  # otherwise a part of reading
            memory.ingest(folder, phases=["nodes"])
        memory.ingest(folder, on_progress=die)


@pytest.mark.slow
def test_killed_in_any_phase_it_goes_on_where_it_stood(
    tmp_path: Path, folder: Path, graph_of_folder: Any
) -> None:
    spawn = multiprocessing.get_context("spawn")
    for phase in ("cutting", "reading names", "linking", "embedding"):
        worker = spawn.Process(target=_ingest_until, args=(tmp_path / "m.hades", folder, phase))
        worker.start()
        worker.join()
        assert worker.exitcode == -signal.SIGKILL, f"it was not killed while {phase}"
    assert _ingested(tmp_path / "m.hades", folder) == graph_of_folder


@pytest.mark.slow
def test_two_processes_ingest_two_folders_at_once(tmp_path: Path, folder: Path) -> None:
    second = tmp_path / "more"
    second.mkdir()
    for number in range(10):
        (second / f"{number}.md").write_text(f"# Paper {number}\n\nPaper {number} on Blue Lake.\n")
    spawn = multiprocessing.get_context("spawn")
    path = tmp_path / "m.hades"
    workers = [spawn.Process(target=_ingest, args=(path, f)) for f in (folder, second)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with hades.open(path) as memory:
        memory.ingest(folder, second)
        found = present_graph(memory)
    assert found == _ingested(tmp_path / "in-turn.hades", folder, second)


def test_ignore_files_and_odd_files(folder: Path, memory: hades.Memory) -> None:
    (folder / ".gitignore").write_text("secret*\nbuild/\n!secret-not.md\n")
    (folder / ".hadesignore").write_text("lake.md\n")
    (folder / "secret.md").write_text("# Secret")
    (folder / "secret-not.md").write_text("# Not secret at all")
    (folder / "build").mkdir()
    (folder / "build" / "out.md").write_text("# Built")
    (folder / "empty.md").touch()
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 20)
    (folder / "picture.xyz").write_bytes(b"\x89PNG")
    (folder / "loop").symlink_to(folder)
    summary = memory.ingest(folder)
    assert {t.name for t in memory.topics()} == {
        f"docs/{n}" for n in ("guide.md", "manual.md", "tools.py", "secret-not.md")
    }
    skipped = dict(summary.skipped)
    assert set(skipped) == {"docs/empty.md", "docs/binary.txt", "docs/picture.xyz"}
    assert all(why.endswith(".") for why in skipped.values())


def test_a_corpus_with_a_broken_line_and_an_id_given_twice(
    tmp_path: Path, memory: hades.Memory
) -> None:
    file = tmp_path / "corpus.jsonl"
    rows = [{"id": n, "title": f"Title {n}", "text": f"Text about thing {n}."} for n in range(3)]
    again = {**rows[0], "text": "Something else."}
    lines = [json.dumps(rows[0]), "{broken", json.dumps(rows[1]), json.dumps(again)]
    file.write_text("\n".join(lines))
    summary = memory.ingest(file, prefix="set")
    assert summary.added == 2
    assert summary.skipped[0][0].endswith("line 2")
    assert summary.skipped[1][0] == "set/0"
    assert summary.skipped[1][1].startswith("Another source here gives the same topic")
    assert memory.get("set/0").content == "Title 0\n\nText about thing 0."
    assert memory.get("set/1").content.startswith("Title 1")


@pytest.mark.parametrize("phases", [("nodes",), ("nodes", "chunks"), ("nodes", "chunks", "edges")])
def test_phases_run_alone_and_later(
    folder: Path, tmp_path: Path, phases: tuple[str], graph_of_folder: Any
) -> None:
    with hades.open(tmp_path / "m.hades") as memory:
        memory.ingest(folder, phases=phases)
        memory.ingest(folder)
        assert memory.stats()["pending"] == 0
        assert present_graph(memory) == graph_of_folder


def test_a_dry_run_writes_nothing(folder: Path, memory: hades.Memory) -> None:
    summary = memory.ingest(folder, dry_run=True)
    assert (summary.added, memory.change) == (4, 0)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda m: m.ingest(),
        lambda m: m.ingest("no/such/path"),
        lambda m: m.ingest(".", phases=("nonsense",)),
        lambda m: m.search(""),
        lambda m: m.search("x", limit=0),
        lambda m: m.search("x", retriever="window"),
        lambda m: m.search("x", kind="nope"),
    ],
)
def test_wrong_calls_are_refused(memory: hades.Memory, wrong: Any) -> None:
    with pytest.raises(hades.InvalidInput):
        wrong(memory)


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    """A folder with links to one beside it, and back."""
    inside, outside = tmp_path / "linked", tmp_path / "secret"
    inside.mkdir()
    outside.mkdir()
    (inside / "a.md").write_text("# A\n\nHere.")
    (inside / "same.md").symlink_to("a.md")
    (outside / "key.md").write_text("# Secret\n\nThe key is 7.")
    (outside / "back").symlink_to(inside)
    (inside / "more").symlink_to("../secret")
    (inside / "notes.md").symlink_to(outside / "key.md")
    return inside


def test_links_that_lead_out_are_named_and_not_followed(linked: Path, memory: hades.Memory) -> None:
    summary = memory.ingest(linked, phases=("nodes",))
    assert summary.skipped == [("linked/more", LEADS_OUT), ("linked/notes.md", LEADS_OUT)]
    assert [topic.name for topic in memory.topics()] == ["linked/a.md", "linked/same.md"]
    (linked / "same.md").unlink()
    assert memory.ingest(linked, phases=("nodes",)).removed == 1


def test_links_are_followed_where_that_is_asked(linked: Path, memory: hades.Memory) -> None:
    assert memory.ingest(linked, phases=("nodes",), follow_links=True).skipped == []
    names = ["linked/a.md", "linked/more/key.md", "linked/notes.md", "linked/same.md"]
    assert [topic.name for topic in memory.topics()] == names


IGNORED = (
    "trailing\\ \n"
    + """
# a comment
*.log
!keep.log
build/
/top.txt
docs/*.tmp
**/cache/**
a?c[0-9][!x].md
\\#odd
deep/**/leaf
*a*a*b
[unclosed
"""
)

IGNORED_OR_NOT = """
x.log keep.log sub/keep.log build/in sub/build/in top.txt sub/top.txt docs/a.tmp docs/in/a.tmp
cache/in sub/cache/in/in abc12.md abc1x.md #odd deep/leaf deep/one/two/leaf deep/leaf.txt
xaxab xab [unclosed sub/plain
"""


def test_ignore_files_leave_out_what_git_leaves_out(tmp_path: Path) -> None:
    for name in [*IGNORED_OR_NOT.split(), "trailing "]:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    (tmp_path / ".gitignore").write_text(IGNORED)
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    told = [*git, "ls-files", "-z", "--others", "--exclude-standard"]
    kept = subprocess.run(told, check=True, capture_output=True, text=True).stdout.split("\0")
    found = {one.relative_to(tmp_path).as_posix() for one, _ in walk(tmp_path)}
    assert found == {one for one in kept if one and one != ".gitignore"}


def test_a_hostile_ignore_file_does_not_stop_the_walk(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a" * 100 + "b\n" + "**/a/" * 500 + "b\n" + "[" * 4_000)
    (tmp_path / ("a" * 250)).write_text("x")
    assert [one for one, _ in walk(tmp_path)] == [tmp_path / ("a" * 250)]


def test_words_are_findable_while_later_files_are_read(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "BATCH_CHARACTERS", 1)
    (tmp_path / "docs").mkdir()
    for name in ("first", "second"):
        (tmp_path / "docs" / f"{name}.md").write_text(f"The {name} boat is blue.\n")
    found = []

    def look(what: str, done: int, total: int) -> None:
        if (what, done, total) == ("reading", 2, 2) and not found:
            with hades.open(path, read_only=True) as other:
                found.extend(hit.chunk.topic for hit in other.search("boat", retriever="words"))

    with hades.open(path) as memory:
        memory.ingest(tmp_path / "docs", on_progress=look)
    assert found == ["docs/first.md"]
