"""How far vectors go is noted, so that one more note does not look through all older ones."""

from __future__ import annotations

import io
import json
from pathlib import Path

import hades


def _mark(memory: hades.Memory) -> int:
    return memory.inside.store.chunks.embedded(memory.inside.finder.encoder.model)


def test_the_mark_follows_the_newest_chunk(tmp_path: Path) -> None:
    with hades.open(tmp_path / "m.hades") as memory:
        memory.remember("a", "Ferries leave at nine.")
        memory.search("ferries")
        first = _mark(memory)
        memory.remember("b", "Trams leave at ten.")
        assert memory.search("when do trams leave", retriever="meaning")[0].chunk.topic == "b"
        assert _mark(memory) == memory.inside.store.mentions.last_chunk() > first > 0


def test_chunks_cut_before_a_kill_get_their_vectors_later(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Ferries leave at nine.")
    (tmp_path / "b.md").write_text("Trams leave at ten.")
    with hades.open(tmp_path / "m.hades") as memory:
        memory.ingest(tmp_path / "a.md")
        before = _mark(memory)
        memory.ingest(tmp_path / "b.md", phases=("nodes", "chunks"))
        assert _mark(memory) == before
    with hades.open(tmp_path / "m.hades") as memory:
        assert len(memory.search("when do trams leave", retriever="meaning")) == 2
        assert _mark(memory) > before


def test_the_mark_stays_here_when_a_memory_is_exported(tmp_path: Path) -> None:
    with hades.open(tmp_path / "m.hades") as memory:
        memory.remember("a", "Ferries leave at nine.")
        memory.search("ferries")
        written = io.StringIO()
        memory.export(written)
    kept = [line for line in written.getvalue().splitlines() if '"embeddings"' not in line]
    assert not any("embedded:" in line for line in kept)
    kept[-1] = json.dumps({"end": len(kept) - 2})
    (tmp_path / "export.jsonl").write_text("\n".join(kept) + "\n")
    with hades.open(tmp_path / "other.hades") as memory:
        memory.remember("b", "Trams leave at ten.")
        memory.search("trams")
        memory.import_(tmp_path / "export.jsonl", into="taken")
        assert memory.inside.store.chunks.unembedded(
            memory.inside.finder.encoder.model, _mark(memory), 10
        )
        memory.in_space("taken").search("ferries")
        assert not memory.inside.store.chunks.unembedded(memory.inside.finder.encoder.model, 0, 10)


def test_few_new_chunks_mention_the_same_names_as_many(tmp_path: Path) -> None:
    known = {
        "people": "Anna Kowalska founded Blue Harbour in Gdańsk.",
        "code": "The function count_stripes calls zebra.Reader.load() and `_load`.",
        "places": "Gdańsk lies on the Baltic Sea. 東京 is a city; Tokyo Tower stands there.",
    }
    later = "In gdańsk, Anna Kowalska met count_stripes near Tokyo Tower (東京) by the Baltic Sea."
    found = []
    for others in (0, 30):
        with hades.open(tmp_path / f"{others}.hades") as memory:
            for topic, text in known.items():
                memory.remember(topic, text)
            memory.search("anything")
            with memory.batch():
                memory.remember("later", later)
                for number in range(others):
                    memory.remember(f"more/{number}", f"nothing of note {number}")
            memory.search("anything")
            (chunk,) = memory.inside.store.chunks.of_topic(1, "later")
            places = memory.inside.store.mentions.positions([chunk])
            nodes = {entity: entity << 3 | 1 for _, entity in places}
            names = {e: memory.inside.store.entities.describe(n).name for e, n in nodes.items()}
            found.append({names[entity]: place for (_, entity), place in places.items()})
    assert found[0] == found[1]
    assert {"Anna Kowalska", "Tokyo Tower"} <= found[0].keys()
