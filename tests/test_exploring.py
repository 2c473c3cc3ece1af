"""From a name into the graph: a part to be drawn, and what to have in mind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hades
from tests.conftest import HeldClock
from tests.making import T1, remember_story


def test_a_part_of_the_graph_has_nodes_and_the_edges_among_them(memory: hades.Memory) -> None:
    memory.relate("Ann", "knows", "Bob", evidence="they met")
    memory.relate("Ann", "likes", "Bob")
    memory.relate("Bob", "knows", "Cyd")
    memory.relate("Cyd", "knows", "Dan")
    near = memory.subgraph("Ann")
    assert [(node.name, node.hops) for node in near.nodes] == [("Ann", 0), ("Bob", 1)]
    told = {(str(edge.source), edge.relation, str(edge.target)) for edge in near.edges}
    assert told == {("Ann", "knows", "Bob"), ("Ann", "likes", "Bob")}
    assert {edge.snippet for edge in near.edges} == {"they met", ""}
    wide = memory.subgraph("Ann", hops=3)
    assert [node.name for node in wide.nodes] == ["Ann", "Bob", "Cyd", "Dan"]
    assert len(wide.edges) == 4
    both = memory.subgraph("Ann", "Dan")
    assert [node.name for node in both.nodes if node.hops == 0] == ["Ann", "Dan"]
    cut = memory.subgraph("Ann", hops=3, limit=2)
    assert (len(cut.nodes), cut.left_out) == (2, 1)
    assert memory.subgraph("Bob", hops=0).edges == ()


def test_without_names_the_most_linked_ones_are_drawn_with_what_joins_them(
    memory: hades.Memory,
) -> None:
    assert memory.subgraph().nodes == ()
    for number in range(5):
        memory.relate("Ann", "knows", f"friend {number}")
    memory.remember("trip", "Ann travels with Bob Miller.")
    memory.remember("talk", "Bob Miller calls Ann.")
    drawn = memory.subgraph()
    assert drawn.nodes[0].name == "Ann"
    assert {"Bob Miller", "trip@1#0", "talk@1#0"} <= {node.name for node in drawn.nodes}
    assert ("Ann", "knows", "friend 1") in {
        (str(edge.source), edge.relation, str(edge.target)) for edge in drawn.edges
    }
    assert [node.name for node in memory.subgraph(limit=2).nodes][:1] == ["Ann"]


def test_neighbours_by_relation_direction_and_weight(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.relate("task/1", "blocked_by", "bug/7", weight=0.9, evidence="it crashes")
    memory.relate("task/1", "owned_by", "Ann", weight=0.4)
    memory.relate("bug/7", "found_by", "Ann")
    memory.relate("task/2", "blocked_by", "bug/7", weight=0.5)
    memory.relate("task/1", "mentions", "bug/7")
    memory.remember("task/1", "Speed up the import. Ann knows why Bug Seven matters.")

    def near(name: str, **chosen: Any) -> list[str]:
        return [str(one.path) for one in memory.neighbours(name, **chosen)]

    assert near("task/1", relation="owned_by") == ["task/1 --[owned_by]--> Ann"]
    assert near("task/1", relation=["owned_by", "blocked_by"]) == [
        'task/1 --[blocked_by; "it crashes"]--> bug/7',
        "task/1 --[owned_by]--> Ann",
    ]
    assert near("bug/7", direction="out") == ["bug/7 --[found_by]--> Ann"]
    assert near("bug/7", direction="in", relation="blocked_by") == [
        'bug/7 <--[blocked_by; "it crashes"]-- task/1',
        "bug/7 <--[blocked_by]-- task/2",
    ]
    assert near("bug/7", least_weight=0.6, relation=["blocked_by", "found_by"], limit=1) == [
        "bug/7 --[found_by]--> Ann"
    ]
    assert near("task/1", least_weight=0.6) == ["task/1 --[mentions]--> bug/7"]
    far = memory.neighbours("task/2", relation="blocked_by", hops=2)
    assert [(one.node.name, one.hops, one.score) for one in far] == [
        ("bug/7", 1, 0.5),
        ("task/1", 2, 0.45),
    ]
    assert far[1].path.rationale == "task/2 leads to task/1 by way of bug/7"
    assert near("task/1", relation="no such") == near("Ann", direction="out") == []
    clock.tick(60)
    memory.unrelate("task/1", "blocked_by")
    assert near("task/1", relation="blocked_by") == []
    then = memory.at("2024-01-01T00:00:30").neighbours("task/1", relation="blocked_by")
    assert [one.node.name for one in then] == ["bug/7"]


def test_edges_that_texts_state_are_followed_by_relation(
    memory: hades.Memory, tmp_path: Path
) -> None:
    (tmp_path / "tool.py").write_text("import os\n\n\ndef run():\n    return os.name\n")
    memory.ingest(tmp_path / "tool.py", prefix="code")
    relations = {edge.relation for edge in memory.edges()}
    assert "imports" in relations
    (edge,) = memory.edges(relation="imports")
    (near,) = memory.neighbours(edge.source.name, relation="imports", direction="out")
    assert near.node.name == edge.target.name
    assert near.path.steps[0].chunk


def test_what_is_chosen_of_the_neighbours_is_checked(memory: hades.Memory) -> None:
    memory.relate("a", "knows", "b")
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"direction": "up"}, "direction"),
        ({"least_weight": 2}, "least weight"),
        ({"relation": ["knows", ""]}, "relation"),
    ]
    for chosen, said in wrong:
        with pytest.raises(hades.InvalidInput, match=said):
            memory.neighbours("a", **chosen)
        with pytest.raises(hades.InvalidInput, match=said):
            memory.subgraph("a", **chosen)


def test_a_part_of_the_graph_along_some_edges(memory: hades.Memory) -> None:
    memory.relate("Ann", "knows", "Bob", weight=0.5)
    memory.relate("Ann", "likes", "Bob")
    memory.relate("Bob", "knows", "Cyd")
    memory.relate("Ann", "knows", "Cyd", weight=0.4)
    memory.relate("Dan", "knows", "Ann")
    drawn = memory.subgraph("Ann", relation="knows", direction="out")
    assert [(node.name, node.hops) for node in drawn.nodes] == [("Ann", 0), ("Bob", 1), ("Cyd", 1)]
    told = {(str(edge.source), edge.relation, str(edge.target)) for edge in drawn.edges}
    assert told == {("Ann", "knows", "Bob"), ("Bob", "knows", "Cyd"), ("Ann", "knows", "Cyd")}
    strong = memory.subgraph("Ann", least_weight=0.45, hops=2)
    assert [node.name for node in strong.nodes] == ["Ann", "Bob", "Dan", "Cyd"]
    assert len(strong.edges) == 4
    cut = memory.subgraph("Ann", relation="knows", limit=2)
    assert ([node.name for node in cut.nodes], cut.left_out) == (["Ann", "Dan"], 2)
    assert memory.subgraph("Ann", relation="no such").edges == ()


def test_texts_that_mention_the_same_are_joined(memory: hades.Memory) -> None:
    memory.remember("design/x", "We looked at Kestrel Engine today.")
    memory.remember("bugs/y", "It seems Kestrel Engine stalls.")
    drawn = memory.subgraph("design/x", hops=2)
    names = {node.name for node in drawn.nodes}
    assert {"design/x", "design/x@1#0", "Kestrel Engine", "bugs/y@1#0"} <= names
    assert ("design/x", "says", "design/x@1#0") in {
        (str(edge.source), edge.relation, str(edge.target)) for edge in drawn.edges
    }


def test_the_graph_can_be_drawn_as_it_was(memory: hades.Memory, clock: HeldClock) -> None:
    clock.set("2024-06-01")
    remember_story(memory)
    then = memory.at("2024-01-20").subgraph("design/approach_x")
    assert "rejected_because" in {edge.relation for edge in then.edges}
    assert "rejected_because" not in {
        e.relation for e in memory.subgraph("design/approach_x").edges
    }


def test_a_thing_that_stands_alone_is_drawn_alone(memory: hades.Memory) -> None:
    memory.remember("empty", "", kind="document")
    assert [node.name for node in memory.subgraph("empty").nodes] == ["empty"]
    with pytest.raises(hades.InvalidInput, match="at least one"):
        memory.subgraph(relation="knows")
    with pytest.raises(hades.NotFound):
        memory.subgraph("nobody")


def test_working_memory_holds_the_latest_the_recent_and_the_related(
    memory: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2024-06-01")
    remember_story(memory)
    found = memory.working_memory("design/approach_x")
    assert [(item.why, item.state.id) for item in found.items[:2]] == [
        ("latest", "design/approach_x@2"),
        ("recent", "design/approach_x@1"),
    ]
    related = {item.state.topic: item for item in found.items if item.why == "related"}
    assert "viable_after_fix" in related["refactoring/q1"].path
    assert "lunch" not in related
    assert "Approach X is viable" in found.context
    assert found.reasons == ()
    then = memory.at(T1).working_memory("design/approach_x")
    assert then.items[0].text == "Considered approach X but rejected due to Bug Y."


def test_important_states_are_kept_in_mind_however_old(memory: hades.Memory) -> None:
    memory.remember("plan", "Never store passwords.", importance=0.9)
    for number in range(15):
        memory.remember("plan", f"Step {number} is done.", importance=0.1)
    items = memory.working_memory("plan").items
    assert [item.why for item in items] == ["latest", *["recent"] * 10, "important"]
    assert items[-1].text == "Never store passwords."


def test_what_has_no_room_is_named(memory: hades.Memory) -> None:
    for number in range(6):
        memory.remember("plan", f"Version {number}. " + "More words follow here. " * 40)
    found = memory.working_memory("plan", budget=400)
    assert found.tokens <= 400
    assert {note.reason for note in found.reasons} == {hades.Reason.EVICTED}
    assert "plan@1 (recent)" in {note.detail for note in found.reasons}
    small = memory.working_memory("plan", budget=50)
    assert small.items[0].why == "latest"
    assert hades.Reason.BUDGET_EXHAUSTED in {note.reason for note in small.reasons}


def test_one_entity_is_as_the_list_shows_it(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("notes", "The Quiet Engine (QE) runs. QE stops. Ann Lee and Ann Li met.")
    memory.relate("Ann Lee", "knows", "Ann Lee")
    memory.relate("Ann Li", "likes", "Quiet Engine", kind="person")
    memory.add_alias("Ann Lee", "Annie")
    memory.index()
    clock.tick(60)
    memory.merge("Ann Lee", "Ann Li")
    memory.unrelate("Ann Li", "likes", mistake=True)
    for view in (memory, memory.at(known="2024-01-01T00:00:30")):
        listed = view.entities()
        assert len(listed) > 2
        for entity in listed:
            for name in (entity.name, *entity.aliases, *entity.merged):
                assert view.entity(name) == entity
    with pytest.raises(hades.NotFound, match="no entity 'nobody'"):
        memory.entity("nobody")


def test_a_view_looks_at_another_space_at_the_same_moment(memory: hades.Memory) -> None:
    memory.create_space("work")
    memory.in_space("work").remember("a", "later", valid_from="2023-06")
    then = memory.at("2023-03").in_space("work")
    assert (then.space, then.topics()) == ("work", [])
    assert memory.at("2023-09").in_space("work").get("a").content == "later"


def test_working_memory_needs_a_topic_that_is_there(memory: hades.Memory) -> None:
    memory.relate("Ann", "knows", "Bob")
    for name in ("nobody", "Ann"):
        with pytest.raises(hades.NotFound):
            memory.working_memory(name)
    with pytest.raises(hades.InvalidInput, match="budget"):
        memory.working_memory("Ann", budget=1)
