"""Sources that are broken, missing, or of one name: each costs only itself."""

from __future__ import annotations

import json
from pathlib import Path

import hades


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


def test_links_of_texts_are_called_by_their_name(memory: hades.Memory, tmp_path: Path) -> None:
    folder = tmp_path / "proj"
    folder.mkdir()
    (folder / "team.md").write_text("# Team\n\nWho we are.\n")
    (folder / "incident.md").write_text("# Incident\n\nSee [the team](team.md).\n")
    memory.ingest(folder)
    steps = [step for one in memory.paths("proj/incident.md", "proj/team.md") for step in one.steps]
    assert "refers_to" in {step.relation for step in steps}
    assert "same as" not in {step.relation for step in steps}


def test_two_files_with_one_record_id_do_not_overwrite_each_other(
    memory: hades.Memory, tmp_path: Path
) -> None:
    for name, text in (("x", "alpha"), ("y", "beta")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": "a", "text": text}))
    first = memory.ingest(tmp_path, prefix="two")
    assert (first.added, len(first.skipped)) == (1, 1)
    again = memory.ingest(tmp_path, prefix="two")
    assert (again.added, again.changed, again.unchanged) == (0, 0, 1)


def test_a_path_that_is_not_there_does_not_stop_the_others(
    memory: hades.Memory, tmp_path: Path
) -> None:
    (tmp_path / "here.md").write_text("# Here\n\nText.\n")
    summary = memory.ingest(tmp_path / "here.md", tmp_path / "not_here.md")
    assert summary.added == 1
    assert "not_here.md" in summary.skipped[0][0]
