"""A focus: what one works on, answered from memory and never stale."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from conftest import HeldClock
from hypothesis import given, settings
from hypothesis import strategies as st

import hades
from hades import State
from hades.domain.graph import Reason
from hades.domain.times import from_micros
from hades.lifecycle.focus import HERE

NOTES = {
    "project/alpha": "Alpha costs 40,000 euros. Ann Lee leads it. It needs the billing service.",
    "service/billing": "The billing service runs on db07. Project Alpha waits for it.",
    "person/ann": "Ann Lee works in Lisbon.",
    "lunch": "The soup was good.",
}


@pytest.fixture
def alpha(memory: hades.Memory) -> hades.Memory:
    for topic, text in NOTES.items():
        memory.remember(topic, text)
    memory.relate("project/alpha", "needs", "service/billing")
    return memory


def is_here(found: hades.Recall) -> bool:
    return any(note.reason is Reason.FOCUS for note in found.reasons)


def test_it_begins_with_a_topic_and_what_is_related(alpha: hades.Memory) -> None:
    with alpha.focus("project/alpha") as focus:
        assert focus.topics[0] == "project/alpha"
        assert "service/billing" in focus.topics
        assert "lunch" not in focus.topics
        assert focus.get("project/alpha") == alpha.get("project/alpha")
        assert focus.get("service/billing") == alpha.get("service/billing")
        assert focus.answered == {HERE: 2, "memory": 0}
        assert 0 < focus.bytes < 100_000


def test_it_grows_while_one_explores(alpha: hades.Memory) -> None:
    with alpha.focus("project/alpha") as focus:
        assert focus.get("lunch") == alpha.get("lunch")
        assert focus.get("lunch", 1) == alpha.get("lunch", 1)
        assert focus.answered == {HERE: 1, "memory": 1}
        assert focus.topics[0] == "lunch"
        alpha.remember("soup/recipe", "Two onions and a litre of stock.")
        focus.recall("How many onions are needed?")
        assert "soup/recipe" in focus.topics


def test_a_plain_question_about_a_topic_here_is_answered_here(alpha: hades.Memory) -> None:
    with alpha.focus("project/alpha") as focus:
        found = focus.recall("What does Alpha cost in euros?")
        assert is_here(found)
        assert found.passages[0].id == "project/alpha@1#0"
        assert "40,000 euros" in found.context
        assert "project/alpha needs service/billing" in found.context
        assert found.passages[0].strength is not None
        assert found.passages[0].retrievers == (HERE,)
        assert focus.answered == {HERE: 1, "memory": 0}


@pytest.mark.parametrize(
    "question",
    [
        "Is Ann Lee or Ben Holm the head of Alpha?",  # a name that is not there
        "Why does Alpha cost 40,000 euros?",  # more than one thing may be wanted
        "What did Alpha cost in euros last year?",  # not now
        "What does Alpha cost in dollars?",  # a word that is not there
        "What does it cost in euros?",  # names nothing
        "Which projects cost euros?",  # a list
    ],
)
def test_any_other_question_goes_on_to_the_memory(alpha: hades.Memory, question: str) -> None:
    with alpha.focus("project/alpha") as focus:
        assert not is_here(focus.recall(question))


def test_options_are_the_memorys_matter(alpha: hades.Memory) -> None:
    with alpha.focus("project/alpha") as focus:
        assert not is_here(focus.recall("What does Alpha cost in euros?", budget=500))


def test_its_answers_count_as_uses(alpha: hades.Memory) -> None:
    with alpha.focus("project/alpha") as focus:
        focus.recall("What does Alpha cost in euros?")
    alpha._store.uses.write()
    assert alpha.get("project/alpha").access_count == 1


def test_a_write_of_another_is_seen_at_once(
    alpha: hades.Memory, path: Path, clock: HeldClock
) -> None:
    with alpha.focus("project/alpha") as focus, hades.open(path, clock=clock) as other:
        assert is_here(focus.recall("What does Alpha cost in euros?"))
        other.remember("project/alpha", "Alpha costs 50,000 euros.")
        assert focus.get("project/alpha").content == "Alpha costs 50,000 euros."
        # Its passages are not indexed yet: the memory does that.
        assert "50,000" in focus.recall("What does Alpha cost in euros?").context
        assert "50,000" in focus.recall("What does Alpha cost in euros?").context
        assert focus.answered[HERE] == 3
        other.purge("project/alpha")
        with pytest.raises(hades.NotFound):
            focus.get("project/alpha")


def test_a_batch_that_is_undone_leaves_nothing(alpha: hades.Memory) -> None:
    with alpha.focus("project/alpha") as focus:
        with suppress(ZeroDivisionError), alpha.batch():
            alpha.remember("project/alpha", "Never.")
            assert focus.get("project/alpha").content == "Never."
            raise ZeroDivisionError
        alpha.remember("project/alpha", "Now.")
        assert focus.get("project/alpha").content == "Now."


def test_a_plan_comes_true_without_a_write(alpha: hades.Memory, clock: HeldClock) -> None:
    alpha.remember("project/alpha", "Alpha is done.", valid_from="2024-06-01")
    with alpha.focus("project/alpha") as focus:
        assert focus.get("project/alpha").version == 1
        clock.set("2024-07-01")
        assert focus.get("project/alpha").version == 2


@pytest.mark.slow
def test_the_topics_used_least_leave_when_it_is_full(memory: hades.Memory) -> None:
    for number in range(20):
        memory.remember(f"note/{number}", f"Note {number}. " + "x " * 2_000)
    with memory.focus("note/0", bytes_at_most=40_000) as focus:
        for number in range(20):
            focus.get(f"note/{number}")
            focus.get("note/0")
            assert focus.bytes <= 40_000
        assert focus.topics[:2] == ["note/0", "note/19"]
        assert "note/1" not in focus.topics
        assert focus.answered[HERE] == 21


@pytest.mark.slow
def test_of_a_long_history_the_last_and_the_important_are_kept(memory: hades.Memory) -> None:
    for number in range(40):
        memory.remember("log", f"{number} " * 500, importance=0.9 if number == 3 else 0.5)
    with memory.focus("log", bytes_at_most=100_000) as focus:
        for version in (4, 31, 40):
            assert focus.get("log", version) == memory.get("log", version)
        assert focus.answered == {HERE: 3, "memory": 0}
        assert focus.get("log", 12) == memory.get("log", 12)
        assert focus.answered["memory"] == 1


def test_what_it_cannot_be_made_of(alpha: hades.Memory) -> None:
    with pytest.raises(hades.NotFound):
        alpha.focus("nobody")
    with pytest.raises(hades.InvalidInput, match="leave out `at`"):
        alpha.at("2024").focus("project/alpha")
    with pytest.raises(hades.InvalidInput):
        alpha.focus("project/alpha", bytes_at_most=0)
    with alpha.focus("project/alpha") as focus, pytest.raises(hades.InvalidInput):
        focus.get(["project/alpha"])  # type: ignore[arg-type]
    with alpha.focus("project/alpha") as focus, pytest.raises(hades.InvalidInput):
        focus.recall(3)  # type: ignore[arg-type]


TOPICS = st.sampled_from(["a", "b", "c", "d"])
STEPS = st.lists(
    st.tuples(st.sampled_from(["write", "plan", "past", "forget", "purge", "read"]), TOPICS),
    max_size=25,
)


def told(ask: Callable[[str], State], topic: str) -> object:
    """What is answered, without the counts of uses; an error by its sentence."""
    try:
        return replace(ask(topic), access_count=0, last_used=None)
    except hades.HadesError as error:
        return str(error)


def first(memory: hades.Memory | hades.Focus) -> Callable[[str], State]:
    """What asks for the first version of a topic."""
    return lambda topic: memory.get(topic, 1)


@given(STEPS)
@settings(max_examples=12)
def test_it_is_never_stale(steps: list[tuple[str, str]]) -> None:
    clock = HeldClock()
    with (
        tempfile.TemporaryDirectory() as folder,
        hades.open(f"{folder}/m.hades", clock=clock) as memory,
    ):
        memory.remember("a", "begins")
        with memory.focus("a", bytes_at_most=20_000) as focus:
            for number, (step, topic) in enumerate(steps):
                clock.tick(3_600)
                change(memory, step, topic, number)
                for one in "abcd":
                    assert told(focus.get, one) == told(memory.get, one)
                    assert told(first(focus), one) == told(first(memory), one)


def change(memory: hades.Memory, step: str, topic: str, number: int) -> None:
    now = from_micros(memory._store.now())
    days = {"write": None, "plan": now + timedelta(days=1), "past": now - timedelta(days=1)}
    try:
        if step in days:
            memory.remember(topic, f"{step} {number}", valid_from=days[step])
        elif step in ("forget", "purge"):
            getattr(memory, step)(topic)
    except hades.NotFound:
        pass
