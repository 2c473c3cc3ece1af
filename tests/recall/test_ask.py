"""The sentences that answer, as they stand in the texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import passage, recall

from hades.models.encoder import load_encoder
from hades.recall.ask import answer

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


def test_a_question_that_leads_through_something_else() -> None:
    film = passage("Titanic is a 1997 film directed by James Cameron.", "Titanic (film)")
    man = passage("He makes films. He was born in Kapuskasing in Ontario.", "James Cameron")
    found = answer(recall("Where was the director of Titanic born?", [film, man]))
    assert ("He was born in Kapuskasing in Ontario.", 2) in [
        (one.text, one.citation) for one in found.sentences
    ]


def test_nothing_found_is_an_empty_answer() -> None:
    assert answer(recall("Who won the cup in 1998?", [DECISION, BUG])).sentences == ()
    assert answer(recall("Who fixed the kitchen sink?", [DECISION, BUG])).sentences == ()
    assert str(answer(recall("Why?"))) == ""


def test_nothing_is_said_twice() -> None:
    again = passage(DECISION.chunk.text, "copy")
    found = answer(recall("Why was approach X rejected?", [DECISION, again]), at_most=5)
    texts = [one.text for one in found.sentences]
    assert len(set(texts)) == len(texts)
    assert {one.citation for one in found.sentences} == {1}


def test_questions_and_headings_answer_nothing() -> None:
    asked = passage("# Who leads the index?\n\nWho leads the index?", "faq")
    assert answer(recall("Who leads the index?", [asked])).sentences == ()


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
    st.integers(0, 5),
)
def test_every_sentence_stands_in_the_passage_it_cites(
    question: str, texts: list[str], at_most: int
) -> None:
    passages = [passage(text) for text in texts]
    found = answer(recall(question, passages), at_most=at_most)
    assert len(found.sentences) <= at_most
    for one in found.sentences:
        assert one.text in " ".join(passages[one.citation - 1].chunk.text.split())
    scores = [one.score for one in found.sentences]
    assert scores == sorted(scores, reverse=True)
