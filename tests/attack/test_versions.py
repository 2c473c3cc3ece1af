"""A note of many versions: the version in force at the asked time comes first, whatever the number.

`HADES_ATTACK=long` tries 300 random notes of up to 1,000 versions, the suite a few small ones.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from making import UNHURRIED

import hades
from tests.conftest import HeldClock

LONG = os.environ.get("HADES_ATTACK") == "long"
EXAMPLES = 300 if LONG else 8
VERSIONS = [2, 3, 5, 10, 60, 200, 1_000] if LONG else [2, 3, 5, 10, 40]
STEPS_SECONDS = [60, 3_600, 86_400, 2_600_000, 40_000_000]
YEARS_SECONDS = 2_000_000_000
"""The time from the first version to the last, at most."""
FIRST = ("Dana", "Omar", "Yuki", "Petra", "Luis", "Ines", "Ravi", "Greta", "Tom", "Mara", "Hugo")
LAST = ("Moss", "Klein", "Rossi", "Baker", "Ortiz", "Lund", "Amari", "Weiss", "Novak", "Castro")


@dataclass(frozen=True)
class Statement:
    """A statement whose value changes, and a question for the value."""

    topic: str
    text: str
    question: str
    value: Callable[[int], str]
    """The value of a version; consecutive versions have different ones."""

    def __str__(self) -> str:
        return self.topic

    def of(self, version: int) -> str:
        return self.text.format(self.value(version))


def _number(first: int, step: int) -> Callable[[int], str]:
    return lambda version: str(first + step * version)


def _person(version: int) -> str:
    number = version * 7
    return f"{FIRST[number % len(FIRST)]} {LAST[number % len(LAST)]}-{version}"


STATEMENTS = [
    Statement("flat/rent", "The rent is {} euros.", "What is the rent?", _number(700, 10)),
    Statement("door", "The door code is {}.", "What is the door code?", _number(1_000, 37)),
    Statement("team", "{} leads the platform team.", "Who leads the platform team?", _person),
    Statement(
        "billing/port",
        "The billing service listens on port {}. It is written in Go.",
        "Which port does billing use?",
        _number(8_000, 1),
    ),
    Statement(
        "standup",
        "We meet in the kitchen. Standup is at {} o'clock.",
        "At what time is standup?",
        lambda n: f"{n % 12 + 1}:{n % 60:02}",
    ),
]
OTHERS = (
    ("pets/cat", "Mimi the cat eats twice a day."),
    ("car/insurance", "The car is insured with Allianz."),
    ("garden/tools", "The shovel is in the shed."),
    ("team/design", "Nora Lind leads the design team."),
)


def note_versions(
    memory: hades.Memory,
    clock: HeldClock,
    statement: Statement,
    count: int,
    step_seconds: float,
    others: Sequence[tuple[str, str]] = (),
) -> list[datetime]:
    """Remember so many versions of a note, and return when each was written."""
    for topic, text in others:
        memory.remember(topic, text)
        clock.tick()
    written = []
    for version in range(count):
        clock.tick(min(step_seconds, YEARS_SECONDS / count))
        written.append(datetime.fromtimestamp(clock.micros / 1e6, UTC))
        memory.remember(statement.topic, statement.of(version))
    clock.tick(30)
    return written


def assert_leads(memory: hades.View, statement: Statement, version: int) -> None:
    """Assert that a version comes first, and that earlier ones have a date or are marked."""
    answer = memory.ask(statement.question, plan=UNHURRIED)
    first, *rest = [sentence.text for sentence in answer.sentences]
    assert statement.of(version).split(". ")[-1] in first
    assert all(text.endswith(")") for text in rest if text.startswith(f"{statement.topic}:"))
    leading, *others = answer.recall.passages
    assert leading.chunk.text == statement.of(version)
    own = [passage for passage in others if passage.chunk.topic == statement.topic]
    assert all(passage.superseded or passage.valid_to is not None for passage in own)


@pytest.mark.parametrize("count", VERSIONS)
@pytest.mark.parametrize("statement", STATEMENTS, ids=str)
def test_the_newest_of_many_versions_leads(
    memory: hades.Memory, clock: HeldClock, statement: Statement, count: int
) -> None:
    note_versions(memory, clock, statement, count, 2_600_000)
    assert_leads(memory, statement, count - 1)


@settings(max_examples=EXAMPLES)
@given(
    statement=st.sampled_from(STATEMENTS),
    count=st.integers(2, 1_000 if LONG else 12),
    step_seconds=st.sampled_from(STEPS_SECONDS),
    others=st.sampled_from([(), OTHERS]),
    asked=st.floats(0, 1),
)
def test_the_version_in_force_at_any_moment_leads(
    tmp_path_factory: pytest.TempPathFactory,
    statement: Statement,
    count: int,
    step_seconds: float,
    others: Sequence[tuple[str, str]],
    asked: float,
) -> None:
    clock = HeldClock()
    path = tmp_path_factory.mktemp("versions") / "notes.hades"
    with hades.open(path, clock=clock) as memory:
        written = note_versions(memory, clock, statement, count, step_seconds, others)
        assert_leads(memory, statement, count - 1)
        version = int(asked * (count - 1))
        moment = written[version] + timedelta(seconds=20)
        assert_leads(memory.at(moment), statement, version)


def test_versions_written_in_another_order_than_they_hold(path: Path, clock: HeldClock) -> None:
    """A version that is written later and holds earlier does not lead."""
    statement = STATEMENTS[0]
    clock.set("2025-01-01")
    days = [datetime(2024, month, 1, tzinfo=UTC) for month in range(1, 9)]
    written = list(enumerate(days))
    random.Random(3).shuffle(written)
    with hades.open(path, clock=clock) as memory:
        for version, day in written:
            clock.tick()
            memory.remember(statement.topic, statement.of(version), valid_from=day)
        assert_leads(memory, statement, len(days) - 1)
        assert_leads(memory.at("2024-04-15"), statement, 3)


def test_the_newest_leads_without_vectors(memory: hades.Memory, clock: HeldClock) -> None:
    """The order of versions that differ in values does not depend on the encoder."""
    note_versions(memory, clock, STATEMENTS[0], 12, 86_400, OTHERS)
    words_only = {**UNHURRIED, "retriever": {**UNHURRIED["retriever"], "retrievers": ["words"]}}
    passages = memory.recall(STATEMENTS[0].question, plan=words_only).passages
    assert passages[0].chunk.text == STATEMENTS[0].of(11)


def test_two_topics_that_tell_the_same(memory: hades.Memory, clock: HeldClock) -> None:
    """The current version of each comes before its earlier ones, and one of them leads."""
    rent = STATEMENTS[0]
    other = Statement("notes/landlord", "Rent: {} euros a month.", rent.question, rent.value)
    note_versions(memory, clock, rent, 6, 86_400)
    note_versions(memory, clock, other, 7, 86_400)
    passages = memory.recall(rent.question, plan=UNHURRIED).passages
    newest = {rent.of(5), other.of(6)}
    texts = [passage.chunk.text for passage in passages]
    for statement, last in ((rent, 5), (other, 6)):
        own = [texts.index(statement.of(n)) for n in range(last + 1) if statement.of(n) in texts]
        assert own[-1] == min(own)
    assert texts[0] in newest
    first = memory.ask(rent.question, plan=UNHURRIED).sentences[0]
    assert any(text in first.text for text in newest)


def test_a_later_version_on_something_else_does_not_lead(
    memory: hades.Memory, clock: HeldClock
) -> None:
    rent = STATEMENTS[0]
    note_versions(memory, clock, rent, 8, 86_400)
    memory.remember(rent.topic, "The landlord is on holiday until September.")
    clock.tick()
    first = memory.ask(rent.question, plan=UNHURRIED).sentences[0]
    assert rent.of(7) in first.text


@pytest.mark.parametrize("count", [5, 12])
def test_the_newest_leads_in_postgresql_too(postgres: str, clock: HeldClock, count: int) -> None:
    with hades.open(postgres, clock=clock) as memory:
        written = note_versions(memory, clock, STATEMENTS[1], count, 86_400, OTHERS)
        assert_leads(memory, STATEMENTS[1], count - 1)
        assert_leads(memory.at(written[2] + timedelta(seconds=20)), STATEMENTS[1], 2)
