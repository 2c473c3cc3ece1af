"""The code examples of HippoRAG, one test each."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import hades
from hades.compat.hipporag import hipporag

sys.path.append(str(Path(__file__).parents[1]))

from serve.mcp_making import Offered, offered, talk


@pytest.fixture
def library(memory: hades.Memory) -> hades.Memory:
    memory.remember("ml_intro", "Many people use Python for Machine Learning.")
    memory.remember("python_basics", "The language Python has lists.")
    memory.remember("networks", "Neural Networks are a part of Machine Learning.")
    memory.remember("tensors", "Ann Smith tunes Neural Networks with Tensorflow every day.")
    memory.remember("sea", "Cleo Holm sails on the North Sea.")
    return memory


# The flow of data: entities, nodes, PageRank, chunks, results


def test_entities_of_a_query_lead_to_ranked_passages(library: hades.Memory) -> None:
    hippo = hades.HippoRAG(library)
    names = hippo.extract_entities("What about Python and Machine Learning?")
    assert {name.casefold() for name in names} == {"python", "machine learning"}
    scores = hippo.personalized_pagerank(names)
    assert sum(scores.values()) == pytest.approx(1)
    ranked = hippo.rank_chunks_by_ppr(scores)
    assert ranked[0][0] == "ml_intro@1#0"
    (first, *_) = hippo.retrieve("What about Python and Machine Learning?", top_k=3)
    assert (first["chunk_id"], first["rank"]) == ("ml_intro@1#0", 1)
    assert first["text"] == "Many people use Python for Machine Learning."
    assert first["metadata"]["file_path"] == "ml_intro"
    assert {"python", "machine learning"} <= {name.casefold() for name in first["entities"]}


# Retrieval over several hops


def test_a_search_goes_breadth_first(library: hades.Memory) -> None:
    hippo = hades.HippoRAG(library)
    reached = {
        name.casefold(): hops for name, hops in hippo.multi_hop_search(["Python"], 3).items()
    }
    assert reached["python"] == 0
    assert reached["machine learning"] == 1
    assert reached["neural networks"] == 2
    assert reached["tensorflow"] == 3
    assert "cleo holm" not in reached
    assert list(reached.values()) == sorted(reached.values())
    near = {name.casefold() for name in hippo.multi_hop_search(["Python"], 1)}
    assert "tensorflow" not in near
    assert hippo.multi_hop_search(["Nobody"]) == {}


def test_passages_of_further_hops_are_found(library: hades.Memory) -> None:
    hippo = hades.HippoRAG(library)
    found = hippo.retrieve_multi_hop("What is near Python?", max_hops=3)
    assert [row["rank"] for row in found] == [1, 2, 3, 4]
    assert {row["chunk_id"] for row in found} == {
        "ml_intro@1#0",
        "python_basics@1#0",
        "networks@1#0",
        "tensors@1#0",
    }
    assert found[0]["chunk_id"] == "ml_intro@1#0"
    (tensors,) = [row for row in found if row["chunk_id"] == "tensors@1#0"]
    assert "tensorflow" in tensors["entities"]
    assert tensors["metadata"]["file_path"] == "tensors"


def test_synonyms_are_walked(library: hades.Memory) -> None:
    library.relate("Python", "similar_to", "CPython")
    library.remember("interpreter", "The interpreter CPython counts references.")
    found = hades.HippoRAG(library).retrieve_multi_hop("What is near Python?", max_hops=0)
    assert "interpreter@1#0" in {row["chunk_id"] for row in found}


def test_a_query_without_names_is_still_answered(library: hades.Memory) -> None:
    found = hades.HippoRAG(library).retrieve_multi_hop("who sails on water?", top_k=1)
    assert [row["chunk_id"] for row in found] == ["sea@1#0"]


# PageRank and its fallback


def test_scores_follow_the_damping(library: hades.Memory) -> None:
    hippo = hades.HippoRAG(library)
    near = hippo.personalized_pagerank(["Python"], alpha=0.1, max_iter=100, tol=1e-6)
    far = hippo.personalized_pagerank(["Python"], alpha=0.9)
    assert sum(near.values()) == pytest.approx(1)
    assert near["Python"] > far["Python"]


def test_what_cannot_be_walked_is_ranked_by_meaning_and_words(memory: hades.Memory) -> None:
    memory.remember("menu", "soup and bread")
    found = hipporag(memory, "what about soup")
    assert found["answered_by"] == "meaning and words"
    assert found["results"][0]["chunk_id"] == "menu@1#0"


# The schema of the graph


@pytest.fixture
def exported(library: hades.Memory, tmp_path: Path) -> dict[str, Any]:
    library.search("Python")
    library.add_alias("Python", "python3")
    library.export(tmp_path / "graph.json", "node-link")
    graph: dict[str, Any] = json.loads((tmp_path / "graph.json").read_text())
    return graph


def test_nodes_are_exported_in_the_schema(exported: dict[str, Any]) -> None:
    nodes = {node["id"]: node for node in exported["nodes"]}
    chunk = nodes["chunk:ml_intro@1#0"]
    assert chunk["type"] == "chunk"
    assert chunk["metadata"]["text"].startswith("Many people")
    assert (chunk["metadata"]["file_path"], chunk["metadata"]["chunk_index"]) == ("ml_intro", 0)
    entity = nodes["python"]
    assert entity["type"] == "entity"
    assert entity["metadata"]["canonical_name"] == "Python"
    assert entity["metadata"]["aliases"] == ["python3"]
    assert entity["metadata"]["frequency"] == 2


def test_edges_are_exported_in_the_schema(exported: dict[str, Any]) -> None:
    edges = {(edge["source"], edge["target"], edge["type"]): edge for edge in exported["edges"]}
    mention = edges["chunk:ml_intro@1#0", "python", "mentions"]
    assert (mention["metadata"]["count"], mention["metadata"]["positions"]) == (1, [16])
    (related,) = [
        edge
        for (source, target, kind), edge in edges.items()
        if kind == "related_to" and {source, target} == {"python", "machine_learning"}
    ]
    assert 0 < related["metadata"]["strength"] <= 1


# The tool and the modes


@pytest.fixture
def server(library: hades.Memory, path: Path) -> Iterator[Offered]:
    library.close()
    with offered(path) as opened:
        yield opened


def test_the_tools_of_the_documents_are_called_over_mcp(server: Offered) -> None:
    """`pathrag_retrieve` is the tool of memory-enhanced PathRAG."""

    def call(tool: str, **arguments: Any) -> dict[str, Any]:
        result = talk(server, lambda client: client.call_tool(tool, arguments))
        answer: dict[str, Any] = result.structured_content
        return answer

    query = "How is Python connected with Tensorflow?"
    found = call("hipporag_retrieve", query=query, limit=2, mode="planning")
    assert len(found["results"]) == 2
    assert call("pathrag_retrieve", query=query, max_paths=2)["success"]
    told = call("pathrag_retrieve", query=query, format_for_llm=True)
    assert told["formatted_prompt"].startswith(f"Query: {query}")


def test_modes_have_their_numbers_of_passages(path: Path) -> None:
    with hades.open(path) as memory, memory.batch():
        for number in range(25):
            memory.remember(f"parts/{number}", f"Python has part {number}.")
    counts = {"execution": 5, "planning": 10, "brainstorming": 20}
    with offered(path) as server:
        for mode, count in counts.items():
            asked = {"query": "What has Python?", "mode": mode}
            result = talk(server, lambda client, a=asked: client.call_tool("hipporag_retrieve", a))
            assert len(result.structured_content["results"]) == count, mode
