"""The tools of PathRAG and HippoRAG: what they ask of a view, and the form of their results."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from making import T1, passage, path, recall

import hades
from hades.compat.hipporag import hipporag
from hades.compat.pathrag import format_paths_for_prompt


class Answers:
    """A view that answers everything alike, and keeps what it was asked."""

    def __init__(self, memory: hades.Memory, found: hades.Recall) -> None:
        self.memory = memory
        self.found = found
        self.asked: dict[str, Any] = {}
        self.change, self.log = memory.change, memory.log

    def recall(self, question: str, **options: Any) -> hades.Recall:
        self.asked |= options
        return replace(self.found, asked=replace(self.found.asked, text=question))

    def at(self, time: Any = None, *, known: Any = None) -> Answers:
        self.memory.at(time, known=known)
        self.asked |= {"at": time, "known": known}
        return self


@pytest.fixture
def view(memory: hades.Memory) -> Any:
    memory.remember("design/x", "Rejected")
    memory.remember("design/x", "Viable")
    paths = [
        path("design/x", "Bug Y", reliability=0.4, snippet="it triggers Bug Y"),
        path("Bug Y", "data", reliability=0.7),
    ]
    return Answers(memory, recall("?", [passage("Because of Bug Y.", "design/x")], paths))


def test_paths_in_the_old_shape(view: Any) -> None:
    found = hades.PathRAG(view).retrieve_paths("Why?", max_paths=2)
    assert found["success"] is True
    assert (found["query"], found["count"], found["pruned_from"]) == ("Why?", 2, 14)
    best, other = found["paths"]
    assert (best["reliability"], other["reliability"]) == (0.7, 0.4)
    assert other["path"] == 'design/x --[leads_to; "it triggers Bug Y"]--> Bug Y'
    assert other["vertices"] == [
        {"_id": "topic/design/x", "name": "design/x", "description": ""},
        {"_id": "entity/Bug Y", "name": "Bug Y", "description": "it triggers Bug Y"},
    ]
    assert (other["edges"][0]["_from"], other["edges"][0]["_to"]) == (
        "topic/design/x",
        "entity/Bug Y",
    )
    assert other["edges"][0]["weight"] == 1.0
    graph = {"decay_rate": 0.85, "pruning_threshold": 0.01}
    assert view.asked["plan"] == {"paths": 2, "graph": graph}


def test_an_edge_read_backwards_keeps_its_ends(view: Any) -> None:
    one = path("a", "b")
    back = replace(one, steps=(replace(one.steps[0], forward=False),))
    view.found = recall("?", [], [back])
    edge = hades.PathRAG(view).retrieve_paths("Why?")["paths"][0]["edges"][0]
    assert (edge["_from"], edge["_to"]) == ("entity/b", "topic/a")


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("tag:decision", {"tag": "decision"}),
        ("kind:code", {"kind": "code"}),
        ("glob:*.md", {"glob": "*.md"}),
        ("docs/*", {"glob": "docs/*"}),
        ("decision", {"tag": "decision"}),
    ],
)
def test_a_domain_narrows(view: Any, given: str, asked: dict[str, str]) -> None:
    hades.PathRAG(view).retrieve_paths("Why?", domain_filter=given)
    assert {key: view.asked[key] for key in ("tag", "kind", "glob") if key in view.asked} == asked


def test_as_of_a_change_or_a_time(view: Any) -> None:
    hades.PathRAG(view).retrieve_paths("Why?", as_of_version="2024-03")
    assert view.asked["at"] == "2024-03"
    first = view.log(10)[-1]
    assert hades.PathRAG(view).retrieve_paths("Why?", as_of_version=first.number)["success"]
    assert view.asked["known"] == first.at


@pytest.mark.parametrize("wrong", [99, "someday"])
def test_a_version_that_is_none_is_refused(view: Any, wrong: Any) -> None:
    with pytest.raises(hades.InvalidInput):
        hades.PathRAG(view).retrieve_paths("Why?", as_of_version=wrong)


def test_the_most_reliable_path_is_read_last(view: Any) -> None:
    prompt = format_paths_for_prompt(hades.PathRAG(view).retrieve_paths("Why?")["paths"], "Why?")
    assert prompt.splitlines() == [
        "Query: Why?",
        "",
        "Relevant information:",
        "",
        'Path (0.40): design/x --[leads_to; "it triggers Bug Y"]--> Bug Y',
        "  - Bug Y: it triggers Bug Y",
        "",
        "Most relevant path (0.70): Bug Y --[leads_to]--> data",
    ]


def test_passages_in_the_old_shape(view: Any) -> None:
    (one,) = hipporag(view, "Why?", top_k=3)["results"]
    assert (one["chunk_id"], one["text"], one["rank"]) == ("design/x@2#0", "Because of Bug Y.", 1)
    assert one["entities"] == ["Bug Y"]
    assert one["metadata"]["file_path"] == "design/x"
    assert view.asked["plan"]["final_context"] == 3


# The same calls over a memory


def test_paths_of_a_memory_in_the_old_shape(story: hades.Memory) -> None:
    found = hades.PathRAG(story).retrieve_paths("Why don't we use approach X?", max_paths=2)
    assert set(found) == {"success", "query", "paths", "count", "pruned_from"}
    assert found["success"] is True
    assert found["count"] == len(found["paths"]) <= 2
    assert found["pruned_from"] >= found["count"]
    best = found["paths"][0]
    shape = {"edge_weights", "edge_types", "vertex_types", "path_length"}
    assert set(best) == shape | {"path", "vertices", "edges", "reliability"}
    assert (best["path_length"], best["vertex_types"]) == (2, ("topic", "topic"))
    assert (best["edge_types"], best["edge_weights"]) == (("viable_after_fix",), (1.0,))
    assert 0 < best["reliability"] <= 1
    assert best["path"].startswith("design/approach_x --[viable_after_fix")
    assert [one["_id"] for one in best["vertices"]] == [
        "topic/design/approach_x",
        "topic/refactoring/q1",
    ]
    assert best["edges"][0]["relation"] == "viable_after_fix"
    assert best["edges"][0]["evidence"] == "Approach X now viable due to refactoring"


def test_paths_of_another_time(story: hades.Memory) -> None:
    question = "Why don't we use approach X?"
    then = hades.PathRAG(story).retrieve_paths(question, as_of_version=T1)
    assert "rejected_because" in " ".join(one["path"] for one in then["paths"])
    first = story.log(100)[-1].number
    early = hades.PathRAG(story).retrieve_paths(question, as_of_version=first)
    assert early["success"]
    assert "viable_after_fix" not in " ".join(one["path"] for one in early["paths"])


def test_passages_of_a_memory_in_the_old_shape(story: hades.Memory) -> None:
    found = hipporag(story, "Is approach X viable?", top_k=5)["results"]
    assert [one["rank"] for one in found] == [1, 2, 3, 4, 5]
    scores = [one["score"] for one in found]
    assert scores == sorted(scores, reverse=True)
    best = found[0]
    assert best["chunk_id"] == "design/approach_x@2#0"
    assert "bug y" in best["entities"]
    assert best["metadata"]["file_path"] == "design/approach_x"
    assert best["metadata"]["line"] == best["metadata"]["end_line"] == 1


def test_a_domain_that_has_nothing(story: hades.Memory) -> None:
    found = hades.PathRAG(story).retrieve_paths("approach X", domain_filter="nowhere/*")
    assert (found["success"], found["paths"]) == (True, [])


# HippoRAG: what a walk finds


@pytest.fixture
def chain(memory: hades.Memory) -> hades.Memory:
    """Documents that lead from Ada North by way of names to Marl Bay; and one that is apart."""
    for at, text in enumerate(
        (
            "# Ada North\n\nAda North was taught by Bela Winter.",
            "# Bela Winter\n\nBela Winter founded the Harbour Board.",
            "# Harbour Board\n\nThe Harbour Board sits in Marl Bay.",
            "# Marl Bay\n\nMarl Bay is known for Cleo Holm.",
            "# Cleo Holm\n\nCleo Holm keeps bees.",
            "# Old Hythe\n\nOld Hythe has a market.",
        )
    ):
        memory.remember(f"doc/{at}", text, kind="document")
    return memory


def scores(found: dict[str, Any]) -> dict[str, float]:
    return {one["metadata"]["file_path"]: one["score"] for one in found["results"]}


def test_passages_are_ranked_by_the_walk(chain: hades.Memory) -> None:
    found = hipporag(chain, "Who taught Ada North?", top_k=6)
    by_walk = [hit.chunk.id for hit in chain.rank("Who taught Ada North?", 6, system="ppr")]
    assert [one["chunk_id"] for one in found["results"]] == by_walk
    assert found["answered_by"] == "walk from names"
    assert found["results"][0]["entities"] == ["Ada North", "Bela Winter"]


def test_each_hop_lets_the_walk_go_further(chain: hades.Memory) -> None:
    found = [scores(hipporag(chain, "Ada North", top_k=6, max_hops=hops)) for hops in range(4)]
    assert len({tuple(one.items()) for one in found}) == 4
    far = [one["doc/4"] for one in found]
    assert far == sorted(far)
    assert far[0] < far[3]


def test_synonyms_lead_on(chain: hades.Memory) -> None:
    chain.remember("doc/6", "# Annie Norden\n\nAnnie Norden sails.", kind="document")
    before = scores(hipporag(chain, "Ada North", top_k=7))["doc/6"]
    chain.relate("Ada North", "similar_to", "Annie Norden", weight=0.9)
    assert scores(hipporag(chain, "Ada North", top_k=7))["doc/6"] > before + 0.01


def test_the_chain_says_which_step_answered(chain: hades.Memory, memory: hades.Memory) -> None:
    assert hipporag(chain, "who keeps bees?")["answered_by"] == "walk from meaning and words"
    chain.create_space("bare")
    bare = chain.in_space("bare")
    bare.remember("tea", "it is green.")
    found = hipporag(bare, "what is green?")
    assert found["answered_by"] == "meaning and words"
    assert [one["chunk_id"] for one in found["results"]] == ["tea@1#0"]
