"""A question is read once: its kind, what it wants, its time, and a line that says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.domain.plain import plain
from hades.domain.question import BriefPart
from hades.domain.rebuild import rebuild
from hades.recall.plan import default_plan
from hades.recall.question.reading import read_question

NOW = 1_760_000_000_000_000
"""9 October 2025, in microseconds."""


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("What happened last week?", hades.Intent.RECENT),
        ("What changed in the past 3 days?", hades.Intent.RECENT),
        ("Summarize the entire project", hades.Intent.OVERVIEW),
        ("Give me an overview of the store", hades.Intent.OVERVIEW),
        ("Why don't we use approach X?", hades.Intent.WHY),
        ("What was the reason for the rejection?", hades.Intent.WHY),
        ("When did approach X become viable?", hades.Intent.WHEN),
        ("In which year was it founded?", hades.Intent.WHEN),
        ("Who is the spouse of the director of Titanic?", hades.Intent.BRIDGE),
        ("How is Ann connected with Ben?", hades.Intent.CONNECTION),
        ("What is the difference between tantivy and FTS5?", hades.Intent.COMPARE),
        ("Which bugs are open?", hades.Intent.STATUS),
        ("Who wrote Hamlet?", hades.Intent.LOOKUP),
        ("what kind of art does Caroline make", hades.Intent.LOOKUP),
        ("Was ist der Status?", hades.Intent.LOOKUP),
        ("Pourquoi est-ce que le cache est lent ?", hades.Intent.LOOKUP),
        ("なぜですか", hades.Intent.LOOKUP),
        ("", hades.Intent.LOOKUP),
    ],
)
def test_the_kind_of_a_question(question: str, intent: hades.Intent) -> None:
    assert read_question(question, NOW).intent is intent


@pytest.mark.parametrize(
    ("question", "wants"),
    [
        ("Who leads it?", hades.Wants.PERSON),
        ("Where does she live?", hades.Wants.PLACE),
        ("How many trucks does Berg have?", hades.Wants.NUMBER),
        ("How long did the move take?", hades.Wants.DURATION),
        ("Does Ida have a car?", hades.Wants.YES_OR_NO),
        ("When was it shipped?", hades.Wants.DATE),
        ("What happened in May?", hades.Wants.HAPPENINGS),
        ("How has the rent changed?", hades.Wants.CHANGES),
        ("Is Dana still on the team?", hades.Wants.STILL),
        ("How many times did the budget change?", hades.Wants.COUNT),
    ],
)
def test_what_a_question_wants(question: str, wants: hades.Wants) -> None:
    assert read_question(question, NOW).wants is wants


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What was the original budget?", hades.TimeKind.ORIGIN),
        ("What did the flat cost at first?", hades.TimeKind.ORIGIN),
        ("who was the previous owner", hades.TimeKind.PAST),
        ("what was the old price", hades.TimeKind.PAST),
        ("What is the price now?", None),
        ("When was the bridge built?", None),
    ],
)
def test_a_former_state(question: str, kind: hades.TimeKind | None) -> None:
    time = read_question(question, NOW).time
    assert (time and time.kind) == kind


def test_a_brief_is_not_about_a_name() -> None:
    assert read_question("What should I work on next?", NOW).part is BriefPart.NEXT
    assert read_question("What should I give Thea next?", NOW).part is None


def test_it_is_told_in_one_line(memory: hades.Memory) -> None:
    memory.remember("atlas", "Atlas is led by Maya.")
    found = memory.recall("Who led Atlas in March?")
    assert str(found.asked).startswith("It asks for a person, about “Atlas”, at the time “in March")
    assert rebuild(type(found), plain(found)).asked == found.asked


SOME_WORDS = ("who", "why", "or", "and", "both", "vs", "compare", ",", "?", ":", "of", "'s", "Ann")
ANY_QUESTION = st.lists(st.sampled_from(SOME_WORDS) | st.text(max_size=5), max_size=20).map(
    " ".join
)


@given(ANY_QUESTION)
def test_any_text_can_be_asked(question: str) -> None:
    asked = read_question(question, NOW)
    assert default_plan(asked.intent, asked.mode)
    assert str(asked).startswith("It asks for ")
