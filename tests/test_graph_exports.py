"""Graph exports, read back by the tools that they are made for."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import hades
from tests.conftest import HeldClock

CHAT = "Ann Lee met Bob Moor in Oslo. Ann Lee works at Acme Labs."
OTHER = "Bob Moor moved to Bergen, and Ann Lee will visit."


@pytest.fixture
def notes(memory: hades.Memory, clock: HeldClock) -> hades.Memory:
    """Two notes with common names, indexed."""
    memory.remember("people/ann", CHAT)
    memory.remember("people/bob", OTHER)
    memory.relate("people/ann", "mentions_person", "people/bob", weight=0.5)
    memory.relate("Ann Lee", "knows", "Bob Moor")
    memory.search("Ann")
    clock.tick(60)
    return memory


def _node_link(memory: hades.View, path: Path, **options: Any) -> dict[str, Any]:
    memory.export(path, "node-link", **options)
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def _of(data: dict[str, Any], relation: str) -> dict[tuple[str, str], dict[str, Any]]:
    return {(e["source"], e["target"]): e for e in data["edges"] if e["type"] == relation}


def test_chunks_are_joined_to_their_topic_and_to_the_names_they_mention(
    notes: hades.Memory, tmp_path: Path
) -> None:
    data = _node_link(notes, tmp_path / "g.json")
    mentions = _of(data, "mentions")
    ann = mentions["chunk:people/ann@1#0", "ann_lee"]
    assert ann["metadata"]["count"] == 2
    assert [CHAT[at : at + 7] for at in ann["metadata"]["positions"]] == ["Ann Lee", "Ann Lee"]
    assert ("chunk:people/bob@1#0", "topic:people/bob") in _of(data, "part_of")
    related = _of(data, "related_to")
    (strongest,) = [e for ends, e in related.items() if set(ends) == {"ann_lee", "bob_moor"}]
    assert strongest["metadata"]["count"] == 2
    assert strongest["metadata"]["strength"] == 1.0
    assert all(source != target for source, target in related)


def test_small_words_and_parts_of_names_are_no_mentions(
    memory: hades.Memory, tmp_path: Path
) -> None:
    memory.remember("a", "We saw Rose Moor and Rose. A rose grows in New York.")
    memory.relate("Rose", "knows", "Rose Moor")
    memory.search("Rose")
    chunk = "chunk:a@1#0"
    mentions = _of(_node_link(memory, tmp_path / "g.json"), "mentions")
    assert mentions[chunk, "rose_moor"]["metadata"]["count"] == 1
    assert mentions[chunk, "rose"]["metadata"]["count"] == 1


def test_names_are_joined_to_a_bounded_number_of_others(
    memory: hades.Memory, tmp_path: Path
) -> None:
    people = [f"Ann X{number}{letter}" for number in range(8) for letter in "abcde"]
    memory.remember("crowd", f"The guests were {', '.join(people)}.")
    memory.search("guests")
    related = _of(_node_link(memory, tmp_path / "g.json"), "related_to")
    assert 0 < len(related) <= 10 * (len(people) + 1)


def test_an_import_leaves_out_what_follows_from_the_texts(
    notes: hades.Memory, tmp_path: Path
) -> None:
    _node_link(notes, tmp_path / "g.json", embeddings=True)
    with hades.open(tmp_path / "copy.hades") as copy:
        copy.import_(tmp_path / "g.json")
        assert {str(edge) for edge in copy.edges()} == {str(edge) for edge in notes.edges()}
        assert all(not edge.metadata for edge in copy.edges())
        copy.search("Ann")
        assert (
            _of(_node_link(copy, tmp_path / "again.json"), "mentions").keys()
            == _of(_node_link(notes, tmp_path / "same.json"), "mentions").keys()
        )


def test_embeddings_and_similarity(notes: hades.Memory, tmp_path: Path) -> None:
    without = _node_link(notes, tmp_path / "g.json")
    assert not any("embedding" in node for node in without["nodes"])
    data = _node_link(notes, tmp_path / "h.json", embeddings=True)
    vectors = {node["id"]: node["embedding"] for node in data["nodes"] if "embedding" in node}
    chunk = vectors["chunk:people/ann@1#0"]
    assert len(chunk) == 384
    assert sum(value * value for value in chunk) == pytest.approx(1, abs=0.02)
    (edge,) = _of(data, "mentions_person").values()
    ends = vectors["topic:people/ann"], vectors["topic:people/bob"]
    assert edge["sim"] == pytest.approx(sum(a * b for a, b in zip(*ends, strict=True)), abs=0.01)
    with pytest.raises(hades.InvalidInput, match="GraphML cannot hold embeddings"):
        notes.export(tmp_path / "g.graphml", "graphml", embeddings=True)
    assert not (tmp_path / "g.graphml").exists()


def test_exports_are_of_one_moment(notes: hades.Memory, clock: HeldClock, tmp_path: Path) -> None:
    notes.remember("people/bob", "Bob Moor lives in Rome now.")
    notes.search("Rome")
    now = _of(_node_link(notes, tmp_path / "now.json"), "mentions")
    then = _node_link(notes.at("2024-01-01T00:00:30"), tmp_path / "then.json")
    assert ("chunk:people/bob@2#0", "ann_lee") not in now
    assert ("chunk:people/bob@1#0", "ann_lee") in _of(then, "mentions")


def test_networkx_reads_node_link_and_graphml(notes: hades.Memory, tmp_path: Path) -> None:
    networkx = pytest.importorskip("networkx")
    data = _node_link(notes, tmp_path / "g.json")
    graph = networkx.node_link_graph(data, edges="edges")
    assert graph.is_multigraph()
    assert graph.is_directed()
    assert networkx.has_path(graph, "chunk:people/ann@1#0", "bob_moor")
    assert len(graph.nodes) == len(data["nodes"])
    assert graph.number_of_edges() == len(data["edges"])
    notes.export(tmp_path / "g.graphml", "graphml")
    same = networkx.read_graphml(tmp_path / "g.graphml", force_multigraph=True)
    assert set(same.nodes) == set(graph.nodes)
    assert same.number_of_edges() == graph.number_of_edges()
    (ends,) = same.get_edge_data("chunk:people/ann@1#0", "ann_lee").values()
    assert (ends["relation"], ends["count"]) == ("mentions", 2)


def test_igraph_reads_graphml(notes: hades.Memory, tmp_path: Path) -> None:
    igraph = pytest.importorskip("igraph")
    notes.export(tmp_path / "g.graphml", "graphml")
    graph = igraph.Graph.Read_GraphML(str(tmp_path / "g.graphml"))
    assert graph.is_directed()
    assert graph.is_connected(mode="weak")
    assert {"mentions", "related_to", "part_of", "knows"} <= set(graph.es["relation"])
    assert "Ann Lee" in graph.vs["name"]


def _collections(folder: Path) -> dict[str, list[dict[str, Any]]]:
    return {
        file.stem: [json.loads(line) for line in file.read_text().splitlines()]
        for file in folder.glob("*.jsonl")
    }


def _check_ends(rows: dict[str, list[dict[str, Any]]]) -> None:
    ids = {f"{name}/{row['_key']}" for name, of in rows.items() for row in of}
    edges = [row for name in ("relations", "mentions", "cluster_edges") for row in rows[name]]
    assert all(row["_from"] in ids and row["_to"] in ids for row in edges)
    assert all(len({row["_key"] for row in of}) == len(of) for of in rows.values())


@pytest.mark.embedded("folders are exported where the file is")
def test_papers_are_entities_and_their_texts_are_apart(
    memory: hades.Memory, tmp_path: Path
) -> None:
    paper = {
        "id": "1706.03762",
        "title": "Attention Is All You Need",
        "authors": "Ashish Vaswani, Noam Shazeer",
        "abstract": "It follows arXiv:1409.0473. Code: https://github.com/tensorflow/tensor2tensor",
        "categories": "cs.CL",
    }
    (tmp_path / "arxiv.jsonl").write_text(json.dumps(paper))
    memory.ingest(tmp_path / "arxiv.jsonl")
    memory.index()
    memory.export(tmp_path / "arango", "arango", embeddings=True)
    rows = _collections(tmp_path / "arango")
    _check_ends(rows)
    (raw,) = rows["papers_raw"]
    (entity,) = [row for row in rows["entities"] if row["name"] == paper["title"]]
    assert raw["entity"] == f"entities/{entity['_key']}"
    assert (entity["type"], raw["type"]) == ("paper", "paper")
    assert len(entity["embedding"]) == 384
    assert not [row for row in rows["entities"] if row["name"] == raw["name"]]
    (cites,) = [row for row in rows["relations"] if row["type"] == "cites"]
    assert cites["_from"] == raw["entity"]
    assert cites["provenance"]["doc"] == f"papers_raw/{raw['_key']}"
    assert entity["deg_out"] == 5  # two authors, a category, a citation and a repository
    types = {row["name"]: row["type"] for row in rows["entities"]}
    assert types["tensorflow/tensor2tensor"] == "repository"


@pytest.mark.embedded("folders are exported where the file is")
def test_keys_of_arango_stay_the_same(notes: hades.Memory, tmp_path: Path) -> None:
    notes.export(tmp_path / "before", "arango")
    notes.remember("a/first", "Zoe Gray knows Ann Lee.")
    notes.search("Zoe")
    notes.export(tmp_path / "after", "arango")
    before, after = (_collections(tmp_path / folder) for folder in ("before", "after"))
    for collection in ("entities", "chunks", "relations", "mentions"):
        assert _keys(before[collection]).items() <= _keys(after[collection]).items()
    assert "mentions_c_1_0_" in str(_keys(before["mentions"]))


def _keys(rows: list[dict[str, Any]]) -> dict[str, str]:
    """Map each key to the name of its node, or to the relation and the ends of its edge."""
    return {
        row["_key"]: row.get("name") or f"{row['_from']} {row['type']} {row['_to']}" for row in rows
    }


@pytest.mark.embedded("folders are exported where the file is")
def test_weights_and_logged_questions_are_exported(notes: hades.Memory, tmp_path: Path) -> None:
    notes.recall("Who works at Acme Labs?")
    notes.weights_rollback(0)
    notes.export(tmp_path / "now", "arango")
    rows = _collections(tmp_path / "now")
    (query,) = rows["query_logs"]
    assert query["question"] == "Who works at Acme Labs?"
    assert query["passages"]
    assert [row["_key"] for row in rows["weight_config"]] == ["w_0", "w_1"]
    assert rows["weight_config"][0]["parameters"]["prior cites"] > 0
    assert rows["bridge_cache"] == []
    notes.at(known="2024-01-01T00:00:30").export(tmp_path / "then", "arango")
    rows = _collections(tmp_path / "then")
    assert rows["query_logs"] == []
    assert [row["_key"] for row in rows["weight_config"]] == ["w_0"]


@pytest.mark.embedded("folders are exported where the file is")
def test_the_hierarchy_is_exported(memory: hades.Memory, tmp_path: Path) -> None:
    subjects = {"boats": "ship harbour sail anchor", "bread": "dough flour oven yeast"}
    for subject, words in subjects.items():
        for number in range(8):
            text = f"Sample {number} about {subject}: {words}, {words.split()[number % 4]}."
            memory.remember(f"{subject}/{number}", text)
    memory.relate("boats/1", "differs_from", "bread/1")
    memory.organise()
    memory.export(tmp_path / "arango", "arango")
    rows = _collections(tmp_path / "arango")
    _check_ends(rows)
    hierarchy = memory.hierarchy()
    assert {row["_key"] for row in rows["clusters"]} == {c.id for c in hierarchy.clusters}
    low = [row for row in rows["clusters"] if row["level"] == 1]
    assert all(len(row["centroid"]) == 384 and row["summary"] for row in low)
    assert low[0]["centroid_version"] == f"v{hierarchy.current.id}"
    assert low[0]["cluster_params"]["seed"] == hierarchy.current.seed
    members = [row for row in rows["cluster_edges"] if row["type"] == "member_of"]
    assert len(members) == len(rows["cluster_membership_journal"]) == 16
    assert {"member_of", "subtopic_of"} <= {row["type"] for row in rows["cluster_edges"]}
    topics = {row["name"]: row["cluster_id"] for row in rows["entities"]}
    assert topics["boats/1"] is not None
    assert topics["boats/1"] != topics["bread/1"]
    data = _node_link(memory, tmp_path / "g.json")
    assert len([node for node in data["nodes"] if node["type"] == "cluster"]) == len(
        rows["clusters"]
    )
    with hades.open(tmp_path / "copy.hades") as copy:
        copy.import_(tmp_path / "g.json")
        assert [str(edge) for edge in copy.edges()] == ["boats/1 --[differs_from]--> bread/1"]
    _read_csv(memory, tmp_path / "neo4j")


def _read_csv(memory: hades.Memory, folder: Path, **options: Any) -> tuple[list[Any], list[Any]]:
    memory.export(folder, "neo4j", **options)
    tables = []
    for name in ("nodes.csv", "relationships.csv"):
        with (folder / name).open(newline="") as file:
            tables.append(list(csv.DictReader(file)))
    nodes, edges = tables
    ids = {row["id:ID"] for row in nodes}
    assert len(ids) == len(nodes)
    assert {row[":START_ID"] for row in edges} | {row[":END_ID"] for row in edges} <= ids
    return nodes, edges


@pytest.mark.embedded("folders are exported where the file is")
def test_neo4j_has_mentions_and_vectors(notes: hades.Memory, tmp_path: Path) -> None:
    nodes, edges = _read_csv(notes, tmp_path / "neo4j", embeddings=True)
    (chunk,) = [row for row in nodes if row["id:ID"] == "chunk:people/ann@1#0"]
    assert len(chunk["embedding:float[]"].split(";")) == 384
    (mention,) = [
        row for row in edges if (row[":START_ID"], row[":END_ID"]) == (chunk["id:ID"], "ann_lee")
    ]
    assert (mention[":TYPE"], mention["count:long"]) == ("MENTIONS", "2")
    assert mention["positions:long[]"] == "0;30"


@pytest.mark.embedded("folders are exported where the file is")
def test_a_parser_reads_the_cypher(notes: hades.Memory, tmp_path: Path) -> None:
    neo4j = pytest.importorskip("graphglot.dialect.neo4j", reason="graphglot parses Cypher")
    notes.export(tmp_path / "neo4j", "neo4j", embeddings=True)
    statements = (tmp_path / "neo4j" / "create.cypher").read_text().split(";\n")[:-1]
    # The parser knows constraints and range indexes, but not full-text and vector indexes.
    plain = [text for text in statements if " FULLTEXT " not in text and " VECTOR " not in text]
    assert len(plain) == 9
    for statement in plain:
        neo4j.Neo4j().parse(statement)
    assert "`vector.dimensions`: 384" in statements[-1]


# A stand-in for arangosh: it runs the script twice and reports what it created.
ARANGOSH = """
const made = { collections: {}, graphs: {}, indexes: [], views: [] };
const collection = (name) => made.collections[name] && {
  ensureIndex: (index) => made.indexes.push([name, index.type, index.fields]),
};
const db = {
  _collection: collection,
  _createDocumentCollection: (name) => { made.collections[name] = 'document'; },
  _createEdgeCollection: (name) => { made.collections[name] = 'edge'; },
  _view: (name) => made.views.includes(name),
  _createView: (name) => made.views.push(name),
  _query: () => ({ next: () => 4 }),
};
const graphs = {
  _exists: (name) => name in made.graphs,
  _create: (name, definition) => { made.graphs[name] = definition; },
};
const loaded = (name) => ({ '@arangodb': { db }, '@arangodb/general-graph': graphs })[name];
const script = require('fs').readFileSync(process.argv[2], 'utf8');
for (const _ of [1, 2]) new Function('require', 'print', script)(loaded, console.error);
console.log(JSON.stringify(made));
"""


@pytest.mark.embedded("folders are exported where the file is")
@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js runs the script")
def test_the_script_for_arangosh_runs(notes: hades.Memory, tmp_path: Path) -> None:
    notes.export(tmp_path / "arango", "arango", embeddings=True)
    (tmp_path / "arangosh.js").write_text(ARANGOSH)
    command = ["node", str(tmp_path / "arangosh.js"), str(tmp_path / "arango" / "create.js")]
    made = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert set(made["collections"]) == set(_collections(tmp_path / "arango"))
    of_graph = {edge["collection"]: edge["from"] for edge in made["graphs"]["HADES_KG"]}
    assert of_graph["relations"] == ["entities"]
    assert "papers_raw" not in json.dumps(made["graphs"])
    assert ["entities", "persistent", ["cluster_id"]] in made["indexes"]
    assert ["chunks", "vector", ["embedding"]] in made["indexes"]
    assert made["views"] == ["entities_view"]
