"""Configuration and markup are read as text."""

from __future__ import annotations

from pathlib import Path

import pytest

import hades
from hades.ingest.readers.text import read_settings

TOML = '# of a shop\nname = "shop"\n\n[tool.ruff]\nline-length = 99\n\n[[tool.more]] # two\na = 1\n'


def test_sections_are_headings() -> None:
    document = read_settings(TOML.encode(), "shop/pyproject.toml")
    assert [(block.heading, TOML[block.start : block.end]) for block in document.blocks] == [
        ("shop/pyproject.toml", '# of a shop\nname = "shop"'),
        ("shop/pyproject.toml > tool.ruff", "[tool.ruff]\nline-length = 99"),
        ("shop/pyproject.toml > tool.more", "[[tool.more]] # two\na = 1"),
    ]


def test_data_is_no_text() -> None:
    with pytest.raises(Exception, match="data rather than text"):
        read_settings(b'{"a": 1}\n' * 50_000, "package-lock.json")


def test_a_repository_has_more_than_code(path: Path, tmp_path: Path) -> None:
    repository = tmp_path / "shop"
    repository.mkdir()
    (repository / "pyproject.toml").write_text(TOML)
    (repository / "Makefile").write_text("test:\n\tpytest --quiet\n")
    (repository / "ci.yaml").write_text("jobs:\n  lint:\n    run: ruff check\n")
    (repository / "messages.json").write_text('{"message": "Your basket is empty"}\n')
    (repository / "schema.sql").write_text("CREATE TABLE baskets (id INTEGER);\n")
    with hades.open(path) as memory:
        assert memory.ingest(repository).skipped == []
        assert memory.search("which table has the baskets")[0].chunk.topic == "shop/schema.sql"
        assert memory.search("basket is empty")[0].chunk.topic == "shop/messages.json"
