"""What kind of question it is, how much it wants."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hades.domain.graph import Reason
from hades.domain.question import Intent, Mode
from hades.language.english.intent import choose_mode, read_intent
from hades.recall.plan import default_plan, make_plan


@pytest.mark.parametrize(
    ("question", "intent"),
    [
        ("What's the current status?", Intent.STATUS),
        ("Where do we stand with the migration right now?", Intent.STATUS),
        ("What happened last week?", Intent.RECENT),
        ("What changed in the past 3 days?", Intent.RECENT),
        ("Summarize the entire project", Intent.OVERVIEW),
        ("Give me an overview of the store", Intent.OVERVIEW),
        ("Why don't we use approach X?", Intent.WHY),
        ("What was the reason for the rejection?", Intent.WHY),
        ("Why is it currently broken?", Intent.WHY),
        ("When did approach X become viable?", Intent.WHEN),
        ("In which year was it founded?", Intent.WHEN),
        ("Who is the spouse of the director of Titanic?", Intent.BRIDGE),
        ("Where was the author of Hamlet born?", Intent.BRIDGE),
        ("Which film came out first, Blind Shaft or Move?", Intent.COMPARE),
        ("Are Oslo and Bergen in the same country?", Intent.COMPARE),
        ("What is the difference between tantivy and FTS5?", Intent.COMPARE),
        ("SQLite vs. PostgreSQL", Intent.COMPARE),
        ("Who wrote Hamlet?", Intent.LOOKUP),
        ("What is the capital of France?", Intent.LOOKUP),
        ("What is Caroline's identity?", Intent.LOOKUP),
        ("what kind of art does Caroline make", Intent.LOOKUP),
        ("how to capitalize the first letter of a string", Intent.LOOKUP),
        ("Was ist der Status?", Intent.LOOKUP),
        ("Pourquoi est-ce que le cache est lent ?", Intent.LOOKUP),
        ("なぜですか", Intent.LOOKUP),
        ("", Intent.LOOKUP),
    ],
)
def test_the_kind_of_question(question: str, intent: Intent) -> None:
    assert read_intent(question)[0] is intent


def test_the_words_that_decided_are_told() -> None:
    assert read_intent("What happened last week?") == (Intent.RECENT, "it says “What happened”")
    assert "“of” and “that”" in read_intent("Who is the mother of the man that wrote it?")[1]


@pytest.mark.parametrize(
    ("intent", "history"),
    [
        (Intent.STATUS, False),
        (Intent.RECENT, True),
        (Intent.OVERVIEW, False),
        (Intent.WHY, True),
        (Intent.WHEN, True),
        (Intent.LOOKUP, False),
    ],
)
def test_depth_follows_the_kind_of_question(intent: Intent, history: bool) -> None:
    assert (default_plan(intent).history > 0) is history


@pytest.mark.parametrize(
    ("mode", "passages", "tokens"),
    [(Mode.EXECUTION, 5, 5_000), (Mode.PLANNING, 10, 10_000), (Mode.BRAINSTORMING, 20, 20_000)],
)
def test_how_much_follows_the_mode(mode: Mode, passages: int, tokens: int) -> None:
    for intent in Intent:
        plan = default_plan(intent, mode)
        assert (plan.final_context, plan.budget.tokens) == (passages, tokens)
        assert {note.reason for note in make_plan(plan, plan)[1]} <= {Reason.RAISED}
        assert (plan.reranker.fusion[2] > 0) is (mode is not Mode.EXECUTION)  # belief counts


@pytest.mark.parametrize(
    ("question", "mode"),
    [
        ("Plan the migration to PostgreSQL", Mode.PLANNING),
        ("What are the next steps?", Mode.PLANNING),
        ("Give me ideas for a name", Mode.BRAINSTORMING),
        ("Let us brainstorm about caches", Mode.BRAINSTORMING),
        ("What was the Marshall Plan?", Mode.EXECUTION),
        ("Which airplane was first?", Mode.EXECUTION),
    ],
)
def test_mode_by_rule_words(question: str, mode: Mode) -> None:
    assert choose_mode(question) is mode


SOME_WORDS = ("who", "why", "or", "and", "both", "vs", "compare", ",", "?", ":", "of", "'s", "Ann")
ANY_QUESTION = st.lists(st.sampled_from(SOME_WORDS) | st.text(max_size=5), max_size=20).map(
    " ".join
)


@given(ANY_QUESTION)
def test_any_text_can_be_asked(question: str) -> None:
    intent, evidence = read_intent(question)
    assert default_plan(intent, choose_mode(question))
    assert evidence
