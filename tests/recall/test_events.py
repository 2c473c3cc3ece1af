"""Questions for plans and happenings go by the times that notes speak of."""

from __future__ import annotations

import pytest

import hades
from tests.conftest import HeldClock

NOTES = (
    ("2025-02-03T08:40", "teeth", "Dentist on Thursday 14:00, the cracked molar."),
    ("2025-02-07T12:30", "van", "Van goes to the garage next week Tuesday, brakes."),
    ("2025-02-07T18:30", "lindqvist", "Meeting about the staircase on the 13th, 9:30."),
    ("2025-02-08T18:00", "bees", "Hive 2 died the day before yesterday. Fed the others."),
)


@pytest.fixture
def diary(memory: hades.Memory, clock: HeldClock) -> hades.Memory:
    for at, topic, text in NOTES:
        clock.set(at)
        memory.remember(topic, text)
    clock.set("2025-02-09T10:00")  # a Sunday
    return memory


def told(memory: hades.Memory, question: str) -> list[str]:
    return [sentence.text for sentence in memory.ask(question).sentences]


def test_plans_are_told_with_their_dates(diary: hades.Memory) -> None:
    assert told(diary, "What do I have next week?") == [
        "van: Van goes to the garage next week Tuesday, brakes. (on 11 February 2025)",
        "lindqvist: Meeting about the staircase on the 13th, 9:30. (on 13 February 2025)",
    ]
    assert str(diary.ask("What do I have on 1 March?")) == "Nothing was noted on 1 March."


def test_a_meeting_that_was_moved_is_not_told(diary: hades.Memory, clock: HeldClock) -> None:
    clock.tick()
    diary.remember("lindqvist", "The meeting is pushed from the 13th to the 25th.")
    assert [line[:4] for line in told(diary, "What do I have next week?")] == ["van:"]
    clock.tick()
    diary.remember("journal", "Garage rang, the van is cancelled.")
    assert told(diary, "What do I have next week?") == []


def test_what_happened_on_a_day_may_be_noted_later(diary: hades.Memory) -> None:
    happened = told(diary, "What happened on Thursday?")
    assert "bees: Hive 2 died the day before yesterday. (on 6 February 2025) Fed the others." in (
        happened
    )
    assert told(diary, "When did hive 2 die?")[0].endswith("(on 6 February 2025) Fed the others.")


def test_the_next_date_is_not_one_of_the_past(diary: hades.Memory) -> None:
    assert told(diary, "When is the next dentist appointment?") == []


def test_a_habit_has_no_date(diary: hades.Memory) -> None:
    diary.remember("bakery", "The bakery on Elm Street is open Tuesday to Friday.")
    open_days = "bakery: The bakery on Elm Street is open Tuesday to Friday."
    assert told(diary, "When is the bakery open?")[0] == open_days
    assert told(diary, "When is it open?")[0] == open_days
    assert not any("bakery" in line for line in told(diary, "What do I have on Friday?"))


def test_since_and_until_may_mean_the_times_of_events(diary: hades.Memory) -> None:
    week = {"since": "2025-02-10", "until": "2025-02-17"}
    assert diary.recall("garage", **week).passages == ()
    found = diary.recall("garage", **week, by="event").passages
    assert {passage.chunk.topic for passage in found} == {"van", "lindqvist"}
    assert [str(event) for event in found[0].events] == ["on 11 February 2025"]
    hits = diary.search("garage", **week, by="event")
    assert {hit.chunk.topic for hit in hits} == {"van", "lindqvist"}
    with pytest.raises(hades.InvalidInput, match="by written or event"):
        diary.recall("garage", by="mood")


def test_a_purged_note_leaves_no_time(diary: hades.Memory) -> None:
    assert told(diary, "What do I have next week?")
    diary.purge("van")
    diary.purge("lindqvist")
    assert told(diary, "What do I have next week?") == []
    rows = diary.inside.finder.indexes["note_times"]
    assert set(rows["chunk"]) <= set(diary.inside.finder.indexes.chunks["id"])
