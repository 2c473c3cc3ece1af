"""How much a question wants."""

from __future__ import annotations

import pytest

import hades
from hades.language.english.intent import choose_mode
from hades.recall.plan import default_plan, make_plan


@pytest.mark.parametrize(
    ("intent", "history"),
    [
        (hades.Intent.STATUS, False),
        (hades.Intent.RECENT, True),
        (hades.Intent.OVERVIEW, False),
        (hades.Intent.WHY, True),
        (hades.Intent.WHEN, True),
        (hades.Intent.LOOKUP, False),
    ],
)
def test_depth_follows_the_kind_of_question(intent: hades.Intent, history: bool) -> None:
    assert (default_plan(intent).history > 0) is history


@pytest.mark.parametrize(
    ("mode", "passages", "tokens"),
    [
        (hades.Mode.EXECUTION, 5, 5_000),
        (hades.Mode.PLANNING, 10, 10_000),
        (hades.Mode.BRAINSTORMING, 20, 20_000),
    ],
)
def test_how_much_follows_the_mode(mode: hades.Mode, passages: int, tokens: int) -> None:
    for intent in hades.Intent:
        plan = default_plan(intent, mode)
        assert (plan.final_context, plan.budget.tokens) == (passages, tokens)
        assert {note.reason for note in make_plan(plan, plan)[1]} <= {hades.Reason.RAISED}
        assert (plan.reranker.fusion[2] > 0) is (mode is not hades.Mode.EXECUTION)  # belief counts


@pytest.mark.parametrize(
    ("question", "mode"),
    [
        ("Plan the migration to PostgreSQL", hades.Mode.PLANNING),
        ("What are the next steps?", hades.Mode.PLANNING),
        ("Give me ideas for a name", hades.Mode.BRAINSTORMING),
        ("Let us brainstorm about caches", hades.Mode.BRAINSTORMING),
        ("What was the Marshall Plan?", hades.Mode.EXECUTION),
        ("Which airplane was first?", hades.Mode.EXECUTION),
    ],
)
def test_mode_by_rule_words(question: str, mode: hades.Mode) -> None:
    assert choose_mode(question) is mode
