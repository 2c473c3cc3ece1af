"""The code examples of HiRAG × PathRAG on ArangoDB, one test each."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "hierarchy"))

from notes_making import remember_subjects

import hades
from hades.compat.hirag import format_path_prompt

CONFIG = """
hirag_pathrag:
  topic_k: 8
  beam: [8,4,2]
  cand_cap: 500
  path: {M: 6, L: 5, lambda: 0.3, eps: 1e-6, relation_boost: {refers_to: 0.8, cites: 0.6}}
  beam_demote: {deg_alpha: 0.005}
"""
PAPER = {
    "id": "1706.03762",
    "title": "Attention Is All You Need",
    "authors": "Ashish Vaswani, Noam Shazeer",
    "abstract": "It follows arXiv:1409.0473. Code: https://github.com/tensorflow/tensor2tensor",
    "categories": "cs.CL",
}
QUESTION = "Where does the baker of Port Vale sell bread from the ship?"

Rows = dict[str, list[dict[str, Any]]]


@pytest.fixture
def organised(memory: hades.Memory) -> hades.Memory:
    """Three subjects, and a town that two of them have in common."""
    remember_subjects(memory)
    memory.remember("boats/town", "The ship from Port Vale moors in the harbour of boats.")
    memory.remember("bread/town", "The baker of Port Vale sells bread of rye flour and dough.")
    memory.organise()
    return memory


@pytest.fixture
def exported(organised: hades.Memory, tmp_path: Path) -> Rows:
    """The collections of an export for ArangoDB, with a paper beside the notes."""
    (tmp_path / "arxiv.jsonl").write_text(json.dumps(PAPER))
    organised.ingest(tmp_path / "arxiv.jsonl")
    organised.organise()
    organised.recall(QUESTION)
    organised.export(tmp_path / "arango", "arango", embeddings=True)
    return {
        file.stem: [json.loads(line) for line in file.read_text().splitlines()]
        for file in (tmp_path / "arango").glob("*.jsonl")
    }


# Collections and documents


def test_documents_are_in_the_collections_that_are_named(exported: Rows) -> None:
    named = {"papers_raw", "entities", "clusters", "weight_config", "query_logs"}
    assert named | {"cluster_membership_journal"} <= exported.keys()


def test_edges_are_in_two_collections(exported: Rows) -> None:
    assert {"relations", "cluster_edges"} <= exported.keys()
    assert {"member_of", "subtopic_of"} <= {row["type"] for row in exported["cluster_edges"]}


def test_an_entity_a_relation_and_a_cluster_have_the_fields_that_are_shown(exported: Rows) -> None:
    (paper,) = [row for row in exported["entities"] if row["name"] == PAPER["title"]]
    assert (paper["type"], paper["deg_out"], len(paper["embedding"])) == ("paper", 5, 384)
    assert {"layer", "cluster_id", "prev_cluster_id", "summary"} <= paper.keys()
    (cites,) = [row for row in exported["relations"] if row["type"] == "cites"]
    assert {"type_prior", "evidence", "freshness"} <= cites["weight_components"].keys()
    assert {"layer_bridge", "created"} <= cites.keys()
    assert cites["provenance"]["doc"].startswith("papers_raw/")
    low = [row for row in exported["clusters"] if row["level"] == 1]
    assert all(len(row["centroid"]) == 384 and row["summary"] for row in low)
    assert {"min_cluster_size", "min_samples", "seed"} <= low[0]["cluster_params"].keys()


def test_a_graph_is_created_by_a_script(exported: Rows, tmp_path: Path) -> None:
    script = (tmp_path / "arango" / "create.js").read_text()
    for name in ("HADES_KG", "entities", "clusters", "relations", "cluster_edges"):
        assert name in script


# The two queries


def test_a_path_has_the_score_of_the_query(memory: hades.Memory) -> None:
    memory.relate("A", "cites", "B", weight=0.9)
    memory.relate("B", "implements", "C", weight=0.8)
    memory.relate("C", "refers_to", "D", weight=0.7)
    boosts = {"cites": 0.6, "implements": 0.7, "refers_to": 0.8}
    (path,) = memory.paths(
        "A",
        "D",
        decay_rate=1.0,
        hub_demotion=0.0,
        length_correction=0.3,
        boost=[f"{relation}={boost}" for relation, boost in boosts.items()],
    )
    raw = math.log(0.9 * 0.6) + math.log(0.8 * 0.7) + math.log(0.7 * 0.8)
    assert path.score == pytest.approx(math.exp(raw / (1 + 0.3 * (3 - 2))))
    scoring = hades.PathScoring(1.0, 0.0, 0.3, 0.0, boosts)
    assert scoring.score(list(boosts), [0.9, 0.8, 0.7]) == pytest.approx(path.score)


def test_beams_descend_to_a_bounded_part_of_the_graph(organised: hades.Memory) -> None:
    hirag = hades.HiRAG(organised, {"beam": [2, 2, 1], "cand_cap": 5})
    found = hirag.get_hierarchy_candidates(vector(organised, "bread and flour"), k_topic=2)
    assert 0 < len(found.entries) <= 4
    assert len(found.nodes) <= 5


# The Python API


def test_three_functions_lead_from_a_vector_to_a_prompt(organised: hades.Memory) -> None:
    hirag = hades.HiRAG(organised)
    candidates = hirag.get_hierarchy_candidates(vector(organised, QUESTION), 8, {"topic": 0.0})
    paths = hirag.get_best_paths(candidates, M=6, L=5, relation_boosts={"cites": 0.6})
    assert 0 < len(paths) <= 6
    assert all(2 <= len(path.steps) <= 5 for path in paths)
    prompt = format_path_prompt(paths, hirag.hierarchy_summary(candidates))
    assert prompt.startswith("Hierarchy context (HiRAG):\n- ")


# The configuration and appendix B


def test_the_configuration_is_yaml(organised: hades.Memory) -> None:
    config = hades.HiRAG(organised, CONFIG).config
    assert (config.topic_k, config.beam, config.cand_cap) == (8, (8, 4, 2), 500)
    assert (config.path.lambda_, config.path.eps) == (0.3, 1e-6)


def test_a_prompt_has_the_form_of_the_template(organised: hades.Memory) -> None:
    lines = hades.HiRAG(organised).retrieve(QUESTION)["prompt"].splitlines()
    assert lines[0] == "Hierarchy context (HiRAG):"
    numbered = lines.index("Relational paths (PathRAG):") + 1
    assert lines[numbered].startswith("1) ")
    assert "--[" in lines[numbered]
    assert lines[-1] == (
        "Instructions: Answer using only the information in these paths. Cite path # and node ids."
    )


def vector(view: hades.View, text: str) -> list[float]:
    return [float(value) for value in view.inside.finder.encoder.encode([text])[0]]
