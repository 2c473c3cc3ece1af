"""Questions about versions: how something changed, whether it ever was or still is, how often."""

from __future__ import annotations

import pytest
from making import UNHURRIED

import hades
from tests.conftest import HeldClock

NOTES = """
2025-01-04 flat/rent: Rent is 850 a month, due on the 3rd.
2025-01-09 wifi/home: Home wifi password is heron-9.
2025-01-16 choir/rehearsal: Choir rehearsal is on Tuesdays at 19:30.
2025-02-24 app/loafly-1.0: Loafly 1.0 is live.
2025-03-02 people/dana: Dana is on the platform team.
2025-04-07 app/loafly-1.1: 1.1 is out, with card payment.
2025-04-12 flat/rent: The landlord wanted 950, we settled on 910 from May.
2025-05-04 journal/2025-05-04: Ran 6 km before breakfast.
2025-05-10 journal/2025-05-10: Ran out of yeast. A good Saturday.
2025-05-17 journal/2025-05-17: Slow run with Moira, 8 km.
2025-05-29 journal/2025-05-29: Wanted to go running but it poured.
2025-06-20 app/loafly-2.0: 2.0 released, new look.
2025-08-18 people/dana: Dana moved to the payments team.
2025-09-15 journal/2025-09-15: Moira rang. Choir rehearsal was moved to Wednesdays.
2025-09-22 wifi/home: New router, the password is lantern-4.
"""


@pytest.fixture
def noted(memory: hades.Memory, clock: HeldClock) -> hades.Memory:
    for line in NOTES.strip().splitlines():
        day, topic, content = line.split(maxsplit=2)
        clock.set(day)
        memory.remember(topic.removesuffix(":"), content)
    clock.set("2025-12-01")
    return memory


def told(memory: hades.Memory, question: str) -> list[str]:
    answer = memory.ask(question, plan=UNHURRIED)
    assert all(sentence.labels for sentence in answer.sentences)
    return [sentence.text for sentence in answer.sentences]


def test_changes_are_a_list_with_dates_in_order_of_time(noted: hades.Memory) -> None:
    assert told(noted, "How has the rent changed?") == [
        "flat/rent: Rent is 850 a month, due on the 3rd. (4 January 2025)",
        "flat/rent: The landlord wanted 950, we settled on 910 from May. (12 April 2025)",
    ]


@pytest.mark.parametrize(
    ("question", "begins"),
    [
        ("Was the rent ever 850?", "Yes: flat/rent: Rent is 850"),
        ("Was the rent ever 950?", "No: flat/rent: The landlord wanted 950"),
        ("Was the rent ever 910?", "Yes: flat/rent: The landlord wanted 950, we settled on 910"),
        ("Was the rent ever 700?", "No: flat/rent: Rent is 850"),
        ("Is Dana still on the platform team?", "No: people/dana: Dana moved to the payments"),
        ("Is Dana still on the payments team?", "Yes: people/dana: Dana moved to the payments"),
        ("Is the rent still 910?", "Yes: flat/rent: The landlord wanted 950, we settled on 910"),
        ("What was the old wifi password?", "wifi/home: Home wifi password is heron-9."),
        ("When is choir rehearsal?", "journal/2025-09-15: Moira rang. Choir rehearsal was moved"),
    ],
)
def test_the_first_sentence(noted: hades.Memory, question: str, begins: str) -> None:
    assert told(noted, question)[0].startswith(begins)


def test_a_count_has_its_items(noted: hades.Memory) -> None:
    counted = told(noted, "How often did I run in May?")
    assert [text[:29] for text in counted] == [
        "2 times: journal/2025-05-04: ",
        "journal/2025-05-17: Slow run ",
    ]


def test_a_list_of_releases_is_in_order_of_time(noted: hades.Memory) -> None:
    listed = told(noted, "Which Loafly versions were released over the years?")
    assert [text.split(":")[0] for text in listed] == [
        "app/loafly-1.0",
        "app/loafly-1.1",
        "app/loafly-2.0",
    ]


def test_facts_that_changed(memory: hades.Memory, clock: HeldClock) -> None:
    clock.set("2025-02-16")
    memory.remember("people/moira", "Moira sings alto.")
    memory.relate("people/moira", "lives_in", "Portobello")
    clock.set("2025-08-03")
    memory.change_fact("people/moira", "lives_in", to="Musselburgh")
    clock.set("2025-12-01")
    assert told(memory, "Does Moira still live in Portobello?") == [
        "No: people/moira lives in Portobello, from 16 February to 3 August 2025"
    ]
    assert told(memory, "Does Moira still live in Musselburgh?") == [
        "Yes: people/moira lives in Musselburgh, since 3 August 2025"
    ]


def test_a_reason_that_ended_is_marked_and_comes_last(
    memory: hades.Memory, clock: HeldClock
) -> None:
    """The example of TracingRAG."""
    clock.set("2024-01-10")
    memory.remember("design/approach_x", "Rejected: triggers Bug Y.")
    memory.remember("bugs/bug_y", "Bug Y causes data corruption in approach X.")
    memory.relate("design/approach_x", "rejected_because", "bugs/bug_y")
    clock.set("2024-02-20")
    memory.change_fact(
        "design/approach_x", "rejected_because", to="refactoring/q1", content="Viable again."
    )
    clock.set("2024-05-01")
    assert told(memory, "Why don't we use approach X?") == [
        "design/approach_x: Viable again. (20 February 2024)",
        "design/approach_x viable after fix refactoring/q1, since 20 February 2024",
        "design/approach_x: Rejected: triggers Bug Y. (from 10 January 2024 to 20 February 2024)",
        "design/approach_x rejected because bugs/bug_y, from 10 January to 20 February 2024",
    ]
