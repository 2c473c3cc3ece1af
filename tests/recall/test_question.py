"""How a question is understood sets how deep and how much is looked for, and is told in a line."""

from __future__ import annotations

import pytest

import hades

HISTORY = {
    "What happened last week?": ("recent", True),
    "Give me an overview of the store": ("overview", False),
    "Why don't we use approach X?": ("why", True),
    "When did approach X become viable?": ("when", True),
    "Which bugs are open?": ("status", False),
    "Who wrote Hamlet?": ("lookup", False),
}


@pytest.mark.parametrize(
    ("mode", "passages", "tokens"),
    [("execution", 5, 5_000), ("planning", 10, 10_000), ("brainstorming", 20, 20_000)],
)
def test_depth_follows_the_kind_of_question_and_how_much_its_mode(
    memory: hades.Memory, mode: str, passages: int, tokens: int
) -> None:
    memory.remember("notes/x", "Approach X became viable when the store was moved.")
    for question, (intent, has_history) in HISTORY.items():
        found = memory.recall(question, mode=mode)
        assert found.asked.intent == intent
        assert (found.plan["history"] > 0) is has_history
        assert (found.plan["final_context"], found.plan["budget"]["tokens"]) == (passages, tokens)
        belief_counts = found.plan["reranker"]["fusion"][2] > 0
        assert belief_counts is (mode != "execution")
        planned = {reason.reason for reason in found.reasons if reason.stage == "plan"}
        assert planned <= {hades.Reason.RAISED}


def test_the_question_is_told_in_one_line(memory: hades.Memory) -> None:
    memory.remember("atlas", "Atlas is led by Maya.")
    found = memory.recall("Who led Atlas in March?")
    assert str(found.asked).startswith("It asks for a person, about “Atlas”, at the time “in March")
