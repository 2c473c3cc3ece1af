"""What is not English passes by the rules of English untouched."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

import hades
from hades.language.english.contradiction import contradiction, entails
from hades.language.english.detect import is_english
from hades.language.english.prose_facts import facts_in
from hades.language.english.settled import settled
from hades.language.english.time_words import read_time
from hades.recall.question.reading import read_question

NOW = datetime(2025, 11, 16, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Maya joined Acme.",
        "db07: disk full",
        "Approach X was rejected.",
        "",
        "4.5 out",
        "Los Angeles",
    ],
)
def test_short_notes_are_english(text: str) -> None:
    assert is_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "Der Server ist nicht in Jena, die Platte ist voll.",
        "Le serveur est en panne et la base est vide.",
        "El servidor no responde y los datos se pierden por la noche.",
        "Сервер не работает в Москве.",
        "サーバーは動いていません。",
    ],
)
def test_other_languages_are_not(text: str) -> None:
    assert not is_english(text)
    assert facts_in(text, "servers") == []
    assert settled("servers", text) == ""
    assert read_time(text, NOW) is None
    assert read_question(text, 0).intent is hades.Intent.LOOKUP


def test_a_sentence_of_another_language_is_only_compared_as_a_whole() -> None:
    old, new = "Die Miete in Gera ist 900 Euro.", "Die Miete in Gera ist 950 Euro."
    assert contradiction(new, old) is None
    assert entails(old, old)
