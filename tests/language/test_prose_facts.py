"""Facts from prose: what a plain sentence states, and what it does not."""

from __future__ import annotations

import pytest

from hades.language.english.prose_facts import SENTENCE_CHARACTERS_AT_MOST, facts_in


def told(text: str, topic: str = "") -> list[str]:
    return [
        f"{'not ' if one.negated else ''}{one.subject} {one.relation} {one.object}"
        for one in facts_in(text, topic)
    ]


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Tom Hale has worked for Siemens since 2019.", ["Tom Hale works_at Siemens"]),
        ("Sam and Nadia live in Ghent.", ["Sam lives_in Ghent", "Nadia lives_in Ghent"]),
        ("Fabrikam, a maker of valves, is headquartered in Lyon.", ["Fabrikam based_in Lyon"]),
        (
            "Rosa, who reports to Ben, lives in Porto and works for Farfetch.",
            ["Rosa reports_to Ben", "Rosa lives_in Porto", "Rosa works_at Farfetch"],
        ),
        (
            "The mobile app depends on Stripe and Twilio.",
            ["mobile app depends_on Stripe", "mobile app depends_on Twilio"],
        ),
        ("Hugo no longer works at Acme.", ["not Hugo works_at Acme"]),
        ("Kim used to live in Seoul.", ["not Kim lives_in Seoul"]),
        ("Redis was replaced by Valkey in April 2024.", ["Redis replaced_by Valkey"]),
        ("Acme uses Slack instead of Teams.", ["Acme uses Slack"]),
        ("Dr. Lee is now head of Cardiology.", ["Lee became head of Cardiology"]),
        ("db07 is now read-only.", ["db07 is_now read-only"]),
        ("The Pro plan costs $20 per month.", ["Pro plan costs $20 per month"]),
        ("A mooring costs 310 euros a season.", ["mooring costs 310 euros a season"]),
        ("`billing` depends on `ledger`.", ["billing depends_on ledger"]),
        (
            "Pavel manages Rescue Two and Rescue One.",
            ["Pavel manages Rescue Two", "Pavel manages Rescue One"],
        ),
        (
            "Ana reports to Ben and Carl works at Acme.",
            ["Ana reports_to Ben", "Carl works_at Acme"],
        ),
    ],
)
def test_what_a_sentence_states(text: str, facts: list[str]) -> None:
    assert told(text) == facts


@pytest.mark.parametrize(
    "text",
    [
        "Does Ana work at Acme?",
        "If Ben moves to Oslo, Ana reports to Carl.",
        "Ana might join Globex.",
        "Ana plans to leave Acme.",
        "Ana will join Acme in May.",
        "According to Ben, Ana lives in Rome.",
        "Ben thinks Ana works at Globex.",
        '"Ana works at Acme," Ben wrote.',
        "It is not true that Ana works at Acme.",
        "He works at Acme.",
        "I work at Contoso.",
        "The brother of Ana works at Acme.",
        "The company that acquired Acme is based in Oslo.",
        "The firm hiring Ben and Carl is based in Oslo.",
        "Ana joined Ben for lunch.",
        "Contoso replaced Jira with Linear.",
        "Ana's team is based in Rome.",
        "Everyone at Acme reports to Ana.",
        "Ana lives in Ben's house.",
        "Ana works at Acme or Globex.",
        "Tuesday works for Ana.",
        "Users moved to Mastodon.",
        "Ana worked at Acme.",
        "Ana manages Rescue Before and Rescue After.",
        "The company is based in Oslo.",
    ],
)
def test_what_a_sentence_does_not_state(text: str) -> None:
    assert told(text) == []


def test_the_words_for_times_are_kept() -> None:
    past, now, coming = facts_in(
        "Luca worked at Fiat from 2010 to 2015. Since May 2023 Ana has lived in Rome. "
        "From Monday, Tariq reports to Helen."
    )
    assert (past.valid_from, past.valid_to) == ("2010", "2015")
    assert (now.valid_from, now.valid_to) == ("May 2023", None)
    assert coming.valid_from == "from Monday"


def test_a_sentence_without_a_subject_is_about_the_topic() -> None:
    assert told("A designer. She lives in Rome. Works at Acme.", "people/maya") == [
        "people/maya lives_in Rome",
        "people/maya works_at Acme",
    ]
    assert told("Works at Acme. It is based in Rome.", "people/maya") == [
        "people/maya works_at Acme"
    ]
    assert told("Ben called. She lives in Rome.", "people/maya") == []
    assert told("Works at Acme.") == []
    said = "Maya Lind is treasurer. She works at Acme."
    for topic in ("people/maya", "people/lind"):
        assert told(said, topic) == [f"{topic} works_at Acme"]
    assert told(said, "people/may") == []


def test_each_fact_says_where_its_sentence_stands() -> None:
    text = "A note. Ana works at\nAcme.  Then nothing."
    (fact,) = facts_in(text)
    assert text[fact.start : fact.end] == "Ana works at\nAcme."


def test_endless_sentences_state_nothing() -> None:
    assert told("Ana works at Acme and " * SENTENCE_CHARACTERS_AT_MOST) == []
