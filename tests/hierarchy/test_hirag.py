"""HiRAG × PathRAG: its three functions and its configuration."""

from __future__ import annotations

import pytest
from notes_making import remember_subjects

import hades
from hades import format_path_prompt
from tests.conftest import HeldClock

CONFIGURATION = """
hirag_pathrag:
  topic_k: 8
  beam: [8,4,2]
  cand_cap: 500
  path:
    M: 6
    L: 5
    lambda: 0.3
    eps: 1e-6
    relation_boost:
      refers_to: 0.8
      implements: 0.7
      cites: 0.6
      derives_from: 0.6
      coref: 0.4
  beam_demote:
    deg_alpha: 0.005
"""
QUESTION = "Where does the baker of Port Vale sell bread from the ship?"


@pytest.fixture
def organised(memory: hades.Memory) -> hades.Memory:
    """Three subjects, and a town that bread and boats have in common."""
    remember_subjects(memory)
    memory.remember("boats/quay", "The ship from Port Vale moors in the harbour of boats.")
    memory.remember("bread/shop", "The baker of Port Vale sells bread of rye flour and dough.")
    memory.organise()
    return memory


def vector(view: hades.View, text: str) -> list[float]:
    return [float(value) for value in view.inside.finder.encoder.encode([text])[0]]


def test_the_configuration_is_read_as_it_stands() -> None:
    config = hades.HiRAGConfig.read(CONFIGURATION)
    assert config == hades.HiRAGConfig()
    assert (config.path.M, config.path.L, config.path.eps) == (6, 5, 1e-6)
    assert config.path.relation_boost["cites"] == 0.6


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("beam: [8, 4, 0]", "beam.2"),
        ("beam: [8, 4]", "beam.2"),
        ("cand_cap: 0", "cand_cap"),
        ("cand_cap: 1000000000", "cand_cap"),
        ("path: {L: 9}", "path.L"),
        ("path: {eps: .nan}", "path.eps"),
        ("path: {relation_boost: {cites: 2}}", "path.relation_boost.cites"),
        ("beams: [8, 4, 2]", "beams"),
        ("[1, 2]", "hirag_pathrag"),
        ("a: b: c", "not YAML"),
        ("topic_k: 2024-99-99", "not YAML"),
        ("[" * 10_000, "not YAML"),
    ],
)
def test_a_wrong_configuration_is_refused(wrong: str, said: str) -> None:
    with pytest.raises(hades.InvalidInput, match=said.replace(".", r"\.")):
        hades.HiRAGConfig.read(wrong)


def test_an_unknown_relation_is_reported_and_changes_nothing(organised: hades.Memory) -> None:
    hirag = hades.HiRAG(organised, {"path": {"relation_boost": {"cites": 0.6, "adores": 0.5}}})
    assert [(note.reason, note.detail) for note in hirag.reasons] == [
        (hades.Reason.IGNORED, "no edge has the relation 'adores'")
    ]
    assert hades.HiRAG(organised).reasons == ()


def test_the_hierarchy_leads_to_candidates(organised: hades.Memory) -> None:
    hirag = hades.HiRAG(organised)
    found = hirag.get_hierarchy_candidates(vector(organised, "bread and flour"), k_topic=1)
    assert len(found.entries) <= 8
    assert found.nodes[0][1] >= found.nodes[-1][1]
    assert set(found.entries) <= {node for node, _ in found.nodes}
    assert "bread" in hirag.hierarchy_summary(found)
    few = hades.HiRAG(organised, {"cand_cap": 3, "beam": [1, 1, 1]})
    small = few.get_hierarchy_candidates(vector(organised, "bread"))
    assert len(small.nodes) == 3
    assert small.left_out > 0
    none = hirag.get_hierarchy_candidates(vector(organised, "bread"), thresholds={"topic": 1.0})
    assert none.nodes == ()
    assert hirag.get_best_paths(none) == []


def test_paths_between_distant_communities_are_bridges(organised: hades.Memory) -> None:
    hirag = hades.HiRAG(organised, {"beam": [8, 4, 8]})
    found = hirag.retrieve(QUESTION)
    paths = found["paths"]
    joined = [path for path in paths if "Port Vale" in str(path)]
    assert joined
    assert all(2 <= len(path.steps) <= 5 for path in paths)
    assert [path.score for path in paths] == sorted((path.score for path in paths), reverse=True)
    chunks = [chunk.id for chunk in found["chunks"]]
    assert {path.nodes[0].name for path in paths} <= {*chunks}
    without = hirag.retrieve(QUESTION, with_paths=False)
    assert without["paths"] == []
    assert {chunk.id for chunk in without["chunks"]} == set(chunks)
    assert joined[0].bridges == sum(step.layer_bridge for step in joined[0].steps) == 1


