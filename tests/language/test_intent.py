"""How much a question wants."""

from __future__ import annotations

import pytest

from hades.domain.graph import Reason
from hades.domain.question import Intent, Mode
from hades.language.english.intent import choose_mode
from hades.recall.plan import default_plan, make_plan


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
