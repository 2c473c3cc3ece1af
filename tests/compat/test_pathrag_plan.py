"""The code examples of the PathRAG plan, one test each."""

from __future__ import annotations

from pathlib import Path

import hades

PLAN = {
    "q": 2,
    "retriever": {"k": 6, "mmr": 0.4, "timeout_ms": 200},
    "graph": {"hops": 1, "fanout": 2, "beam": 8, "timeout_ms": 500},
    "reranker": {"m": 20, "timeout_ms": 500},
    "final_context": 6,
    "budget": {"docs_max": 160, "latency_ms": 2000},
    "reasons": [],
}


# 3 The plan


def test_the_plan_is_executed_as_it_stands(story: hades.Memory) -> None:
    found = story.recall("Why was approach X rejected?", plan=PLAN)
    given = {name: PLAN[name] for name in ("retriever", "graph", "reranker", "budget")}
    for stage, values in given.items():
        assert values.items() <= found.plan[stage].items()  # type: ignore[attr-defined]
    assert found.plan["final_context"] == 6
    assert any("q has no effect" in str(reason) for reason in found.reasons)
    assert sum(stage.reads for stage in found.telemetry) <= 160
    assert len(found.passages) <= 6


# 5 The phases of ingestion and the stages of retrieval


def test_each_phase_runs_by_itself_and_again(memory: hades.Memory, tmp_path: Path) -> None:
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "guide.md").write_text("# Cache\n\nCall `evict` when the cache is full.\n")
    (folder / "cache.py").write_text("def evict():\n    pass\n")
    for phase in ("nodes", "chunks", "embeddings", "edges") * 2:
        memory.ingest(folder, phases=[phase])
    assert memory.pending == memory.unembedded == 0
    (edge,) = memory.edges("src/guide.md")
    assert (edge.relation, edge.target.name) == ("documents", "cache.evict")


def test_stages_run_from_seeds_to_the_context(story: hades.Memory) -> None:
    stages = [stage.stage for stage in story.recall("Why was approach X rejected?").telemetry]
    order = [stages.index(stage) for stage in ("seeds", "walk", "paths", "rank", "pack")]
    assert order[0] == min(order)
    assert order[-1] == max(order)
