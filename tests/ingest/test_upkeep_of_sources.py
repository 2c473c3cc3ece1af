"""What is renamed, forgotten by hand, or only looked at."""

from __future__ import annotations

from pathlib import Path

import pytest

import hades


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "docs"
    made.mkdir()
    (made / "lake.md").write_text("# Blue Lake\n\nAnn Lee swims there.\n")
    (made / "tools.py").write_text('def stripes(zebra):\n    """Count them."""\n    return 3\n')
    return made


def test_a_dry_run_foresees_what_the_run_does(folder: Path, memory: hades.Memory) -> None:
    memory.ingest(folder)
    (folder / "lake.md").rename(folder / "sea.md")
    (folder / "tools.py").write_text("def spots():\n    return 4\n")
    (folder / "new.md").write_text("# New\n\nText.\n")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 20)
    change = memory.change
    foreseen = memory.ingest(folder, dry_run=True)
    assert memory.change == change
    done = memory.ingest(folder)
    for summary in (foreseen, done):
        counts = (summary.added, summary.changed, summary.renamed, summary.removed)
        assert counts == (1, 1, 1, 0)
        assert [where for where, _ in summary.skipped] == ["docs/binary.txt"]
    assert foreseen.skipped == done.skipped


def test_a_dry_run_names_a_topic_that_is_somebody_elses(folder: Path, memory: hades.Memory) -> None:
    memory.remember("docs/lake.md", "by hand")
    ((where, why),) = memory.ingest(folder, dry_run=True).skipped
    assert (where, "by hand" in why) == ("docs/lake.md", True)


def test_renamed_code_stands_under_its_new_name(folder: Path, memory: hades.Memory) -> None:
    memory.ingest(folder)
    (chunk,) = memory.chunks("docs/tools.py")
    assert chunk.heading.startswith("docs/tools.py > stripes")
    (folder / "tools.py").rename(folder / "animals.py")
    summary = memory.ingest(folder)
    assert (summary.renamed, summary.added, summary.removed) == (1, 0, 0)
    (chunk,) = memory.chunks("docs/animals.py")
    assert chunk.heading.startswith("docs/animals.py > stripes")
    (hit,) = memory.search("stripes", kind="code")
    assert hit.chunk.heading == chunk.heading
    assert memory.search("tools", retriever="words") == []
    assert "docs.animals.stripes" in {r.name for r in memory.about("docs.animals").near}
    with pytest.raises(hades.NotFound):
        memory.get("docs/tools.py")
    assert memory.check() == []
    assert memory.ingest(folder).unchanged == 2


def test_what_is_forgotten_by_hand_stays_so_until_its_file_changes(
    folder: Path, memory: hades.Memory
) -> None:
    memory.ingest(folder)
    memory.forget("docs/lake.md")
    summary = memory.ingest(folder)
    assert (summary.added, summary.changed, summary.unchanged) == (0, 0, 2)
    assert [t.name for t in memory.topics()] == ["docs/tools.py"]
    assert "docs/lake.md" not in {h.chunk.topic for h in memory.search("who swims?")}
    (folder / "lake.md").write_text("# Blue Lake\n\nBob Stone swims there.\n")
    assert memory.ingest(folder).added == 1
    assert "Bob Stone" in memory.get("docs/lake.md").content
    memory.forget("docs/lake.md")
    (folder / "lake.md").unlink()
    assert memory.ingest(folder).removed == 0


def test_a_file_that_went_and_came_back_is_there_again(folder: Path, memory: hades.Memory) -> None:
    memory.ingest(folder)
    text = (folder / "lake.md").read_text()
    (folder / "lake.md").unlink()
    assert memory.ingest(folder).removed == 1
    (folder / "lake.md").write_text(text)
    assert memory.ingest(folder).added == 1
    assert memory.get("docs/lake.md").content == text
