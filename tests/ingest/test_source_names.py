"""A source with a name of its own: where its files lie may change from time to time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hades


def _folder(place: Path, **files: str) -> Path:
    folder = place / "docs"
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / f"{name}.md").write_text(text)
    return folder


def test_a_source_is_known_by_its_name_wherever_it_lies(
    memory: hades.Memory, tmp_path: Path
) -> None:
    memory.ingest(_folder(tmp_path / "one", a="Apples.", b="Bees."), source="handbook")
    again = memory.ingest(_folder(tmp_path / "two", a="Apples."), source="handbook")
    assert (again.unchanged, again.removed) == (1, 1)
    assert [topic.name for topic in memory.topics()] == ["docs/a.md"]


def test_what_a_named_source_wrote_is_not_written_over(
    memory: hades.Memory, tmp_path: Path
) -> None:
    memory.ingest(_folder(tmp_path / "one", a="Apples."), source="handbook")
    other = memory.ingest(_folder(tmp_path / "two", a="Pears."))
    assert other.added == 0
    assert re.search("comes from (upload:)?handbook", other.skipped[0][1])


def test_a_name_is_of_one_path_and_is_none_itself(memory: hades.Memory, tmp_path: Path) -> None:
    folder = _folder(tmp_path / "one", a="Apples.")
    for paths, source in (([folder, folder], "docs"), ([folder], "/docs")):
        with pytest.raises(hades.InvalidInput):
            memory.ingest(*paths, source=source)


def test_a_name_says_something(memory: hades.Memory, tmp_path: Path) -> None:
    with pytest.raises(hades.InvalidInput):
        memory.ingest(_folder(tmp_path / "one", a="Apples."), source=" ")
