"""Out and back in: nothing is lost, and other tools can read it."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from damaging import edit
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.store.store import Store
from tests.conftest import HeldClock


@pytest.fixture
def full(memory: hades.Memory, place: str | Path, clock: HeldClock) -> hades.Memory:
    """A memory with something of everything."""
    memory.remember("design/x", "Rejected\x00 – ünïcödé 🜏", tags=["decision"], confidence=0.5)
    memory.remember("doc", "\n".join(f"line {n}" for n in range(100)), metadata={"a": [1, None]})
    clock.tick(60)
    memory.remember("doc", "\n".join(f"line {n}" for n in range(99)), importance=0.9)
    memory.relate("design/x", "rejected_because", "bugs/y", evidence='it <breaks> & "bites"')
    memory.relate("Ann; Lee", "found", "bugs/y", weight=0.25, metadata={"by": "hand"})
    memory.relate("Anne Lee", "likes", "doc", kind="person")
    memory.add_alias("Anne Lee", "Annie")
    clock.tick(60)
    memory.merge("Anne Lee", "Ann; Lee")
    memory.change_fact("design/x", "rejected_because", to="doc", content="Viable")
    memory.remember("gone", "soon")
    clock.tick(60)
    memory.forget("gone")
    memory.remember("secret", "purged")
    memory.purge("secret")
    memory.create_space("work")
    memory.in_space("work").remember("doc", "another", valid_from="2030")
    with hades.open(place, clock=clock, actor="ann") as own:
        _put_chunk(own.inside.store)
    return memory


def _put_chunk(store: Store) -> None:
    """A chunk with a vector and a mention, made by hand."""
    passages = store.chunks
    with store.write("ann", "ingest", 1) as write:
        (state,) = [
            p.state for p in passages.pending(1, 1, 99) if p.topic == "design/x" and p.version == 2
        ]
        cut = hades.Chunk("design/x", 2, 0, "Viable", 0, 6, heading="Top", tokens=2)
        (chunk,) = passages.place(write, state, [cut])
        passages.put_vectors(write, "tiny", 2, [(chunk << 3 | 2, b"\x01\x02\x03\x04")])
        store.mentions.introduce(write, 1, "Viability", "concept", 7, [chunk])


def _dump(memory: hades.Memory) -> str:
    out = io.StringIO()
    memory.export(out)
    return out.getvalue()


def test_jsonl_comes_back_without_loss(full: hades.Memory, tmp_path: Path) -> None:
    full.export(tmp_path / "all.jsonl")
    with hades.open(tmp_path / "copy.hades") as copy:
        copy.import_(tmp_path / "all.jsonl")
        assert _dump(copy) == _dump(full)
        assert copy.check() == []
        assert copy.history("doc") == full.history("doc")
        assert copy.edges(all=True) == full.edges(all=True)
        assert (
            copy.at(known="2024-01-01T00:01:30").edges()
            == full.at(known="2024-01-01T00:01:30").edges()
        )
        assert copy.log() == full.log()
        assert copy.chunks("design/x") == full.chunks("design/x")
        copy.remember("doc", "goes on")
        assert copy.change == full.change + 1


def test_an_imported_memory_knows_that_its_vectors_are_complete(tmp_path: Path) -> None:
    with hades.open(tmp_path / "a.hades") as memory:
        memory.remember("design/x", "Rejected because of the heat.")
        memory.index()
        memory.export(tmp_path / "all.jsonl")
    with hades.open(tmp_path / "b.hades") as copy:
        copy.import_(tmp_path / "all.jsonl")
        assert copy.inside.store.chunks.embedded(copy.inside.finder.encoder.model) > 0


def _with_phase(export: Path, phase: int) -> None:
    records = [json.loads(line) for line in export.read_text().splitlines()]
    for record in records:
        if record.get("table") == "pending":
            record["phase"] = phase
    export.write_text("".join(f"{json.dumps(record)}\n" for record in records))


def test_a_state_that_waits_in_an_unknown_phase_is_refused(tmp_path: Path) -> None:
    export = tmp_path / "all.jsonl"
    with hades.open(tmp_path / "a.hades") as memory:
        memory.remember("design/x", "Rejected because of the heat.")
        memory.export(export)
    _with_phase(export, 99)
    with hades.open(tmp_path / "b.hades") as copy:
        with pytest.raises(hades.InvalidInput, match="nothing was imported"):
            copy.import_(export)
        assert copy.topics() == []


def test_jsonl_into_a_memory_in_use(full: hades.Memory, tmp_path: Path) -> None:
    full.export(tmp_path / "all.jsonl")
    with hades.open(tmp_path / "other.hades") as other:
        other.create_space("busy")
        other.in_space("busy").remember("mine", "kept")
        other.in_space("busy").relate("mine", "knows", "Zoe")
        other.import_(tmp_path / "all.jsonl")
        assert other.check() == []
        assert other.history("doc") == full.history("doc")
        assert [str(e) for e in other.edges(all=True)] == [str(e) for e in full.edges(all=True)]
        turn = other.when_changed("design/x", "rejected_because")
        assert turn.after is not None
        assert other.entities() == full.entities()
        assert other.in_space("busy").get("mine").content == "kept"
        with pytest.raises(hades.Conflict, match="--into"):
            other.import_(tmp_path / "all.jsonl")
        assert other.check() == []


def test_jsonl_into_a_named_space(tmp_path: Path, memory: hades.Memory) -> None:
    memory.remember("a", "one")
    memory.remember("a", "two")
    memory.export(tmp_path / "all.jsonl")
    memory.import_(tmp_path / "all.jsonl", into="second")
    assert [s.content for s in memory.in_space("second").history("a")] == ["one", "two"]
    assert memory.check() == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "empty"),
        ("not json\n", "line 1"),
        ('{"other": 1}\n', "not an export"),
        ('{"hades": 1}\n', "not an export"),
        ('{"hades": 2}\n[1]\n', "line 2, is not a JSON object"),
        ('{"hades": 2}\n{"table": "nonsense"}\n', "no such kind"),
        ('{"hades": 2}\n{"table": "topics", "id": 1}\n{"end": 1}\n', "."),
        ('{"hades": 2}\n{"table": "topics", "id": "x", "space": 1, "name": 5}\n', "line 2"),
        ('{"hades": 2}\n{"table": "spaces", "id": 1, "name": "default", "evil": 1}\n', "evil"),
        ('{"hades": 2}\n{"tab', "line 2"),
    ],
)
def test_a_broken_import_changes_nothing(
    memory: hades.Memory, tmp_path: Path, content: str, says: str
) -> None:
    memory.remember("a", "one")
    before = _dump(memory)
    (tmp_path / "bad.jsonl").write_text(content)
    with pytest.raises(hades.HadesError, match=says):
        memory.import_(tmp_path / "bad.jsonl")
    assert _dump(memory) == before
    with pytest.raises(hades.InvalidInput):
        memory.import_(tmp_path / "missing.jsonl")


@pytest.mark.slow
@given(cut=st.floats(0.01, 0.99))
def test_an_export_cut_short_is_refused_or_loads_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, cut: float
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    with hades.open(folder / "m.hades") as memory:
        memory.remember("a", "one")
        memory.relate("a", "knows", "b")
        text = _dump(memory)
    (folder / "cut.jsonl").write_text(text[: int(len(text) * cut)])
    with hades.open(folder / "new.hades") as memory:
        try:
            memory.import_(folder / "cut.jsonl")
        except hades.HadesError:
            assert memory.topics() == []
            assert [s.name for s in memory.spaces()] == ["default"]
        assert memory.check() == []


def test_node_link_goes_out_and_comes_back(full: hades.Memory, tmp_path: Path) -> None:
    full.export(tmp_path / "graph.json", "node-link")
    data = json.loads((tmp_path / "graph.json").read_text())
    by_id = {node["id"]: node for node in data["nodes"]}
    assert by_id["bugs_y"]["metadata"]["canonical_name"] == "bugs/y"
    assert by_id["anne_lee"]["entity_type"] == "PERSON"
    assert by_id["chunk:design/x@2#0"]["metadata"]["text"] == "Viable"
    assert all(e["source"] in by_id and e["target"] in by_id for e in data["edges"])
    with hades.open(tmp_path / "copy.hades") as copy:
        copy.import_(tmp_path / "graph.json")
        assert {str(e) for e in copy.edges()} == {str(e) for e in full.edges()}
        assert copy.get("doc").content == full.get("doc").content
        assert {e.name for e in copy.entities()} == {e.name for e in full.entities()}
        assert len(copy.edges("Annie")) == 2
        assert copy.check() == []


def test_node_link_keeps_every_field(memory: hades.Memory, tmp_path: Path) -> None:
    memory.remember(
        "doc", "Ann Lee met Acme.", tags=["a", "b"], metadata={"n": [1]}, confidence=0.4,
        importance=0.9, valid_from="2023-02-03",
    )  # fmt: skip
    memory.relate(
        "Ann Lee", "works_at", "Acme", weight=0.25, evidence="said so", kind="person",
        valid_from="2023", valid_to="2090", metadata={"by": "hand"},
    )  # fmt: skip
    memory.set_kind("Acme", "organisation")
    memory.add_alias("Acme", "Acme Corp")
    memory.search("Ann")
    memory.export(tmp_path / "graph.json", "node-link")
    with hades.open(tmp_path / "copy.hades") as copy:
        copy.import_(tmp_path / "graph.json")
        copy.search("Ann")
        assert [one.name for one in copy.topics()] == ["doc"]
        new, old = copy.get("doc"), memory.get("doc")
        for field in ("content", "tags", "metadata", "confidence", "importance", "valid_from"):
            assert getattr(new, field) == getattr(old, field)
        (new_edge,), (old_edge,) = copy.edges(), memory.edges()
        for field in ("weight", "evidence", "valid_from", "valid_to", "metadata"):
            assert getattr(new_edge, field) == getattr(old_edge, field)
        described = {one.name: (one.kind, one.aliases) for one in copy.entities()}
        assert described == {one.name: (one.kind, one.aliases) for one in memory.entities()}
        assert described["Acme"] == ("organisation", ("Acme Corp",))


def test_node_link_of_another_system(memory: hades.Memory, tmp_path: Path) -> None:
    """The schema of a HippoRAG-like system: chunks, entities, mentions, related_to."""
    graph = {
        "nodes": [
            {"id": "chunk_1", "type": "chunk", "metadata": {"text": "Python is great for ML"}},
            {
                "id": "python",
                "type": "entity",
                "entity_type": "CONCEPT",
                "metadata": {"canonical_name": "Python", "aliases": ["python3"], "frequency": 42},
            },
            {"id": "machine_learning", "type": "entity", "metadata": {}},
        ],
        "links": [
            {"source": "chunk_1", "target": "python", "type": "mentions"},
            {
                "source": "python",
                "target": "machine_learning",
                "type": "related_to",
                "metadata": {"strength": 0.85, "co_occurrence_count": 28},
            },
        ],
    }
    (tmp_path / "g.json").write_text(json.dumps(graph))
    assert memory.import_(tmp_path / "g.json") == {"topics": 1, "entities": 2, "edges": 2}
    assert memory.get("chunk_1").content == "Python is great for ML"
    (edge,) = memory.edges("python3", relation="related_to")
    assert (edge.weight, edge.metadata) == (0.85, {"co_occurrence_count": 28})


@pytest.mark.parametrize("text", ["[]", "{}", "{", '{"nodes": [{}]}', '{"nodes": [1]}'])
def test_a_broken_node_link_file_changes_nothing(
    memory: hades.Memory, tmp_path: Path, text: str
) -> None:
    (tmp_path / "g.json").write_text(text)
    with pytest.raises(hades.InvalidInput):
        memory.import_(tmp_path / "g.json")
    assert memory.change == 0


def test_graphml_is_xml_that_says_it_all(full: hades.Memory, tmp_path: Path) -> None:
    full.export(tmp_path / "g.graphml", "graphml")
    root = ElementTree.parse(tmp_path / "g.graphml").getroot()
    space = "{http://graphml.graphdrawing.org/xmlns}"
    nodes = root.findall(f".//{space}node")
    edges = root.findall(f".//{space}edge")
    ids = {node.get("id") for node in nodes}
    relations = [edge.find(f"{space}data[@key='edge_relation']").text for edge in edges]
    assert sorted(relations) == sorted([*(e.relation for e in full.edges()), "part_of"])
    assert all(e.get("source") in ids and e.get("target") in ids for e in edges)
    assert "Viable" in "".join(root.itertext())


@pytest.mark.embedded("folders are exported where the file is")
def test_files_for_arangoimport(full: hades.Memory, tmp_path: Path) -> None:
    full.export(tmp_path / "arango", "arango")
    rows = {
        file.stem: [json.loads(line) for line in file.read_text().splitlines()]
        for file in (tmp_path / "arango").glob("*.jsonl")
    }
    assert {"papers_raw", "entities", "clusters", "relations", "cluster_edges"} <= set(rows)
    assert [row["name"] for row in rows["chunks"]] == ["design/x@2#0"]
    keys = {f"entities/{row['_key']}" for row in rows["entities"]}
    assert all(row["_from"] in keys and row["_to"] in keys for row in rows["relations"])
    assert len(rows["relations"]) == len(full.edges())
    script = (tmp_path / "arango" / "import.sh").read_text()
    assert all(f"--file {name}.jsonl" in script for name in rows)


@pytest.mark.embedded("folders are exported where the file is")
def test_files_for_neo4j_admin(full: hades.Memory, tmp_path: Path) -> None:
    full.export(tmp_path / "neo4j", "neo4j")
    with (tmp_path / "neo4j" / "nodes.csv").open(newline="") as file:
        nodes = list(csv.DictReader(file))
    with (tmp_path / "neo4j" / "relationships.csv").open(newline="") as file:
        edges = list(csv.DictReader(file))
    ids = {row["id:ID"] for row in nodes}
    assert len(ids) == len(nodes)
    assert {row[":START_ID"] for row in edges} | {row[":END_ID"] for row in edges} <= ids
    assert {row[":LABEL"] for row in nodes} >= {"Topic", "Entity;Person", "Entity;Concept"}
    anne = next(row for row in nodes if row["name"] == "Anne Lee")
    assert anne["aliases:string[]"] == "Annie;Ann, Lee"


def test_a_graph_export_is_of_one_moment(full: hades.Memory, tmp_path: Path) -> None:
    full.at("2024-01-01T00:01:30").export(tmp_path / "then.json", "node-link")
    data = json.loads((tmp_path / "then.json").read_text())
    assert {edge["type"] for edge in data["edges"]} == {"rejected_because", "found", "likes"}
    assert {node["name"] for node in data["nodes"] if node["type"] == "topic"} == {
        "design/x",
        "doc",
    }


@pytest.mark.embedded("folders are exported where the file is")
def test_an_export_never_overwrites(full: hades.Memory, tmp_path: Path) -> None:
    for name, kind in (("x.jsonl", "jsonl"), ("x.json", "node-link"), ("folder", "neo4j")):
        full.export(tmp_path / name, kind)
        with pytest.raises(hades.InvalidInput, match="exists already"):
            full.export(tmp_path / name, kind)
    with pytest.raises(hades.InvalidInput, match="no format"):
        full.export(tmp_path / "y", "nonsense")
    with pytest.raises(hades.InvalidInput, match="does not exist"):
        full.export(tmp_path / "no" / "y.jsonl")
    with pytest.raises(hades.InvalidInput, match="folder"):
        full.export(io.StringIO(), "arango")
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


@pytest.mark.embedded("it notes facts in the store itself")
def test_an_export_keeps_the_encoder_and_how_far_a_history_was_read(
    memory: hades.Memory, tmp_path: Path
) -> None:
    store = memory.inside.store
    memory.create_space("code")
    with store.transaction():
        store.set_meta("encoder", "folder:/models/other")
        store.set_meta("history:2:repo:/src/repo", "abc123")
    memory.in_space("code").remember("a", "one")
    memory.export(tmp_path / "all.jsonl")
    with hades.open(tmp_path / "copy.hades") as copy:
        copy.import_(tmp_path / "all.jsonl")
        assert _dump(copy) == _dump(memory)
        assert copy.inside.store.meta("encoder") == "folder:/models/other"
        assert copy.inside.store.meta("generation") != store.meta("generation")
    with hades.open(tmp_path / "busy.hades") as busy:
        busy.create_space("own")
        busy.in_space("own").remember("mine", "kept")
        busy.import_(tmp_path / "all.jsonl")
        assert busy.inside.store.meta("encoder") is None
        assert busy.inside.store.meta("history:3:repo:/src/repo") == "abc123"


@pytest.mark.embedded("it notes facts in the store itself")
def test_an_address_to_send_texts_to_is_not_imported(memory: hades.Memory, tmp_path: Path) -> None:
    with memory.inside.store.transaction():
        memory.inside.store.set_meta("encoder", "openai:https://elsewhere.example/v1#any")
    memory.export(tmp_path / "all.jsonl")
    with hades.open(tmp_path / "copy.hades") as copy:
        copy.import_(tmp_path / "all.jsonl")
        assert copy.inside.store.meta("encoder") is None


def test_an_export_that_was_cut_off_is_refused(full: hades.Memory, tmp_path: Path) -> None:
    full.export(tmp_path / "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_text().splitlines(keepends=True)
    for kept in (lines[:3], lines[:-1], [*lines[:2], *lines[3:]]):
        (tmp_path / "cut.jsonl").write_text("".join(kept))
        with hades.open(tmp_path / "new.hades") as new:
            with pytest.raises(hades.InvalidInput, match=r"is incomplete|contradicts"):
                new.import_(tmp_path / "cut.jsonl")
            assert new.topics() == []


def test_a_failed_export_leaves_no_snapshot_open(memory: hades.Memory) -> None:
    class Full:
        def write(self, _text: str) -> None:
            raise OSError("no room")

    memory.remember("a", "x")
    with pytest.raises((hades.Unavailable, OSError), match="no room"):
        memory.export(Full())  # type: ignore[arg-type]
    assert memory.remember("log", "failed").version == 1


def test_damage_is_not_exported_as_truth(path: Path, tmp_path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("a", "short")
    edit(path, "UPDATE states SET body = 'shirt'")
    with hades.open(path) as memory, pytest.raises(hades.Corrupt):
        memory.export(tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


def test_into_takes_one_space_only(memory: hades.Memory, tmp_path: Path) -> None:
    memory.remember("a", "x")
    memory.create_space("private")
    memory.in_space("private").remember("b", "y")
    memory.export(tmp_path / "all.jsonl")
    with pytest.raises(hades.InvalidInput, match="Several spaces"):
        memory.import_(tmp_path / "all.jsonl", into="third")
    assert [s.name for s in memory.spaces()] == ["default", "private"]


def test_a_jsonl_export_of_one_moment_is_refused(memory: hades.Memory, tmp_path: Path) -> None:
    with pytest.raises(hades.InvalidInput, match="all times"):
        memory.at("now").export(tmp_path / "x.jsonl")
