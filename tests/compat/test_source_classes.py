"""The classes of papers: what they add to the examples, and what they refuse."""

from __future__ import annotations

from typing import Any

import pytest

import hades
from hades.compat.pathrag import format_paths_for_prompt


@pytest.fixture
def people(memory: hades.Memory) -> hades.Memory:
    memory.remember("atlas", "Ann Smith leads Project Atlas.")
    memory.remember("lunch", "Bob Jones had lunch with Ann Smith.")
    memory.remember("sea", "Cleo Holm sails on the North Sea.")
    return memory


def test_passages_come_by_the_walk_from_the_names(people: hades.Memory) -> None:
    hippo = hades.HippoRAG(people)
    best, second = hippo.retrieve("What did Bob Jones do?", top_k=2, alpha=0.85)
    assert (best["rank"], best["chunk_id"]) == (1, "lunch@1#0")
    assert second["chunk_id"] == "atlas@1#0"
    further = hippo.retrieve_multi_hop("What is near Bob Jones?", max_hops=3, top_k=2)
    assert {row["chunk_id"] for row in further} == {"lunch@1#0", "atlas@1#0"}


def test_scores_of_nodes_rank_the_passages_that_mention_them(people: hades.Memory) -> None:
    hippo = hades.HippoRAG(people)
    scores = hippo.personalized_pagerank(["bob_jones", "Nobody"])
    assert sum(scores.values()) == pytest.approx(1)
    assert "Cleo Holm" not in scores
    assert scores["Bob Jones"] > scores["Ann Smith"] > scores["Project Atlas"] > 0
    ranked = hippo.rank_chunks_by_ppr(scores, top_k=5)
    assert [cite for cite, _ in ranked] == ["lunch@1#0", "atlas@1#0"]
    assert hippo.personalized_pagerank(["Nobody"]) == {}
    assert hippo.rank_chunks_by_ppr({"bob_jones": 1.0, "Nobody": 5.0}) == [("lunch@1#0", 1.0)]
    assert hippo.rank_chunks_by_ppr({}) == []


def test_synonyms_and_neighbourhoods(people: hades.Memory) -> None:
    people.relate("Bob Jones", "similar_to", "Robert Jones")
    hippo = hades.HippoRAG(people)
    assert hippo.expand_with_synonyms(["Bob Jones", "Nobody"]) == [
        "Bob Jones",
        "Nobody",
        "Robert Jones",
    ]
    names = {node.name for node in hippo.get_entity_neighborhood("Bob Jones", hops=2).nodes}
    assert {"Bob Jones", "Robert Jones", "Ann Smith"} <= names


def test_bad_arguments_are_refused(people: hades.Memory) -> None:
    hippo = hades.HippoRAG(people)
    for wrong in (0.0, 1.0, float("nan"), "0.5"):
        with pytest.raises(hades.InvalidInput, match="`alpha` is a number between 0 and 1"):
            hippo.personalized_pagerank(["Bob Jones"], alpha=wrong)  # type: ignore[arg-type]
        with pytest.raises(hades.InvalidInput, match="`alpha` is a number between 0 and 1"):
            hippo.retrieve("Bob Jones", alpha=wrong)  # type: ignore[arg-type]
    with pytest.raises(hades.InvalidInput, match="`tol` is a number above 0"):
        hippo.personalized_pagerank(["Bob Jones"], tol=0)
    with pytest.raises(hades.InvalidInput, match="score of 'Bob Jones' is a finite number"):
        hippo.rank_chunks_by_ppr({"Bob Jones": float("inf")})
    with pytest.raises(hades.InvalidInput):
        hippo.retrieve("Bob Jones", top_k=0)
    with pytest.raises(hades.NotFound):
        hippo.get_entity_neighborhood("Nobody")
    with pytest.raises(hades.InvalidInput, match="no setting 'disk': use ram_cache"):
        hades.TieredMemoryManager(people, {"disk": 1})
    with pytest.raises(hades.InvalidInput, match="promotion_threshold"):
        hades.TieredMemoryManager(people, {"promotion_threshold": -1})


def test_a_text_is_not_read_letter_by_letter(people: hades.Memory) -> None:
    hippo, pathrag = hades.HippoRAG(people), hades.PathRAG(people)
    given: Any = "Bob Jones"
    for method in (hippo.personalized_pagerank, hippo.expand_with_synonyms, pathrag.prune_paths):
        with pytest.raises(hades.InvalidInput, match=r"` is a list: write \['Bob Jones'\]\."):
            method(given)
    for method in (hippo.rank_chunks_by_ppr, pathrag.calculate_path_score):
        with pytest.raises(hades.InvalidInput, match="` is a mapping, not str"):
            method(given)
    with pytest.raises(hades.InvalidInput, match="`config` is a mapping, not str"):
        hades.TieredMemoryManager(people, given)
    found = people.recall("Who leads Project Atlas?")
    with pytest.raises(hades.InvalidInput, match=r"`useful` is a list: write \['12'\]\."):
        people.feedback(found.id, useful="12")
    with pytest.raises(hades.InvalidInput, match="`config` is a mapping, not str"):
        hades.PathRAG(people, given)
    whole: Any = pathrag.retrieve_paths("Who leads Project Atlas?")
    with pytest.raises(hades.InvalidInput, match="`paths` is a list, not dict"):
        format_paths_for_prompt(whole, "Who leads Project Atlas?")


def test_paths_are_scored_and_pruned_as_in_memory_enhanced_pathrag(people: hades.Memory) -> None:
    pathrag = hades.PathRAG(people)
    edges = [{"_from": "S", "_to": "A"}, {"_from": "A", "_to": "T"}]
    short = {
        "path": "S A T",
        "vertices": [{"_id": "S"}, {"_id": "A"}, {"_id": "T"}],
        "edges": edges,
    }
    long = {**short, "edges": [*edges, {"_from": "T", "_to": "U"}]}
    assert pathrag.calculate_path_score(short, {"_id": "S"}) == pytest.approx(0.925)
    assert pathrag.calculate_path_score(long) == pytest.approx(0.821, abs=1e-3)
    assert pathrag.calculate_path_score(short, {"_id": "T"}) == 0
    assert [path["reliability"] for path in pathrag.prune_paths([long, short], 0.9)] == [
        pytest.approx(0.925)
    ]
    told = pathrag.retrieve_and_format("How is Bob Jones connected with Project Atlas?")
    assert told.startswith("Query: How is Bob Jones")
    assert "Most relevant path" in told
    nothing = pathrag.retrieve_and_format("Zzz?", domain_filter="tag:none")
    assert nothing == "No paths found for query: Zzz?"


def test_texts_that_are_read_often_or_important_stay_in_the_process(people: hades.Memory) -> None:
    manager = hades.TieredMemoryManager(people, {"promotion_threshold": 2})
    for _ in range(3):
        assert manager.get("lunch") == "Bob Jones had lunch with Ann Smith."
    assert (manager.tiers()[0].items, manager.tiers()[0].hits) == (1, 1)
    assert manager.put("atlas", "Cleo Holm leads Project Atlas.", importance=0.9)
    assert manager.tiers()[0].items == 2
    people.remember("lunch", "Bob Jones skipped lunch.")
    assert manager.get("lunch") == "Bob Jones skipped lunch."
    assert manager.get("nothing") is None
    assert [tier.name for tier in manager.tiers()][1:] == [tier.name for tier in people.tiers()]
