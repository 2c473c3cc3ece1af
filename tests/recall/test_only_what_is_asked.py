"""An answer says what was asked, or that it is not known: notes that come close are no answer."""

from __future__ import annotations

import pytest
from making import UNHURRIED

import hades
from tests.conftest import HeldClock

OTHERS = """
2026-01-05 car: The Skoda costs 180 a month.
2026-01-05 workshop/lease: The lease of the workshop ends on 30 June 2027. Rent 900 euros.
2026-01-06 jana: Jana had a boy on Sunday, 3,400 grams, both are well.
2026-01-07 garden/tomatoes: Planted Black Krim, Roma and Sungold in bed 2.
2026-01-07 garden/budget: The garden budget is 300 euros this year.
2026-01-08 dentist: Dentist on 14 March at 9:00.
"""
PROJECT = """
2026-02-01 log/lastesel: It starts in May. Ada leads it. The budget of Lastesel is 25,000 euros.
2026-02-11 log/lastesel: The budget of Lastesel is 31,000 euros now.
2026-03-02 log/lastesel: Lastesel earned 18,640 euros.
2026-04-02 log/lastesel: Ada is on leave from June. Timo leads the project from then on.
2026-04-20 log/lastesel: New logo, blue and white.
"""
BUGS = """
2026-02-01 bug/412: Bug 412: checkout hangs with two coupons. Status: open.
2026-02-02 bug/413: Bug 413: the footer overlaps. Status: open.
2026-02-09 bug/412: Bug 412: found the cause, a lock in the cart. Status: in progress.
2026-02-20 bug/412: Bug 412: fixed and released. Status: closed.
2026-02-21 bug/420: Bug 420: prices without tax in the mail. Status: open.
"""


def note(memory: hades.Memory, clock: HeldClock, *tables: str) -> None:
    for line in "".join(tables).strip().splitlines():
        if line:
            day, topic, content = line.split(maxsplit=2)
            clock.set(day)
            memory.remember(topic.removesuffix(":"), content)
    clock.set("2026-06-01")


def told(memory: hades.Memory, question: str) -> hades.Answer:
    return memory.ask(question, plan=UNHURRIED)


@pytest.fixture
def noted(memory: hades.Memory, clock: HeldClock) -> hades.Memory:
    note(memory, clock, OTHERS, PROJECT, BUGS)
    memory.relate("Lastesel", "led_by", "Timo")
    return memory


@pytest.mark.parametrize("versions", [3, 5])
def test_a_later_version_hides_only_what_it_replaces(
    memory: hades.Memory, clock: HeldClock, versions: int
) -> None:
    rows = PROJECT.strip().splitlines()[:versions]
    note(memory, clock, OTHERS, "\n".join(rows))
    assert "31,000" in told(memory, "What is the budget of Lastesel?").sentences[0].text


def test_the_one_who_leads_now(noted: hades.Memory) -> None:
    assert "Timo" in told(noted, "Who leads Lastesel now?").sentences[0].text


def test_changes_of_one_thing_are_counted_among_others(noted: hades.Memory) -> None:
    first, second = told(noted, "How many times did the budget of Lastesel change?").sentences
    assert first.text.startswith("Once: ")
    assert "25,000 euros. (1 February 2026)" in first.text
    assert "31,000 euros now. (11 February 2026)" in second.text


def test_the_original_is_the_first_version(noted: hades.Memory) -> None:
    first = told(noted, "What was the original budget of Lastesel?").sentences[0]
    assert "25,000" in first.text


def test_only_what_is_in_the_state_asked_for(noted: hades.Memory) -> None:
    listed = [one.text.split(":")[0] for one in told(noted, "Which bugs are open?").sentences]
    assert sorted(listed) == ["bug/413", "bug/420"]


def test_how_something_went_is_told_in_order(noted: hades.Memory) -> None:
    texts = [one.text for one in told(noted, "How did bug 412 go?").sentences]
    assert ["open" in texts[0], "in progress" in texts[1], "closed" in texts[2]] == [True] * 3


def test_what_comes_close_is_doubted(noted: hades.Memory) -> None:
    assert told(noted, "When is Jana's birthday?").shortfall


def test_no_noise_before_the_answer(noted: hades.Memory) -> None:
    first = told(noted, "Which tomato varieties did I plant?").sentences[0]
    assert "Black Krim" in first.text