def test_a_path_ends_at_anything_and_prefers_stated_relations(memory: hades.Memory) -> None:
    """Without a hierarchy, the nearest passages are the entries, and a reason says so."""
    memory.remember("hash", "Rolling hashes of n-grams are computed by updating previous values.")
    memory.remember("hash/notes", "Hashes of n-grams are not independent, says Dan Lemire.")
    memory.relate("hash", "implements", "lemire/rolling")
    found = memory.query_paths("How are hashes of n-grams computed?")
    assert [note.reason for note in found.reasons] == [hades.Reason.NO_HIERARCHY]
    assert found.summary == ""
    best = found.paths[0]
    assert (best.start.name, best.steps[-1].relation) == ("hash@1#0", "implements")
    assert best.nodes[-1].name == "lemire/rolling"
    assert all(2 <= len(path.steps) <= 5 for path in found.paths)
    assert "1) hash@1#0" in found.prompt
    shortened = memory.query_paths("hashes", 1, longest=2, boost=["implements=0.1"])
    assert len(shortened.paths) == 1


def test_the_prompt_is_that_of_the_source_document(organised: hades.Memory) -> None:
    found = hades.HiRAG(organised, {"beam": [8, 4, 8]}).retrieve(QUESTION)
    lines = found["prompt"].splitlines()
    assert lines[0] == "Hierarchy context (HiRAG):"
    assert " ▸ " in lines[1]
    assert "Relational paths (PathRAG):" in lines
    assert any(line.startswith("1) ") and "]--> " in line for line in lines)
    assert lines[-1].startswith("Instructions: Answer using only the information in these paths.")
    long = format_path_prompt(found["paths"], "bread and boats and stars\n" * 1_000)
    ledger = long.partition("HiRAG):\n")[2].partition("\n\nRelational")[0]
    assert "bread and boats" in ledger
    assert len(ledger) < len("bread and boats and stars\n" * 1_000) / 10
    assert "none" in format_path_prompt([], "")


def test_bad_vectors_and_arguments_are_refused(organised: hades.Memory) -> None:
    hirag = hades.HiRAG(organised)
    good = vector(organised, "bread")
    for bad in ([float("nan"), *good[1:]], good[:-1], [0.0] * len(good), ["x"] * len(good)):
        with pytest.raises(hades.InvalidInput, match="q_emb"):
            hirag.get_hierarchy_candidates(bad)
    for wrong in (0, 65, "8"):
        with pytest.raises(hades.InvalidInput, match="k_topic"):
            hirag.get_hierarchy_candidates(good, k_topic=wrong)  # type: ignore[arg-type]
    with pytest.raises(hades.InvalidInput, match="`thresholds` is a mapping, not str"):
        hirag.get_hierarchy_candidates(good, thresholds="topic")  # type: ignore[arg-type]
    with pytest.raises(hades.InvalidInput, match="no threshold 'cosine'"):
        hirag.get_hierarchy_candidates(good, thresholds={"cosine": 0.5})
    candidates = hirag.get_hierarchy_candidates(good)
    with pytest.raises(hades.InvalidInput, match="`candidate_graph` is the result"):
        hirag.get_best_paths(good)  # type: ignore[arg-type]
    with pytest.raises(hades.InvalidInput, match=r"path\.L"):
        hirag.get_best_paths(candidates, L=1)


def test_it_works_as_of_a_time(memory: hades.Memory, clock: HeldClock) -> None:
    remember_subjects(memory)
    clock.set("2024-02-01")
    memory.organise()
    clock.set("2024-03-01")
    memory.remember("bread/late", "Late bread is bread with much flour and dough.")
    before = hades.HiRAG(memory.at("2024-02-10")).retrieve("bread")
    now = hades.HiRAG(memory).retrieve("bread")
    assert len(now["candidates"].nodes) > len(before["candidates"].nodes)
    flat = hades.HiRAG(memory.at(known="2024-01-15")).retrieve("bread")
    assert [note.reason for note in flat["candidates"].reasons] == [hades.Reason.NO_HIERARCHY]


def test_steps_of_recalled_paths_are_labelled(organised: hades.Memory) -> None:
    (path, *_) = organised.recall("How is boats/quay connected with bread/shop?").paths
    assert path.bridges >= 1
