"""Edges that texts state: visible, weighted, and there as long as their passage is."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path

import pytest

import hades
from tests.conftest import HeldClock
from tests.ingest.test_pipeline import FILES

CACHE = '''"""A cache."""

import os


def drop_all(cache):
    """Empty it."""
    _load_all(cache)
    load_all()


def _load_all(cache):
    return 1


def load_all():
    return 2


class Engine:
    def evict(self):
        drop_all(self)
'''
GUIDE = "# Guide\n\nCall drop_all to empty it, or evict() on the engine. Evict nobody else.\n"


@pytest.fixture
def code(tmp_path: Path) -> Path:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "cache.py").write_text(CACHE)
    return folder


def said(edges: list[hades.Edge]) -> set[str]:
    return {str(edge) for edge in edges}


def test_a_file_shows_what_it_contains_and_imports(code: Path, memory: hades.Memory) -> None:
    memory.ingest(code)
    assert said(memory.edges("src/cache.py")) == {
        "src/cache.py --[contains]--> cache.drop_all",
        "src/cache.py --[contains]--> cache._load_all",
        "src/cache.py --[contains]--> cache.load_all",
        "src/cache.py --[contains]--> cache.Engine",
        "src/cache.py --[imports]--> os",
    }
    assert said(memory.edges("src/cache.py", relation="imports", direction="out")) == {
        "src/cache.py --[imports]--> os"
    }
    assert memory.edges("src/cache.py", direction="in") == []


def test_a_symbol_is_known_by_its_bare_name_and_by_its_letters(
    code: Path, memory: hades.Memory
) -> None:
    memory.ingest(code)
    calls = memory.edges("drop_all", relation="calls")
    assert said(calls) == {
        "cache.drop_all --[calls]--> cache._load_all",
        "cache.drop_all --[calls]--> cache.load_all",
        "cache.Engine.evict --[calls]--> cache.drop_all",
    }
    assert said(memory.edges("_load_all", direction="in", relation="calls")) == {
        "cache.drop_all --[calls]--> cache._load_all"
    }
    assert said(memory.edges("load_all", direction="in", relation="calls")) == {
        "cache.drop_all --[calls]--> cache.load_all"
    }
    names = [e.name for e in memory.entities() if e.kind == "code_symbol"]
    assert "_load_all" not in names  # shown as cache._load_all
    assert len(names) == len(set(names))


def test_a_bare_name_of_two_symbols_means_neither(code: Path, memory: hades.Memory) -> None:
    (code / "other.py").write_text("def drop_all():\n    return 3\n")
    memory.ingest(code)
    assert said(memory.edges("drop_all")) >= {
        "drop_all --[coref]--> cache.drop_all",
        "drop_all --[coref]--> other.drop_all",
    }
    (code / "other.py").unlink()
    memory.ingest(code)
    assert memory.edges("drop_all", relation="coref") == []


def test_a_weight_comes_with_its_parts(code: Path, memory: hades.Memory) -> None:
    memory.ingest(code)
    (contains,) = memory.edges("cache.Engine", relation="contains", direction="in")
    assert contains.components == {"type_prior": 0.9, "evidence": 1.0, "freshness": 1.0}
    (calls,) = memory.edges("cache.Engine.evict", relation="calls", direction="out")
    assert 0 < calls.components["sim"] < 1
    assert calls.weight > 0.8
    assert calls.id < 0
    assert calls.provenance is not None
    assert calls.provenance.chunk == "src/cache.py@1#5"


def test_what_is_told_keeps_the_weight_it_was_told_with(memory: hades.Memory) -> None:
    memory.relate("a", "calls", "b", weight=0.25)
    assert [(e.weight, dict(e.components)) for e in memory.edges()] == [(0.25, {})]


def test_a_stated_edge_holds_as_long_as_its_passage(
    code: Path, memory: hades.Memory, clock: HeldClock
) -> None:
    memory.ingest(code)
    clock.set("2024-02-01")
    (code / "cache.py").write_text(CACHE.replace("import os", "import sys"))
    memory.ingest(code)
    assert [e.target.name for e in memory.edges("src/cache.py", relation="imports")] == ["sys"]
    then = memory.at("2024-01-15").edges("src/cache.py", relation="imports")
    assert [e.target.name for e in then] == ["os"]
    every = memory.edges("src/cache.py", relation="imports", all=True)
    assert [(e.target.name, e.valid_to is None) for e in every] == [("os", False), ("sys", True)]
    assert memory.at("2001").edges() == []


def test_prose_documents_the_code_it_names(
    code: Path, tmp_path: Path, memory: hades.Memory, clock: HeldClock
) -> None:
    guide = tmp_path / "guide.md"
    guide.write_text(GUIDE)
    memory.ingest(guide)
    clock.set("2024-02-01")
    memory.ingest(code)
    edges = memory.edges("guide.md", relation="documents")
    assert said(edges) == {
        "guide.md@1#0 --[documents]--> cache.drop_all",
        "guide.md@1#0 --[documents]--> cache.Engine.evict",
    }
    assert {e.valid_from.date().isoformat() for e in edges} == {"2024-02-01"}
    assert memory.at("2024-01-15").edges("guide.md", relation="documents") == []
    assert len(memory.edges("drop_all", relation="documents", direction="in")) == 1
    clock.set("2024-03-01")
    guide.write_text("# Guide\n\nNothing to call. Evict nobody.\n")
    memory.ingest(guide)
    assert memory.edges(relation="documents") == []
    assert len(memory.at("2024-02-15").edges(relation="documents")) == 2
    assert {
        (e.valid_from.month, e.valid_to.month if e.valid_to else 0)
        for e in memory.edges(relation="documents", all=True)
    } == {(2, 3)}


PAPERS = [
    {"arxiv_id": "1706.03762", "title": "Attention at large", "abstract": "We attend."},
    {"arxiv_id": "1810.04805", "title": "Two ways", "abstract": "As arXiv:1706.03762 does."},
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_citations_join_papers_in_any_order(
    tmp_path: Path, memory: hades.Memory, order: tuple[int, ...]
) -> None:
    files = []
    for number, paper in enumerate(PAPERS):
        files.append(tmp_path / f"p{number}.jsonl")
        files[-1].write_text(json.dumps(paper) + "\n")
    files.append(tmp_path / "note.md")
    files[-1].write_text("# Note\n\nRead arXiv:1706.03762 first.\n")
    for number in order:
        memory.ingest(files[number])
    for name in ("Attention at large", "1706.03762", "arXiv:1706.03762"):
        assert said(memory.edges(name, relation="cites")) == {
            "Two ways --[cites]--> Attention at large"
        }
    topics = {m.chunk.topic for m in memory.mentions("Attention at large")}
    assert topics == {"arxiv/1706.03762", "arxiv/1810.04805", "note.md"}
    assert "1706.03762" not in [e.name for e in memory.entities()]
    assert memory.check() == []


TEXTS = [
    "# One\n\nThe Massachusetts Institute of Technology (MIT) is old.\n",
    "# Two\n\nAnn Lee works at MIT.\n",
    "# Three\n\nThe Massachusetts Institute of Technology has a dome.\n",
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_an_acronym_means_its_long_form_in_any_order(
    tmp_path: Path, memory: hades.Memory, order: tuple[int, ...]
) -> None:
    for number in order:
        (tmp_path / f"t{number}.md").write_text(TEXTS[number])
        memory.ingest(tmp_path / f"t{number}.md")
    for name in ("MIT", "Massachusetts Institute of Technology"):
        mentioned = memory.mentions(name)
        assert {m.chunk.topic for m in mentioned} == {"t0.md", "t1.md", "t2.md"}
        assert all(
            m.chunk.text[at:].startswith(("MIT", "Massachusetts"))
            for m in mentioned
            for at in m.positions
        )
        assert "Ann Lee" in {r.name for r in memory.about(name).near}
    (entity,) = memory.entities("Mass*")
    assert (entity.aliases, entity.frequency) == (("MIT",), 3)
    assert memory.entities("MIT") == []


def test_an_acronym_of_two_things_means_neither(tmp_path: Path, memory: hades.Memory) -> None:
    memory.remember("a", "Natural Language Processing (NLP) is one thing.")
    memory.remember("b", "Neural Lattice Parsing (NLP) is another.")
    memory.search("anything")
    assert said(memory.edges("NLP")) == {
        "NLP --[coref]--> Natural Language Processing",
        "NLP --[coref]--> Neural Lattice Parsing",
    }
    memory.forget("b")
    memory.search("anything")
    assert {m.chunk.topic for m in memory.mentions("NLP")} == {"a"}
    assert memory.edges("NLP") == []
    assert memory.entities("NLP") == []


def test_mentions_say_where(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("a", "Café Zürich is open.\nWe met at the Café Zürich. 東京 too.")
    memory.remember("b", "Nothing about it.")
    (found,) = memory.mentions("cafe zurich")
    text = found.chunk.text
    assert [text[at : at + 4] for at in found.positions] == ["Café", "Café"]
    assert found.line == 1
    clock.tick(60)
    memory.forget("a")
    assert memory.mentions("Café Zürich") == []
    assert len(memory.at(valid="2024-01-01", known="now").mentions("Café Zürich")) == 1
    with pytest.raises(hades.NotFound):
        memory.mentions("Nobody at all")


def test_frequency_counts_passages_at_the_views_time(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("a", "Ann Lee swims. Ann Lee dives.")
    memory.search("x")
    clock.set("2024-02-01")
    memory.remember("b", "Ann Lee runs.")
    memory.search("x")
    assert [e.frequency for e in memory.entities("Ann Lee")] == [2]
    assert [e.frequency for e in memory.at("2024-01-15").entities("Ann Lee")] == [1]


def test_what_a_user_named_before_the_code_came_is_the_symbol(
    code: Path, memory: hades.Memory
) -> None:
    memory.relate("cache.drop_all", "is", "slow")
    memory.ingest(code)
    assert {e.relation for e in memory.edges("cache.drop_all")} == {"is", "contains", "calls"}
    memory.relate("cache.drop_all", "was", "slower")
    assert len([e for e in memory.entities() if e.name == "cache.drop_all"]) == 1


@pytest.mark.parametrize("format", ["node-link", "graphml", "arango", "neo4j"])
def test_exports_tell_symbols_apart(
    code: Path, tmp_path: Path, memory: hades.Memory, format: str
) -> None:
    memory.remember("note", "Call drop_all, not load_all.")
    memory.ingest(code)
    memory.export(tmp_path / "out", format)
    if format == "node-link":
        data = json.loads((tmp_path / "out").read_text())
        ids = [node["id"] for node in data["nodes"]]
        assert len(ids) == len(set(ids))
        assert {"documents", "contains"} <= {edge["type"] for edge in data["edges"]}
    if format == "arango":
        rows = (tmp_path / "out" / "relations.jsonl").read_text().splitlines()
        relations = [json.loads(row) for row in rows]
        assert len({row["_key"] for row in relations}) == len(relations)
        assert {"calls", "contains"} <= {row["type"] for row in relations}


@pytest.mark.parametrize("order", list(itertools.permutations(FILES))[5::9])
def test_edges_and_weights_do_not_depend_on_the_order(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    found = []
    for number, names in enumerate((sorted(FILES), order)):
        with hades.open(tmp_path / f"{number}.hades") as memory:
            for name in names:
                (folder / name).write_text(FILES[name])
                memory.ingest(folder / name)
            edges = [(str(e), e.weight, sorted(e.components.items())) for e in memory.edges()]
            # The id of an entity tells which came first; nothing else does.
            found.append((sorted(edges), [replace(e, id=0) for e in memory.entities()]))
    assert found[0] == found[1]
    assert found[0][0]


def test_a_bare_name_of_several_symbols_documents_each_a_little(
    code: Path, memory: hades.Memory
) -> None:
    (code / "other.py").write_text("def drop_all():\n    return 3\n")
    memory.ingest(code)
    memory.remember("note", "Call drop_all or other.drop_all.")
    memory.search("drop")
    by_name = {e.target.name: e for e in memory.edges(relation="documents")}
    assert by_name["cache.drop_all"].components["evidence"] < 1
    assert by_name["other.drop_all"].components["evidence"] == 1
    assert by_name["other.drop_all"].evidence == "other.drop_all"
