"""How far vectors go is noted, so that one more note does not look through all older ones."""

from __future__ import annotations

import io
from pathlib import Path

import hades


def _mark(memory: hades.Memory) -> int:
    return memory._store.passages.embedded(memory._finder.encoder.model)


def test_the_mark_follows_the_newest_chunk(tmp_path: Path) -> None:
    with hades.open(tmp_path / "m.hades") as memory:
        memory.remember("a", "Ferries leave at nine.")
        memory.search("ferries")
        first = _mark(memory)
        memory.remember("b", "Trams leave at ten.")
        assert memory.search("when do trams leave", door="meaning")[0].chunk.topic == "b"
        assert _mark(memory) == memory._store.links.last_chunk() > first > 0


def test_chunks_cut_before_a_kill_get_their_vectors_later(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("Ferries leave at nine.")
    (tmp_path / "b.md").write_text("Trams leave at ten.")
    with hades.open(tmp_path / "m.hades") as memory:
        memory.ingest(tmp_path / "a.md")
        before = _mark(memory)
        memory.ingest(tmp_path / "b.md", phases=("nodes", "chunks"))
        assert _mark(memory) == before
    with hades.open(tmp_path / "m.hades") as memory:
        assert len(memory.search("when do trams leave", door="meaning")) == 2
        assert _mark(memory) > before


def test_the_mark_stays_here_when_a_memory_is_exported(tmp_path: Path) -> None:
    with hades.open(tmp_path / "m.hades") as memory:
        memory.remember("a", "Ferries leave at nine.")
        memory.search("ferries")
        written = io.StringIO()
        memory.export(written)
    kept = [line for line in written.getvalue().splitlines() if '"embeddings"' not in line]
    assert not any("embedded:" in line for line in kept)
    (tmp_path / "export.jsonl").write_text("\n".join(kept) + "\n")
    with hades.open(tmp_path / "other.hades") as memory:
        memory.remember("b", "Trams leave at ten.")
        memory.search("trams")
        memory.import_(tmp_path / "export.jsonl", into="taken")
        assert _mark(memory) == 0
        memory.remember("c", "Buses leave at eleven.")
        memory.search("buses")
        assert not memory._store.passages.unembedded(memory._finder.encoder.model, 0, 10)
