"""Names by shape: what is one, where it begins and ends, and what kind of thing it names."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.language.english.proper_names import extract_names

FOUND = {
    # The first word of a sentence
    "Fixed. Reason: the disk was full. Gateway restarts.": [],
    "Nightly backups failed! Always ask.\nReview of the week": [],
    "TLS ended. PawLedger is down.": ["TLS", "PawLedger"],
    "Mira wants tea, and nobody told Oskar. Everyone said no.": ["Mira", "Oskar"],
    "Oskar Lind called. In New York it rained.": ["Oskar Lind", "New York"],
    "Contact Oskar Lind. Learning German. Glad I met Mira.": ["Oskar Lind", "German", "Mira"],
    "The Blue Lake froze. Handover for Mira.": ["Blue Lake", "Mira"],
    "Olav the Red froze. Editor of note.": ["Olav the Red"],
    "Don't ask. I've met Mira.": ["Mira"],
    # Dates, times and amounts
    "Since 12 May 2024 Gateway runs on 64 GB RAM, from 00:00 UTC.": ["Gateway", "RAM"],
    "From March 3, 2021 Mira has 9,860 SMS, 3 units and Mondays.": ["Mira", "SMS"],
    "On the rota: Mira Mon Wed Fri, Saturday Oskar.": ["Mira", "Oskar"],
    # Verbs and roles at the beginning of a sentence
    "Gave Oskar the keys. Lent Mira a tent.": ["Oskar", "Mira"],
    "Treasurer Oskar paid. Nurse Mira Holm came.": ["Oskar", "Mira Holm"],
    "Secretary of Bergen.": ["Secretary of Bergen"],
    # Numbers
    "Rivals: Brevo 25, Klaviyo 45, Mailjet 17.": ["Brevo", "Klaviyo", "Mailjet"],
    "from Phase 1, Phase 2, Phase 3": ["Phase 1", "Phase 2", "Phase 3"],
    "costs EUR 1 300, Bergen 12 to 16 May, needs 40 kWh": ["Bergen"],
    "has an RMSE of 24.1": ["RMSE"],
    "We run Postgres 14.10 since Version 0.3.": ["Postgres 14.10"],
    "It is a 1988 Norwegian film from the 1994 Winter Games.": ["Norwegian", "1994 Winter Games"],
    "They live at 610 Bay Street.": ["610 Bay Street"],
    "of the 1999 Oslo Vikings": ["Oslo Vikings"],
    # Several names in a row
    "It broke Ledger and Catalog.": ["Ledger", "Catalog"],
    "ask Mira Holm and Oskar Lind": ["Mira Holm", "Oskar Lind"],
    "by the Ministry of Health and Welfare": ["Ministry of Health and Welfare"],
    "at Berg & Holm": ["Berg & Holm"],
    "of Mira Holm's Acme Search": ["Mira Holm", "Acme Search"],
    "at the Women's World Cup": ["Women's World Cup"],
    "on New Year's Eve": ["New Year's Eve"],
    "he left Acme for Blue Lake": ["Acme", "Blue Lake"],
    "the Institute for Media": ["Institute for Media"],
    "ask Mira/Oskar": ["Mira", "Oskar"],
    # Full stops and lines
    "Ask the SRE. Don't wait.": ["SRE"],
    "from U.S. Senator J. R. Holm": ["U.S. Senator J. R. Holm"],
    "in hall C. Still Postgres": ["Postgres"],
    "near St. Olav": ["St. Olav"],
    "in World War I and under Olav I of Holm": ["World War I", "Olav I of Holm"],
    "Mira Holm sings. Holm's voice is deep. Voice of the year.": ["Mira Holm", "Holm"],
    "of Mira Holm\nOskar Lind": ["Mira Holm", "Oskar Lind"],
    "IT IS FORBIDDEN TO ENTER": [],
    # Quotations
    'saw "Finding Home" and said "a joy"': ["Finding Home"],
    # Scripts without capitals are found by other means, and nothing breaks.
    "東京は大きい。": [],
    "": [],
}


@pytest.mark.parametrize("text", FOUND)
def test_what_is_a_name(text: str) -> None:
    assert list(extract_names(text)) == FOUND[text]


def test_the_kind_where_a_word_says_it() -> None:
    text = (
        "They met Dr. Mira Holm and Mr Lind from Acme GmbH at Berg University, Bay Street, "
        "before the Oslo Film Festival, to read https://example.org and set pool_size on db07."
    )
    kinds = {name: kind for name, kind in extract_names(text).items() if kind != "concept"}
    assert kinds == {
        "Mira Holm": "person",
        "Mr Lind": "person",
        "Acme GmbH": "organisation",
        "Berg University": "organisation",
        "Bay Street": "place",
        "Oslo Film Festival": "event",
        "https://example.org": "url",
        "pool_size": "code_symbol",
    }


def test_a_kind_is_kept_wherever_in_the_text_it_is_told() -> None:
    assert extract_names("We saw Mira Holm, that is Dr Mira Holm.") == {"Mira Holm": "person"}


@given(st.text())
def test_any_text_is_read_and_every_name_has_letters_or_digits(text: str) -> None:
    assert all(any(map(str.isalnum, name)) for name in extract_names(text))


WORDS = [
    "A",
    "b",
    ".",
    "'",
    "’s",
    "and",
    "of",
    "for",
    "the",
    "1",
    "May",
    "Mon",
    "I'm",
    '"',
    "\n",
    "&",
]


@given(st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_row_of_such_words_is_read(text: str) -> None:
    for name in extract_names(text):
        assert name == name.strip()


def test_a_turn_of_a_conversation_begins_a_sentence(tmp_path: Path) -> None:
    chat = tmp_path / "chat.jsonl"
    turns = [("Mira", "Absolutely! Great idea."), ("Oskar", "Woohoo Mira, see you in Bergen.")]
    lines = [
        {"speaker": who, "text": text, "when": f"2024-05-01T10:0{at}:00Z"}
        for at, (who, text) in enumerate(turns)
    ]
    chat.write_text("\n".join(map(json.dumps, lines)))
    with hades.open(tmp_path / "chat.hades") as memory:
        memory.ingest(chat)
        memory.index()
        found = {entity.name for entity in memory.entities()}
    assert {"Mira", "Oskar", "Bergen"} <= found
    assert not {"Absolutely", "Great", "Woohoo", "Woohoo Mira"} & found


def test_notes_give_their_names_and_kinds_as_entities(tmp_path: Path) -> None:
    with hades.open(tmp_path / "notes.hades") as memory:
        memory.remember("log/1", "Fixed. Since 12 May 2024 Gateway pages Mira. Reason: disk.")
        memory.remember("log/2", "Mira told Dr Oskar Lind.")
        memory.index()
        found = {entity.name: entity.kind for entity in memory.entities()}
    assert {
        "Gateway": "concept",
        "Mira": "concept",
        "Oskar Lind": "person",
    }.items() <= found.items()
    assert not {"Fixed", "Reason", "12 May 2024 Gateway"} & set(found)
