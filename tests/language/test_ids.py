"""Versions and ids: one term each, in questions and in texts."""

from __future__ import annotations

import pytest

from hades.language.english.question_terms import terms_of
from hades.language.english.terms import terms_in
from hades.language.words import ids


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Version 8.2.0.", ["8 2 0"]),
        ("v8.2.0 and larder==8.20.1", ["8 2 0", "8 20 1"]),
        ("8.2.0rc1, 8.2.0.dev", ["8 2 0rc1"]),
        ("OPS-4711 on 10.0.0.12", ["ops 4711", "10 0 0 12"]),
        ("INC-2024-17", ["inc 2024 17"]),
        ("3.5.2024, 2024-05-03, mid-2024, 3.50 and 8.2", []),
    ],
)
def test_ids_of_a_text(text: str, found: list[str]) -> None:
    assert ids(text) == found


@pytest.mark.parametrize(
    ("question", "name", "text", "other"),
    [
        ("What changed in 8.2.0?", "8.2.0", "Version 8.2.0", "Version 8.20.0, 8.2.1"),
        ("Who closed OPS-4711?", "OPS-4711", "ops 4711 is closed", "OPS-4712 cost 4711 euros"),
    ],
)
def test_an_id_stands_only_in_texts_with_it(
    question: str, name: str, text: str, other: str
) -> None:
    [asked] = terms_of(question).names
    assert asked.text == name
    assert asked.stands_in(terms_in(text))
    assert not asked.stands_in(terms_in(other))


def test_a_number_after_a_plain_word_is_not_a_name() -> None:
    assert not terms_of("what are the top-10 songs?").names
