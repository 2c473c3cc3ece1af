"""What a note says otherwise is proposed; what says nothing new is refused where the gate is on."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from making import UNHURRIED
from shell import Shell

import hades
from tests.conftest import HeldClock


def test_a_note_that_says_another_note_otherwise_is_put_up_for_review(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("office/rent", "The rent of the Ulm office is 900 euros. It has a lift.")
    memory.relate("budget", "depends_on", "office/rent")
    clock.set("2024-03-01")
    memory.remember("meetings/march", "All fine. The rent of the Ulm office is now 950 euros.")
    (found,) = memory.proposals()
    assert found.why.startswith(
        "meetings/march@1 says “The rent of the Ulm office is now 950 euros.” (ann, 2024-03-01, "
        "confidence 1), office/rent@1 “The rent of the Ulm office is 900 euros.” (ann, 2024-01-01, "
        "confidence 1): 950, not 900; look also at budget --[depends_on]-->"
    )
    clock.set("2024-03-20")
    assert memory.approve(found.id, close=True).why == found.why
    assert [str(edge) for edge in memory.edges()] == [
        "meetings/march --[supersedes]--> office/rent"
    ]
    (closed,) = memory.at("2024-02-15").edges("budget")
    assert closed.valid_to == datetime(2024, 3, 1, tzinfo=UTC)
    memory.remember("meetings/april", "The rent of the Ulm office is now 950 euros.")
    assert [one.fields["target"] for one in memory.proposals()] == ["office/rent"]


def test_what_was_superseded_stands_below_and_says_so(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("office/rent", "The rent of the Ulm office is 900 euros. Pay it by the third.")
    memory.remember("cats", "Cats sleep all day.")
    clock.set("2024-03-01")
    memory.remember("meetings/march", "We had cake. The rent of the Ulm office is now 950 euros.")
    memory.approve(memory.proposals()[0].id)
    clock.set("2024-04-01")
    found = memory.recall("What is the rent of the Ulm office?", plan=UNHURRIED).passages
    assert [(one.chunk.topic, one.superseded) for one in found][:2] == [
        ("meetings/march", False),
        ("office/rent", True),
    ]
    paid = memory.recall("When is the rent to be paid?", plan=UNHURRIED).passages
    assert not any(one.superseded for one in paid)
    at = memory.at("2024-02-01")
    then = at.recall("What is the rent of the Ulm office?", plan=UNHURRIED).passages
    assert (then[0].chunk.topic, then[0].superseded) == ("office/rent", False)


def test_two_things_and_plans_are_not_put_up_for_review(memory: hades.Memory) -> None:
    memory.remember("flats/gera", "The flat in Gera costs 900 euros.")
    memory.remember("flats/ulm", "The flat in Ulm costs 1,200 euros.")
    memory.remember("mail", "If we wait, the flat in Gera costs 700 euros.")
    memory.remember("flats/gera", "The flat in Gera costs 950 euros.")
    assert memory.proposals("all") == []


def test_a_note_of_an_earlier_time_supersedes_nothing_later(memory: hades.Memory) -> None:
    memory.remember("shop/rent", "The rent of the shop is 1,520 euros.", valid_from="2023-07-07")
    memory.remember("old/lease", "The rent of the shop is 1,450 euros.", valid_from="2022-01-22")
    assert memory.proposals("all") == []


def test_a_document_is_compared_with_nothing(memory: hades.Memory) -> None:
    memory.remember("office/rent", "The rent of the Ulm office is 900 euros.")
    memory.remember("lease", "The rent of the Ulm office is 950 euros.", kind="document")
    memory.remember("lease", "The rent of the Ulm office is 980 euros.")
    assert memory.proposals("all") == []


def test_a_told_fact_changes_after_review_alone(memory: hades.Memory, clock: HeldClock) -> None:
    memory.relate("Ann", "works_at", "Acme", evidence="her card")
    memory.relate("plan/hiring", "depends_on", "Ann")
    clock.set("2024-03-01")
    memory.remember("news", "Ann works at Bolt.")
    (waiting,) = memory.proposals()
    assert (waiting.fields["target"], waiting.confidence, waiting.threshold) == ("Bolt", 0.96, 1)
    assert waiting.why == (
        "news@1 says “Ann works at Bolt.” (ann, 2024-03-01, confidence 1), against "
        "Ann --[works_at]--> Acme (edge 1, told by ann on 2024-01-01, “her card”); look also at "
        "plan/hiring --[depends_on]--> Ann (2)"
    )
    memory.reject(waiting.id)
    memory.remember("news/2", "Ann works at Bolt.")
    assert [edge.target.name for edge in memory.edges("Ann", direction="out")] == ["Acme"]
    memory.approve(memory.proposals()[0].id)
    assert [edge.target.name for edge in memory.edges("Ann", direction="out")] == ["Bolt"]
    clock.set("2024-04-01")
    memory.remember("news/3", "Ann no longer works at Bolt.")
    assert [one.kind for one in memory.proposals()] == ["unrelate"]
    memory.approve(memory.proposals()[0].id)
    assert memory.edges("Ann", direction="out") == []


def test_a_fact_of_ones_own_notes_changes_at_once_or_after_review(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.remember("hr/1", "Ann works at Acme.")
    memory.extract()
    clock.set("2024-03-01")
    memory.remember("hr/2", "Ann works at Bolt.", apply_from=1)
    memory.remember("hr/3", "Ann works at Bolt.", confidence=0.7)
    assert [edge.target.name for edge in memory.edges("Ann")] == ["Acme"]
    memory.reject(memory.proposals()[0].id)
    memory.remember("hr/4", "Ann works at Bolt.")
    assert [edge.target.name for edge in memory.edges("Ann")] == ["Bolt"]
    assert [one.status for one in memory.proposals("all")] == ["rejected", "applied"]
    clock.set("2024-04-01")
    memory.remember("hr/5", "Ann no longer works at Bolt.")
    assert memory.edges("Ann") == []


def test_what_a_changed_fact_may_have_changed_is_listed(memory: hades.Memory) -> None:
    memory.relate("design/x", "rejected_because", "bugs/y")
    memory.relate("bugs/y", "assigned_to", "Ann")
    change = memory.change_fact("bugs/y", "assigned_to", to="Ben", at="tomorrow")
    assert [str(edge) for edge in change.affected] == ["design/x --[rejected_because]--> bugs/y"]


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, that sounds great!",
        "Ok.",
        "Thank you, Marta!",
        "See you tomorrow!",
        "Thanks Ines, great job!",
        "You're welcome. Anything else?",
        "The Ulm office has 40 desks and a lift.",
        "the ULM office has now 40 desks, and a lift",
        "[1] office/ulm@1, line 1, 2024-01-01\n The Ulm office has 40 desks and a lift.",
        "Sure!\n[1] office/ulm@1, line 1, 2024-01-01\n The Ulm office has 40 desks and a lift.",
    ],
)
def test_the_gate_refuses_what_says_nothing_new(memory: hades.Memory, text: str) -> None:
    memory.remember("office/ulm", "The Ulm office has 40 desks and a lift. The rent is 900 euros.")
    with pytest.raises(hades.Refused, match="Not remembered in 'note'"):
        memory.remember("note", text, gate=True)
    assert [one.name for one in memory.topics()] == ["office/ulm"]
    (refused,) = memory.proposals("refused")
    assert (refused.kind, refused.fields) == ("remember", {"topic": "note", "content": text})
    assert memory.check() == []
    assert memory.approve(refused.id).status == "applied"
    assert memory.get("note").content == text
    with pytest.raises(hades.Conflict):
        memory.approve(refused.id)


@pytest.mark.parametrize(
    "text",
    [
        "The Ulm office has 41 desks and a lift.",
        "The Ulm office has no lift and 40 desks.",
        "The Bonn office has 40 desks and a lift.",
        "Does the Ulm office have 40 desks and a lift?",
        "No.",
        "Done.",
        "Thanks, Friday.",
        "Great, Marta agreed.",
        "Great job offer.",
        '{"id": "sensor-7", "topic": "desks", "recorded_at": "2024-01-01"}',
        "1  2024-01-01 10:00:00  2024-01-01 11:00:00  The Ulm office has 40 desks and a lift.",
        "Ann takes it.\n[1] office/ulm@1, line 1, 2024-01-01\n The Ulm office has 40 desks.",
        "The rent is 900 euros.",
        "The Ulm office has 40 desks and a lift. Ann likes it.",
    ],
)
def test_the_gate_lets_in_what_is_new(memory: hades.Memory, text: str) -> None:
    memory.remember("office/ulm", "The Ulm office has 40 desks and a lift. The rent is 900 euros.")
    assert memory.remember("office/bonn", text, gate=True).version == 1


def test_what_happens_again_on_another_day_is_new(memory: hades.Memory) -> None:
    memory.remember("log/2024-03-01", "The backup of Orion ran fine.", gate=True)
    memory.remember("log/2024-03-02", "The backup of Orion ran fine.", gate=True)
    memory.remember("ops", "The backup of Orion ran fine.", gate=True, valid_from="2024-02-07")
    with pytest.raises(hades.Refused, match="log/2024-03-02@1 says it already"):
        memory.remember("log/2024-03-02/evening", "The backup of Orion ran fine.", gate=True)
    with pytest.raises(hades.Refused):
        memory.remember("chat/7", "The backup of Orion ran fine.", gate=True)


@pytest.mark.parametrize("command", ["recall", "ask", "search", "context", "working-memory"])
def test_what_a_command_told_is_not_stored_again(path: Path, command: str) -> None:
    run = Shell(path)
    run("remember", "office/ulm", "The Ulm office has 40 desks.")
    run("remember", "office/ulm", "The Ulm office has 41 desks and a lift.")
    told = run(command, "office/ulm" if command == "working-memory" else "desks of the Ulm office")
    with hades.open(path) as memory, pytest.raises(hades.Refused, match="output of HADES"):
        memory.remember("note", f"Here is what I found:\n{told}", gate=True)


@pytest.mark.parametrize(
    "command",
    [("history", "a"), ("history", "a", "--json"), ("get", "a", "--json"), ("ask", "b", "--json")],
)
def test_nor_is_what_it_told_of_a_topic(path: Path, command: tuple[str, ...]) -> None:
    run = Shell(path)
    run("remember", "a", "The Ulm office has 40 desks.")
    run("remember", "a", "The Ulm office has 41 desks and a lift.")
    told = run(*command)
    with hades.open(path) as memory:
        with pytest.raises(hades.Refused, match="output of HADES"):
            memory.remember("note", told, gate=True)
        assert memory.remember("note", f"{told}\nAnn likes it.", gate=True).version == 1


def test_what_is_refused_in_a_batch_is_listed_with_the_rest_of_it(path: Path) -> None:
    with hades.open(path) as memory:
        with memory.batch():
            memory.remember("soup", "Soup is served at noon.")
            with pytest.raises(hades.Refused):
                memory.remember("talk", "Thanks a lot!", gate=True)
        assert [one.fields["topic"] for one in memory.proposals("refused")] == ["talk"]
        with pytest.raises(hades.Refused), memory.batch():
            memory.remember("talk", "Thank you!", gate=True)
        assert len(memory.proposals("refused")) == 1


def test_a_new_version_is_refused_only_if_it_leaves_nothing_out(memory: hades.Memory) -> None:
    memory.remember("a", "The Ulm office has 40 desks. It is red.")
    assert memory.remember("a", memory.get("a").content, gate=True).version == 1
    with pytest.raises(hades.Refused):
        memory.remember("a", "It is red. The Ulm office has 40 desks", gate=True)
    memory.remember("a", "It is red. The Ulm office has 40 desks", gate=True, tags=["office"])
    assert memory.remember("a", "The Ulm office has 40 desks.", gate=True).version == 3


def test_what_was_indexed_is_compared_too(memory: hades.Memory) -> None:
    with memory.batch():
        for number in range(100):
            memory.remember(f"fees/{number}", f"The fee of town {number} is {number + 5} euros.")
    memory.index()
    memory.search("fee of town 7")
    with memory.batch():
        for number in range(80):
            memory.remember(f"other/{number}", f"Something else, number {number}.")
    with pytest.raises(hades.Refused, match="fees/7@1 says it already"):
        memory.remember("town", "The fee of town 7 is 12 euros.", gate=True)
    memory.remember("town", "The fee of town 7 is 13 euros.")
    assert [one.fields["target"] for one in memory.proposals()] == ["fees/7"]
