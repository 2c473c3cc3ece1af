"""The code examples of TracingRAG, one test each."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import hades
from tests.conftest import HeldClock

pytest.importorskip("langgraph", reason="the extra `agents` is not installed")

from hades.agents.memory_agent import MemoryAgent
from hades.agents.planning import PlanningAgent
from hades.agents.query import QueryAgent

T1, T2 = "2024-01-10", "2024-02-20"
WHY = "Why don't we use approach X?"
SARAH, KING = "character/sarah", "character/king"


# Agents


def test_a_query_agent_answers_with_what_holds_and_what_held(story: hades.Memory) -> None:
    result = QueryAgent(story).ask(WHY)
    assert "viable after the fix" in result.current_answer
    assert "rejected due to Bug Y" in result.historical_context


def test_a_memory_agent_proposes_what_to_keep(story: hades.Memory) -> None:
    decided = MemoryAgent(story).decide("We decided to use Redis as the job queue.")
    assert ["Redis" in action.text for action in decided.actions if action.action == "write"] == [
        True
    ]
    assert not decided.applied


def test_a_planning_agent_asks_in_steps(story: hades.Memory) -> None:
    result = PlanningAgent(story).ask("Compare what we know about approach X and Bug Y.")
    assert len(result.steps) >= 2


# Data models


def test_a_state_has_the_fields_of_the_schema(story: hades.Memory) -> None:
    first, second = story.history("bugs/bug_y")
    assert (second.topic, second.version, second.parent) == ("bugs/bug_y", 2, 1)
    assert second.content.startswith("Bug Y fixed")
    assert first.recorded_at <= second.recorded_at
    assert (second.tags, dict(second.metadata), second.confidence) == ((), {}, 1.0)
    assert second.consolidated_from == ()
    assert second.tier == "store"


def test_an_edge_has_the_fields_of_the_schema(story: hades.Memory) -> None:
    (old,) = [
        edge
        for edge in story.edges("design/approach_x", all=True)
        if edge.relation == "rejected_because"
    ]
    assert (old.source.name, old.target.name) == ("design/approach_x", "bugs/bug_y")
    assert 0 < old.weight <= 1
    assert old.valid_to == datetime(2024, 2, 20, tzinfo=UTC)
    assert old.superseded_by is not None


def test_a_trace_is_the_history_of_a_topic(story: hades.Memory) -> None:
    assert [state.version for state in story.history("design/approach_x")] == [1, 2]


# Algorithms


def test_search_finds_latest_states_and_those_of_a_time(story: hades.Memory) -> None:
    assert story.search("Is approach X viable?", 1)[0].chunk.id == "design/approach_x@2#0"
    early = story.search("Is approach X viable?", 5, until="2024-02-01")
    assert "refactoring/q1" not in {hit.chunk.topic for hit in early}


def test_results_come_with_the_graph_around_them(story: hades.Memory) -> None:
    found = story.recall(WHY)
    assert found.passages[0].chunk.topic == "design/approach_x"
    near = story.neighbours("design/approach_x", hops=2)
    topics = [neighbour.node.name for neighbour in near if neighbour.node.kind == "topic"]
    assert topics[0] == "refactoring/q1"
    assert all(neighbour.score > 0 for neighbour in near)


def test_promotion_writes_what_holds_and_why(story: hades.Memory) -> None:
    story.promote("design/approach_x", reason="Bug Y is fixed.")
    state = story.get("design/approach_x")
    assert state.version == 3
    assert "viable" in state.content


def test_a_topic_is_read_as_of_a_time(story: hades.Memory) -> None:
    assert "rejected" in story.at(T1).get("design/approach_x").content
    with pytest.raises(hades.NotFound):
        story.at("2023-12-31").get("design/approach_x")


def test_a_changed_fact_closes_an_edge_and_opens_its_inverse(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("release/2.1", "The release waits.")
    memory.relate("release/2.1", "blocked_by", "bugs/412")
    clock.tick(60)
    change = memory.change_fact("release/2.1", "blocked_by", content="Bug 412 is fixed.")
    assert [edge.relation for edge in change.opened] == ["enabled_by"]
    assert [edge.relation for edge in change.closed] == ["blocked_by"]
    assert memory.get("release/2.1").content == "Bug 412 is fixed."


def test_the_whole_scenario(story: hades.Memory) -> None:
    assert [edge.relation for edge in story.edges("design/approach_x")] == ["viable_after_fix"]
    assert [edge.relation for edge in story.at(T1).edges("design/approach_x")] == [
        "rejected_because"
    ]
    change = story.when_changed("design/approach_x", "rejected_because", "viable_after_fix")
    assert change.at == datetime(2024, 2, 20, tzinfo=UTC)
    assert change.after is not None
    assert change.before.superseded_by == change.after.id


# The context window


def test_a_context_fits_into_its_budget(story: hades.Memory) -> None:
    found = story.retrieve_within_budget(WHY, max_tokens=1_000)
    assert [section.name for section in found.sections] == ["latest", "summaries", "details"]
    assert found.tokens <= 1_000 - found.reserve
    latest = {item.cite for item in found.sections[0].items}
    assert "design/approach_x@2" in latest


@pytest.mark.parametrize(
    ("question", "level"),
    [("Which approaches are viable?", 0), ("Why was approach X rejected?", 0)],
)
def test_the_level_of_summaries_follows_the_question(
    story: hades.Memory, question: str, level: int
) -> None:
    assert story.retrieve_within_budget(question).level == level


def test_a_subgraph_has_the_strong_edges_within_a_limit(story: hades.Memory) -> None:
    found = story.subgraph("design/approach_x", hops=3, limit=5, least_weight=0.5)
    assert len(found.nodes) <= 5
    assert all(edge.weight >= 0.5 for edge in found.edges)


def test_a_novel_keeps_traits_with_their_causes(memory: hades.Memory) -> None:
    memory.remember(SARAH, "Sarah is a skilled warrior who fears and hates the king.")
    memory.remember("scene/1003", "Sarah fled when the king appeared.")
    memory.remember("scene/12", "Sarah bought bread from a merchant.")
    memory.relate(SARAH, "has_trait", "fear of the king")
    memory.relate("fear of the king", "caused_by", "event/parents_murdered")
    found = memory.recall("How would Sarah react if she saw the king right now?")
    assert "fears and hates the king" in found.context
    assert "scene/1003" in {passage.chunk.topic for passage in found.passages}
    (cause,) = memory.paths(SARAH, "event/parents_murdered")
    assert cause.edge_types == ("has_trait", "caused_by")


def test_a_second_pass_asks_for_what_is_missing(story: hades.Memory) -> None:
    story.remember("people/ann", "Ann Lee wrote approach X.")
    result = QueryAgent(story).ask("Who is Zoe Gray, who wrote approach X?")
    assert result.needs_drill_down
    assert "Zoe Gray" in result.drill_down_target
