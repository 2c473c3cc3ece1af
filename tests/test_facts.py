"""Facts that change, and the scenarios that made us want this."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from shell import Shell

import hades
from tests.conftest import HeldClock


def test_approach_x(memory: hades.Memory, clock: HeldClock) -> None:
    """Rejected because of Bug Y; the bug is fixed; asked before and after."""
    t1, t2, t3 = "2024-01-10", "2024-02-20", "2024-03-30"
    clock.set(t1)
    memory.remember("design/approach_x", "Considered approach X but rejected due to Bug Y")
    memory.remember("bugs/bug_y", "Bug Y causes data corruption in approach X")
    rejection = memory.relate(
        "design/approach_x",
        "rejected_because",
        "bugs/bug_y",
        evidence="Approach X rejected because it triggers Bug Y",
    )
    clock.set(t2)
    memory.remember("refactoring/2024_q1", "Refactored data layer, Bug Y no longer occurs")
    memory.remember("bugs/bug_y", "Bug Y fixed: data layer refactored to prevent corruption")
    change = memory.change_fact(
        "design/approach_x",
        "rejected_because",
        "bugs/bug_y",
        to="refactoring/2024_q1",
        content="Approach X now viable after Bug Y fix (refactoring T2)",
        evidence="Approach X now viable due to refactoring",
    )
    clock.set(t3)

    # "Why don't we use approach X?"
    assert memory.get("design/approach_x").content.startswith("Approach X now viable")
    assert memory.get("design/approach_x").version == 2
    (viable,) = memory.edges("design/approach_x")
    assert (viable.relation, viable.target.name) == ("viable_after_fix", "refactoring/2024_q1")
    old = {e.id: e for e in memory.edges("design/approach_x", all=True)}[rejection.id]
    assert old.valid_to is not None
    assert old.valid_to >= datetime.fromisoformat(t2).replace(tzinfo=UTC)
    assert old.superseded_by == viable.id
    assert change.closed == (old,)
    assert change.opened == (viable,)

    # "Why was approach X rejected at T1?"
    then = memory.at("2024-01-11")
    assert "rejected due to Bug Y" in then.get("design/approach_x").content
    (reason,) = then.edges("design/approach_x", direction="out")
    assert (reason.relation, reason.target.name) == ("rejected_because", "bugs/bug_y")
    assert then.get("bugs/bug_y").content == "Bug Y causes data corruption in approach X"

    # "When did approach X become viable?"
    turn = memory.when_changed("design/approach_x", "rejected_because", "viable_after_fix")
    assert turn.at == change.at == viable.valid_from
    assert (turn.before.id, turn.after and turn.after.id) == (rejection.id, viable.id)


def test_bug_tracking(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("project", "Working on feature X")
    memory.remember("bugs/y", "Crash on save")
    memory.relate("project", "blocked_by", "bugs/y")
    for note in ("Seen with large files", "Buffer too small", "Fixed in 1.2"):
        clock.tick(3600)
        memory.remember("bugs/y", note)
    clock.tick(3600)
    memory.change_fact(
        "project", "blocked_by", content="Feature X complete, fixed bug Y; avoided approach Z"
    )
    (edge,) = memory.edges("project")
    assert (edge.relation, edge.target.name) == ("enabled_by", "bugs/y")
    assert len(memory.history("bugs/y")) == 4
    assert len(memory.history("project")) == 2
    before_fix = memory.at("2024-01-01T02:30")
    assert before_fix.edges("project")[0].relation == "blocked_by"
    assert before_fix.get("bugs/y").content == "Buffer too small"


def test_research_evolution(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("topic/a", "Topic A is understood as X")
    clock.set("2024-02-01")
    memory.remember("papers/new", "Evidence that A is not X", metadata={"doi": "10.1/1"})
    memory.relate("papers/new", "contradicts", "topic/a", weight=0.8)
    memory.remember("topic/a", "X is in doubt", confidence=0.4)
    clock.set("2024-03-01")
    memory.remember("topic/a", "A is X only under condition C, see papers/new")
    memory.change_fact("papers/new", "contradicts", "topic/a", evidence="synthesis")
    assert memory.at("2024-01-15").get("topic/a").content == "Topic A is understood as X"
    assert memory.at("2024-02-15").get("topic/a").confidence == 0.4
    assert memory.at("2024-02-15").edges("topic/a")[0].relation == "contradicts"
    assert memory.edges("topic/a")[0].relation == "supports"
    assert "-Topic A is understood as X" in memory.diff("topic/a", 1, 3).text


def test_decision_making(memory: hades.Memory, clock: HeldClock) -> None:
    for option, verdict in (("x", "fast, mature"), ("y", "elegant, but young")):
        memory.remember(f"evaluation/{option}", verdict)
        memory.relate("decision/database", "considered", f"evaluation/{option}")
    memory.remember("decision/database", "Open: X or Y?", tags=["decision"])
    clock.set("2024-02-01")
    memory.remember("decision/database", "We chose X over Y: it is mature")
    considered = memory.edges("decision/database", relation="considered", direction="out")
    assert [memory.get(e.target.name).content for e in considered] == [
        "fast, mature",
        "elegant, but young",
    ]
    assert memory.history("decision/database")[0].content == "Open: X or Y?"
    assert memory.topics(tag="decision")[0].name == "decision/database"


def test_relating_before_remembering_joins_up(memory: hades.Memory) -> None:
    """The contract's own example: the target is remembered only later."""
    memory.remember("design/approach_x", "Rejected: it triggers Bug Y")
    memory.relate("design/approach_x", "rejected_because", "bugs/bug_y")
    assert memory.entities()[0].name == "bugs/bug_y"
    memory.remember("bugs/bug_y", "corrupts data")
    assert len(memory.edges("bugs/bug_y")) == 1
    memory.relate("bugs/bug_y", "found_by", "Ann")
    assert len(memory.edges("bugs/bug_y")) == 2


