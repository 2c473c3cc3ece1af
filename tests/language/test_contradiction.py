"""Two sentences say the same, the same with another value, the opposite, or two things."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.language.english.contradiction import Contradiction, contradiction, entails


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ("The office rent is 240 euros.", "The office rent is now 265 euros.", "240", "265"),
        ("Atlas 4.2 is due on 12 March.", "Atlas 4.2 is due on 26 March.", "12 March", "26 March"),
        ("The board meeting is in Ulm.", "The board meeting was moved to Bonn.", "Ulm", "Bonn"),
        ("The Atlas team is led by Ann.", "The Atlas team is led by Tom Lee.", "Ann", "Tom Lee"),
        ("The gym in Ulm closes at 10 pm.", "The gym in Ulm closes at 11 pm.", "10 pm", "11 pm"),
        ("The SLA for Acme is 99.5 percent.", "The SLA for Acme rose from 99.5 to 99.9 percent.",
         "99.5", "99.9"),
    ],
)  # fmt: skip
def test_another_value(old: str, new: str, before: str, after: str) -> None:
    assert contradiction(new, old, "news", "office/notes") == (before, after)


def test_the_opposite() -> None:
    old = "The export of Lumen supports Excel."
    new = "The export of Lumen does not support Excel any more."
    assert contradiction(new, old) == contradiction(old, new) == Contradiction()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The flat in Gera costs 900 euros.", "The flat in Ulm costs 1,400 euros."),
        ("The Pro plan costs 29 euros.", "The Pro plan might cost 39 euros."),
        ("Maria works with Tom on Atlas.", "Maria works with Priya on Atlas."),
        ("Entry in Ulm costs 5 euros for children.", "Entry in Ulm costs 10 euros for adults."),
        ("The Ulm office has 40 desks.", "Tom said the Ulm office has 60 desks."),
        ("The Ulm office has 40 desks.", "The Ulm office has 40 desks and 60 chairs."),
        ("It costs 5 euros.", "It costs 6 euros."),
        ("Orion supports English.", "Orion supports German."),
    ],
)
def test_two_things(old: str, new: str) -> None:
    assert contradiction(new, old, "a", "b") is None


def test_a_subject_without_a_name_is_another_one_in_a_topic_of_the_same_kind() -> None:
    old, new = "The dose is 5 mg.", "The dose is 10 mg."
    assert contradiction(new, old, "patients/13", "patients/12") is None
    old, new = "The daily dose is 5 mg.", "The daily dose is 10 mg."
    assert contradiction(new, old, "patients/huber", "patients/maier") is None
    assert contradiction(new, old, "rounds/tuesday", "patients/maier") == ("5", "10")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ann reports to Ben.", "Ben reports to Ann."),
        ("Rent is $40.", "Rent is €40."),
        ("Ann has two dogs.", "Ann has three dogs."),
        ("It is 5 degrees.", "It is -5 degrees."),
        ("The rent is 900 euros.", "The rent was 900 euros."),
        ("Ann may come before noon.", "Ann may come after noon."),
    ],
)
def test_what_says_something_new_is_not_said(old: str, new: str) -> None:
    assert not entails(old, new)
    assert entails(old, old)
    assert entails(f"{old} ", f"  {old.upper()}")


@given(st.text(max_size=600), st.text(max_size=600))
def test_any_text_can_be_compared(one: str, other: str) -> None:
    contradiction(one, other, other, one)
    if entails(one, other):
        assert contradiction(other, one) is None


NAMES = st.sampled_from(["Ulm", "Gera", "Acme", "Bonn"])
NUMBERS = st.integers(0, 10**6)


@given(NAMES, NUMBERS, NAMES, NUMBERS)
def test_a_value_changed_only_if_the_subject_is_the_same(
    where: str, before: int, there: str, after: int
) -> None:
    old, new = f"The fee in {where} is {before} euros.", f"The fee in {there} is {after} euros."
    changed = where == there and before != after
    assert contradiction(new, old) == ((str(before), str(after)) if changed else None)
