"""The learned head: what a question asks for, by its vector and its words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from hades.models.encoder import load_encoder
from hades.recall.question.head import (
    BUCKETS,
    SHIPPED,
    QuestionReading,
    shipped_head,
    word_features,
)


def _read(question: str) -> QuestionReading:
    return shipped_head().read(question, load_encoder().encode([question])[0])


def _likeliest(chances: Mapping[str, float]) -> str:
    return max(chances, key=lambda value: chances[value])


@pytest.mark.parametrize(
    ("question", "kind", "wants"),
    [
        ("Where does Marta live?", "lookup", "place"),
        ("Who leads the harbour project?", "lookup", "person"),
        ("Why did we drop the old supplier?", "lookup", "reason"),
        ("When does the lease end?", "lookup", "date"),
        ("What was the original budget?", "lookup", "number"),
        ("What should I work on next?", "brief", "list"),
        ("Tell me everything about the Atlas project", "overview", "text"),
        ("How are Ines and the bakery connected?", "connection", "path"),
        ("How often did the budget change?", "count", "number"),
        ("How did the plan for the roof change over time?", "history", "text"),
        ("Which bugs are open?", "status", "list"),
        ("Is Tom still at Hooli?", "still", "yesno"),
        ("Have we ever been to Porto?", "ever", "yesno"),
        ("What is the difference between the two offers?", "compare", "text"),
        ("thanks, that was helpful", "smalltalk", "none"),
    ],
)
def test_kind_and_what_is_wanted(question: str, kind: str, wants: str) -> None:
    reading = _read(question)
    assert (_likeliest(reading.kind), _likeliest(reading.wants)) == (kind, wants)


def test_many_answers_two_steps_and_the_first_version() -> None:
    assert _read("Which bugs are open?").many > 0.5 > _read("Where does Marta live?").many
    two_steps = _read("Where does the manager of the Riga office live?")
    assert two_steps.steps > 0.5 > _read("Where is the van?").steps
    assert _likeliest(_read("What was the original budget?").time) == "origin"


@pytest.mark.parametrize(
    ("question", "part"),
    [
        ("What should I start with?", "next"),
        ("What have we agreed on?", "decisions"),
        ("Bring me up to speed on everything", "all"),
        ("What did you get done on Monday?", "done"),
        ("Anything new around here?", "recent"),
    ],
)
def test_the_part_of_a_brief(question: str, part: str) -> None:
    reading = _read(question)
    assert (_likeliest(reading.kind), _likeliest(reading.part)) == ("brief", part)


@pytest.mark.parametrize(
    ("question", "kind", "wants", "time"),
    [
        ("Was the rent ever 850?", "ever", "yesno", "any"),
        ("How did bug 412 go?", "history", "text", "any"),
        ("flowers delphine can't stand", "lookup", "list", "now"),
        ("how come the milestone of Saltmarsh moved", "lookup", "reason", "any"),
        ("what day did oyster's disk die", "lookup", "date", "any"),
    ],
)
def test_short_questions(question: str, kind: str, wants: str, time: str) -> None:
    reading = _read(question)
    found = (_likeliest(reading.kind), _likeliest(reading.wants), _likeliest(reading.time))
    assert found == (kind, wants, time)


def test_chances_add_up_and_a_question_is_read_the_same_way_twice() -> None:
    reading = _read("Who wrote shop.py?")
    for chances in (reading.kind, reading.wants, reading.time, reading.part):
        assert sum(chances.values()) == pytest.approx(1, abs=1e-5)
    assert reading == _read("Who wrote shop.py?")


def test_hashes_of_words_are_the_same_in_every_process() -> None:
    # CRC-32 of "^", "$" and "^ $" by the tables of zlib.
    assert np.flatnonzero(word_features("")).tolist() == [2908, 4990, 6875]


def test_a_curly_apostrophe_and_capitals_change_nothing() -> None:
    assert np.array_equal(word_features("What’s NEW?"), word_features("what's new?"))


@pytest.mark.parametrize(
    "text",
    ["", " \n", "?", "\ud800", "誰がプロジェクトを担当していますか", "من يقود المشروع؟", "0" * 999],
)
def test_any_text_has_a_reading(text: str) -> None:
    reading = shipped_head().read(text, np.zeros(384, np.float32))
    assert all(0 <= chance <= 1 for chance in reading.kind.values())


def test_only_the_beginning_of_a_long_text_is_read() -> None:
    for word in ("a", "why ", "a.b,", "誰"):
        long = word * (100_000 // len(word))
        assert np.array_equal(word_features(long), word_features(long[:1_000]))
        assert word_features(long).shape == (BUCKETS,)


def test_the_weights_stay_small() -> None:
    assert SHIPPED.stat().st_size < 1_000_000
