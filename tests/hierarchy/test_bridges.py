"""Stored bridges: precomputed paths between distant communities."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from notes_making import remember_subjects

import hades

QUESTION = "Where does the baker of Port Vale sell bread from the ship?"


@pytest.fixture
def organised(memory: hades.Memory) -> hades.Memory:
    """Three subjects, and a town that bread and boats have in common."""
    remember_subjects(memory)
    memory.remember("boats/quay", "The ship from Port Vale moors in the harbour of boats.")
    memory.remember("bread/shop", "The baker of Port Vale sells bread of rye flour and dough.")
    memory.organise()
    return memory


def bridges(memory: hades.View) -> set[str]:
    """Return the stored bridges as text, without snippets."""
    return {path.told(snippets=False) for _, path in hades.HiRAG(memory).bridge_cache()}


def test_bridges_are_stored_for_clusters_that_move(organised: hades.Memory) -> None:
    first = organised.refresh_bridges()
    assert first["stored"] == len(hades.HiRAG(organised).bridge_cache()) > 0
    assert "boats/quay@1#0 --[mentions]--> Port Vale --[mentioned in]--> bread/shop@1#0" in bridges(
        organised
    )
    change, best = hades.HiRAG(organised).bridge_cache()[0]
    assert change == organised.change
    assert best.bridges
    assert organised.refresh_bridges() == {"searched": 0, "deleted": 0, "stored": first["stored"]}
    organised.remember("boats/mast", "The mast of the ship is from Port Vale, as boats are.")
    organised.index()
    assert organised.refresh_bridges()["searched"] == 1


def test_bridges_outlive_writes_and_go_with_what_they_join(organised: hades.Memory) -> None:
    organised.refresh_bridges()
    organised.remember("other", "Something else.")
    assert any("boats/quay" in line for line in bridges(organised))
    organised.forget("boats/quay")
    assert not any("boats/quay" in line for line in bridges(organised))
    assert organised.refresh_bridges()["deleted"] >= 1
    organised.purge("bread/shop")
    assert not any("bread/shop" in line for line in bridges(organised))
    assert organised.check() == []


def test_questions_use_stored_bridges(organised: hades.Memory) -> None:
    organised.refresh_bridges()
    found = organised.query_paths(QUESTION)
    assert any(path.bridges for path in found.paths)
    organised.recall(QUESTION)
    tier = next(tier for tier in organised.tiers() if tier.name == "bridges")
    assert (tier.where, tier.items) == ("store", len(hades.HiRAG(organised).bridge_cache()))
    assert tier.hits >= 2


def test_bridges_are_rows_for_arango(organised: hades.Memory, tmp_path: Path) -> None:
    organised.refresh_bridges()
    organised.export(tmp_path / "arango", "arango")
    written = (tmp_path / "arango" / "bridge_cache.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in written.splitlines()]
    assert len(rows) == len(hades.HiRAG(organised).bridge_cache())
    assert rows[0]["weight"] >= rows[-1]["weight"]
    collections = [place.partition("/")[0] for place in rows[0]["path"]]
    assert collections == ["chunks", "entities", "chunks"]
    assert rows[0]["change"] == organised.change


def test_bridges_are_exported_and_imported(organised: hades.Memory, tmp_path: Path) -> None:
    organised.refresh_bridges()
    organised.export(tmp_path / "all.jsonl")
    for target in ("empty", "used"):
        with hades.open(tmp_path / f"{target}.hades") as other:
            if target == "used":
                other.remember("before", "The numbers of this memory are taken.")
            other.import_(tmp_path / "all.jsonl", into="new" if target == "used" else None)
            space = other.in_space("new") if target == "used" else other
            space.index()
            assert bridges(space) == bridges(organised)