def test_relating_twice_is_one_edge(memory: hades.Memory) -> None:
    first = memory.relate("a", "knows", "b")
    change = memory.change
    assert memory.relate("a", "knows", "b") == first
    assert memory.change == change
    stronger = memory.relate("a", "knows", "b", weight=0.5, evidence="they met")
    assert (stronger.id, stronger.weight, stronger.evidence) == (first.id, 0.5, "they met")
    assert len(memory.edges("a")) == 1


def test_an_exclusive_fact_ends_the_one_before(memory: hades.Memory) -> None:
    acme = memory.relate("Ann", "works_at", "Acme", valid_from="2020", exclusive=True)
    globex = memory.relate("Ann", "works_at", "Globex", valid_from="2022", exclusive=True)
    assert [e.target.name for e in memory.edges("Ann")] == ["Globex"]
    ended = memory.edge(acme.id)[-1]
    assert (ended.valid_to, ended.superseded_by) == (globex.valid_from, globex.id)


def test_an_exclusive_fact_learned_late_is_born_past(memory: hades.Memory) -> None:
    globex = memory.relate("Ann", "works_at", "Globex", valid_from="2022", exclusive=True)
    acme = memory.relate("Ann", "works_at", "Acme", valid_from="2020", exclusive=True)
    assert acme.valid_to == globex.valid_from
    assert [e.target.name for e in memory.edges("Ann")] == ["Globex"]
    assert [e.target.name for e in memory.at("2021").edges("Ann")] == ["Acme"]


def test_exclusive_facts_that_never_meet_leave_each_other(memory: hades.Memory) -> None:
    memory.relate("Ann", "works_at", "Acme", valid_from="2010", valid_to="2012", exclusive=True)
    late = memory.relate("Ann", "works_at", "Globex", valid_from="2015", exclusive=True)
    early = memory.relate(
        "Ann", "works_at", "Initech", valid_from="2005", valid_to="2008", exclusive=True
    )
    assert late.valid_to is None
    assert early.valid_to == datetime(2008, 1, 1, tzinfo=UTC)


def test_two_exclusive_facts_cannot_begin_together(memory: hades.Memory) -> None:
    memory.relate("Ann", "works_at", "Acme", valid_from="2020", exclusive=True)
    with pytest.raises(hades.InvalidInput, match="same moment"):
        memory.relate("Ann", "works_at", "Globex", valid_from="2020", exclusive=True)


def test_change_fact_with_a_new_value(memory: hades.Memory, clock: HeldClock) -> None:
    memory.relate("Ann", "works_at", "Acme")
    clock.set("2024-06-01")
    change = memory.change_fact("Ann", "works_at", to="Globex")
    assert [str(e) for e in change.opened] == ["Ann --[works_at]--> Globex"]
    assert memory.when_changed("Ann", "works_at").at == change.at


