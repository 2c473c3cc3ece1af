"""Extractors: who finds names in texts."""

from __future__ import annotations

import itertools
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import hades
from hades.models import extractor
from hades.models.extractor import load_extractor
from tests.ingest.test_pipeline import FILES, present_graph

needs_spacy = pytest.mark.skipif(find_spec("spacy") is None, reason="needs the extra spacy")
TEXT = "Marie Curie moved to Paris in 1891 and worked at the University of Paris."


def test_the_built_in_one_goes_by_shape() -> None:
    first, second = load_extractor("names")([TEXT, "nothing here"])
    assert first[:3] == [
        ("Marie Curie", "person"),
        ("Paris", "place"),
        ("University of Paris", "organisation"),
    ]
    assert second == []


@needs_spacy
def test_spacy_tells_the_kind() -> None:
    found = dict(load_extractor("spacy")([TEXT])[0])
    assert found["Marie Curie"] == "person"
    assert found["Paris"] == "place"
    assert "1891" not in found


@needs_spacy
@pytest.mark.parametrize("order", list(itertools.permutations(sorted(FILES)))[::8])
def test_the_order_of_arrival_does_not_matter_with_spacy(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    graphs = []
    for number, files in enumerate((sorted(FILES), order)):
        with hades.open(tmp_path / f"{number}.hades", extractor="spacy") as memory:
            for name in files:
                memory.ingest(folder / name)
            kinds = [(e.name, e.kind, e.frequency) for e in memory.entities()]
            graphs.append((present_graph(memory), kinds))
    assert graphs[0] == graphs[1]
    assert any(kind == "person" for _, kind, _ in graphs[0][1])


def test_a_memory_remembers_its_extractor(path: Path) -> None:
    with hades.open(path, extractor="spacy") as memory:
        assert memory.inside.store.meta("extractor") == "spacy"
        assert memory.log(1)[0].action == "set_extractor"
    with hades.open(path) as memory:
        assert memory.inside.store.meta("extractor") == "spacy"
        change = memory.change
    with hades.open(path, extractor="spacy") as memory:
        assert memory.change == change
    with hades.open(path, extractor="names") as memory:
        assert memory.inside.store.meta("extractor") == "names"


def test_an_unknown_extractor_is_refused_and_nothing_written(path: Path) -> None:
    with pytest.raises(hades.InvalidInput, match="names, spacy"):
        hades.open(path, extractor="magic")
    with hades.open(path) as memory:
        assert memory.change == 0


def test_a_missing_extra_is_told_in_a_sentence(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    load_extractor.cache_clear()
    monkeypatch.setattr(extractor, "import_module", missing)
    with hades.open(path, extractor="spacy") as memory:
        memory.remember("a", TEXT)
        with pytest.raises(hades.Unavailable, match=r"pip install .*\[spacy\]"):
            memory.search("Paris")
    with hades.open(path, extractor="names") as memory:
        assert memory.search("Paris", retriever="names")
