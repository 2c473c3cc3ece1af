"""Two axes of time: when it was true, when we knew."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import hades
from tests.conftest import HeldClock


def test_at_shows_the_world_as_it_was(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("a", "one")
    clock.set("2024-03-01")
    memory.remember("a", "two")
    clock.set("2024-06-01")
    assert memory.get("a").content == "two"
    assert memory.at("2024-02").get("a").content == "one"
    assert memory.at("4 months ago").get("a").content == "one"
    with pytest.raises(hades.NotFound, match="at that time"):
        memory.at("2023-12-31").get("a")


def test_a_state_ends_where_the_next_begins(memory: hades.Memory, clock: HeldClock) -> None:
    first = memory.remember("a", "one")
    clock.set("2024-03-01")
    second = memory.remember("a", "two")
    assert first.valid_to is None
    assert memory.at("2024-02").get("a").valid_to == second.valid_from
    assert [s.valid_to for s in memory.history("a")] == [second.valid_from, None]
    assert memory.at(known="2024-02").get("a").valid_to is None


def test_a_late_correction_changes_the_past_but_not_what_we_knew(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("boss", "Ann", valid_from="2024-01")
    clock.set("2024-03-01")
    memory.remember("boss", "Bob", valid_from="2024-03")
    clock.set("2024-06-01")
    memory.remember("boss", "Cyd", valid_from="2024-02")  # learned late: Cyd led in February

    assert memory.get("boss").content == "Bob"
    assert memory.at("2024-02-15").get("boss").content == "Cyd"
    assert memory.at("2024-01-15").get("boss").content == "Ann"
    assert memory.at(valid="2024-02-15", known="2024-05").get("boss").content == "Ann"
    assert memory.at(known="2024-02-15").get("boss").content == "Ann"
    assert [s.content for s in memory.history("boss")] == ["Ann", "Bob", "Cyd"]
    assert [s.content for s in memory.at(known="2024-05").history("boss")] == ["Ann", "Bob"]


def test_the_same_content_for_an_earlier_time_is_news(
    memory: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2024-03-01")
    memory.remember("a", "one")
    assert memory.remember("a", "one", valid_from="2024-04").version == 1
    assert memory.remember("a", "one", valid_from="2024-01").version == 2
    assert memory.at("2024-02").get("a").content == "one"


def test_a_plan_comes_true_by_itself(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("office", "old street")
    memory.remember("office", "new street", valid_from="2024-07-01")
    assert memory.get("office").content == "old street"
    assert [t.version for t in memory.topics()] == [1]
    assert memory.at("2024-08").get("office").content == "new street"
    clock.set("2024-07-02")
    assert memory.get("office").content == "new street"
    assert [t.version for t in memory.topics()] == [2]
    assert memory.check() == []


def test_a_plan_for_a_new_topic_is_not_there_yet(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("office", "new street", valid_from="2024-07-01")
    with pytest.raises(hades.NotFound, match="at that time"):
        memory.get("office")
    assert memory.topics() == []
    clock.set("2024-07-02")
    assert memory.get("office").content == "new street"


def test_a_clock_set_back_hides_nothing(memory: hades.Memory, clock: HeldClock) -> None:
    clock.set("2024-06-01")
    memory.remember("a", "one")
    memory.relate("a", "knows", "b")
    clock.set("2024-01-01")
    assert memory.get("a").content == "one"
    assert len(memory.edges()) == 1
    later = memory.remember("a", "two")
    assert later.recorded_at > memory.get("a", 1).recorded_at
    assert memory.get("a").content == "two"


def test_topics_as_of_a_time(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("a", "one", tags=["x"])
    clock.set("2024-02-01")
    memory.remember("b", "one")
    memory.remember("a", "two", tags=["y"])
    then = memory.at("2024-01-15")
    assert [(t.name, t.version, t.tags) for t in then.topics()] == [("a", 1, ("x",))]
    assert [t.versions for t in memory.at(known="2024-01-15").topics()] == [1]


def test_edges_hold_for_a_time(memory: hades.Memory, clock: HeldClock) -> None:
    memory.relate("Ann", "works_at", "Acme", valid_from="2020", valid_to="2022")
    memory.relate("Ann", "works_at", "Globex", valid_from="2022")
    assert [str(e.target) for e in memory.edges("Ann")] == ["Globex"]
    assert [str(e.target) for e in memory.at("2021").edges("Ann")] == ["Acme"]
    assert [str(e.target) for e in memory.edges("Ann", all=True)] == ["Acme", "Globex"]
    assert memory.at("2019").edges("Ann") == []


def test_ending_an_edge_keeps_what_was_believed(memory: hades.Memory, clock: HeldClock) -> None:
    edge = memory.relate("Ann", "works_at", "Acme")
    clock.set("2024-03-01")
    memory.unrelate("Ann", "works_at", "Acme", at="2024-02-01")
    assert memory.edges("Ann") == []
    assert len(memory.at("2024-01-15").edges("Ann")) == 1
    assert memory.at("2024-02-15").edges("Ann") == []
    assert len(memory.at(valid="2024-02-15", known="2024-02-15").edges("Ann")) == 1
    assert [b.retired_at is None for b in memory.edge(edge.id)] == [False, True]


def test_a_mistake_was_never_true(memory: hades.Memory, clock: HeldClock) -> None:
    edge = memory.relate("Ann", "works_at", "Acme")
    clock.set("2024-03-01")
    memory.unrelate(edge.id, mistake=True)
    assert memory.at("2024-02").edges("Ann") == []
    assert len(memory.at(known="2024-02").edges("Ann")) == 1


def test_history_before_the_topic_was_known(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("a", "one")
    with pytest.raises(hades.NotFound):
        memory.at(known="2023").history("a")


def test_a_passage_is_cited_as_the_version_that_holds_then(
    memory: hades.Memory, clock: HeldClock
) -> None:
    preface = "\n".join(f"Line {number} of a preface that says little." for number in range(60))
    plan = "# Plan\n\n" + "The Quokka Project stays as it was agreed. " * 12
    memory.remember("doc/plan", plan, valid_from="2024-01")
    clock.set("2024-06-01")
    memory.remember("doc/plan", f"# Preface\n\n{preface}\n\n{plan}", valid_from="2024-06")
    clock.set("2024-07-01")
    # A late correction is the version written last, but it holds from March to June only.
    longer = f"# Preface\n\n{preface}\n{preface}\n\n{plan}"
    memory.remember("doc/plan", longer, valid_from="2024-03")
    for at, version in (("2024-02", 1), ("2024-04", 3), ("2024-07", 2)):
        view = memory.at(at)
        content = view.get("doc/plan").content
        line = content[: content.index("# Plan")].count("\n") + 1
        searched = view.search("quokka")[0]
        recalled = view.recall("quokka").passages[0]
        mentioned = view.mentions("Quokka Project")[0]
        for found in (searched, recalled, mentioned):
            assert found.chunk.text.startswith("# Plan")
            assert (found.chunk.version, found.line) == (version, line)
        stated = [edge.source.name for edge in view.edges() if edge.source.kind == "chunk"]
        assert all(name.startswith(f"doc/plan@{version}#") for name in stated)


def test_a_planned_topic_counts_when_it_is_there(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("now", "one")
    memory.remember("later", "two", valid_from="2024-05")
    memory.remember("gone", "three")
    memory.remember("gone", "four", valid_from="2024-06")
    memory.forget("gone")
    for day, there in (("2024-03-01", ["now"]), ("2024-05-02", ["later", "now"])):
        clock.set(day)
        assert [topic.name for topic in memory.topics()] == there
        assert [space.topics for space in memory.spaces()] == [len(there)]
        assert memory.stats()["topics"] == len(there)


@pytest.mark.parametrize(
    "clock",
    [
        lambda: datetime(2024, 1, 1, tzinfo=UTC),
        lambda: 1.7e15,
        lambda: True,
        lambda: 1 << 70,
        lambda: None,
        datetime(2024, 1, 1, tzinfo=UTC),
    ],
)
def test_a_clock_that_tells_no_microseconds_is_refused(path: Path, clock: Any) -> None:
    with pytest.raises(hades.InvalidInput, match="microseconds since 1970"):
        hades.open(path, clock=clock)
    assert not list(path.parent.glob("*.hades*"))


def test_of_two_versions_of_one_moment_the_older_one_never_holds(memory: hades.Memory) -> None:
    for content, since in (("one", "2024-01-01"), ("two", "2024-01-01"), ("three", "2024-02-01")):
        memory.remember("a", content, valid_from=since)
    one, two, three = memory.history("a")
    assert [one.valid_to, two.valid_to, three.valid_to] == [two.valid_from, three.valid_from, None]
    assert memory.at("2024-01-01").get("a").content == "two"


def test_the_lifetime_of_a_space_begins_with_its_earliest_times(
    memory: hades.Memory, clock: HeldClock
) -> None:
    assert memory.lifetime().first_valid is None
    clock.set("2024-05-01")
    memory.remember("a", "known in May", valid_from="2024-03-01")
    memory.relate("a", "likes", "b", valid_from="2023-01-01")
    life = memory.lifetime()
    assert life.first_valid == datetime(2023, 1, 1, tzinfo=UTC)
    assert life.first_known == datetime(2024, 5, 1, tzinfo=UTC)


def test_growth_counts_what_was_recorded_by_each_time(
    memory: hades.Memory, clock: HeldClock
) -> None:
    assert memory.growth() == []
    for moment, topic in (("2024-01-01", "a"), ("2024-01-02T12", "b"), ("2024-01-03T12", "a")):
        clock.set(moment)
        memory.remember(topic, f"written {moment}")
    clock.set("2024-01-05")
    counts = [(step.topics, step.states) for step in memory.growth(4)]
    assert counts == [(1, 1), (2, 2), (2, 3), (2, 3)]


def test_a_withdrawn_version_leaves_what_held_before_at_every_time(
    memory: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2024-05-01")
    memory.remember("boss", "Ann", valid_from="2024-01-01", tags=["old"], importance=0.9)
    memory.remember("boss", "Bob", valid_from="2024-03-01", confidence=0.7)
    memory.remember("gone", "Zoe", valid_from="2024-01-15")
    memory.forget("gone")
    clock.set("2024-06-01")

    def held() -> list[object]:
        states: list[object] = []
        for moment in ("2022-06", "2023-06", "2024-01-20", "2024-02-15", "2024-04", "2024-07"):
            for name in ("boss", "new", "gone"):
                with suppress(hades.NotFound):
                    state = memory.at(moment).get(name)
                    states.append((moment, state.content, state.tags, state.importance))
        return states

    before = held()
    for topic, since in (
        ("boss", None),
        ("boss", "2024-02-01"),
        ("boss", "2023-01-01"),
        ("boss", "2024-03-01"),
        ("new", "2024-02-01"),
        ("gone", "2024-02-01"),
    ):
        added = memory.remember(topic, "Cyd", valid_from=since, tags=["new"])
        assert held() != before
        memory.withdraw(topic, added.version)
        assert held() == before
        assert memory.get(topic, added.version).content == "Cyd"
    with pytest.raises(hades.Conflict):
        memory.withdraw("boss", 3)


def test_forgetting_withdraws_plans(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("a", "x")
    memory.remember("a", "secret plan", valid_from="in 2 weeks")
    before = clock.micros
    clock.tick(60)
    memory.forget("a")
    with pytest.raises(hades.NotFound):
        memory.at("in 3 weeks").get("a")
    known = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=before + 10)
    assert memory.at(valid="in 3 weeks", known=known).get("a").content == "secret plan"
    clock.tick(60)
    memory.remember("a", "again")
    assert memory.at("in 3 weeks").get("a").content == "again"
    assert memory.check() == []


def test_what_is_only_planned_can_be_forgotten(memory: hades.Memory, clock: HeldClock) -> None:
    memory.remember("a", "plan", valid_from="in 2 weeks")
    clock.tick(60)
    memory.forget("a")
    with pytest.raises(hades.NotFound):
        memory.at("in 3 weeks").get("a")


def test_a_state_replaced_from_its_start_never_held(memory: hades.Memory) -> None:
    memory.remember("a", "x", valid_from="2024")
    memory.remember("a", "y", valid_from="2024")
    first, second = memory.history("a")
    assert first.valid_to == first.valid_from
    assert second.valid_to is None


def test_the_known_axis_holds_for_names_and_edges(memory: hades.Memory, clock: HeldClock) -> None:
    edge = memory.relate("Ann", "r", "x", valid_from="2023")
    clock.set("2024-03-01")
    memory.add_alias("Ann", "Annie")
    memory.unrelate(edge.id)
    then = memory.at(known="2024-02-01")
    with pytest.raises(hades.NotFound):
        then.edges("Annie")
    assert then.entities("Ann")[0].aliases == ()
    (belief,) = then.edge(edge.id)
    assert belief.retired_at is None
    with pytest.raises(hades.NotFound):
        memory.at("2024-02-01").when_changed("Ann", "r")
