"""The time a question asks about: in its words, or as since and until; and a late encoder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from making import UNHURRIED

import hades
from tests.conftest import HeldClock

HISTORY = (
    ("office", "The office is in Tallinn, above the bakery.", "2025-01-10"),
    ("office", "The office is in Tartu now, beside the river.", "2025-04-15"),
    ("milk", "The milk was sour.", "2025-03-12"),
    ("roof", "The roof was mended.", "2025-05-28"),
    ("pump", "The pump was replaced by Kim.", "2025-05-30"),
    ("move", "We moved on a rainy day.", "2025-04-15"),
)


@pytest.fixture
def notes(memory: hades.Memory, clock: HeldClock) -> hades.Memory:
    clock.set("2025-06-02")  # a Monday
    for topic, text, since in HISTORY:
        memory.remember(topic, text, valid_from=since)
    return memory


@pytest.fixture
def papers(memory: hades.Memory, clock: HeldClock, tmp_path: Path) -> hades.Memory:
    """Documents alone: they came in on three days."""
    folder = tmp_path / "papers"
    folder.mkdir()
    texts = ("The Titanic sank in 1912.", "The harbour was built in 1912.", "Ferries run daily.")
    for number, text in enumerate(texts):
        clock.set(f"2025-03-0{number + 1}")
        (folder / f"{number}.md").write_text(text)
        memory.ingest(folder / f"{number}.md")
    clock.set("2025-06-02")
    return memory


def recalled(view: hades.View, question: str, **narrowed: str) -> hades.Recall:
    return view.recall(question, plan=UNHURRIED, **narrowed)


def topics(found: hades.Recall) -> set[str]:
    return {one.chunk.topic for one in found.passages}


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# In words


@pytest.mark.parametrize(
    ("question", "kind", "said"),
    [
        ("Where was the office originally?", hades.TimeKind.ORIGIN, "originally"),
        ("Where was the office before the move?", hades.TimeKind.BEFORE, "before the move"),
        ("Where was the office in March?", hades.TimeKind.DURING, "in March"),
        ("Where did the office use to be?", hades.TimeKind.PAST, ""),
    ],
)
def test_the_version_of_the_time_in_words_comes_first(
    notes: hades.Memory, question: str, kind: hades.TimeKind, said: str
) -> None:
    found = notes.ask(question, plan=UNHURRIED)
    assert found.recall.time is not None
    assert (found.recall.time.kind, found.recall.time.said) == (kind, said)
    assert found.recall.passages[0].chunk.text == HISTORY[0][1]
    assert found.sentences[0].text == (
        f"office: {HISTORY[0][1]} (from 10 January 2025 to 15 April 2025)"
    )


def test_now_is_meant_where_no_time_is_said(notes: hades.Memory) -> None:
    found = notes.ask("Where is the office?", plan=UNHURRIED)
    assert found.recall.time is None
    assert "Tartu" in str(found)
    assert "Tallinn" not in str(found)


def test_what_happened_is_told_in_order_of_what_was_noted_then(notes: hades.Memory) -> None:
    found = notes.ask("What happened last week?", plan=UNHURRIED)
    time = found.recall.time
    assert time is not None
    assert (time.kind, time.since, time.until) == (
        hades.TimeKind.DURING,
        day("2025-05-26"),
        day("2025-06-02"),
    )
    assert found.recall.wants is hades.Wants.HAPPENINGS
    assert topics(found.recall) == {"roof", "pump"}
    assert [one.text for one in found.sentences] == [
        "roof: The roof was mended. (28 May 2025)",
        "pump: The pump was replaced by Kim. (30 May 2025)",
    ]


def test_what_happened_since_an_event_that_was_noted(notes: hades.Memory) -> None:
    found = recalled(notes, "What happened since we moved?")
    assert found.time is not None
    assert found.time.since == day("2025-04-15")
    assert topics(found) == {"office", "roof", "pump", "move"}
    assert all(one.valid_from >= day("2025-04-15") for one in found.passages)


def test_nothing_noted_in_a_time_in_words_is_told_and_not_answered(notes: hades.Memory) -> None:
    found = recalled(notes, "Where was the office in 1999?")
    assert found.passages
    told = [note for note in found.reasons if note.reason is hades.Reason.NOTHING_NOTED]
    assert [note.detail for note in told] == ["nothing was noted in 1999"]
    for question in ("Where was the office in 1999?", "What happened in February?", "in 1999?"):
        answer = notes.ask(question, plan=UNHURRIED)
        assert str(answer).startswith("Nothing was noted in ")
    notes.remember("novel", "The novel is set in 1923, in a mill.")
    assert "a mill" in str(notes.ask("Where is the novel set in 1923?", plan=UNHURRIED))


def test_a_moment_of_the_caller_overrides_the_words(notes: hades.Memory) -> None:
    found = recalled(notes.at("2025-05-01"), "Where was the office in March?")
    assert found.time is None
    assert found.passages[0].chunk.text == HISTORY[1][1]
    other = recalled(notes, "Where was the office in March?", since="2025-04-01")
    assert other.time is None
    assert "Tallinn" not in other.context


def test_words_can_be_left_unread(notes: hades.Memory) -> None:
    plan = {**UNHURRIED, "retriever": {"timeout_ms": 60_000, "time_words": False}}
    found = notes.recall("Where was the office in March?", plan=plan)
    assert found.time is None
    assert found.passages[0].chunk.text == HISTORY[1][1]


def test_time_words_do_not_narrow_documents(papers: hades.Memory) -> None:
    plan = {**UNHURRIED, "retriever": {"timeout_ms": 60_000, "time_words": False}}
    for question in ("What sank in 1912?", "What was built in February?", "What runs last week?"):
        read, unread = recalled(papers, question), papers.recall(question, plan=plan)
        assert [one.id for one in read.passages] == [one.id for one in unread.passages]
        assert [one.score for one in read.passages] == [one.score for one in unread.passages]
        assert read.reasons == unread.reasons
    assert recalled(papers, "What sank in 1912?").passages[0].chunk.topic.endswith("0.md")


# since and until

ASKERS: dict[str, Callable[..., set[str]]] = {
    "search": lambda view, question, **window: {
        hit.chunk.topic for hit in view.search(question, **window)
    },
    "recall": lambda view, question, **window: topics(recalled(view, question, **window)),
    "ask": lambda view, question, **window: topics(
        view.ask(question, plan=UNHURRIED, **window).recall
    ),
    "rank": lambda view, question, **window: {
        hit.chunk.topic for hit in view.rank(question, **window)
    },
}


@pytest.mark.parametrize("asker", ASKERS)
def test_since_and_until_leave_what_began_between(notes: hades.Memory, asker: str) -> None:
    def found(**window: str) -> set[str]:
        return ASKERS[asker](
            notes, "Where is the office, the milk, the roof or the pump?", **window
        )

    assert found(since="2025-05-01") == {"roof", "pump"}
    assert found(until="2025-03-13") >= {"milk"}
    assert "office" not in found(since="2025-03-01", until="2025-04-15")
    assert found(since="2025-05-28", until="2025-05-30") == {"roof"}
    assert found(since="2025-06-01") == set()
    assert found(until="2025-01-01") == set()


@pytest.mark.parametrize("asker", ASKERS)
def test_since_and_until_narrow_documents_too(papers: hades.Memory, asker: str) -> None:
    def found(**window: str) -> set[str]:
        return ASKERS[asker](papers, "What was built in 1912, and do ferries run?", **window)

    assert {name[-4:] for name in found(since="2025-03-02")} == {"1.md", "2.md"}
    assert {name[-4:] for name in found(until="2025-03-02")} == {"0.md"}
    assert found(since="2025-04-01") == set()


def test_an_earlier_version_is_found_by_when_it_began(notes: hades.Memory) -> None:
    found = recalled(notes, "Where is the office?", until="2025-02-01")
    assert [one.id for one in found.passages] == ["office@1#0"]
    nothing = notes.ask("Where is the office?", since="2025-05-01", plan=UNHURRIED)
    assert "office" not in topics(nothing.recall)
    assert not any("office" in one.text for one in nothing.sentences)


def test_a_window_before_1970(memory: hades.Memory) -> None:
    memory.remember("bridge", "The bridge is made of wood.", valid_from="1950-01-01")
    for asker in ASKERS.values():
        assert asker(memory, "What is the bridge made of?", until="1960-01-01") == {"bridge"}
        assert asker(memory, "What is the bridge made of?", since="1960-01-01") == set()


def test_a_window_that_cannot_be_read_is_refused(notes: hades.Memory) -> None:
    for asker in ASKERS.values():
        with pytest.raises(hades.InvalidInput):
            asker(notes, "Where is the office?", since="some day")


# An encoder that is late


class LateEncoder:
    """A memory's encoder, which from some moment on does not come back until it is told."""

    def __init__(self, memory: hades.Memory) -> None:
        finder = memory.inside.finder
        self._encoder = finder.encoder
        finder.__dict__["encoder"] = self
        self.model, self.dims = self._encoder.model, self._encoder.dims
        self.max_tokens = self._encoder.max_tokens
        self.go_on = threading.Event()
        self.go_on.set()
        self.calls = 0

    def encode(self, texts: Sequence[str]) -> Any:
        self.calls += 1
        assert self.go_on.wait(60), "nobody told it to go on"
        return self._encoder.encode(texts)


