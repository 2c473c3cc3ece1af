"""Questions for an attribute that nobody told, about somebody of whom something else is known."""

from __future__ import annotations

import pytest

import hades


@pytest.fixture
def tom(memory: hades.Memory) -> hades.Memory:
    memory.relate("Tom", "works_at", "Hooli")
    return memory


@pytest.mark.parametrize(
    "question",
    [
        "How old is Tom?",
        "Where was Tom born?",
        "What does Tom drink?",
        "What is Tom's phone number?",
        "Who is Tom's brother?",
    ],
)
def test_another_attribute_is_doubted(tom: hades.Memory, question: str) -> None:
    answer = tom.ask(question)
    assert answer.shortfall
    assert all(sentence.text.startswith("Tom works at Hooli") for sentence in answer.sentences)


@pytest.mark.parametrize("question", ["Where does Tom work?", "Who works at Hooli?"])
def test_the_attribute_that_was_told_is_not_doubted(tom: hades.Memory, question: str) -> None:
    answer = tom.ask(question)
    assert answer.sentences[0].text.startswith("Tom works at Hooli")
    assert not answer.shortfall


def test_the_fact_about_what_is_asked_comes_first(memory: hades.Memory) -> None:
    memory.relate("Clara", "seat", "14C")
    memory.relate("Hotel Miramar", "booked_by", "Clara")
    memory.relate("Clara", "passport_expires", "May 2029")
    answer = memory.ask("Where does Clara sit on the plane?")
    assert answer.sentences[0].text.startswith("Clara seat 14C")


def test_a_note_without_the_asked_attribute_leaves_the_doubt(tom: hades.Memory) -> None:
    tom.remember("office", "The printer on the second floor needs toner.")
    assert tom.ask("How old is Tom?").shortfall
    assert not tom.ask("Where does Tom work?").shortfall


@pytest.mark.parametrize("question", ["bookkeeper", "Who is our bookkeeper?"])
def test_who_does_something_is_found_by_what_they_do(memory: hades.Memory, question: str) -> None:
    memory.remember("people/iris", "Iris does the bookkeeping of the shop.")
    memory.remember("people/ben", "Ben sweeps the shop and locks up at night.")
    memory.remember("books", "We keep the cookery books on the second shelf.")
    answer = memory.ask(question)
    assert answer.sentences[0].text.startswith("people/iris: Iris does the bookkeeping")
    assert not answer.shortfall


@pytest.mark.parametrize(
    "question", ["Where does Marta live?", "How old is Yusuf?", "What does Marta do for a living?"]
)
def test_a_near_relation_is_not_the_one_asked_for(memory: hades.Memory, question: str) -> None:
    memory.relate("Marta", "born_in", "Ibadan")
    memory.relate("Marta", "sister_of", "Yusuf")
    assert memory.ask(question).shortfall


@pytest.mark.parametrize("question", ["Where was Marta born?", "Who is Yusuf's sister?"])
def test_the_relation_asked_for_is_told(memory: hades.Memory, question: str) -> None:
    memory.relate("Marta", "born_in", "Ibadan")
    memory.relate("Marta", "sister_of", "Yusuf")
    answer = memory.ask(question)
    assert answer.sentences[0].text.startswith("Marta")
    assert not answer.shortfall


def test_the_lease_of_another_room_is_not_the_one_asked_for(memory: hades.Memory) -> None:
    memory.remember("workshop/lease", "The lease of the workshop runs until 31 March 2027.")
    memory.remember("workshop/rent", "We pay 640 euros a month for the workshop.")
    memory.remember("flat/kitchen", "The kitchen of the flat was painted in May.")
    assert memory.ask("When does the lease of my flat end?").shortfall
    assert not memory.ask("Until when do we have the workshop?").shortfall
