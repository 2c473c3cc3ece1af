"""A question is read once: its kind, what it wants, its time, and a line that says so."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.domain.plain import plain
from hades.domain.question import BriefPart, Intent, TimeKind, Wants
from hades.domain.rebuild import rebuild
from hades.recall.plan import default_plan
from hades.recall.question.reading import read_question

NOW = 1_760_000_000_000_000
"""9 October 2025, in microseconds."""


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("What happened last week?", Intent.RECENT),
        ("What changed in the past 3 days?", Intent.RECENT),
        ("Summarize the entire project", Intent.OVERVIEW),
        ("Give me an overview of the store", Intent.OVERVIEW),
        ("Why don't we use approach X?", Intent.WHY),
        ("What was the reason for the rejection?", Intent.WHY),
        ("When did approach X become viable?", Intent.WHEN),
        ("In which year was it founded?", Intent.WHEN),
        ("Who is the spouse of the director of Titanic?", Intent.BRIDGE),
        ("How is Ann connected with Ben?", Intent.CONNECTION),
        ("What is the difference between tantivy and FTS5?", Intent.COMPARE),
        ("Which bugs are open?", Intent.STATUS),
        ("Who wrote Hamlet?", Intent.LOOKUP),
        ("what kind of art does Caroline make", Intent.LOOKUP),
        ("Was ist der Status?", Intent.LOOKUP),
        ("Pourquoi est-ce que le cache est lent ?", Intent.LOOKUP),
        ("なぜですか", Intent.LOOKUP),
        ("", Intent.LOOKUP),
    ],
)
def test_the_kind_of_a_question(question: str, intent: Intent) -> None:
    assert read_question(question, NOW).intent is intent


@pytest.mark.parametrize(
    ("question", "wants"),
    [
        ("Who leads it?", Wants.PERSON),
        ("Where does she live?", Wants.PLACE),
        ("How many trucks does Berg have?", Wants.NUMBER),
        ("How long did the move take?", Wants.DURATION),
        ("Does Ida have a car?", Wants.YES_OR_NO),
        ("When was it shipped?", Wants.DATE),
        ("What happened in May?", Wants.HAPPENINGS),
        ("How has the rent changed?", Wants.CHANGES),
        ("Is Dana still on the team?", Wants.STILL),
        ("How many times did the budget change?", Wants.COUNT),
    ],
)
def test_what_a_question_wants(question: str, wants: Wants) -> None:
    assert read_question(question, NOW).wants is wants


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What was the original budget?", TimeKind.ORIGIN),
        ("What did the flat cost at first?", TimeKind.ORIGIN),
        ("who was the previous owner", TimeKind.PAST),
        ("what was the old price", TimeKind.PAST),
        ("What is the price now?", None),
        ("When was the bridge built?", None),
    ],
)
def test_a_former_state(question: str, kind: TimeKind | None) -> None:
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