@pytest.mark.parametrize("kind", ["notes", "papers"])
def test_a_late_encoder_is_left_behind(kind: str, request: pytest.FixtureRequest) -> None:
    memory: hades.Memory = request.getfixturevalue(kind)
    question, answer = {
        "notes": ("Who replaced the pump?", "The pump was replaced by Kim."),
        "papers": ("When was the harbour built?", "The harbour was built in 1912."),
    }[kind]
    recalled(memory, question)
    encoder = LateEncoder(memory)
    encoder.go_on.clear()
    try:
        found = memory.ask(question, plan={**UNHURRIED, "retriever": {"timeout_ms": 20}})
        assert answer in str(found)
        (late,) = [note for note in found.recall.reasons if note.reason is hades.Reason.TIMEOUT]
        # On a busy machine the time may be over before the encoder is waited for.
        assert late.stage == "seeds"
        assert late.detail.startswith("after 20 ms, without meaning")
        assert all("meaning" not in one.retrievers for one in found.recall.passages)
        assert encoder.calls == 1
    finally:
        encoder.go_on.set()
    again = recalled(memory, question)
    assert not any(note.reason is hades.Reason.TIMEOUT for note in again.reasons)
    assert "meaning" in again.passages[0].retrievers


def test_a_late_encoder_does_not_hold_up_times_in_words(notes: hades.Memory) -> None:
    recalled(notes, "office")
    encoder = LateEncoder(notes)
    encoder.go_on.clear()
    try:
        found = notes.recall(
            "What happened since the move?", plan={**UNHURRIED, "retriever": {"timeout_ms": 20}}
        )
    finally:
        encoder.go_on.set()
    assert found.time is not None
    assert found.time.since == day("2025-04-15")
    assert "move" in topics(found)
    late = [note.stage for note in found.reasons if note.reason is hades.Reason.TIMEOUT]
    assert late == ["seeds"]


def test_an_entry_of_a_diary_tells_of_its_day_alone(memory: hades.Memory, clock: HeldClock) -> None:
    clock.set("2024-08-01")
    for held, won in (("2024-05-16", "Tern"), ("2024-06-13", "Gannet"), ("2024-07-11", "Skua")):
        memory.remember(f"regatta/{held}", f"Regatta held. The {won} won.", valid_from=held)
    memory.remember("sponsor", "Norvik Marine sponsors the regatta.", valid_from="2024-01-05")
    memory.remember("bar/beer", "A beer at the bar costs 3.50 euros.", valid_from="2024-01-05")
    for month, won in (("May", "Tern"), ("June", "Gannet")):
        found = recalled(memory, f"Who won the regatta in {month} 2024?")
        assert f"The {won} won." in found.passages[0].chunk.text