def test_change_fact_with_a_content_that_is_no_news(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("a", "one")
    memory.relate("a", "blocked_by", "b")
    clock.tick()
    assert memory.change_fact("a", "blocked_by", content="one").state.version == 1
    assert memory.edges("a")[0].relation == "enabled_by"


def test_change_fact_without_an_inverse_or_a_new_target_only_ends_it(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.relate("Ann", "works_at", "Acme")
    clock.tick()
    change = memory.change_fact("Ann", "works_at")
    assert [e.target.name for e in change.closed] == ["Acme"]
    assert (change.opened, memory.edges("Ann")) == ((), [])
    assert memory.when_changed("Ann", "works_at").after is None


def test_change_fact_opens_what_does_not_hold_yet(memory: hades.Memory) -> None:
    change = memory.change_fact(
        "server/db07", "runs_on", to="rack 4", content="db07 is in rack 4.", at="2023-05-03"
    )
    (edge,) = change.opened
    assert str(edge) == "server/db07 --[runs_on]--> rack 4"
    assert (change.closed, edge.valid_from, edge.valid_to) == ((), change.at, None)
    assert change.state == memory.get("server/db07")
    assert change.state.valid_from == change.at
    assert memory.edges("server/db07") == [edge]
    moved = memory.change_fact("server/db07", "runs_on", to="rack 5")
    assert [e.id for e in moved.closed] == [edge.id]
    assert memory.change_fact("Ann", "works_at", to="Acme").opened[0].source.kind == "entity"
    named = memory.change_fact("b", "blocked_by", to="fix/1", new_relation="enabled_by")
    assert str(named.opened[0]) == "b --[enabled_by]--> fix/1"


def test_a_fact_opened_before_the_next_one_ends_where_that_begins(memory: hades.Memory) -> None:
    later = memory.relate("Ann", "works_at", "Globex", valid_from="2023")
    (early,) = memory.change_fact("Ann", "works_at", to="Acme", at="2021").opened
    assert early.valid_to == later.valid_from
    assert [e.target.name for e in memory.edges("Ann")] == ["Globex"]
    memory.change_fact("Ann", "works_at", to="Globex", at="2020")
    assert [e.target.name for e in memory.at("2020-06").edges("Ann")] == ["Globex"]


def test_change_fact_refuses_what_it_cannot_change(memory: hades.Memory) -> None:
    memory.relate("Ann", "works_at", "Acme")
    memory.relate("Cyd", "works_at", "Globex")
    before = memory.change
    with pytest.raises(hades.NotFound, match=r"No such edge holds: .* To open one, give `to`"):
        memory.change_fact("Ann", "lives_in", content="She moved.")
    with pytest.raises(hades.NotFound, match="no topic or entity 'Bob'"):
        memory.change_fact("Bob", "works_at")
    with pytest.raises(hades.NotFound, match=r"Ann --.works_at.--> Globex"):
        memory.change_fact("Ann", "works_at", "Globex", to="Initech")
    assert memory.change == before


def test_the_table_of_inverses_is_the_users(memory: hades.Memory, clock: HeldClock) -> None:
    assert memory.inverses()["blocked_by"] == "enabled_by"
    memory.set_inverse("hired_by", "left")
    memory.relate("Ann", "hired_by", "Acme")
    clock.tick()
    assert memory.change_fact("Ann", "hired_by").opened[0].relation == "left"


def test_change_fact_in_the_past_and_what_it_refuses(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.relate("a", "blocked_by", "b")
    clock.set("2024-06-01")
    with pytest.raises(hades.NotFound):
        memory.change_fact("a", "blocked_by", at="2023")
    with pytest.raises(hades.NotFound):
        memory.change_fact("a", "no_such_relation")
    change = memory.change_fact("a", "blocked_by", at="2024-03")
    assert change.at == datetime(2024, 3, 1, tzinfo=UTC)
    assert memory.at("2024-02").edges("a")[0].relation == "blocked_by"


def test_when_changed_says_when_it_has_not(memory: hades.Memory) -> None:
    memory.relate("a", "blocked_by", "b")
    with pytest.raises(hades.NotFound):
        memory.when_changed("a", "blocked_by", "enabled_by")


def test_when_changed_finds_turns_nobody_linked(memory: hades.Memory) -> None:
    memory.relate("a", "blocked_by", "b", valid_from="2023", valid_to="2023-06")
    memory.relate("a", "enabled_by", "c", valid_from="2023-06")
    turn = memory.when_changed("a", "blocked_by", "enabled_by")
    assert turn.after is not None
    assert turn.at == datetime(2023, 6, 1, tzinfo=UTC)


def test_a_symmetric_fact_is_told_once_and_read_from_both_ends(memory: hades.Memory) -> None:
    wedding = memory.relate("Ann", "married_to", "Ben", valid_from="2020-05-01")
    (told,) = memory.edges("Ben", relation="married_to", direction="out")
    assert (told.id, told.source.name, told.target.name) == (wedding.id, "Ben", "Ann")
    again = memory.relate("Ben", "married_to", "Ann", valid_from="2021-01-01", evidence="a letter")
    assert (again.id, again.valid_from) == (wedding.id, wedding.valid_from)
    memory.relate("Ann", "works_at", "Acme")
    assert [str(edge) for edge in memory.edges("Acme", direction="out")] == []
    drawn = memory.subgraph("Ann").edges
    assert sorted(edge.relation for edge in drawn) == ["married_to", "works_at"]

    memory.relate("Carl", "married_to", "Ben", valid_from="2024-01-01", exclusive=True)
    assert memory.edges("Ann", relation="married_to") == []
    (ended,) = memory.unrelate("Ben", "married_to", "Carl", at="2025-01-01")
    assert str(ended) == "Carl --[married_to]--> Ben"


def test_weak_edges_that_nobody_used_are_ended_and_restored(
    memory: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2024-01-01")
    weak = memory.relate("idea/7", "inspired_by", "idea/3", weight=0.2)
    memory.relate("idea/7", "leads_to", "idea/9", weight=0.9)
    memory.relate("idea/8", "inspired_by", "idea/3", weight=0.45)
    clock.set("2024-02-01")
    assert memory.prune() == []
    clock.set("2024-06-01")
    (proposed,) = memory.prune(dry_run=True)
    assert proposed.id == weak.id
    assert len(memory.edges("idea/7")) == 2, "a dry run ends nothing"
    (ended,) = memory.prune()
    assert ended.metadata["pruned"] == "weight 0.2, not used for 152 days: faded to 0.062"
    assert [edge.relation for edge in memory.edges("idea/7")] == ["leads_to"]
    assert [edge.id for edge in memory.at("2024-03-01").edges("idea/7")] == [1, 2]
    clock.set("2024-06-02")
    (restored,) = memory.prune(restore=True)
    assert (restored.id, restored.valid_to, dict(restored.metadata)) == (weak.id, None, {})
    assert memory.prune() == [], "restoring an edge is a use"


def test_an_edge_that_answers_showed_is_not_pruned(memory: hades.Memory, clock: HeldClock) -> None:
    clock.set("2024-01-01")
    memory.relate("server/db07", "runs_on", "rack 4", weight=0.2)
    clock.set("2024-05-25")
    assert memory.recall("Where does db07 run?").facts
    clock.set("2024-06-01")
    assert memory.prune() == []


def test_a_pruned_edge_that_was_told_again_is_not_restored(
    memory: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2024-01-01")
    memory.relate("idea/7", "inspired_by", "idea/3", weight=0.2)
    clock.set("2024-06-01")
    assert len(memory.prune()) == 1
    clock.set("2024-06-02")
    memory.relate("idea/7", "inspired_by", "idea/3")
    assert memory.prune(restore=True) == []


def test_a_description_alone_proposes_the_fact_that_it_names(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("design/approach_x", "Approach X keeps an index in memory.")
    memory.relate("design/approach_x", "rejected_because", "bugs/bug_y")
    memory.relate("design/approach_x", "owned_by", "Ann Lee")
    clock.set("2024-02-20")
    change = memory.change_fact(
        "design/approach_x", content="The rejection because of bug Y is history: bug Y is fixed."
    )
    assert (change.closed, change.opened) == ((), ())
    assert change.state.version == 2
    assert change.proposed.fields["relation"] == "rejected_because"
    assert "may end design/approach_x --[rejected_because]--> bugs/bug_y" in change.proposed.why
    assert "replaces it by viable_after_fix" in change.proposed.why
    assert len(memory.edges("design/approach_x")) == 2, "nothing ends before somebody decides"
    memory.approve(change.proposed.id)
    assert [edge.relation for edge in memory.edges("design/approach_x")] == ["owned_by"]
    with pytest.raises(hades.InvalidInput, match="Say which relation changed"):
        memory.change_fact("design/approach_x")


def test_a_name_like_a_known_one_is_asked_about(memory: hades.Memory) -> None:
    memory.relate("Mia Berg", "plays", "flute")
    for call in (
        lambda: memory.relate("Mia Berg", "playz", "drums"),
        lambda: memory.change_fact("Mia Berg", "playz", to="drums"),
        lambda: memory.change_fact("Mia Berg", "plays", to="drums", new_relation="playz"),
    ):
        with pytest.raises(hades.InvalidInput, match=r"'playz' yet. Did you mean 'plays'\?"):
            call()
    with pytest.raises(hades.InvalidInput, match=r"entity 'Mia Bergs' yet. Did you mean 'Mia B"):
        memory.relate("Mia Bergs", "plays", "drums")
    memory.remember("design/approach", "Use a queue.")
    with pytest.raises(hades.InvalidInput, match="Did you mean 'design/approach'"):
        memory.relate("design/aproach", "plays", "no part")
    assert len(memory.edges()) == 1
    assert memory.relate("Mia Bergs", "playz", "drums", create=True).relation == "playz"
    assert memory.relate("Mia Bergs", "playz", "piano").target.name == "piano"


def test_names_that_differ_by_more_than_a_slip_are_new(memory: hades.Memory) -> None:
    for source, relation in (
        ("server/db07", "runs_on"),
        ("server/db08", "runs_in"),
        ("team/north tower", "lives_in"),
        ("team/south tower", "lives_at"),
        ("Maya", "owns"),
        ("Mayo", "owned_by"),
        ("bug 1", "affects"),
        ("bug 2", "affected"),
    ):
        memory.relate(source, relation, "rack 4")
    assert len(memory.edges()) == 8


def test_relations_of_other_spaces_are_not_told(memory: hades.Memory) -> None:
    memory.create_space("secret")
    memory.in_space("secret").relate("Eve", "betrays", "Mallory")
    assert memory.relate("Ann", "betrayz", "Bob").relation == "betrayz"


def test_the_command_asks_too(path: Path) -> None:
    shell = Shell(path)
    shell("relate", "Mia", "plays", "flute")
    assert "Did you mean 'plays'?" in shell.refused("change-fact", "Mia", "playz", "--to", "drums")
    shell("change-fact", "Mia", "playz", "--to", "drums", "--create")


def test_an_edge_ends_once(memory: hades.Memory) -> None:
    memory.relate("a", "r", "b", valid_from="2020")
    memory.unrelate(1, at="2023")
    with pytest.raises(hades.Conflict, match="ended already"):
        memory.unrelate(1)
    with pytest.raises(hades.InvalidInput, match="mistake"):
        memory.unrelate(1, at="2019")
    with pytest.raises(hades.InvalidInput, match="which relation"):
        memory.unrelate("a")
    assert len(memory.at("2022").edges()) == 1


def test_a_fact_changed_in_the_past_leaves_the_present(memory: hades.Memory) -> None:
    memory.relate("a", "r", "b", valid_from="2020")
    memory.change_fact("a", "r", to="c", at="2023")
    memory.change_fact("a", "r", to="d", at="2021")
    holds = lambda time: [e.target.name for e in memory.at(time).edges("a")]  # noqa: E731
    assert [holds(t) for t in ("2020-06", "2022", "2023-06")] == [["b"], ["d"], ["c"]]
    assert [e.target.name for e in memory.edges("a")] == ["c"]


def test_learning_of_an_earlier_start_stretches_the_edge(memory: hades.Memory) -> None:
    first = memory.relate("a", "r", "b", valid_from="2021")
    assert memory.relate("a", "r", "b", valid_from="2020").id == first.id
    assert memory.relate("a", "r", "b", valid_from="2019", valid_to="2020-06").id == first.id
    assert len(memory.edges("a", all=True)) == 1
    assert len(memory.at("2019-06").edges("a")) == 1


def test_exclusive_holds_also_for_what_is_known(memory: hades.Memory, clock: HeldClock) -> None:
    memory.relate("a", "r", "b")
    clock.tick()
    memory.relate("a", "r", "c")
    clock.tick()
    memory.relate("a", "r", "b", exclusive=True)
    assert [e.target.name for e in memory.edges("a")] == ["b"]


def test_saying_more_of_an_edge_keeps_the_rest(memory: hades.Memory) -> None:
    memory.relate("a", "r", "b", weight=0.3, metadata={"j": 0})
    edge = memory.relate("a", "r", "b", evidence="more", metadata={"k": 1})
    assert (edge.weight, edge.evidence, dict(edge.metadata)) == (0.3, "more", {"j": 0, "k": 1})
    assert memory.relate("x", "r", "y", weight=0).weight == 0
