"""The language of a text is told by its small words, and English rules keep to English."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hades
from hades.language.english.intent import choose_mode, is_past_tense
from hades.language.english.proper_names import extract_names
from hades.language.english.question_terms import terms_of
from hades.language.languages import language_of
from hades.language.words import words, written_words


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Was hat die Reparatur gekostet?", "german"),
        ("Umzugswagen bei Hölscher reserviert, abholen um 6:45 Uhr.", "german"),
        ("Combien nous a coûté la réparation ?", "french"),
        ("¿A qué hora ve Nuria a la dentista?", "spanish"),
        ("cual es el codigo de la impresora", "spanish"),
        ("Quanto è costata la riparazione?", "italian"),
        ("Onde mora a Inês?", "portuguese"),
        ("Hoeveel kostte de reparatie?", "dutch"),
        ("Где живёт Анна?", "russian"),
        ("Was the rent paid?", "english"),
        ("We stayed at the Playa de la Concha.", "english"),
        ("grafana version on mon-1", ""),
        ("Los Angeles", ""),
        ("db07: disk full", ""),
        ("", ""),
    ],
)
def test_small_words_tell_the_language(text: str, language: str) -> None:
    assert language_of(text) == language


def test_german_nouns_are_not_names_and_elided_letters_are_not_either() -> None:
    assert terms_of("Was hat die Reparatur vom NAS gekostet?").names[0].text == "NAS"
    assert [name.text for name in terms_of("Et Maël, c'est combien ?").names] == ["Maël"]
    assert [name.text for name in terms_of("When does Zoë visit São Tomé?").names] == [
        "Zoë",
        "São Tomé",
    ]
    assert not terms_of("Kosten Reparatur", "german").names
    assert [name.text for name in terms_of("Kosten Reparatur").names] == ["Reparatur"]


def test_a_single_german_noun_in_a_text_is_not_a_name() -> None:
    names = extract_names("Der Drucker ist bei Frau Sänger, die Rechnung hat die AOK.")
    assert {*names} == {"Frau Sänger", "AOK"}


def test_english_verbs_are_not_read_in_other_languages() -> None:
    assert not is_past_tense("Was haben wir bezahlt?")
    assert choose_mode("¿Cuál es el plan para la mudanza?") is hades.Mode.EXECUTION


@given(st.text(max_size=80))
def test_every_text_has_a_language_and_its_words_as_written(text: str) -> None:
    assert language_of(text) is not None
    assert len(written_words(text)) == len(words(text))
    terms_of(text)
