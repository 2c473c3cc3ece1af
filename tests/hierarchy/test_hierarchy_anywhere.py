"""Organising a file, a database, and a memory behind a server."""

from __future__ import annotations

from notes_making import members_by_cluster, remember_subjects

import hades


def test_clusters_are_made_joined_and_brought_back(memory: hades.Memory) -> None:
    for subject in ("boats", "bread", "stars"):
        assert not memory.topics(f"{subject}/*")
    assert memory.hierarchy().current is None
    remember_subjects(memory)
    made = memory.organise()
    assert made.made
    assert made.hierarchy is not None
    assert (made.hierarchy.id, made.hierarchy.clusters) == (1, 3)
    apart = [{"boats"}, {"bread"}, {"stars"}]
    assert sorted(members_by_cluster(memory).values(), key=str) == apart
    memory.remember("boats/new", "The new ferry is a fast ship that sails in a storm.")
    memory.index()
    memory.organise()
    memory.organise(restore=1)
    report = memory.hierarchy(history=True)
    assert [known.restored_from for known in report.history] == [1, None, None]
    assert sorted(members_by_cluster(memory).values(), key=str) == apart
    assert sum(cluster.size for cluster in report.clusters if cluster.level == 1) == 22
    memory.purge("boats/new")
    assert {cluster.label for cluster in memory.hierarchy().clusters} >= {""}


def test_bridges_are_stored_and_found_anywhere(memory: hades.Memory) -> None:
    remember_subjects(memory)
    memory.remember("boats/quay", "The ship from Port Vale moors in the harbour of boats.")
    memory.remember("bread/shop", "The baker of Port Vale sells bread of rye flour and dough.")
    memory.organise()
    first = memory.refresh_bridges()
    assert first["stored"] > 0
    assert memory.refresh_bridges() == {"searched": 0, "deleted": 0, "stored": first["stored"]}
    found = memory.query_paths("Where does the baker of Port Vale sell bread from the ship?")
    assert "Port Vale" in found.prompt
    assert any(step.layer_bridge for path in found.paths for step in path.steps)
    memory.purge("bread/shop")
    assert memory.refresh_bridges()["stored"] < first["stored"]
    assert memory.check() == []
