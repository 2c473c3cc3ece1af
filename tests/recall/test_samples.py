"""Sample questions are made of what a memory holds, and it answers each of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import hades


@pytest.fixture
def memory(memory: hades.Memory) -> hades.Memory:
    memory.remember("hull/colour", "The hull is dark blue, because green paint was taken away.")
    memory.remember("team/jonas", "Jonas Beck is a carpenter. He looks after hull and mast.")
    memory.remember("mood", "Ok.")
    memory.relate("Fjord Drives", "supplies", "electric motor")
    return memory


def test_each_is_answered_from_what_it_was_made_of(memory: hades.Memory) -> None:
    made = memory.sample_questions()
    assert "Why is the hull dark blue?" in made
    assert "What supplies electric motor?" in made
    for question in made:
        assert not memory.ask(question).shortfall, question


def test_they_leave_no_trace_and_are_made_again_after_a_write(memory: hades.Memory) -> None:
    logged = len(memory.query_log(100))
    assert len(memory.sample_questions(1)) == 1
    assert len(memory.query_log(100)) == logged
    before = memory.sample_questions()
    memory.forget("hull/colour")
    assert "Why is the hull dark blue?" in before
    assert "Why is the hull dark blue?" not in memory.sample_questions()


def test_a_memory_without_anything_to_ask_has_none(tmp_path: Path) -> None:
    with hades.open(tmp_path / "empty.hades") as memory:
        assert memory.sample_questions() == []
