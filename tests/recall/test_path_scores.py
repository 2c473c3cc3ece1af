"""Paths between two names: what is stated wins, and every number of the scoring acts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hades
from tests.conftest import HeldClock
from tests.ingest.test_stated_edges import CACHE, GUIDE


@pytest.fixture
def code(memory: hades.Memory, tmp_path: Path) -> Path:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "cache.py").write_text(CACHE)
    (tmp_path / "guide.md").write_text(GUIDE)
    memory.ingest(folder, tmp_path / "guide.md")
    return folder


def ways(memory: hades.Memory, source: str, target: str, **said: Any) -> list[str]:
    return [path.told(snippets=False) for path in memory.paths(source, target, **said)]


def test_what_is_stated_wins_over_being_mentioned_together(
    code: Path, memory: hades.Memory
) -> None:
    assert ways(memory, "drop_all", "_load_all")[0] == (
        "cache.drop_all --[calls]--> cache._load_all"
    )
    assert ways(memory, "cache.Engine.evict", "cache.load_all")[0] == (
        "cache.Engine.evict --[calls]--> cache.drop_all --[calls]--> cache.load_all"
    )
    assert ways(memory, "src/cache.py", "os")[0] == "src/cache.py --[imports]--> os"
    assert ways(memory, "guide.md", "cache.drop_all")[0] == (
        "guide.md --[documents]--> cache.drop_all"
    )
    memory.remember("people", "Ann Smith and Bob Jones had lunch.")
    assert "mentions" in ways(memory, "Ann Smith", "Bob Jones")[0]
    memory.relate("Ann Smith", "knows", "Bob Jones", weight=0.6)
    assert ways(memory, "Ann Smith", "Bob Jones")[0] == "Ann Smith --[knows]--> Bob Jones"


def test_a_bare_name_of_a_symbol_leads_to_its_file(memory: hades.Memory, tmp_path: Path) -> None:
    code = "def evict(entries):\n    entries.pop(0)\n\n\nclass Store:\n    def compact(self): ...\n"
    (tmp_path / "cache.py").write_text(code)
    (tmp_path / "lru.md").write_text("When it is full, `evict` makes room, then `compact` runs.\n")
    memory.ingest(tmp_path / "cache.py", tmp_path / "lru.md")
    by_function, by_method = (
        "lru.md --[documents]--> cache.evict <--[contains]-- cache.py",
        "lru.md --[documents]--> cache.Store.compact <--[contains]-- cache.Store "
        "<--[contains]-- cache.py",
    )
    assert ways(memory, "lru.md", "cache.py") == [by_function, by_method]
    assert ways(memory, "lru.md", "cache.py", hops=1) == [by_function]
    assert ways(memory, "cache.py", "lru.md")[0] == (
        "cache.py --[contains]--> cache.evict <--[documents]-- lru.md"
    )


def test_a_path_tells_what_it_is_made_of(memory: hades.Memory) -> None:
    memory.relate("a", "knows", "b", weight=0.5)
    memory.relate("b", "cites", "c")
    (path,) = memory.paths("a", "c", decay_rate=0.9, hub_demotion=0)
    assert path.edge_types == ("knows", "cites")
    assert path.edge_weights == (0.5, 1.0)
    assert path.vertex_types == ("entity", "entity", "entity")
    assert path.path_length == 3
    assert path.score == path.reliability == pytest.approx(0.5 * 0.9 * 0.9)
    (undecayed,) = memory.paths("a", "c", decay_rate=1, hub_demotion=0)
    assert undecayed.score == pytest.approx(0.5)
    assert memory.paths("a", "c", pruning_threshold=0.5) == []


def test_length_is_forgiven_by_lambda(memory: hades.Memory) -> None:
    memory.relate("a", "knows", "c", weight=0.3)
    for source, target in (("a", "b"), ("b", "c")):
        memory.relate(source, "knows", target, weight=0.5)
    assert ways(memory, "a", "c")[0] == "a --[knows]--> c"
    assert ways(memory, "a", "c", length_correction=0.3)[0] == "a --[knows]--> b --[knows]--> c"


def test_relations_are_boosted(memory: hades.Memory) -> None:
    for source, relation, target in (("a", "cites", "b"), ("a", "knows", "c")):
        memory.relate(source, relation, target, weight=0.9 if relation == "cites" else 0.8)
        memory.relate(target, relation, "d")
    assert "cites" in ways(memory, "a", "d")[0]
    assert "knows" in ways(memory, "a", "d", boost=["coref=0.4", "cites=0.6"])[0]


def test_hubs_are_demoted(memory: hades.Memory) -> None:
    for source, target, weight in (("a", "hub", 0.9), ("hub", "b", 0.9), ("a", "x", 0.85)):
        memory.relate(source, "knows", target, weight=weight)
    memory.relate("x", "knows", "b", weight=0.85)
    for number in range(40):
        memory.relate("hub", "knows", f"other {number}")
    assert "hub" in ways(memory, "a", "b", hub_demotion=0)[0]
    assert ways(memory, "a", "b")[0] == "a --[knows]--> x --[knows]--> b"


def test_a_hub_lowers_a_path_and_does_not_drop_it(memory: hades.Memory) -> None:
    with memory.batch():
        for number in range(80):
            memory.relate(f"item {number}", "part_of", "hub")
        memory.relate("hub", "owned_by", "Ann Smith")
    (path,) = memory.paths("item 1", "Ann Smith", hub_demotion=1)
    assert str(path) == "item 1 --[part_of]--> hub --[owned_by]--> Ann Smith"
    assert path.score < 0.01  # the threshold, which concerns what the path itself says


@pytest.mark.parametrize(
    "wrong",
    [{"decay_rate": 2}, {"hub_demotion": -1}, {"boost": ["cites"]}, {"boost": ["cites=2"]}],
    ids=str,
)
def test_what_cannot_be_scored_is_refused(memory: hades.Memory, wrong: dict[str, Any]) -> None:
    memory.relate("a", "knows", "b")
    with pytest.raises(hades.InvalidInput, match=r"(?i)decay|hubs|boost"):
        memory.paths("a", "b", **wrong)


def test_the_class_has_a_configuration(story: hades.Memory) -> None:
    question = "Why don't we use approach X?"
    usual = hades.PathRAG(story)
    strict = hades.PathRAG(story, hades.PathScoring(pruning_threshold=1.0, boosts={"cites": 0.6}))
    assert usual.retrieve_paths(question)["count"] > 0
    assert strict.retrieve_paths(question)["count"] < usual.retrieve_paths(question)["count"]
    weaker = story.recall(question, plan={"graph": {"decay_rate": 0.1}}).paths
    assert all(0 < path.score <= 1 for path in (*weaker, *story.recall(question).paths))


def test_a_weight_grows_old(code: Path, memory: hades.Memory, clock: HeldClock) -> None:
    def weights(view: hades.View) -> tuple[float, float]:
        (edge,) = view.edges("cache.Engine.evict", relation="calls", direction="out")
        (step,) = view.paths("cache.Engine.evict", "cache.drop_all")[0].steps
        return edge.weight, step.weight

    young = weights(memory)
    assert young[0] == young[1]
    clock.tick(730 * 86_400)
    memory.relate("a", "knows", "b", weight=0.4)
    old = weights(memory)
    assert old[0] == old[1] < young[0]
    (edge,) = memory.edges("cache.Engine.evict", relation="calls", direction="out")
    assert edge.components["freshness"] == pytest.approx(0.3679, abs=1e-3)
    assert weights(memory.at("2024-01-01T00:00:01")) == young
    clock.tick(730 * 86_400)
    assert memory.edges("a")[0].weight == 0.4  # as it was told


def test_spans_are_what_states_an_edge_or_mention(code: Path, memory: hades.Memory) -> None:
    def said(name: str, **wanted: Any) -> dict[str, str]:
        spans = {}
        for edge in memory.edges(name, **wanted):
            assert edge.provenance is not None
            topic, version = edge.provenance.chunk.rsplit("#", 1)[0].rsplit("@", 1)
            chunks = {chunk.id: chunk for chunk in memory.chunks(topic, int(version))}
            text = chunks[edge.provenance.chunk].text
            spans[str(edge)] = text[edge.provenance.start :][:24].split("\n")[0]
            assert 0 < edge.provenance.end - edge.provenance.start < len(text)
        return spans

    def check() -> None:
        assert said("drop_all", relation="calls", direction="out") == {
            "cache.drop_all --[calls]--> cache._load_all": "_load_all(cache)",
            "cache.drop_all --[calls]--> cache.load_all": "load_all()",
        }
        assert said("src/cache.py", relation="imports") == {
            "src/cache.py --[imports]--> os": "import os"
        }
        assert said("cache.Engine", relation="contains", direction="in") == {
            "src/cache.py --[contains]--> cache.Engine": "Engine:"
        }
        for found in memory.mentions("drop_all"):
            text = found.chunk.text
            assert all(text[at:].startswith("drop_all") for at in found.positions)

    check()
    assert "drop_all to empty it, or" in said("guide.md", relation="documents").values()
    edited = CACHE.replace('"""Empty it."""', '"""Empty it, as load_all does not."""')
    (code / "cache.py").write_text(f"# One more line.\n\n{edited}")
    memory.ingest(code)
    check()


def test_no_path_of_a_recall_is_more_certain_than_its_passages(memory: hades.Memory) -> None:
    memory.remember("people/ann", "Ann Smith repairs the tower clock of Delft every spring.")
    memory.remember("people/bob", "Ann Smith once had soup with Bob Jones.")
    memory.remember("trips", "Bob Jones and Ann Smith went to Delft by train in the rain.")
    recall = memory.recall("Who repairs the tower clock of Delft?")
    believed = {passage.id: passage.belief.mean for passage in recall.passages}
    assert recall.paths
    for path in recall.paths:
        known = [believed[node.name] for node in path.nodes if node.name in believed]
        assert path.score <= min(known, default=1.0)


def test_evidence_of_one_long_word_is_cut(memory: hades.Memory) -> None:
    memory.remember("a", "# Mercury\n\nText.")
    memory.relate("a", "needs", "b", evidence="x" * 5_000)
    (path, *_) = memory.paths("a", "b")
    assert len(path.steps[-1].snippet) < 100
