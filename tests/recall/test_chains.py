"""Answers in several steps, over facts and notes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hades


@pytest.fixture
def yard(path: Path) -> Iterator[hades.Memory]:
    with hades.open(path) as memory:
        memory.relate("boats/halcyon", "owned_by", "people/raymond-syme")
        memory.relate("people/raymond-syme", "lives_in", "Truro")
        memory.relate("people/kit-sorensen", "lives_in", "Falmouth")
        memory.relate("boats/gannet", "owned_by", "people/piers-lanyon")
        memory.relate("people/piers-lanyon", "lives_in", "Looe")
        memory.remember("jobs/gannet-mast", "Kit Sorensen repaired the mast of Gannet.")
        memory.remember("contacts", "Raymond Syme has the phone number 07700 900530.")
        memory.remember("garden", "The hedge was cut in May.")
        yield memory


def test_two_facts_are_joined_by_what_the_question_does_not_name(yard: hades.Memory) -> None:
    answer = yard.ask("Which town does the owner of Halcyon live in?")
    first = answer.sentences[0].text
    assert "boats/halcyon owned by people/raymond-syme" in first
    assert " → people/raymond-syme lives in Truro" in first
    chain = next(fact for fact in answer.recall.facts if fact.via)
    assert [step.split()[0] for step in chain.via] == ["edge"]
    assert chain.edge.target.name == "Truro"


def test_a_note_leads_to_a_fact(yard: hades.Memory) -> None:
    first = yard.ask("Where does the man who repaired Gannet's mast live?").sentences[0].text
    assert first.startswith("jobs/gannet-mast: Kit Sorensen repaired")
    assert "people/kit-sorensen lives in Falmouth" in first


def test_a_fact_leads_to_a_note(yard: hades.Memory) -> None:
    answer = yard.ask("What is the phone number of Halcyon's owner?")
    assert "07700 900530" in answer.sentences[0].text
    chained = next(passage for passage in answer.recall.passages if passage.via)
    assert chained.chunk.topic == "contacts"
    assert chained.chained.endswith("07700 900530.")


def test_without_the_reader_there_are_no_chains(yard: hades.Memory) -> None:
    question = "Which town does the owner of Halcyon live in?"
    found = yard.recall(question, plan={"reranker": {"reader": False}})
    assert not any(fact.via for fact in found.facts)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Where does Halcyon's owner live?", True),
        ("Phone number of whoever owns Halcyon", True),
        ("Where was the person training Tegan born?", True),
        ("Where is the van?", False),
        ("Is Halcyon sold?", False),
    ],
)
def test_which_questions_may_take_steps(yard: hades.Memory, question: str, expected: bool) -> None:
    assert yard.recall(question).asked.two_steps is expected


def test_a_likely_fact_comes_before_notes(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("billing", "Billing had an outage in May, the team fixed it.")
        memory.relate("service/billing", "owned_by", "team/payments")
        first = memory.ask("Who owns billing?").sentences[0]
    assert first.kind == "fact"
    assert "owned by team/payments" in first.text


def test_a_phone_number_of_somebody_else_is_doubted(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("people/bear", "Bear's phone number is 0551 2230.")
        memory.remember("people/tomasz", "Tomasz plays the cello and has two cats.")
        answer = memory.ask("What is Tomasz's phone number?")
    assert answer.shortfall
    assert answer.sentences


def test_chains_keep_to_the_time_of_the_question(yard: hades.Memory) -> None:
    question = "Which town does the owner of Halcyon live in?"
    found = yard.recall(question, plan={"budget": {"latency_ms": 1}})
    assert not any(fact.via for fact in found.facts)
