"""Told facts that a later note disputes, and facts that ended beside those that hold."""

from __future__ import annotations

import pytest

import hades
from tests.conftest import HeldClock

ASKED = "Where does Oskar Lindqvist live?"


def _note(memory: hades.Memory, clock: HeldClock, text: str) -> list[hades.Proposal]:
    """Store a note some months after the facts; return the proposals that wait then."""
    clock.set("2024-06-10")
    memory.remember("log/monday", text)
    return memory.proposals()


def test_a_disputed_fact_is_told_before_the_note_that_disputes_it(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.relate("Oskar Lindqvist", "lives_in", "Mainz")
    assert "Disputed" not in str(memory.ask(ASKED))
    (waiting,) = _note(memory, clock, "Oskar Lindqvist lives in Hamburg now.")
    answer = memory.ask(ASKED)
    first = answer.sentences[0].text
    assert first.index("Mainz") < first.index("Disputed") < first.index("Hamburg")
    assert f"proposal {waiting.id} waits for review" in first
    assert str(answer).count("Hamburg") == 1, "the note is told once"
    assert answer.recall.facts[0].belief.mean < 0.5
    memory.reject(waiting.id)
    assert "Disputed" not in str(memory.ask(ASKED))


def test_a_fact_that_a_note_denies_is_disputed(memory: hades.Memory, clock: HeldClock) -> None:
    memory.relate("Oskar Lindqvist", "lives_in", "Mainz")
    _note(memory, clock, "Oskar Lindqvist no longer lives in Mainz.")
    first = memory.ask(ASKED).sentences[0].text
    assert first.startswith("Oskar Lindqvist lives in Mainz")
    assert first.index("Disputed: log/monday@1 says") < first.index("no longer")
    # Until the note, nothing was disputed.
    assert "Disputed" not in str(memory.at("2024-03-01").ask(ASKED))


@pytest.mark.parametrize(
    ("fact", "note", "target"),
    [
        ("Oskar lives_in Mainz", "Oskar moved to Berlin last week.", "Berlin"),
        ("Oskar_Lindqvist lives_in Mainz", "Oskar moved to Berlin last week.", "Berlin"),
        (
            "Marta insured_by Hanse_Merkur",
            "Marta is now insured by Allianz instead of Hanse Merkur.",
            "Allianz",
        ),
        ("Lea supervised_by Stein", "Lea is supervised by Amari after Stein retired.", "Amari"),
    ],
)
def test_a_note_that_replaces_a_fact_in_other_words_proposes_it(
    memory: hades.Memory, clock: HeldClock, fact: str, note: str, target: str
) -> None:
    source, relation, before = fact.split()
    names = [name.replace("_", " ") for name in (source, before)]
    memory.relate(names[0], relation, names[1])
    (waiting,) = _note(memory, clock, note)
    assert (waiting.fields["source"], waiting.fields["relation"]) == (names[0], relation)
    assert waiting.fields["target"] == target
    memory.approve(waiting.id)
    (edge,) = memory.edges(names[0])
    assert edge.target.name == target


@pytest.mark.parametrize(
    ("fact", "note"),
    [
        ("Oskar works_at Siemens", "Oskar moved to Berlin last week."),
        ("Tom allergic_to Peanuts", "Tom is allergic to Shellfish too."),
        ("Tom allergic_to Peanuts", "Tom is allergic to Shellfish."),
        ("Marta insured_by Hanse_Merkur", "Marta is also insured by Allianz."),
        ("Marta insured_by Hanse_Merkur", "Marta is now insured by Allianz and Hanse Merkur."),
        ("Marta related_to Ben", "Marta is related to Carl."),
        ("Marta visited_by Ben", "Marta was visited by Carl on Sunday."),
    ],
)
def test_a_note_that_only_adds_something_proposes_nothing(
    memory: hades.Memory, clock: HeldClock, fact: str, note: str
) -> None:
    source, relation, target = fact.split()
    memory.relate(source, relation, target.replace("_", " "))
    assert _note(memory, clock, note) == []


def test_a_first_name_of_two_people_means_neither(memory: hades.Memory, clock: HeldClock) -> None:
    memory.relate("Oskar Lindqvist", "lives_in", "Mainz")
    memory.relate("Oskar Brandt", "lives_in", "Mainz")
    assert _note(memory, clock, "Oskar moved to Berlin last week.") == []


def test_a_fact_that_began_after_what_a_note_tells_is_not_disputed(
    memory: hades.Memory, clock: HeldClock
) -> None:
    memory.relate("Oskar", "lives_in", "Mainz", valid_from="2023-05-01")
    assert _note(memory, clock, "Oskar moved to Berlin in March 2021.") == []


def test_a_fact_without_a_start_is_disputed_by_a_note_of_the_next_day(
    memory: hades.Memory, clock: HeldClock
) -> None:
    clock.set("2024-06-09")
    memory.relate("Oskar", "lives_in", "Mainz")
    (waiting,) = _note(memory, clock, "Oskar moved to Berlin last week.")
    memory.approve(waiting.id)
    assert [edge.target.name for edge in memory.edges("Oskar")] == ["Berlin"]
    assert [edge.target.name for edge in memory.at("2024-06-09").edges("Oskar")] == ["Mainz"]


def test_the_fact_that_holds_is_believed_more_than_the_one_it_replaced(
    memory: hades.Memory,
) -> None:
    memory.remember("approach/x", "Approach X was rejected because of bug Y.", valid_from="2023")
    memory.relate("approach/x", "rejected_because", "bug Y", valid_from="2023")
    memory.change_fact(
        "approach/x", "rejected_because", new_relation="viable_after_fix", at="2023-06-01"
    )
    facts = {fact.edge.relation: fact for fact in memory.recall("Why not approach X?").facts}
    holds, ended = facts["viable_after_fix"], facts["rejected_because"]
    assert ended.edge.valid_to is not None
    assert holds.belief.mean > ended.belief.mean
