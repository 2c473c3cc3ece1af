"""The sentences that answer, as they stand in the texts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import passage, recall

import hades
from hades.language.english.question_terms import terms_of
from hades.language.english.terms import text_around, unsaid_names
from hades.models.encoder import load_encoder
from hades.recall.answer.document_sentences import SENTENCES_AT_MOST
from hades.recall.answer.named import terms_and_parts
from hades.recall.answer.sources import answer

DECISION = passage(
    "Approach X was proposed in January. It was rejected because it triggers Bug Y. "
    "The lunch was good.",
    "design/approach_x",
)
BUG = passage("Bug Y corrupts data on restart. It was fixed on 20 February 2024.", "bugs/bug_y")
TEAM = passage("# Team\n\n- Ann Lee leads the store.\n- Bo Ek leads the index.\n", "team.md")


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Why was approach X rejected?", "It was rejected because it triggers Bug Y. [1]"),
        ("When was Bug Y fixed?", "It was fixed on 20 February 2024. [2]"),
        ("Who leads the index?", "Bo Ek leads the index. [3]"),
    ],
)
def test_the_sentence_that_has_what_is_asked_for_comes_first(question: str, expected: str) -> None:
    found = answer(recall(question, [DECISION, BUG, TEAM]))
    assert str(found).startswith(expected)


FILM = passage(
    "Lantern Bay is a film about a ferry. It was shown in Tallinn in 1987. "
    "The film was directed by Mira Oks.",
    "film/17",
    heading="Lantern Bay (film)",
)
WOMAN = passage(
    "She makes films. She was born in Narva in Estonia. She has two dogs.",
    "person/4",
    heading="Mira Oks",
)
OTHER = passage("Lantern Bay was built in Riga.", "ship/2", heading="Lantern Bay (ship)")


@pytest.mark.parametrize("intent", [hades.Intent.BRIDGE, hades.Intent.LOOKUP])
def test_a_question_that_leads_through_something_else(intent: hades.Intent) -> None:
    asked = recall("Where was the director of the film Lantern Bay born?", [FILM, OTHER, WOMAN])
    found = answer(replace(asked, asked=replace(asked.asked, intent=intent)))
    assert [(one.text, one.citation) for one in found.sentences[:2]] == [
        ("The film was directed by Mira Oks.", 1),
        ("She was born in Narva in Estonia.", 3),
    ]


def test_a_passage_that_names_the_same_leads_on_too() -> None:
    company = passage("The Oakfield bridge was built by Harrow Works.", "bridges")
    leader = passage("The chair of Harrow Works is Ines Falk.", "people")
    asked = recall(
        "Who is the chair of the firm that built the Oakfield bridge?", [company, leader]
    )
    found = answer(replace(asked, asked=replace(asked.asked, intent=hades.Intent.BRIDGE)))
    assert [one.citation for one in found.sentences] == [1, 2]


def test_a_comparison_hears_each_side_once() -> None:
    first = passage("The Alma is 40 m long. The Alma was built in 1900.", "ships/alma")
    second = passage("The Berta was built in 1910. The Berta is red.", "ships/berta")
    asked = recall("Which was built first, the Alma or the Berta?", [first, second])
    found = answer(replace(asked, asked=replace(asked.asked, intent=hades.Intent.COMPARE)))
    assert {one.text for one in found.sentences} == {
        "The Alma was built in 1900.",
        "The Berta was built in 1910.",
    }


def test_nothing_found_is_an_empty_answer() -> None:
    assert answer(recall("Who won the cup in 1998?", [DECISION, BUG])).sentences == ()
    near = answer(recall("Who fixed the kitchen sink?", [DECISION, BUG]))
    assert near.shortfall == "Not sure: nothing found says this directly."
    assert str(near).startswith(f"{near.shortfall} Closest:\nIt was fixed")
    assert str(answer(recall("Why?"))) == "Nothing found answers this."


def test_a_neighbour_is_not_passed_off_as_the_answer(story: hades.Memory) -> None:
    assert "Approach X is viable" in str(story.ask("Is approach X viable?"))
    for question in (
        "Is approach Y viable?",
        "is approach y viable",
        "Why was approach Y rejected?",
    ):
        found = story.ask(question)
        assert found.recall.passages
        expected = "nothing found says anything about “approach y”. closest:\n"
        assert str(found).casefold().startswith(expected)


def test_of_several_things_named_the_unknown_are_told(story: hades.Memory) -> None:
    found = story.ask("Does approach X run on Kubernetes?")
    assert found.unsaid == ("Kubernetes",)
    assert str(found).startswith("Nothing found says anything about “Kubernetes”. Closest:\n")


def test_the_one_of_a_kind_that_is_named_is_preferred() -> None:
    plans = passage(
        "Plan 3 was dropped because of Phase 2. Plan 2 was dropped because of the cost.", "plans"
    )
    found = answer(recall("Why was Plan 2 dropped?", [plans]))
    assert found.sentences[0].text == "Plan 2 was dropped because of the cost."


@pytest.mark.parametrize(
    ("question", "unsaid"),
    [
        ("Who is Ann Smith?", ("Ann Smith",)),
        ("Who is Ann Lee?", ()),
        ("Who is Dr Bo Ek?", ()),
        ("Who won 3 cups?", ()),
        ("Who turned 30?", ()),
        ("Who leads the index?", ()),
        ("WHO LEADS THE INDEX?", ()),
        ("誰?", ()),
    ],
)
def test_what_counts_as_named(question: str, unsaid: tuple[str, ...]) -> None:
    told = [terms_and_parts(text_around(TEAM))]
    missing = unsaid_names(terms_of(question).names, told)
    assert [name.text for name in missing] == list(unsaid)


def test_another_name_for_it_is_known(path: Path) -> None:
    with hades.open(path) as memory:
        memory.remember("team", "Bo Ek leads the Knowledge Index since May.")
        memory.relate("team", "works_on", "Knowledge Index")
        memory.add_alias("Knowledge Index", "KGX")
        assert memory.ask("Who leads KGX?").unsaid == ()
        assert memory.ask("Who leads KGZ?").unsaid == ("KGZ",)


def test_nothing_is_said_twice() -> None:
    again = passage(DECISION.chunk.text, "copy")
    found = answer(recall("Why was approach X rejected?", [DECISION, again]))
    texts = [one.text for one in found.sentences]
    assert len(set(texts)) == len(texts)
    assert {one.citation for one in found.sentences} == {1}


def test_questions_and_headings_answer_nothing() -> None:
    asked = passage("# Who leads the index?\n\nWho leads the index?", "faq")
    assert answer(recall("Who leads the index?", [asked])).sentences == ()


def test_what_was_asked_stated_is_a_yes() -> None:
    note = passage("# Approach X\n\nApproach X is viable.", "design")
    assert str(answer(recall("Is approach X viable?", [note]))) == "Approach X is viable. [1]"
    assert answer(recall("Why is approach X viable?", [note])).sentences == ()


def test_meaning_finds_what_no_word_says() -> None:
    guide = passage("The weather was mild. Reset the login secret in the account page.", "guide")
    question = recall("How do I change my password?", [guide])
    assert answer(question).sentences == ()
    found = answer(question, load_encoder())
    assert [one.text for one in found.sentences] == ["Reset the login secret in the account page."]


@given(
    st.text(max_size=40),
    st.lists(
        st.text(st.sampled_from("aBc who. ?\n because 1998 東京。-#"), max_size=120), max_size=4
    ),
)
def test_every_sentence_stands_in_the_passage_it_cites(question: str, texts: list[str]) -> None:
    passages = [passage(text) for text in texts]
    found = answer(recall(question, passages))
    assert len(found.sentences) <= SENTENCES_AT_MOST
    for one in found.sentences:
        assert one.text in " ".join(passages[one.citation - 1].chunk.text.split())
    scores = [one.score for one in found.sentences]
    assert scores == sorted(scores, reverse=True)


def test_an_answer_says_that_time_ran_out_and_denies_nothing(memory: hades.Memory) -> None:
    memory.remember("studio/rent", "The studio rent is 1,150 euros a month.")
    memory.remember("studio/kiln", "The big kiln works again.")
    plenty = memory.ask("What is the rent?")
    assert not plenty.recall.is_cut_short
    short = memory.ask("What is the rent?", plan={"budget": {"latency_ms": 1}})
    assert short.recall.is_cut_short
    assert short.shortfall == "Time ran out before everything was compared."
    assert not short.unsaid
