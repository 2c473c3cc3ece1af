"""The code examples of memory-enhanced PathRAG, one test each."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import hades
from hades.compat.caches import DiskCache, LRUCache
from hades.compat.tiered import MemoryTier
from tests.conftest import HeldClock

WHY = "Why was approach X rejected?"


def drawn(*names: str, weight: float = 1.0) -> dict[str, Any]:
    """A path through these names, as the document writes one."""
    vertices = [{"_id": f"entities/{name}", "name": name} for name in names]
    edges = [
        {"_from": one["_id"], "_to": two["_id"], "weight": weight}
        for one, two in pairwise(vertices)
    ]
    return {"path": " -> ".join(names), "vertices": vertices, "edges": edges}


# 2.1 Path scores


def test_a_path_is_scored_by_what_its_edges_pass_on() -> None:
    rag = hades.PathRAG({"decay_rate": 0.85})
    path = drawn("S", "A", "T")
    assert rag.calculate_path_score(path, path["vertices"][0]) == pytest.approx((1 + 0.85) / 2)
    assert rag.calculate_path_score(path, decay_rate=0.5) == pytest.approx((1 + 0.5) / 2)
    assert rag.calculate_path_score(drawn("S", "A", weight=0.4)) == pytest.approx(0.4)


def test_an_incomplete_path_has_a_low_score() -> None:
    rag = hades.PathRAG({})
    assert rag.calculate_path_score({}) == 0.1
    assert rag.calculate_path_score({"vertices": [], "edges": [{}]}) == 0.1
    assert rag.calculate_path_score({"vertices": drawn("S", "A", "T")["vertices"]}) == 0.15
    assert rag.calculate_path_score({"vertices": drawn("S")["vertices"]}) == 0.3


# 2.2 Pruning


def test_paths_below_the_threshold_are_pruned() -> None:
    strong = drawn("S", "T")
    weak = drawn("S", "U", weight=0.2)
    pruned = hades.PathRAG({"pruning_threshold": 0.5}).prune_paths([weak, strong])
    assert [(path["path"], path["reliability"]) for path in pruned] == [("S -> T", 1.0)]
    assert "reliability" not in strong
    assert len(hades.PathRAG({}).prune_paths([weak, strong], pruning_threshold=0.01)) == 2


# 2.3 The two queries


def test_paths_of_a_name_in_a_domain(story: hades.Memory) -> None:
    found = hades.PathRAG(story).retrieve_paths("approach X", domain_filter="tag:decision")
    assert found["success"]
    assert found["count"] == len(found["paths"]) <= 5


def test_paths_come_with_what_pruning_needs(story: hades.Memory) -> None:
    best = hades.PathRAG(story).retrieve_paths(WHY, max_paths=1)["paths"][0]
    assert best["edge_types"] == ("viable_after_fix",)
    assert best["edge_weights"] == (1.0,)
    assert best["vertex_types"] == ("topic", "topic")
    assert best["path_length"] == len(best["vertices"]) == 2


# 3.1 Tiers


def test_the_tiers_are_in_the_order_of_access() -> None:
    assert [tier.name for tier in sorted(MemoryTier, key=lambda tier: tier.value)] == [
        "RAM",
        "NVME_RAID0",
        "RAID1",
        "RAID5",
    ]


# 3.2 The cache in the process


def test_the_least_recently_used_value_leaves_the_process_first() -> None:
    cache = LRUCache(max_size_mb=1)
    assert cache.put("a", "A", size_mb=0.4)
    assert cache.put("b", {"name": "B"}, size_mb=0.4)
    assert cache.get("a") == "A"
    assert cache.put("c", "C", size_mb=0.4)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("A", None, "C")
    assert not cache.put("d", "D", size_mb=1.1)
    assert cache.put("e", object())  # not JSON: 0.1 MB
    assert cache.current_size_mb == pytest.approx(0.9, abs=1e-5)


# 3.3 The cache on the disk


def test_values_stay_on_the_disk(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path / "fast", max_size_gb=1)
    assert cache.put("path:A", {"paths": ["A -> B"]}, metadata={"asked": 1})
    again = DiskCache(tmp_path / "fast")
    assert again.get("path:A") == {"paths": ["A -> B"]}
    assert again.get("path:B") is None
    assert again.remove("path:A")
    assert not again.remove("path:A")
    assert again.get("path:A") is None


def test_the_least_recently_used_value_leaves_the_disk_first(tmp_path: Path) -> None:
    cache = DiskCache(tmp_path, max_size_gb=2_500 / 2**30)
    for age, key in enumerate("ab"):
        cache.put(key, key * 1_000)
        (path,) = set((tmp_path / "data").iterdir()) - {*_aged(tmp_path)}
        os.utime(path, (age, age))
    assert cache.get("a")
    cache.put("c", "c" * 1_000)
    assert cache.get("b") is None
    assert cache.get("a") == "a" * 1_000
    assert cache.get("c") == "c" * 1_000
    assert not cache.put("d", "d" * 3_000)


def _aged(folder: Path) -> list[Path]:
    return [path for path in (folder / "data").iterdir() if path.stat().st_mtime < 1_000]


@pytest.mark.parametrize(
    "planted", [b"\x80\x04\x95cposix\nsystem\n", b"[" * 100_000, b'{"key": "b"}', b"[1]", b""]
)
def test_a_planted_file_is_no_value(tmp_path: Path, planted: bytes) -> None:
    cache = DiskCache(tmp_path)
    cache.put("a", 1)
    (path,) = (tmp_path / "data").iterdir()
    path.write_bytes(planted)
    assert cache.get("a") is None
    assert cache.put("a", 2)
    assert cache.get("a") == 2


# 3.4 The manager


def test_values_are_kept_by_their_importance(memory: hades.Memory, tmp_path: Path) -> None:
    config = {"nvme_cache_path": str(tmp_path / "fast"), "promotion_threshold": 3}
    manager = hades.TieredMemoryManager(memory, config)
    assert manager.put("plan", {"steps": [1, 2]}, importance=0.9)
    assert manager.put("menu", "Soup.", importance=0.4)
    assert manager.put("draft", "Later.", importance=0.1)
    kept, fast, *_ = manager.tiers()
    assert (kept.items, fast.items) == (1, 1)
    assert manager.get("plan") == {"steps": [1, 2]}


@pytest.fixture
def manager(memory: hades.Memory, tmp_path: Path) -> hades.TieredMemoryManager:
    memory.remember("lunch", "Bob Jones had lunch with Ann Smith.")
    memory.remember("atlas", "Ann Smith leads Project Atlas.", importance=0.9)
    config = {"nvme_cache_path": str(tmp_path / "fast"), "promotion_threshold": 3}
    return hades.TieredMemoryManager(memory, config)


def test_reads_promote_a_value(manager: hades.TieredMemoryManager) -> None:
    def items() -> tuple[int | None, ...]:
        return tuple(tier.items for tier in manager.tiers()[:2])

    assert manager.get("atlas") == "Ann Smith leads Project Atlas."
    assert items() == (1, 0)
    for expected in ((1, 1), (1, 1), (2, 1)):
        assert manager.get("lunch") == "Bob Jones had lunch with Ann Smith."
        assert items() == expected
    assert manager.get("nothing") is None


def test_an_old_value_is_never_returned(
    manager: hades.TieredMemoryManager, memory: hades.Memory
) -> None:
    assert manager.put("limits", {"requests": 100}, importance=0.9)
    assert manager.get("limits") == {"requests": 100}
    memory.remember("limits", "There is no limit.")
    assert manager.get("limits") == "There is no limit."
    memory.purge("limits")
    assert manager.get("limits") is None


def test_entities_and_paths_are_read_from_the_graph(story: hades.Memory) -> None:
    story.relate("Ann Smith", "knows", "Bob Jones")
    manager = hades.TieredMemoryManager()
    manager.db = story
    assert manager.get("entity:Ann Smith")["edges"] == 1
    assert manager.get("entity:Nobody") is None
    found = manager.get(f'path:{WHY}:{{"max_paths": 1}}')
    assert found == manager.get(f'path:{WHY}:{{"max_paths": 1}}')
    assert found["count"] == 1
    with pytest.raises(hades.InvalidInput, match="no argument 'from'"):
        manager.get('path:X:{"from": "Y"}')


def test_importance_is_computed(clock: HeldClock) -> None:
    now = datetime.now(UTC)
    manager = hades.TieredMemoryManager()

    def importance(data: Any, *queries: str) -> float:
        return manager.calculate_importance(data, {"recent_queries": queries})

    assert importance("A text.") == 0.5
    assert importance("A text about soup.", "Soup") == 0.8
    for days, more in ((0, 0.3), (3, 0.2), (20, 0.1), (60, 0)):
        updated = (now - timedelta(days=days)).isoformat()
        assert importance({"updated_at": updated}) == pytest.approx(0.5 + more)
    assert importance({"confidence": 0.9}) == 0.7
    assert importance({"vertices": [1] * 6}) == 0.6
    assert importance({"vertices": [1] * 11, "confidence": 0.9, "name": "soup"}, "soup") == 1.0
    assert importance({"updated_at": "someday", "confidence": "high"}) == 0.5


def test_a_context_prefetches_what_its_last_question_finds(
    manager: hades.TieredMemoryManager,
) -> None:
    manager.get("lunch", context={"recent_queries": ["Who leads Project Atlas?"]})
    before = manager.tiers()[0].hits
    manager.get("atlas")
    assert manager.tiers()[0].hits == before + 1


# 4.1 The context window


def window(*added: tuple[str, str, float], room: int = 40) -> hades.ContextWindowManager:
    made = hades.ContextWindowManager(max_tokens=room + 10, reserve_tokens=10)
    for text, priority, reliability in added:
        made.add_path({"text": text, "reliability": reliability}, priority)
    return made


def test_paths_of_low_priority_leave_the_window_first() -> None:
    text = "Bob Jones knows the parser and the lexer well."
    made = window(
        (f"L {text}", "low_priority", 0.9), (f"M {text}", "medium_priority", 0.2), room=26
    )
    made.add_path({"text": f"N {text}", "reliability": 0.8})
    assert made.add_path({"text": f"H {text}"}, "high_priority")
    kept = [path.text[0] for paths in made.context.values() for path in paths]
    assert kept == ["H", "N"]
    assert made.current_token_count <= made.available_tokens


def test_nothing_leaves_for_a_path_that_does_not_fit() -> None:
    made = window(("Ann leads Atlas.", "high_priority", 0.9))
    assert not made.add_path({"text": "word " * 100}, "high_priority")
    assert not made.add_path({"text": "word " * 38}, "low_priority")
    assert made.get_formatted_context() == "Ann leads Atlas."


def test_the_best_paths_are_at_both_ends() -> None:
    made = window(
        ("Third.", "low_priority", 0.9),
        ("First.", "high_priority", 0.9),
        ("Second.", "high_priority", 0.8),
    )
    assert made.get_formatted_context() == "First.\n\nThird.\n\nSecond."


def test_a_window_is_summarised_with_and_without_a_model() -> None:
    made = window(
        ("It costs 3.50 euros. It is red.", "medium_priority", 0.5),
        ("Ann leads Atlas. Bob helps.", "high_priority", 0.5),
        ("It rained.", "low_priority", 0.5),
    )
    assert made.summarize_context() == (
        "Ann leads Atlas. Bob helps.\n\nIt costs 3.50 euros.\n\n"
        "Additional 1 background context items available."
    )

    class Model:
        def summarize(self, text: str) -> str:
            return f"{len(text.split())} words"

    assert made.summarize_context(Model()) == "14 words"


def test_a_path_is_told_with_its_nodes() -> None:
    made = window()
    path = drawn("S", "T")
    path["vertices"][1]["description"] = "the  target"
    assert made.add_path(path)
    assert made.get_formatted_context() == "S -> T\n- T: the target"


# 4.2 The order of paths in a prompt


def test_the_most_reliable_path_comes_last() -> None:
    strong = drawn("S", "T")
    weak = drawn("S", "U", weight=0.25)
    weak["vertices"][1]["description"] = "undecided"
    told = hades.PathRAG({}).format_paths_for_prompt([strong, weak], "Where does S lead?")
    assert told.splitlines() == [
        "Query: Where does S lead?",
        "",
        "Relevant information:",
        "",
        "Path (0.25): S -> U",
        "  - U: undecided",
        "",
        "Most relevant path (1.00): S -> T",
    ]


# 5.1 The memory-enhanced class


def test_the_configuration_of_the_document_is_taken(story: hades.Memory, tmp_path: Path) -> None:
    config = {
        "decay_rate": 0.85,
        "pruning_threshold": 0.01,
        "max_cache_paths": 100,
        "path_token_estimate": 150,
        "context_window_tokens": 4096,
        "reserve_tokens": 512,
        "enable_caching": True,
        "ram_cache_size_mb": 8192,
        "nvme_cache_path": str(tmp_path / "hades_pathrag"),
        "nvme_cache_size_gb": 50,
    }
    rag = hades.MemoryEnhancedPathRAG(story, config)
    found = rag.retrieve_paths(WHY)
    assert found["success"]
    assert found["count"] == len(found["paths"]) > 0
    assert rag.retrieve_paths(WHY) == found
    assert list(rag.recent_queries) == [WHY, WHY]
    assert rag.context_manager.available_tokens == 4096 - 512
    assert rag.retrieve_and_format(WHY).startswith(f"Query: {WHY}")


def test_a_kept_result_holds_until_the_next_change(story: hades.Memory) -> None:
    rag = hades.MemoryEnhancedPathRAG(story)
    before = rag.retrieve_paths(WHY)
    rag.retrieve_paths(WHY)
    assert rag.memory_manager.tiers()[0].hits == 1
    story.unrelate("design/approach_x", "viable_after_fix", "refactoring/q1")
    assert rag.retrieve_paths(WHY) != before


def test_without_caching_and_without_paths(story: hades.Memory) -> None:
    rag = hades.MemoryEnhancedPathRAG(story, {"enable_caching": False})
    assert rag.retrieve_paths(WHY)["success"]
    assert rag.memory_manager.tiers()[0].items == 0
    assert rag.retrieve_and_format("Zzz?", domain_filter="tag:none") == (
        "No paths found for query: Zzz?"
    )


def test_an_error_is_an_answer(story: hades.Memory) -> None:
    rag = hades.MemoryEnhancedPathRAG(story)
    assert rag.retrieve_paths("") == {
        "success": False,
        "error": "Ask something: the question is empty.",
    }
    assert rag.retrieve_and_format(WHY, as_of_version=99).startswith("Error retrieving paths: ")


def test_without_a_memory_the_users_own_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADES_PATH", str(tmp_path / "own.hades"))
    rag = hades.MemoryEnhancedPathRAG()
    assert rag.retrieve_paths(WHY)["paths"] == []
    rag.db.close()


# Bad arguments


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: hades.PathRAG({"decay": 1}), "no setting 'decay': use ram_cache_size_mb"),
        (lambda: hades.PathRAG({"decay_rate": 2}), "setting decay_rate cannot be used"),
        (lambda: hades.PathRAG({"decay_rate": float("nan")}), "setting decay_rate cannot"),
        (lambda: hades.MemoryEnhancedPathRAG({"nvme_cache_path": 5}), "setting nvme_cache_path"),
        (lambda: LRUCache(-1), "`max_size_mb` is a number from 0"),
        (lambda: DiskCache(""), "`base_path` is the path of a folder"),
        (lambda: DiskCache("x", float("inf")), "`max_size_gb` is a number from 0"),
        (lambda: LRUCache().put("", 1), "A key is a text of 1 to"),
        (lambda: hades.ContextWindowManager(10, 10), "`reserve_tokens` is less than"),
        (lambda: hades.ContextWindowManager(0), "max_tokens is a whole number of at least 1"),
        (lambda: hades.ContextWindowManager().add_path({}, "urgent"), "high, medium or low"),
        (
            lambda: hades.PathRAG({}).calculate_path_score({**drawn("S", "T", weight=-1)}),
            "weight of an edge is a number",
        ),
    ],
)
def test_a_bad_argument_is_refused_in_a_sentence(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(hades.InvalidInput, match=said):
        make()


def test_only_json_is_stored(memory: hades.Memory, tmp_path: Path) -> None:
    with pytest.raises(hades.InvalidInput, match="must be plain JSON"):
        hades.TieredMemoryManager(memory).put("plan", {"made": object()})
    with pytest.raises(hades.InvalidInput, match="must be plain JSON"):
        DiskCache(tmp_path).put("plan", float("nan"))
    assert memory.topics() == []
