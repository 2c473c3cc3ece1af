"""Summaries of clusters by a model: a sentence stays if the passage that it cites supports it."""

from __future__ import annotations

import pytest
from chat_making import scripted
from test_chat import use

import hades


@pytest.fixture
def noted(memory: hades.Memory) -> hades.Memory:
    memory.remember("ferry", "The ferry sails to the island at noon.")
    memory.remember("harbour", "The harbour has forty boats.")
    return memory


def test_supported_sentences_are_taken_and_others_dropped(
    noted: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = {"ferry": 1, "harbour": 2}
    noted.organise()
    first = noted.clusters("c_2").members[0].cite
    if first.startswith("harbour"):
        numbers = {"ferry": 2, "harbour": 1}
    said = f"The ferry sails at noon [{numbers['ferry']}]. The harbour has 90 boats [1]."
    with scripted(said, said) as server:
        use(monkeypatch, server)
        done = noted.organise(model="a")
    assert done.hierarchy is not None
    assert done.hierarchy.by == "a"
    assert done.usage is not None
    low = noted.hierarchy().clusters[1]
    assert low.summary == "The ferry sails at noon. [ferry@1#0]"


def test_a_model_that_does_not_answer_leaves_sentences_of_the_texts(
    noted: hades.Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "http://127.0.0.1:9/v1")
    done = noted.organise(model="a")
    assert done.hierarchy is not None
    assert done.hierarchy.by == "extractive"
    assert done.why
    assert "[ferry@1#0]" in noted.hierarchy().clusters[1].summary
    with pytest.raises(hades.InvalidInput):
        noted.organise(model="nobody")
